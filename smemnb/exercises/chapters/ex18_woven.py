"""Two arrays woven into one: a tile whose second row begins half a wavefront further on."""

# mypy: disable-error-code="attr-defined"

from functools import partial

import numpy as np
from numba import cuda, float32

from ..exercise import Budget, Case, Exercise, Wrong, cover, scattered, sizes


@cuda.jit
def weave(out, a, b):
    """Elements of two arrays in turn: out[0::2] = a, out[1::2] = b, one thread per pair."""
    # FILL (about 9 lines)
    tile = cuda.shared.array((2, 144), float32)  # 144 words: the second row begins in bank 16
    tx, first = cuda.threadIdx.x, cuda.blockIdx.x * cuda.blockDim.x
    if first + tx < a.shape[0]:
        tile[0, tx] = a[first + tx]
        tile[1, tx] = b[first + tx]
    cuda.syncthreads()  # both rows are full before anyone takes from them
    for k in range(tx, 2 * cuda.blockDim.x, cuda.blockDim.x):
        if 2 * first + k < out.shape[0]:
            out[2 * first + k] = tile[k % 2, k // 2]


def _pair(count, seed=0, unit=1):
    a, b = scattered((2, count), count + seed, low=-999) * np.float32(unit)
    return a, b


def _woven(a, b):
    return np.stack([a, b], axis=1).ravel()


def _cases():
    """Whole blocks with their budget; one pair, ragged ends, other blocks, one to spare."""
    clean = Budget(sectors_per_request=4, requests={"a": 16, "b": 16, "out": 32}, shared_bytes=1152)
    yield Case(partial(_pair, 512), (4,), (128,), budget=clean)
    counts = [
        (1, 64),
        (127, 128),
        (129, 128),
        (200, 96),
        (sizes(1, seed=20, low=2, high=300)[0], 64),
    ]
    for count, threads in counts:
        data = partial(_pair, count, unit=2.0**40 if count == 200 else 1)
        yield Case(data, (cover((count,), (threads,))[0] + 1,), (threads,))


def _fresh(draw):
    """Whole blocks, held to the budget of the first case; a ragged pair of large numbers."""
    for like, unit in ((0, 1), (None, 2.0**40)):
        threads = draw.one_of(32, 64, 128)
        count = threads * draw.size(1, 6) if like == 0 else draw.size(2, 400)
        data = partial(_pair, count, draw.numbers(), unit)
        yield Case(data, cover((count,), (threads,)), (threads,), like=like)


EXERCISE = Exercise(
    name="ex18_woven",
    chapter="18_checkpoint",
    title="Two arrays woven into one",
    specification=_woven,
    solution=weave,
    wrong=(
        Wrong(
            "Right, but stored without a tile: lanes lie two apart.",
            {
                "tile[0, tx]": "out[2 * (first + tx)] = a[first + tx]",
                "tile[1, tx]": "out[2 * (first + tx) + 1] = b[first + tx]",
                "for k": "for k in range(0):",
            },
            ("sectors", "budget 4"),
        ),
        Wrong(
            "Rows of 128 words: both begin in bank 0.",
            {"tile =": "tile = cuda.shared.array((2, 128), float32)"},
            ("wavefronts", "2-way"),
        ),
        Wrong(
            "A pad of one word, which helps a column and not these two rows.",
            {"tile =": "tile = cuda.shared.array((2, 129), float32)"},
            ("wavefronts", "2-way"),
        ),
        Wrong(
            "Nobody waits until both rows are full.",
            {"cuda.syncthreads()": ""},
            ("findings", "race"),
        ),
        Wrong(
            "b comes first.",
            {"out[2": "out[2 * first + k] = tile[1 - k % 2, k // 2]"},
            ("output", "wrong"),
        ),
        Wrong(
            "Nobody asks whether out goes on.",
            {"if 2 * first": "if True:"},
            ("findings", "out of range"),
        ),
    ),
    cases=tuple(_cases()),
    fresh=_fresh,
    hints=(
        "Loads and stores both want neighbours. So the weaving happens in shared memory, between a "
        "load that lies side by side and a store that does.",
        "Stage a piece of a and a piece of b, a row each. In the store, 16 lanes of a warp read "
        "from one row and 16 from the other. In which banks do they lie, and how far must the "
        "second row begin from the first?",
        "A tile of two rows of 144 elements, since 144 is 16 more than a multiple of 32. Guarded, "
        "each thread stages one element of a and one of b. Barrier. Then it stores two elements of "
        "out, a block's width apart, guarded: an odd one comes from the second row, at half its "
        "place.",
    ),
    budget=Budget(shared_bytes=1152),
)
