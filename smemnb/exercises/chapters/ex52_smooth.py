"""Sums of 3x3 elements from an empty signature: a thread walks down its column."""

# mypy: disable-error-code="attr-defined"

from functools import partial

import numpy as np
from numba import cuda, float32

from ..exercise import Budget, Case, Exercise, Wrong, scattered, sizes

ROWS = 16


@cuda.jit
def smooth(out, inp):
    """The sum of each element and its 8 neighbours, 0 beyond the edges.

    Blocks have up to 128 threads along x, one for each column, and make 16 rows.
    """
    # FILL (about 18 lines)
    line = cuda.shared.array(130, float32)  # a row, with an element more on each side
    tx, col = cuda.threadIdx.x, cuda.grid(1)
    rows, cols = inp.shape
    row0 = cuda.blockIdx.y * 16
    above, here = float32(0), float32(0)
    for y in range(row0 - 1, min(row0 + 16, rows) + 1):
        for x in range(tx, cuda.blockDim.x + 2, cuda.blockDim.x):
            from_col = col - tx + x - 1
            value = float32(0)
            if 0 <= y < rows and 0 <= from_col < cols:
                value = inp[y, from_col]
            line[x] = value
        cuda.syncthreads()  # the row is complete before anyone reads it
        three = line[tx] + line[tx + 1] + line[tx + 2]
        if y > row0 and col < cols:
            out[y - 1, col] = above + here + three
        above, here = here, three
        cuda.syncthreads()  # everyone has read the row before the next one takes its place


def _picture(rows, cols, seed=0, unit=1):
    data = scattered((rows, cols), rows + cols + seed, low=-30, high=30)
    return (data * np.float32(unit),)


def _sums(inp):
    """The sum of nine pictures that are moved by one element."""
    wide = np.pad(inp, 1)
    rows, cols = inp.shape
    moved = [wide[i : i + rows, j : j + cols] for i in range(3) for j in range(3)]
    return np.sum(moved, axis=0)


def _blocks(rows, cols, threads):
    return -(-cols // threads), -(-rows // ROWS)


def _cases():
    """Whole blocks with their budget; one row, one column, ragged edges, blocks to spare."""
    once = Budget(
        requests={"out": 128},
        sectors={"out": 512, "inp": 748},  # a row begins inside a sector
        shared_loads=432,
        barriers=36,
    )
    yield Case(partial(_picture, 32, 128), (2, 2), (64,), budget=once)
    shapes = [(1, 70), (37, 1), (16, 63), (17, 65), sizes(2, seed=53, low=2, high=90)]
    for number, (rows, cols) in enumerate(shapes):
        data = partial(_picture, rows, cols, unit=2.0**40 if number == 0 else 1)
        threads = (64, 32, 96, 128, 64)[number]
        across, down = _blocks(rows, cols, threads)
        yield Case(data, (across, down + number % 2), (threads,))


def _fresh(draw):
    """Whole blocks, held to the budget of the first case; a ragged picture of large numbers."""
    down, across = draw.size(2, 3), draw.size(2, 3)
    data = partial(_picture, ROWS * down, 64 * across, draw.numbers())
    yield Case(data, (across, down), (64,), like=0)
    rows, cols, threads = draw.size(2, 50), draw.size(2, 150), draw.one_of(32, 96, 128)
    data = partial(_picture, rows, cols, draw.numbers(), 2.0**40)
    yield Case(data, _blocks(rows, cols, threads), (threads,))


EXERCISE = Exercise(
    name="ex52_smooth",
    chapter="52_stencil",
    title="Sums of nine neighbours, row by row",
    specification=_sums,
    solution=smooth,
    wrong=(
        Wrong(
            "Nobody waits until the row is complete.",
            {"cuda.syncthreads()  # the row": ""},
            ("findings", "race"),
        ),
        Wrong(
            "The next row is stored while other warps still read this one.",
            {"cuda.syncthreads()  # everyone": ""},
            ("findings", "race"),
        ),
        Wrong(
            "The halo stays empty: a thread loads its own element alone.",
            {"for x": "for x in range(tx + 1, tx + 2):"},
            ("output", "nan"),
        ),
        Wrong(
            "Beyond an edge stands the nearest element, not 0.",
            {
                "if 0 <=": "if True:",
                "value = inp": "    value = inp[min(max(y, 0), rows - 1), "
                "min(max(from_col, 0), cols - 1)]",
            },
            ("output", "wrong"),
        ),
        Wrong(
            "The row below the block is never added to the last row.",
            {"for y": "for y in range(row0 - 1, min(row0 + 16, rows)):"},
            ("output", "not written"),
        ),
        Wrong(
            "Walks down to the end of the block, below the picture too.",
            {"for y": "for y in range(row0 - 1, row0 + 16 + 1):"},
            ("findings", "out"),
        ),
        Wrong(
            "The sum that moved up is added twice, the one before it not at all.",
            {"above, here = here": "above, here = three, three"},
            ("output", "wrong"),
        ),
        Wrong(
            "Right, but a thread reads the three rows from global memory for each result.",
            {
                "three =": "three = float32(0)\n"
                "for k in range(3):\n"
                "    if 0 <= y < rows and 0 <= col + k - 1 < cols:\n"
                "        three += inp[y, col + k - 1]",
            },
            ("sectors", "budget"),
        ),
    ),
    cases=tuple(_cases()),
    fresh=_fresh,
    hints=(
        "A thread adds three neighbours of a row. Its result is that sum and those of the row "
        "above and the row below. So keep the sums of the last two rows in variables, and go down.",
        "A loop over the rows from one above the block to one below it. In it: load the row with "
        "an element more on each side into shared memory, barrier, add three neighbours, store "
        "the sum of this and of the two rows before, move the two variables on, barrier.",
        "line is a shared array of 130 elements. Its element x is column col - tx + x - 1 of the "
        "picture, or 0. The row that is complete is y - 1; it belongs to the block from y = row0 + "
        "1 on. The loop ends at min(row0 + 16, rows) + 1.",
    ),
    budget=Budget(),
)
