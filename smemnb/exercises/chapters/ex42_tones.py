"""A picture through a curve of tones: the data say which elements of the tile a warp reads."""

# mypy: disable-error-code="attr-defined"

from functools import partial

import numpy as np
from numba import cuda, float32

from ..exercise import Budget, Case, Exercise, Wrong, cover, scattered

LEVELS = 256  # tones of the curve


@cuda.jit
def tones(out, inp, curve):
    """out[i] = curve[inp[i]], through a tile: inp has levels from 0 to 255, curve 256 tones."""
    # FILL (about 7 lines)
    tile = cuda.shared.array(256, float32)
    i = cuda.grid(1)
    for level in range(cuda.threadIdx.x, 256, cuda.blockDim.x):
        tile[level] = curve[level]
    cuda.syncthreads()  # the tile is full before anyone reads it
    if i < out.shape[0]:
        out[i] = tile[inp[i]]


@cuda.jit
def _tones_direct(out, inp, curve):
    i = cuda.grid(1)
    if i < out.shape[0]:
        out[i] = curve[inp[i]]


def _stripes(count, apart, unit=1, seed=0):
    """Levels that grow by `apart`, and a curve in no order."""
    levels = np.arange(count, dtype=np.int32) * apart % LEVELS
    return levels.astype(np.int32), scattered(LEVELS, seed=seed + 42) * np.float32(unit)


def _picture(count, unit=1, seed=0):
    """Levels in no order."""
    levels = scattered(count, seed=count + seed, low=0, high=LEVELS - 1, dtype=np.int32)
    return levels, scattered(LEVELS, seed=seed + 43) * np.float32(unit)


def _toned(inp, curve):
    return curve[inp]


def _cases():
    """Four full blocks with their budget; any levels, ragged sizes, smaller and larger blocks."""
    once = Budget(
        extra=112,  # of 16 reads, each 8-way; none to fill the tile
        sectors_per_request=4,
        requests={"curve": 32, "inp": 16, "out": 16},
        shared_requests=48,
        shared_bytes=1024,
    )
    yield Case(partial(_stripes, 512, 8), grid=(4,), block=(128,), budget=once)
    for count, threads, unit in ((1, 32, 1), (300, 64, 1), (257, 256, 2.0**64), (515, 96, 1)):
        data = partial(_picture, count, unit)
        yield Case(data, grid=cover((count,), (threads,)), block=(threads,))
    yield Case(partial(_picture, 70), grid=(2,), block=(128,))  # a block without an element


def _fresh(draw):
    """Full blocks, held to the budget of the first case; a ragged picture of large numbers."""
    blocks, threads = draw.size(2, 5), draw.one_of(64, 128, 256)
    data = partial(_stripes, blocks * threads, draw.one_of(3, 8, 24, 40), seed=draw.numbers())
    yield Case(data, (blocks,), (threads,), like=0)
    count, threads = draw.size(2, 400), draw.one_of(32, 96, 128)
    data = partial(_picture, count, 2.0**64, draw.numbers())
    yield Case(data, cover((count,), (threads,)), (threads,))


EXERCISE = Exercise(
    name="ex42_tones",
    chapter="42_profiling",
    title="A curve of tones",
    specification=_toned,
    solution=tones,
    wrong=(
        Wrong(
            "No barrier: a thread reads what another has not stored yet.",
            {"cuda.syncthreads": "pass"},
            ("findings", "race"),
        ),
        Wrong(
            "One element of the curve per thread: a block of fewer than 256 leaves the rest out.",
            {"for level": "for level in range(cuda.threadIdx.x, cuda.threadIdx.x + 1):"},
            ("output", "no thread has stored"),
        ),
        Wrong(
            "Threads without an element of the picture do not help to fill the tile.",
            {
                "for level": "for level in range(cuda.threadIdx.x if i < out.shape[0] else LEVELS, "
                "LEVELS, cuda.blockDim.x):"
            },
            ("output", "no thread has stored"),
        ),
        Wrong(
            "Neighbours of the curve for each thread: lanes load 2 elements apart.",
            {
                "for level": "each = LEVELS // cuda.blockDim.x + 1\n"
                "for level in range(cuda.threadIdx.x * each, "
                "min(LEVELS, (cuda.threadIdx.x + 1) * each)):"
            },
            ("sectors", "per request; budget 4"),
        ),
        Wrong(
            "Nobody asks whether the thread has an element.",
            {"if i": "if True:"},
            ("findings", "out of range"),
        ),
        Wrong(
            "The element of the thread, not of its level.",
            {"out[i]": "out[i] = tile[i % LEVELS]"},
            ("output", "wrong"),
        ),
        Wrong(
            "A tile for twice as many levels.",
            {"tile = cuda": "tile = cuda.shared.array(512, float32)"},
            ("shared", "2048 bytes of shared memory per block; budget 1024"),
        ),
        Wrong(
            "Right, but from global memory: the lanes of a warp touch up to 32 sectors.",
            _tones_direct,
            ("sectors", "13.33 per request; budget 4"),
        ),
    ),
    cases=tuple(_cases()),
    fresh=_fresh,
    hints=(
        "The curve is read many times by each block, and in any order. So a block brings it into a "
        "tile of its own first, and looks up there. Who fills the tile, if a block has fewer "
        "threads than the curve has elements?",
        "All threads of the block together, in a loop: neighbouring threads take neighbouring "
        "elements, and in the next round they go on a whole block further. Threads beyond the end "
        "of the picture help as well, because the guard comes behind the barrier.",
        "The loop begins at the thread's number in its block and goes in steps of the block's "
        "threads, up to 256. After it a barrier. Then, under the guard of i, the number `inp[i]` "
        "is the index into the tile.",
    ),
    budget=Budget(extra=None, shared_bytes=1024),
)
