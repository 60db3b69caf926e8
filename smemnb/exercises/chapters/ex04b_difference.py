"""A matrix less its transpose: both sides of the diagonal in one block."""

# mypy: disable-error-code="attr-defined"

from functools import partial

import numpy as np
from numba import cuda, float32

from ..exercise import Budget, Case, Exercise, Wrong, cover, scattered


@cuda.jit
def less_mirror(out, inp):
    """A square matrix less its transpose: out = inp - inp.T.  32 x 32 elements of out per block."""
    # FILL (about 11 lines)
    tile = cuda.shared.array((32, 33), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    n = inp.shape[0]
    top, left = cuda.blockIdx.y * 32, cuda.blockIdx.x * 32  # the block's corner in out
    for y in range(ty, 32, cuda.blockDim.y):  # the tile on the other side of the diagonal
        if left + y < n and top + tx < n:
            tile[y, tx] = inp[left + y, top + tx]
    cuda.syncthreads()  # the tile is full before anyone reads it
    for y in range(ty, 32, cuda.blockDim.y):
        if top + y < n and left + tx < n:
            out[top + y, left + tx] = inp[top + y, left + tx] - tile[tx, y]


def _square(n, unit=1, seed=0):
    """Whole numbers of up to 6 digits, larger by `unit`: differences are exact in float32.

    int16 holds few of them; int32, with a unit of 2**40, none but 0.
    """
    return (scattered((n, n), seed=n + seed, low=-999_999, high=999_999) * np.float32(unit),)


def _cases():
    """Nine full tiles with their budget; one element, ragged edges, other blocks."""
    clean = Budget(sectors_per_request=4, requests={"inp": 576, "out": 288}, shared_bytes=4224)
    yield Case(partial(_square, 96), (3, 3), (32, 8), budget=clean)
    for n, high in [(1, 8), (35, 8), (70, 4), (70, 32), (64, 16)]:
        data = partial(_square, n, 2.0**40 if high == 16 else 1)
        yield Case(data, cover((n, n), (32, 32)), (32, high))


def _fresh(draw):
    """Full tiles, held to the budget of the first case; a ragged matrix of large elements."""
    for like, edge, unit in ((0, 32, 1), (None, 1, 2.0**40)):
        n, high = edge * draw.size(1, 96 // edge), draw.one_of(4, 8, 16, 32)
        data = partial(_square, n, unit, draw.numbers())
        yield Case(data, cover((n, n), (32, 32)), (32, high), like=like)


EXERCISE = Exercise(
    name="ex04b_difference",
    chapter="24_checkpoint",
    title="A matrix less its transpose",
    specification=lambda inp: inp - inp.T,
    solution=less_mirror,
    wrong=(
        Wrong(
            "The block's own tile is staged: its mirror is another block's, but on the diagonal.",
            {
                "if left + y": "if top + y < n and left + tx < n:",
                "tile[y": "tile[y, tx] = inp[top + y, left + tx]",
            },
            ("output", "wrong"),
        ),
        Wrong(
            "A tile of int16: a number above 32,767 does not fit.",
            {"tile =": "tile = cuda.shared.array((32, 34), np.int16)"},
            ("output", "wrong"),
        ),
        Wrong(
            "Neither pad nor swizzle.",
            {"tile =": "tile = cuda.shared.array((32, 32), float32)"},
            ("wavefronts", "32-way"),
        ),
        Wrong(
            "Nobody waits until the tile is full.", {"cuda.syncthreads()": ""}, ("findings", "race")
        ),
        Wrong(
            "Right, but the mirror is read from global memory, down a column.",
            {
                "out[top": (
                    "out[top + y, left + tx] = inp[top + y, left + tx] - inp[left + tx, top + y]"
                )
            },
            ("sectors", "13.33 per request; budget 4"),
        ),
        Wrong(
            "Right, but the block's own elements go through a tile as well, which nobody else "
            "reads.",
            {
                "tile =": "tile = cuda.shared.array((32, 33), float32)\n"
                "own = cuda.shared.array((32, 32), float32)",
                "if left + y": "if top + y < n and left + tx < n:\n"
                "    own[y, tx] = inp[top + y, left + tx]\n"
                "if left + y < n and top + tx < n:",
                "out[top": "out[top + y, left + tx] = own[y, tx] - tile[tx, y]",
            },
            ("shared", "8320 bytes of shared memory per block"),
        ),
        Wrong(
            "The sign is lost: the mirror less the matrix.",
            {"out[top": "out[top + y, left + tx] = tile[tx, y] - inp[top + y, left + tx]"},
            ("output", "wrong"),
        ),
    ),
    cases=tuple(_cases()),
    fresh=_fresh,
    hints=(
        "A block of out needs two tiles of inp. One of them lies where the block lies, and each of "
        "its elements is needed by one thread. Which one is worth staging?",
        "The mirror's tile has its corner at row left, column top. Load it along its rows, read it "
        "down its columns. The own elements come straight from global memory.",
        "First loop: tile[y, tx] from row left + y and column top + tx of inp, guarded. Barrier. "
        "Second loop: row top + y, column left + tx, guarded: inp there less the tile's element in "
        "row tx and column y. The tile needs a pad or a swizzle.",
    ),
    budget=Budget(shared_bytes=4224),
)
