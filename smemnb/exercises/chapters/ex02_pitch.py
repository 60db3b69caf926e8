"""The sum of each row of 24 elements: a pitch without conflict."""

# mypy: disable-error-code="attr-defined"

from functools import partial

import numpy as np
from numba import cuda, float32

from ..exercise import Budget, Case, Exercise, Wrong, cover, scattered, sizes

COLS = 24
PITCH = 25  # elements from row to row: an odd number, so that a column visits 32 banks


@cuda.jit
def row_sums(out, inp):
    """Sum of each row of 24 elements: out[i] = inp[i, 0] + ... + inp[i, 23].  32 rows per block."""
    tile = cuda.shared.array((32, PITCH), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    first = cuda.blockIdx.x * 32  # the block's first row
    for r in range(ty, 32, cuda.blockDim.y):
        if first + r < inp.shape[0] and tx < COLS:
            tile[r, tx] = inp[first + r, tx]
    cuda.syncthreads()  # all rows are staged before anyone adds
    if ty == 0 and first + tx < out.shape[0]:
        acc = float32(0)
        # FILL (about 2 lines)
        for k in range(COLS):
            acc += tile[tx, k]
        out[first + tx] = acc


def _rows_of_24(rows, unit, seed=0):
    return (scattered((rows, COLS), seed=rows + seed) * np.float32(unit),)


def _row_sum_cases():
    """Four full blocks with their budget; one row, ragged, drawn, other blocks, large numbers."""
    staged = Budget(sectors_per_request=4, requests={"inp": 128, "out": 4}, shared_bytes=3200)
    yield Case(partial(_rows_of_24, 128, 1), grid=(4,), block=(32, 8), budget=staged)
    launches = [(n, 8, 1) for n in (1, 31, 33, *sizes(2, seed=2, low=34, high=300))]
    for rows, high, unit in [*launches, (70, 1, 2.0**64), (70, 4, 1)]:
        yield Case(partial(_rows_of_24, rows, unit), cover((rows,), (32,)), block=(32, high))


def _fresh(draw):
    """Full blocks, held to the budget of the first case; a ragged number of rows, large numbers."""
    blocks, high = draw.size(2, 6), draw.one_of(2, 4, 8, 16)
    data = partial(_rows_of_24, 32 * blocks, 1, draw.numbers())
    yield Case(data, (blocks,), (32, high), like=0)
    rows, high = draw.size(2, 300), draw.one_of(1, 2, 4, 8)
    data = partial(_rows_of_24, rows, 2.0**64, draw.numbers())
    yield Case(data, cover((rows,), (32,)), (32, high))


EXERCISE = Exercise(
    name="ex02_pitch",
    chapter="15_rows_and_columns",
    title="Sum of each row of 24 elements",
    specification=lambda inp: inp.sum(axis=1),
    solution=row_sums,
    wrong=(
        Wrong(
            "No pad: 24 words from row to row, 8 rows of a column in each bank.",
            {"tile =": "tile = cuda.shared.array((32, COLS), float32)"},
            ("wavefronts", "8-way"),
        ),
        Wrong(
            "A pad of two words: the pitch stays even, half of the banks stay idle.",
            {"tile =": "tile = cuda.shared.array((32, 26), float32)"},
            ("wavefronts", "2-way"),
        ),
        Wrong(
            "No conflict, but nine words of pad per row where one is enough.",
            {"tile =": "tile = cuda.shared.array((32, 33), float32)"},
            ("shared", "4224 bytes of shared memory per block; budget 3200"),
        ),
        Wrong(
            "Adds from global memory, where the lanes of a warp lie a row apart.",
            {"acc += tile": "acc += inp[first + tx, k]"},
            ("sectors", "32 per request; budget 4"),
        ),
    ),
    cases=tuple(_row_sum_cases()),
    fresh=_fresh,
    hints=(
        "Write the loop first: each of 32 lanes walks along its own row of the tile, so in "
        "every step the warp reads a column. How many words lie between two lanes?",
        "The words between two lanes are the pitch. Which pitch of 24 or more shares no "
        "factor with 32? Take the smallest, shared memory is scarce.",
        "PITCH is the smallest odd number above 24. The loop goes over COLS values of k and "
        "adds the tile's element in row tx and column k to acc.",
    ),
    budget=Budget(shared_bytes=3200),
)
