"""A quarter turn to the right, of doubles, without a pad."""

# mypy: disable-error-code="attr-defined"

from functools import partial

import numpy as np
from numba import cuda, float64

from ..exercise import Budget, Case, Exercise, Wrong, cover, scattered


@cuda.jit
def turn_right(out, inp):
    """A quarter turn to the right: out = np.rot90(inp, -1).  32 x 32 doubles per block."""
    # FILL (about 11 lines)
    tile = cuda.shared.array((32, 32), float64)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    rows, cols = inp.shape
    top, left = cuda.blockIdx.y * 32, cuda.blockIdx.x * 32  # the tile's corner in inp
    for y in range(ty, 32, cuda.blockDim.y):
        if top + y < rows and left + tx < cols:
            tile[y, tx ^ y] = inp[top + y, left + tx]
    cuda.syncthreads()  # the tile is full before anyone reads it
    for x in range(ty, 32, cuda.blockDim.y):  # column x of the tile becomes a row, backwards
        if left + x < cols and top + tx < rows:
            out[left + x, rows - 1 - top - tx] = tile[tx, x ^ tx]


def _matrix(rows, cols, unit=1, seed=0):
    """Whole numbers of up to 13 digits, which neither float32 nor int32 holds; larger by `unit`."""
    seed += rows + 3 * cols
    return (unit * scattered((rows, cols), seed, low=-(10**13), high=10**13, dtype=np.float64),)


def _cases():
    """Six full tiles with their budget; one row, one column, ragged sizes, other blocks."""
    clean = Budget(sectors_per_request=8, requests={"inp": 192, "out": 192}, shared_bytes=8192)
    yield Case(partial(_matrix, 64, 96), (3, 2), (32, 8), budget=clean)
    for rows, cols, high in [(40, 35, 8), (1, 70, 8), (70, 1, 8), (33, 65, 4), (33, 65, 16)]:
        data = partial(_matrix, rows, cols, 2.0**60 if high == 16 else 1)  # above any int64
        yield Case(data, cover((cols, rows), (32, 32)), (32, high))


def _fresh(draw):
    """Full tiles, held to the budget of the first case; a ragged matrix of large elements."""
    for like, edge, unit in ((0, 32, 1), (None, 1, 2.0**60)):
        rows, cols = (edge * draw.size(1, 96 // edge) for _ in range(2))
        grid, block = cover((cols, rows), (32, 32)), (32, draw.one_of(4, 8, 16))
        yield Case(partial(_matrix, rows, cols, unit, draw.numbers()), grid, block, like=like)


EXERCISE = Exercise(
    name="ex04b_turn",
    chapter="24_checkpoint",
    title="A quarter turn of doubles",
    specification=lambda inp: np.rot90(inp, -1).copy(),
    solution=turn_right,
    wrong=(
        Wrong(
            "Neither pad nor swizzle: half a warp at a time meets in one pair of banks.",
            {
                "tile[y": "tile[y, tx] = inp[top + y, left + tx]",
                "out[left": "out[left + x, rows - 1 - top - tx] = tile[tx, x]",
            },
            ("wavefronts", "16-way"),
        ),
        Wrong(
            "No conflict, but a pad of a double per row takes 256 bytes more.",
            {
                "tile =": "tile = cuda.shared.array((32, 33), float64)",
                "tile[y": "tile[y, tx] = inp[top + y, left + tx]",
                "out[left": "out[left + x, rows - 1 - top - tx] = tile[tx, x]",
            },
            ("shared", "8448 bytes of shared memory per block; budget 8192"),
        ),
        Wrong(
            "The shift goes round after 8 rows: of 16 lanes of a phase, two meet.",
            {
                "tile[y": "tile[y, tx ^ (y % 8)] = inp[top + y, left + tx]",
                "out[left": "out[left + x, rows - 1 - top - tx] = tile[tx, x ^ (tx % 8)]",
            },
            ("wavefronts", "2-way"),
        ),
        Wrong(
            "Blocks of 8 rows are taken for granted: a block of 4 leaves rows out.",
            {"for y": "for y in range(ty, 32, 8):", "for x": "for x in range(ty, 32, 8):"},
            ("output", "block (32, 4)"),
        ),
        Wrong(
            "A tile of float32: a double leaves the lower half of its digits there.",
            {"tile =": "tile = cuda.shared.array((32, 32), np.float32)"},
            ("output", "wrong"),
        ),
        Wrong(
            "The other way round: a quarter turn to the left.",
            {"out[left": "out[cols - 1 - left - x, top + tx] = tile[tx, x ^ tx]"},
            ("output", "wrong"),
        ),
        Wrong(
            "Nobody waits until the tile is full.", {"cuda.syncthreads()": ""}, ("findings", "race")
        ),
        Wrong(
            "Right, but without a tile: the stores go down the columns of out.",
            {
                "tile[y": "out[left + tx, rows - 1 - top - y] = inp[top + y, left + tx]",
                "out[left": "pass",
            },
            ("sectors", "20 per request; budget 8"),
        ),
    ),
    cases=tuple(_cases()),
    fresh=_fresh,
    hints=(
        "It is the transpose of several rows per thread, with one index of out counted backwards. "
        "Which one: where does the first row of inp go?",
        "The first row of inp becomes the last column of out, rows - 1. The tile may have no pad: "
        "exchange the columns of each row, as in the chapter before.",
        "Loop over rows y from ty, guarded: tile row y, column tx xor y. Barrier. Loop over "
        "columns x from ty, guarded: out's row is left + x, its column counts back from rows - 1 "
        "by top and tx; the tile's row is tx, its column x xor tx.",
    ),
    budget=Budget(shared_bytes=8192),
)
