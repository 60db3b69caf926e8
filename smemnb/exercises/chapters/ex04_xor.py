"""A transpose through tiles of 32 x 64 elements, no byte to spare."""

# mypy: disable-error-code="attr-defined"

from functools import partial

import numpy as np
from numba import cuda, float32

from ..exercise import Budget, Case, Exercise, Wrong, cover, scattered

HIGH, WIDE = 32, 64


@cuda.jit
def transpose_long(out, inp):
    """out = inp.T, through tiles of 32 rows and 64 columns.  Blocks of 32 x 8 or others."""
    tile = cuda.shared.array((HIGH, WIDE), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    rows, cols = inp.shape
    top, left = cuda.blockIdx.y * HIGH, cuda.blockIdx.x * WIDE  # the tile's corner in inp
    for y in range(ty, HIGH, cuda.blockDim.y):
        for x in range(tx, WIDE, 32):
            if top + y < rows and left + x < cols:
                # FILL (about 1 line)
                tile[y, x ^ y] = inp[top + y, left + x]
    cuda.syncthreads()  # the tile is full before anyone reads it
    for x in range(ty, WIDE, cuda.blockDim.y):  # column x of the tile, from top to bottom
        if left + x < cols and top + tx < rows:
            # FILL (about 1 line)
            out[left + x, top + tx] = tile[tx, x ^ tx]


def _matrix(rows, cols, unit=1, seed=0):
    """Whole numbers; larger by `unit`, beyond what narrower tiles hold."""
    return (scattered((rows, cols), seed=rows + 3 * cols + seed) * np.float32(unit),)


def _cases():
    """Four full tiles with their budget; one row, one column, ragged sizes, other blocks."""
    clean = Budget(sectors_per_request=4, requests={"inp": 256, "out": 256}, shared_bytes=8192)
    yield Case(partial(_matrix, 64, 128), (2, 2), (32, 8), budget=clean)
    for rows, cols, high in [(40, 70, 8), (1, 130, 8), (70, 1, 8), (33, 97, 4), (33, 97, 32)]:
        data = partial(_matrix, rows, cols, 2.0**64 if high == 32 else 1)
        yield Case(data, cover((cols, rows), (WIDE, HIGH)), (32, high))


def _fresh(draw):
    """Full tiles, held to the budget of the first case; a ragged matrix of large elements."""
    for like, high, wide, unit in ((0, HIGH, WIDE, 1), (None, 1, 1, 2.0**64)):
        rows, cols = high * draw.size(1, 96 // high), wide * draw.size(1, 128 // wide)
        grid, block = cover((cols, rows), (WIDE, HIGH)), (32, draw.one_of(4, 8, 16, 32))
        yield Case(partial(_matrix, rows, cols, unit, draw.numbers()), grid, block, like=like)


EXERCISE = Exercise(
    name="ex04_xor",
    chapter="22_swizzle",
    title="A transpose through a wide tile, without a pad",
    specification=lambda inp: np.ascontiguousarray(inp.T),
    solution=transpose_long,
    wrong=(
        Wrong(
            "Elements where they would be anyway: 64 words from row to row, a column is one bank.",
            {
                "tile[y": "tile[y, x] = inp[top + y, left + x]",
                "out[left": "out[left + x, top + tx] = tile[tx, x]",
            },
            ("wavefronts", "32-way"),
        ),
        Wrong(
            "The published x ^ (y // width): y is below the width, so nothing moves.",
            {
                "tile[y": "tile[y, x ^ (y // WIDE)] = inp[top + y, left + x]",
                "out[left": "out[left + x, top + tx] = tile[tx, x ^ (tx // WIDE)]",
            },
            ("wavefronts", "32-way"),
        ),
        Wrong(
            "x ^ (y // 2): two rows share a shift, their elements share a bank.",
            {
                "tile[y": "tile[y, x ^ (y // 2)] = inp[top + y, left + x]",
                "out[left": "out[left + x, top + tx] = tile[tx, x ^ (tx // 2)]",
            },
            ("wavefronts", "2-way"),
        ),
        Wrong(
            "Stored at x ^ y, but read at x.",
            {"out[left": "out[left + x, top + tx] = tile[tx, x]"},
            ("output", "wrong"),
        ),
        Wrong(
            "(x + y) % 32: both halves of a row land on the same 32 elements.",
            {
                "tile[y": "tile[y, (x + y) % 32] = inp[top + y, left + x]",
                "out[left": "out[left + x, top + tx] = tile[tx, (x + tx) % 32]",
            },
            ("output", "wrong"),
        ),
        Wrong(
            "No conflict, but a pad word per row takes 128 bytes more.",
            {
                "tile =": "tile = cuda.shared.array((HIGH, 65), float32)",
                "tile[y": "tile[y, x] = inp[top + y, left + x]",
                "out[left": "out[left + x, top + tx] = tile[tx, x]",
            },
            ("shared", "8320 bytes of shared memory per block; budget 8192"),
        ),
    ),
    cases=tuple(_cases()),
    fresh=_fresh,
    hints=(
        "Both lines name the element in row y and column x of the tile. Where is it kept? Decide "
        "once, as a formula of row and column, then use it in both lines.",
        "The column becomes column xor row. Does that leave the row of 64? A row's number is below "
        "32, so the xor exchanges columns within each half.",
        "The first line stores to row y at x ^ y. In the second the row is tx and the column is "
        "still x: xor these two. The row of out is left + x, its column top + tx.",
    ),
    budget=Budget(shared_bytes=8192),
)
