"""A transpose through tiles of 16 x 16, read and stored by warps of two rows."""

# mypy: disable-error-code="attr-defined"

from functools import partial

import numpy as np
from numba import cuda, float32

from ..exercise import Budget, Case, Exercise, Wrong, cover, scattered


@cuda.jit
def transpose_small(out, inp):
    """out = inp.T, through tiles of 16 x 16 without a pad.  Blocks of 16 x 16 or of fewer rows."""
    # FILL (about 11 lines)
    tile = cuda.shared.array((16, 16), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    rows, cols = inp.shape
    top, left = cuda.blockIdx.y * 16, cuda.blockIdx.x * 16  # the tile's corner in inp
    for y in range(ty, 16, cuda.blockDim.y):
        if top + y < rows and left + tx < cols:
            tile[y, tx ^ y] = inp[top + y, left + tx]
    cuda.syncthreads()  # the tile is full before anyone reads it
    for x in range(ty, 16, cuda.blockDim.y):  # column x of the tile, from top to bottom
        if left + x < cols and top + tx < rows:
            out[left + x, top + tx] = tile[tx, x ^ tx]


def _matrix(rows, cols, unit=1, seed=0):
    """Whole numbers; larger by `unit`, beyond what narrower tiles hold."""
    return (scattered((rows, cols), seed=rows + 3 * cols + seed) * np.float32(unit),)


def _cases():
    """Six full tiles with their budget; one row, one column, ragged sizes, other blocks."""
    clean = Budget(sectors_per_request=4, requests={"inp": 48, "out": 48}, shared_bytes=1024)
    yield Case(partial(_matrix, 32, 48), (3, 2), (16, 16), budget=clean)
    for rows, cols, high in [(40, 35, 16), (40, 35, 8), (1, 50, 16), (37, 1, 4), (33, 17, 8)]:
        data = partial(_matrix, rows, cols, 2.0**64 if rows == 33 else 1)
        yield Case(data, cover((cols, rows), (16, 16)), (16, high))


def _fresh(draw):
    """Full tiles, held to the budget of the first case; a ragged matrix of large elements."""
    for like, edge, unit in ((0, 16, 1), (None, 1, 2.0**64)):
        rows, cols = (edge * draw.size(1, 64 // edge) for _ in range(2))
        data = partial(_matrix, rows, cols, unit, draw.numbers())
        yield Case(data, cover((cols, rows), (16, 16)), (16, draw.one_of(4, 8, 16)), like=like)


EXERCISE = Exercise(
    name="ex23_blocks",
    chapter="23_layouts",
    title="A transpose through tiles of 16 x 16",
    specification=lambda inp: np.ascontiguousarray(inp.T),
    solution=transpose_small,
    wrong=(
        Wrong(
            "No layout: 16 words from row to row, so eight rows meet in a bank.",
            {
                "tile[y": "tile[y, tx] = inp[top + y, left + tx]",
                "out[left": "out[left + x, top + tx] = tile[tx, x]",
            },
            ("wavefronts", "8-way"),
        ),
        Wrong(
            "The shift of a narrow tile, whose warps read 32 rows of one column: here they read 16 "
            "rows of two columns, which meet.",
            {
                "tile[y": "tile[y, tx ^ (y // 2)] = inp[top + y, left + tx]",
                "out[left": "out[left + x, top + tx] = tile[tx, x ^ (tx // 2)]",
            },
            ("wavefronts", "2-way"),
        ),
        Wrong(
            "A pad of one word per row: the store meets itself across two rows.",
            {
                "tile =": "tile = cuda.shared.array((16, 17), float32)",
                "tile[y": "tile[y, tx] = inp[top + y, left + tx]",
                "out[left": "out[left + x, top + tx] = tile[tx, x]",
            },
            ("wavefronts", "2-way"),
        ),
        Wrong(
            "Stored with the xor, but read without it.",
            {"out[left": "out[left + x, top + tx] = tile[tx, x]"},
            ("output", "wrong"),
        ),
        Wrong(
            "The block keeps its place: only the elements in it change theirs.",
            {
                "if left + x": "if top + x < cols and left + tx < rows:",
                "out[left": "out[top + x, left + tx] = tile[tx, x ^ tx]",
            },
            ("output", "wrong"),
        ),
        Wrong(
            "Blocks of 16 rows are taken for granted: a block of 8 leaves rows out.",
            {"for y": "for y in range(ty, 16, 16):", "for x": "for x in range(ty, 16, 16):"},
            ("output", "block (16, 8)"),
        ),
        Wrong(
            "Nobody waits until the tile is full.", {"cuda.syncthreads()": ""}, ("findings", "race")
        ),
        Wrong(
            "Right, but without a tile: the stores go down the columns of out.",
            {
                "tile[y": "out[left + tx, top + y] = inp[top + y, left + tx]",
                "out[left": "pass",
            },
            ("sectors", "per request; budget 4"),
        ),
    ),
    cases=tuple(_cases()),
    fresh=_fresh,
    hints=(
        "A transpose with a tile, and a block that changes places with another. What is new is "
        "where the tile keeps an element: describe its store and its load to the solver first.",
        "A warp stores two rows, and reads two columns. The solver's swizzle moves an element by "
        "some bits of its row number, from `base` on; a simpler one takes all four.",
        "Xor the column with the row. The store does so with column tx of row y, the load with "
        "column x of row tx; out's row is left + x, its column top + tx. Both loops begin at ty.",
    ),
    budget=Budget(shared_bytes=1024),
)
