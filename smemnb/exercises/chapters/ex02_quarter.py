"""A quarter turn of an image of bytes: a pitch counted in words."""

# mypy: disable-error-code="attr-defined"

from functools import partial

import numpy as np
from numba import cuda, uint8

from ..exercise import Budget, Case, Exercise, Wrong, cover, scattered

BYTES_PITCH = 36  # 9 words from row to row: an odd number


@cuda.jit
def quarter_turn(out, inp):
    """A quarter turn of an image of bytes: out = np.rot90(inp).  32 x 32 bytes per block."""
    tile = cuda.shared.array((32, BYTES_PITCH), uint8)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    rows, cols = inp.shape
    top, left = cuda.blockIdx.y * 32, cuda.blockIdx.x * 32  # the block's corner in inp
    for r in range(ty, 32, cuda.blockDim.y):
        if top + r < rows and left + tx < cols:
            tile[r, tx] = inp[top + r, left + tx]
    cuda.syncthreads()  # the tile is full before anyone reads it
    for c in range(ty, 32, cuda.blockDim.y):  # column c of the tile, from top to bottom
        if top + tx < rows and left + c < cols:
            # FILL (about 1 line)
            out[cols - 1 - left - c, top + tx] = tile[tx, c]


def _image(rows, cols, seed=0):
    seed += rows + cols
    return (scattered((rows, cols), seed=seed, low=0, high=254, dtype=np.uint8),)


def _turn_cases():
    """Six full tiles with their budget; one row, one column, ragged sizes, other blocks."""
    clean = Budget(sectors_per_request=1, requests={"inp": 192, "out": 192}, shared_bytes=1152)
    yield Case(partial(_image, 64, 96), grid=(3, 2), block=(32, 8), budget=clean)
    for rows, cols, high in [(40, 35, 8), (1, 70, 8), (70, 1, 8), (45, 83, 4), (45, 83, 32)]:
        yield Case(partial(_image, rows, cols), cover((cols, rows), (32, 32)), block=(32, high))


def _fresh(draw):
    """Full tiles, held to the budget of the first case; a ragged image."""
    for like, unit in ((0, 32), (None, 1)):
        rows, cols = (unit * draw.size(1, 96 // unit) for _ in range(2))
        grid, block = cover((cols, rows), (32, 32)), (32, draw.one_of(4, 8, 16, 32))
        yield Case(partial(_image, rows, cols, draw.numbers()), grid, block, like=like)


EXERCISE = Exercise(
    name="ex02_quarter",
    chapter="15_rows_and_columns",
    title="A quarter turn of an image of bytes",
    specification=lambda inp: np.rot90(inp).copy(),
    solution=quarter_turn,
    wrong=(
        Wrong(
            "No pad: 8 words from row to row.",
            {"tile =": "tile = cuda.shared.array((32, 32), uint8)"},
            ("wavefronts", "8-way"),
        ),
        Wrong(
            "A pad of one element, as for float32: one byte, a quarter of a word.",
            {"tile =": "tile = cuda.shared.array((32, 33), uint8)"},
            ("wavefronts", "2-way"),
        ),
        Wrong(
            "No conflict, but each byte takes a word of the tile.",
            {"tile =": "tile = cuda.shared.array((32, 33), np.int32)"},
            ("shared", "4224 bytes of shared memory per block"),
        ),
        Wrong(
            "Rows and columns exchanged without turning: the picture is mirrored.",
            {"out[cols": "out[left + c, top + tx] = tile[tx, c]"},
            ("output", "wrong"),
        ),
        Wrong(
            "The last column is cols - 1, not cols: all rows come one too low, the first is empty.",
            {"out[cols": "out[cols - left - c, top + tx] = tile[tx, c]"},
            ("output", "out[0, 0] was not written"),
        ),
        Wrong(
            "Right, but without a tile: the stores go down the columns of out.",
            {
                "tile[r": "out[cols - 1 - left - tx, top + r] = inp[top + r, left + tx]",
                "out[cols": "pass",
            },
            ("sectors", "16.5 per request; budget 1"),
        ),
    ),
    cases=tuple(_turn_cases()),
    fresh=_fresh,
    hints=(
        "In np.rot90, the last column of inp, cols - 1, becomes row 0 of out. The lanes of a "
        "warp now stand one below the other in the tile and side by side in out.",
        "The store: row `cols - 1 - ` (the column in inp), column `top + tx`; the value is "
        "the tile's element in row tx. For the pitch count in words: 32 bytes are 8 of them.",
        "The tile's rows need an odd number of words, 9: how many bytes is that? The column "
        "in inp is left + c.",
    ),
    budget=Budget(shared_bytes=1152),
)
