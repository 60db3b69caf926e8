"""A matrix of three columns: pixels to planes."""

# mypy: disable-error-code="attr-defined"

from functools import partial

import numpy as np
from numba import cuda, float32

from ..exercise import Budget, Case, Exercise, Wrong, cover, scattered

PIXEL_PITCH = 3  # words from pixel to pixel: odd as it is


@cuda.jit
def planes(out, inp):
    """Planes of an image of pixels with 3 elements each: out = inp.T.  A pixel per thread."""
    tile = cuda.shared.array((128, PIXEL_PITCH), float32)
    tx, n = cuda.threadIdx.x, cuda.blockDim.x  # n threads have n pixels, at most 128
    first = cuda.blockIdx.x * n  # the block's first pixel
    # 1. stage 3 * n elements: neighbouring lanes load neighbouring elements of memory
    for k in range(tx, 3 * n, n):
        # FILL (about 3 lines)
        pixel, channel = k // 3, k % 3
        if first + pixel < inp.shape[0]:
            tile[pixel, channel] = inp[first + pixel, channel]
    cuda.syncthreads()  # all pixels are staged
    # 2. lanes along a row of out
    if first + tx < inp.shape[0]:
        # FILL (about 2 lines)
        for channel in range(3):
            out[channel, first + tx] = tile[tx, channel]


def _pixels(count, unit=1, seed=0):
    """Whole numbers; larger by `unit`, beyond what narrower tiles hold."""
    return (scattered((count, 3), seed=count + seed) * np.float32(unit),)


def _cases():
    """Four full blocks with their budget; one pixel, ragged counts, smaller blocks."""
    clean = Budget(sectors_per_request=4, requests={"inp": 48, "out": 48}, shared_bytes=1536)
    yield Case(partial(_pixels, 512), (4,), (128,), budget=clean)
    for count, threads in [(1, 128), (129, 128), (300, 128), (300, 64), (97, 32)]:
        data = partial(_pixels, count, 2.0**64 if count == 97 else 1)
        yield Case(data, cover((count,), (threads,)), (threads,))


def _fresh(draw):
    """Full blocks, held to the budget of the first case; a ragged number of large pixels."""
    blocks, threads = draw.size(2, 6), draw.one_of(32, 64, 128)
    data = partial(_pixels, blocks * threads, seed=draw.numbers())
    yield Case(data, (blocks,), (threads,), like=0)
    count, threads = draw.size(2, 400), draw.one_of(32, 64, 96, 128)
    data = partial(_pixels, count, 2.0**64, draw.numbers())
    yield Case(data, cover((count,), (threads,)), (threads,))


EXERCISE = Exercise(
    name="ex03_planes",
    chapter="21_pad",
    title="An image in planes",
    specification=lambda inp: np.ascontiguousarray(inp.T),
    solution=planes,
    wrong=(
        Wrong(
            "Right, but each lane loads its own pixel: 3 elements apart, three times over.",
            {"out[channel": "out[channel, first + tx] = inp[first + tx, channel]"},
            ("sectors", "8 per request; budget 4"),
        ),
        Wrong(
            "Right, but staged as it was read: each lane brings its own pixel, 3 elements apart.",
            {"for k": "for k in range(3 * tx, 3 * tx + 3):"},
            ("sectors", "12 per request; budget 4"),
        ),
        Wrong(
            "One pad element by habit: 3 is odd and needs none, 4 is 4-way.",
            {"tile =": "tile = cuda.shared.array((128, 4), float32)"},
            ("wavefronts", "4-way"),
        ),
        Wrong(
            "Nobody waits: a pixel is staged by other threads than the one that stores it.",
            {"cuda.syncthreads()": ""},
            ("findings", "race"),
        ),
        Wrong(
            "The staged elements are taken for three planes of n elements already.",
            {"out[channel": "k = channel * n + tx\nout[channel, first + tx] = tile[k // 3, k % 3]"},
            ("output", "wrong"),
        ),
        Wrong(
            "n elements are staged where n pixels have 3 * n.",
            {"for k": "for k in range(tx, n, n):"},
            ("output", "wrong"),
        ),
        Wrong(
            "128 threads are taken for granted: a smaller block leaves pixels out.",
            {"tx, n =": "tx, n = cuda.threadIdx.x, 128"},
            ("output", "block 64"),
        ),
    ),
    cases=tuple(_cases()),
    fresh=_fresh,
    hints=(
        "In memory, element k of the block's pixels follows element k - 1. A lane need not stage "
        "the elements of its own pixel. Of which pixel, and which channel, is element k?",
        "Pixel k // 3, channel k % 3, with a guard for the last block. Later a lane reads the 3 "
        "elements of its own pixel: which n-way has a pitch of 3 words? Does it want a pad?",
        "First hole: pixel and channel of k; if the pixel, counted from `first`, exists, store "
        "its element into the tile. Second: a loop over the 3 channels; row channel of out.",
    ),
    budget=Budget(shared_bytes=1536),
)
