"""The largest of each element and its eight neighbours: a tile with a halo on all four sides."""

# mypy: disable-error-code="attr-defined"

from functools import partial

import numpy as np
from numba import cuda, float32

from ..exercise import Budget, Case, Exercise, Wrong, cover, scattered, sizes


@cuda.jit
def grown(out, inp):
    """The largest of each element and its 8 neighbours, in blocks of 32 x 8 threads at most."""
    tile = cuda.shared.array((10, 34), float32)  # an element more than a block on each side
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    rows, cols = inp.shape
    # FILL (about 6 lines)
    for y in range(ty, cuda.blockDim.y + 2, cuda.blockDim.y):
        for x in range(tx, cuda.blockDim.x + 2, cuda.blockDim.x):
            from_row = min(max(row - ty + y - 1, 0), rows - 1)
            from_col = min(max(col - tx + x - 1, 0), cols - 1)
            tile[y, x] = inp[from_row, from_col]
    cuda.syncthreads()  # the tile is full before anyone reads it
    if row < out.shape[0] and col < out.shape[1]:
        best = tile[ty, tx]
        for i in range(3):
            for j in range(3):
                best = max(best, tile[ty + i, tx + j])
        out[row, col] = best


def _picture(rows, cols, seed=0, unit=1):
    """Whole numbers below 0, larger by `unit`: a 0 from nowhere would be the largest."""
    data = scattered((rows, cols), rows + cols + seed, low=-999, high=-1)
    return (data * np.float32(unit),)


def _largest(inp):
    """The largest of nine pictures that are moved by one element."""
    wide = np.pad(inp, 1, mode="edge")
    rows, cols = inp.shape
    moved = [wide[i : i + rows, j : j + cols] for i in range(3) for j in range(3)]
    return np.max(moved, axis=0)


def _cases():
    """Whole blocks with their budget; one row, one column, edges, blocks to spare."""
    once = Budget(
        requests={"out": 64, "inp": 160},
        sectors={"out": 256, "inp": 480},  # a row of a tile begins inside a sector
        shared_bytes=1360,
        barriers=1,
    )
    yield Case(partial(_picture, 32, 64), (2, 4), (32, 8), budget=once)
    shapes = [(1, 70), (13, 1), (40, 35), (9, 97), sizes(2, seed=52, low=2, high=90)]
    for number, (rows, cols) in enumerate(shapes):
        data = partial(_picture, rows, cols, unit=2.0**40 if number == 0 else 1)
        block = ((32, 8), (32, 4), (32, 6), (32, 2), (32, 1))[number]
        across, down = cover((cols, rows), block)
        yield Case(data, (across + number % 2, down), block)


def _fresh(draw):
    """Whole blocks, held to the budget of the first case; a ragged picture of large numbers."""
    high, wide = draw.size(1, 6), draw.size(1, 3)
    data = partial(_picture, 8 * high, 32 * wide, draw.numbers())
    yield Case(data, (wide, high), (32, 8), like=0)
    rows, cols, block = draw.size(2, 60), draw.size(2, 90), draw.one_of((32, 4), (32, 2), (32, 6))
    data = partial(_picture, rows, cols, draw.numbers(), 2.0**40)
    yield Case(data, cover((cols, rows), block), block)


EXERCISE = Exercise(
    name="ex52_grown",
    chapter="52_stencil",
    title="The largest of nine neighbours",
    specification=_largest,
    solution=grown,
    wrong=(
        Wrong(
            "Nobody waits until the tile is full.",
            {"cuda.syncthreads()": ""},
            ("findings", "race"),
        ),
        Wrong(
            "A thread loads its own element alone: nobody loads the halo.",
            {
                "for y": "for y in range(ty + 1, ty + 2):",
                "for x": "for x in range(tx + 1, tx + 2):",
            },
            ("output", "wrong"),
        ),
        Wrong(
            "The tile begins at the block's first element: all neighbours are a place off.",
            {
                "from_row =": "from_row = min(max(row - ty + y, 0), rows - 1)",
                "from_col =": "from_col = min(max(col - tx + x, 0), cols - 1)",
            },
            ("output", "wrong"),
        ),
        Wrong(
            "Beyond an edge stands 0, which is larger than all elements.",
            {
                "from_row =": "from_row = row - ty + y - 1",
                "from_col =": "from_col = col - tx + x - 1",
                "tile[y, x] = inp": "tile[y, x] = 0\n"
                "if 0 <= from_row < rows and 0 <= from_col < cols:\n"
                "    tile[y, x] = inp[from_row, from_col]",
            },
            ("output", "wrong"),
        ),
        Wrong(
            "Places beyond the edges are read.",
            {
                "from_row =": "from_row = row - ty + y - 1",
                "from_col =": "from_col = col - tx + x - 1",
            },
            ("output", "wrong"),
        ),
        Wrong(
            "The place of a column is held to the number of rows.",
            {"from_col =": "from_col = min(max(col - tx + x - 1, 0), rows - 1)"},
            ("output", "wrong"),
        ),
        Wrong(
            "Right, but every thread loads all nine of its neighbours into the tile.",
            {
                "for y": "for y in range(ty, ty + 3):",
                "for x": "for x in range(tx, tx + 3):",
            },
            ("sectors", "budget"),
        ),
        Wrong(
            "Right, but a warp loads a row of the tile element by element.",
            {
                "for x": "for x in range(cuda.blockDim.x + 2):",
            },
            ("sectors", "budget"),
        ),
    ),
    cases=tuple(_cases()),
    fresh=_fresh,
    hints=(
        "What the block reads has a row and a column more on each side: 34 columns and 10 rows for "
        "32 columns and 8 rows of threads. So some threads load more than one element.",
        "Two loops, over rows y of the tile from ty on, in steps of as many rows as the block has, "
        "and over columns x from tx on, in steps of its columns. Element (y, x) of the tile is one "
        "row above and one column left of element (y, x) of the block. Beyond an edge, take the "
        "nearest element there is.",
        "The block begins at row - ty and col - tx. From the row that is read, subtract 1; hold it "
        "between 0 and rows - 1 with min and max. The same for the column. Load, store into the "
        "tile; behind both loops a barrier.",
    ),
    budget=Budget(shared_bytes=1360, barriers=1),
)
