"""An exercise from an empty signature, as chapters end with one: all lines are the learner's.

It stands here, and not among the exercises of the package, because each of those has its stub in a
cell of its chapter.
"""

# mypy: disable-error-code="attr-defined"

from functools import partial

import numpy as np
from numba import cuda, float32

from smemnb.exercises.exercise import Budget, Case, Exercise, Wrong, cover, scattered


@cuda.jit
def running_sums(out, inp):
    """Running sums in pieces of 32 columns: out[i, j] = inp[i, 32 * (j // 32)] + ... + inp[i, j].

    A block of (32, n) threads has 32 rows of one piece; out and inp have the same shape.
    """
    # FILL (about 17 lines)
    tile = cuda.shared.array((32, 33), float32)  # an odd pitch: a column visits 32 banks
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    rows, cols = inp.shape
    top, left = cuda.blockIdx.y * 32, cuda.blockIdx.x * 32
    for y in range(ty, 32, cuda.blockDim.y):
        if top + y < rows and left + tx < cols:
            tile[y, tx] = inp[top + y, left + tx]
    cuda.syncthreads()  # the tile is full before anyone adds
    if ty == 0 and top + tx < rows:
        acc = float32(0)
        for k in range(min(32, cols - left)):  # a thread walks along a row, a warp down a column
            acc += tile[tx, k]
            tile[tx, k] = acc
    cuda.syncthreads()  # all sums are there before anyone stores them
    for y in range(ty, 32, cuda.blockDim.y):
        if top + y < rows and left + tx < cols:
            out[top + y, left + tx] = tile[y, tx]


def _matrix(rows, cols, unit=1, seed=0):
    """Whole numbers; larger by `unit`, beyond what narrower tiles hold."""
    return (scattered((rows, cols), seed=rows + 3 * cols + seed) * np.float32(unit),)


def _sums(inp):
    pieces = [np.cumsum(inp[:, j : j + 32], axis=1) for j in range(0, inp.shape[1], 32)]
    return np.concatenate(pieces, axis=1).astype(inp.dtype)


def _cases():
    """Six full tiles with their budget; one row, one column, ragged sizes, other blocks."""
    clean = Budget(sectors_per_request=4, requests={"inp": 192, "out": 192}, shared_bytes=4224)
    yield Case(partial(_matrix, 64, 96), (3, 2), (32, 8), budget=clean)
    for rows, cols, high in [(40, 35, 8), (1, 70, 8), (70, 1, 4), (33, 97, 16)]:
        data = partial(_matrix, rows, cols, 2.0**64 if cols == 97 else 1)
        yield Case(data, cover((cols, rows), (32, 32)), (32, high))


def _fresh(draw):
    """Full tiles, held to the budget of the first case; a ragged matrix of large elements."""
    for like, edge, unit in ((0, 32, 1), (None, 1, 2.0**64)):
        rows, cols = (edge * draw.size(1, 96 // edge) for _ in range(2))
        grid, block = cover((cols, rows), (32, 32)), (32, draw.one_of(4, 8, 16))
        yield Case(partial(_matrix, rows, cols, unit, draw.numbers()), grid, block, like=like)


EXERCISE = Exercise(
    name="ex02_running",
    chapter="14_banks",
    title="Running sums in pieces of 32 columns",
    specification=_sums,
    solution=running_sums,
    wrong=(
        Wrong(
            "Rows of 32 elements: the lanes that walk along their rows queue for one bank.",
            {"tile = ": "tile = cuda.shared.array((32, 32), float32)"},
            ("wavefronts", "32-way"),
        ),
        Wrong(
            "Nobody waits until the tile is full.",
            {"cuda.syncthreads()  # the tile": ""},
            ("findings", "race"),
        ),
        Wrong(
            "Nobody waits until all sums are there.",
            {"cuda.syncthreads()  # all sums": ""},
            ("findings", "race"),
        ),
        Wrong(
            "Each thread adds along its row of inp, where lanes lie a row apart.",
            {"acc += tile": "acc += inp[top + tx, left + k]"},
            ("sectors", "32 per request; budget 4"),
        ),
        Wrong(
            "The sum of what lies before each element, without itself.",
            {
                "acc += tile": "before = acc\nacc += tile[tx, k]",
                "tile[tx, k] =": "tile[tx, k] = before",
            },
            ("output", "wrong"),
        ),
        Wrong(
            "All 32 columns of the last piece are added, also those that nobody brought in.",
            {"for k": "for k in range(32):"},
            ("findings", "stale"),
        ),
        Wrong(
            "Rows without a guard: the last tile stores past the matrix.",
            {"if top + y < rows": "if left + tx < cols:"},
            ("findings", "out of range"),
        ),
    ),
    cases=tuple(_cases()),
    fresh=_fresh,
    hints=(
        "A sum that runs along a row is made by one thread, element after element. Where is the "
        "row to lie so that neither the loads of inp nor the steps of 32 such threads are dear?",
        "Three parts with a barrier between them: all warps bring the tile in row by row, one warp "
        "adds, a lane to each row of the tile, all warps store it row by row. Which pitch serves a "
        "warp that goes down a column?",
        "A tile of 32 rows of 33 words; a loop over its rows in steps of blockDim.y with both "
        "guards; a barrier; in the warps of ty 0 a loop over the columns that there are, adding up "
        "and putting the sum back; a barrier; the first loop again, from the tile to out.",
    ),
    budget=Budget(shared_bytes=4224),
)
