"""A transpose over the other diagonal, in square blocks."""

# mypy: disable-error-code="attr-defined"

from functools import partial

import numpy as np
from numba import cuda, float32

from ..exercise import Budget, Case, Exercise, Wrong, cover, scattered

PITCH = 33  # elements from row to row: an odd number, so that a column visits 32 banks


@cuda.jit
def flip_over(out, inp):
    """Over the other diagonal: out = inp[::-1, ::-1].T.  Square blocks, up to 32 x 32."""
    tile = cuda.shared.array((32, PITCH), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    rows, cols = inp.shape
    # 1. a warp loads along a row of inp
    col, row = cuda.grid(2)
    if row < rows and col < cols:
        tile[ty, tx] = inp[row, col]
    # 2. a warp stores along a row of out
    # FILL (about 5 lines)
    cuda.syncthreads()  # the tile is full before anyone reads it
    below = cuda.blockIdx.y * cuda.blockDim.y + tx  # row of inp: now it goes with the lane
    right = cuda.blockIdx.x * cuda.blockDim.x + ty  # column of inp: the same for a warp
    if below < rows and right < cols:
        out[cols - 1 - right, rows - 1 - below] = tile[tx, ty]


def _matrix(rows, cols, unit=1, seed=0):
    """Whole numbers; larger by `unit`, beyond what narrower tiles hold."""
    return (scattered((rows, cols), seed=rows + 3 * cols + seed) * np.float32(unit),)


def _cases():
    """Six full tiles with their budget; one row, one column, ragged sizes, more blocks."""
    clean = Budget(sectors_per_request=4, requests={"inp": 192, "out": 192}, shared_bytes=4224)
    yield Case(partial(_matrix, 64, 96), (3, 2), (32, 32), budget=clean)
    for rows, cols in [(40, 35), (1, 70), (70, 1), (33, 97)]:
        data = partial(_matrix, rows, cols, 2.0**64 if cols == 97 else 1)
        yield Case(data, cover((cols, rows), (32, 32)), (32, 32))
    yield Case(partial(_matrix, 20, 32), (1, 2), (32, 32))
    half_warps = Budget(extra=None, shared_bytes=4224)  # of 16 lanes, two rows: no pad is clean
    yield Case(partial(_matrix, 45, 37), (3, 3), (16, 16), budget=half_warps)


def _fresh(draw):
    """Full tiles, held to the budget of the first case; a ragged matrix of large elements."""
    rows, cols = 32 * draw.size(1, 3), 32 * draw.size(1, 3)
    data = partial(_matrix, rows, cols, seed=draw.numbers())
    yield Case(data, (cols // 32, rows // 32), (32, 32), like=0)
    rows, cols, n = draw.size(1, 80), draw.size(1, 80), draw.one_of(8, 16, 32)
    data = partial(_matrix, rows, cols, 2.0**64, draw.numbers())
    yield Case(data, cover((cols, rows), (n, n)), (n, n), like=None if n == 32 else 6)


EXERCISE = Exercise(
    name="ex03_flip",
    chapter="20_transpose",
    title="A transpose over the other diagonal",
    specification=lambda inp: np.ascontiguousarray(inp[::-1, ::-1].T),
    solution=flip_over,
    wrong=(
        Wrong(
            "Nobody waits until the tile is full.", {"cuda.syncthreads()": ""}, ("findings", "race")
        ),
        Wrong(
            "Rows of 32 elements: the lanes that read a column queue for one bank.",
            {"tile =": "tile = cuda.shared.array((32, 32), float32)"},
            ("wavefronts", "32-way"),
        ),
        Wrong(
            "Row and column of the load are kept for the store: the published slip, "
            "blocks stay put.",
            {"below =": "below = row", "right =": "right = col"},
            ("output", "wrong"),
        ),
        Wrong(
            "Right, but each thread stores the element that it loaded: lanes store down a column.",
            {
                "if below": "if row < rows and col < cols:",
                "out[cols": "out[cols - 1 - col, rows - 1 - row] = inp[row, col]",
            },
            ("sectors", "18 per request; budget 4"),
        ),
        Wrong(
            "The store has no guard: below 0, an index counts from the end, onto elements of "
            "others.",
            {"if below": "if True:"},
            ("output", "is nan"),
        ),
        Wrong(
            "32 is taken for granted: of blocks of 16 x 16, each would store beside its place.",
            {
                "below =": "below = cuda.blockIdx.y * 32 + tx",
                "right =": "right = cuda.blockIdx.x * 32 + ty",
            },
            ("output", "block (16, 16)"),
        ),
        Wrong(
            "The plain transpose: a square of one value on either diagonal would not show it.",
            {"out[cols": "out[right, below] = tile[tx, ty]"},
            ("output", "wrong"),
        ),
    ),
    cases=tuple(_cases()),
    fresh=_fresh,
    hints=(
        "The lanes of a warp are to stand side by side in out. A row of out comes from a column of "
        "inp: so the lane now counts rows of inp, and the warp has one column.",
        "Row of inp: the block's first row plus tx. Column: the block's first column plus ty. In "
        "the tile that is the element [tx, ty]; before it is read, all threads must have stored. "
        "On which side can an index leave the array once cols - 1 - x is formed?",
        "Barrier; below = first row of the block + tx; right = first column + ty; a guard with "
        "both; the store goes to row cols - 1 - right and column rows - 1 - below.",
    ),
    budget=Budget(shared_bytes=4224),
)
