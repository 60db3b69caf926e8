"""One matrix turned, plus another: a transpose through a tile, from its signature."""

# mypy: disable-error-code="attr-defined"

from functools import partial

import numpy as np
from numba import cuda, float32

from ..exercise import Budget, Case, Exercise, Wrong, cover, scattered, sizes


@cuda.jit
def add_turned(out, a, b):
    """One matrix turned, plus another: out = a.T + b.

    Square blocks, up to 32 x 32.  The grid covers out: x goes along its columns, y along its rows.
    """
    # FILL (about 9 lines)
    tile = cuda.shared.array((32, 33), float32)
    tx, ty, n = cuda.threadIdx.x, cuda.threadIdx.y, cuda.blockDim.x
    a_row, a_col = cuda.blockIdx.x * n + ty, cuda.blockIdx.y * n + tx
    if a_row < a.shape[0] and a_col < a.shape[1]:
        tile[ty, tx] = a[a_row, a_col]
    cuda.syncthreads()  # the tile is full before anyone reads it
    col, row = cuda.grid(2)
    if row < out.shape[0] and col < out.shape[1]:
        out[row, col] = tile[tx, ty] + b[row, col]


SMALL = Budget(extra=None, shared_bytes=4224)  # of blocks whose warps have several rows of a tile


def _matrices(rows, cols, unit=1, seed=0):
    """Whole numbers; larger by `unit`, beyond what narrower tiles hold."""
    a = scattered((cols, rows), seed=3 * rows + cols + seed) * np.float32(unit)
    return a, scattered((rows, cols), seed=rows + 5 * cols + seed) * np.float32(unit)


def _cases():
    """Full tiles with their budget; rows, columns, ragged sizes."""
    once = Budget(
        sectors_per_request=4, requests={"out": 192, "a": 192, "b": 192}, shared_bytes=4224
    )
    yield Case(partial(_matrices, 64, 96), (3, 2), (32, 32), budget=once)
    shapes = [(40, 35), (1, 70), (70, 1), (97, 3), sizes(2, seed=20, low=2, high=90)]
    for number, (rows, cols) in enumerate(shapes):
        data = partial(_matrices, rows, cols, 2.0**64 if number == 0 else 1)
        n = 32 if number % 2 else 16
        yield Case(data, cover((cols, rows), (n, n)), (n, n), budget=None if n == 32 else SMALL)


def _fresh(draw):
    """Full tiles, held to the budget of the first case; a ragged size of large numbers."""
    for like, unit, large in ((0, 32, 1), (None, 1, 2.0**64)):
        rows, cols = (unit * draw.size(1, 96 // unit) for _ in range(2))
        data = partial(_matrices, rows, cols, large, draw.numbers())
        n = 32 if like == 0 else draw.one_of(8, 16, 32)
        budget = None if n == 32 else SMALL
        yield Case(data, cover((cols, rows), (n, n)), (n, n), like=like, budget=budget)


EXERCISE = Exercise(
    name="ex20_added",
    chapter="20_transpose",
    title="One matrix turned, plus another",
    specification=lambda a, b: a.T + b,
    solution=add_turned,
    wrong=(
        Wrong(
            "Right, without a tile: the lanes of a warp read down a column of a.",
            {"out[row": "out[row, col] = a[col, row] + b[row, col]"},
            ("sectors", "per request; budget 4"),
        ),
        Wrong(
            "The tile has no pad: its column lies in one bank.",
            {"tile = cuda": "tile = cuda.shared.array((32, 32), float32)"},
            ("wavefronts", "32-way"),
        ),
        Wrong(
            "Nobody waits until the tile is full.", {"cuda.syncthreads()": ""}, ("findings", "race")
        ),
        Wrong(
            "The block's indices do not change places: it loads the wrong part of a.",
            {
                "a_row, a_col": "a_row, a_col = cuda.blockIdx.y * n + ty, cuda.blockIdx.x * n + tx",
            },
            ("output", "wrong"),
        ),
        Wrong(
            "Reads the tile the way it was stored: nothing is turned.",
            {"out[row": "out[row, col] = tile[ty, tx] + b[row, col]"},
            ("output", "wrong"),
        ),
        Wrong(
            "The guard of the load compares with the sides of out.",
            {"if a_row": "if a_row < out.shape[0] and a_col < out.shape[1]:"},
            ("output", "wrong"),
        ),
    ),
    cases=tuple(_cases()),
    fresh=_fresh,
    hints=(
        "Which rectangle of `a` does a block need for its rectangle of `out`? Load that one along "
        "its rows into a tile, wait, and read the tile down its columns.",
        "The block in column x and row y of the grid makes that part of `out`. In `a` the same "
        "part lies in block row x and block column y. Rows of a tile that is read down its "
        "columns have an odd number of words.",
        "With blocks of n x n the row in `a` is `cuda.blockIdx.x * n + ty`, the column "
        "`cuda.blockIdx.y * n + tx`, with a "
        "guard for both; then the barrier. For `out`, `cuda.grid(2)` gives column and row; add the "
        "element of the tile with its two indices exchanged to that of `b`.",
    ),
    budget=Budget(shared_bytes=4224),  # ragged rows begin inside a sector: no bound on them
)
