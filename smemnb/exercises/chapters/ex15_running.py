"""Running sums along rows: a tile that is walked both ways."""

# mypy: disable-error-code="attr-defined"

from functools import partial

import numpy as np
from numba import cuda, float32

from ..exercise import Budget, Case, Exercise, Wrong, cover, scattered, sizes


@cuda.jit
def running_sums(out, inp):
    """Running sums of rows of up to 32 elements: out = inp.cumsum(axis=1).  32 rows per block."""
    # FILL (about 17 lines)
    tile = cuda.shared.array((32, 33), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    rows, cols = inp.shape
    first = cuda.blockIdx.x * 32  # the block's first row
    for r in range(ty, 32, cuda.blockDim.y):
        if first + r < rows and tx < cols:
            tile[r, tx] = inp[first + r, tx]
    cuda.syncthreads()
    if ty == 0 and first + tx < rows:
        acc = float32(0)
        for k in range(cols):
            acc += tile[tx, k]
            tile[tx, k] = acc
    cuda.syncthreads()
    for r in range(ty, 32, cuda.blockDim.y):
        if first + r < rows and tx < cols:
            out[first + r, tx] = tile[r, tx]


def _matrix(rows, cols, unit, seed=0):
    return (scattered((rows, cols), seed=rows + cols + seed) * np.float32(unit),)


def _cases():
    """Two full blocks with their budget; ragged, one row, one column, other blocks, large."""
    once = Budget(sectors_per_request=4, requests={"inp": 64, "out": 64}, shared_bytes=4224)
    yield Case(partial(_matrix, 64, 32, 1), grid=(2,), block=(32, 8), budget=once)
    shapes = [
        (1, 32),
        (70, 1),
        (33, 31),
        (40, 17),
        *((n, 24) for n in sizes(1, 15, low=5, high=90)),
    ]
    ragged = [(shape, 8, 1) for shape in shapes]
    for (rows, cols), high, unit in [*ragged, ((50, 20), 1, 2.0**64), ((50, 29), 32, 1)]:
        data = partial(_matrix, rows, cols, unit)
        yield Case(data, grid=cover((rows,), (32,)), block=(32, high))


def _fresh(draw):
    """Full blocks, held to the budget of the first case; a ragged matrix of large numbers."""
    blocks, high = draw.size(1, 3), draw.one_of(2, 4, 8, 16)
    data = partial(_matrix, 32 * blocks, 32, 1, draw.numbers())
    yield Case(data, (blocks,), (32, high), like=0)
    rows, cols, high = draw.size(2, 90), draw.size(2, 32), draw.one_of(1, 2, 4, 8)
    data = partial(_matrix, rows, cols, 2.0**64, draw.numbers())
    yield Case(data, cover((rows,), (32,)), (32, high))


EXERCISE = Exercise(
    name="ex15_running",
    chapter="15_rows_and_columns",
    title="Running sums along rows",
    specification=lambda inp: inp.cumsum(axis=1, dtype=np.float32),
    solution=running_sums,
    wrong=(
        Wrong(
            "No pad: 32 words from row to row, so that a column has one bank.",
            {"tile = cuda": "tile = cuda.shared.array((32, 32), float32)"},
            ("wavefronts", "32-way"),
        ),
        Wrong(
            "A pad of two: the pitch stays even, and half of the banks stay idle.",
            {"tile = cuda": "tile = cuda.shared.array((32, 34), float32)"},
            ("wavefronts", "2-way"),
        ),
        Wrong(
            "Without a tile: each thread reads and stores its own row in global memory.",
            {
                "acc += tile": "acc += inp[first + tx, k]",
                "tile[tx, k]": "out[first + tx, k] = acc",
                "out[first + r": "pass",
            },
            ("sectors", "32 per request; budget 4"),
        ),
        Wrong(
            "No barriers: other warps still stage, or do not wait for the sums.",
            {"cuda.syncthreads": "pass"},
            ("findings", "race"),
        ),
        Wrong(
            "Stores each sum before its own element is added.",
            {
                "acc += tile": "old = tile[tx, k]",
                "tile[tx, k]": "tile[tx, k] = acc; acc += old",
            },
            ("output", "wrong"),
        ),
        Wrong(
            "Takes 32 columns for granted.",
            {"for k": "for k in range(32):"},
            ("findings", "stale"),
        ),
    ),
    cases=tuple(_cases()),
    fresh=_fresh,
    hints=(
        "Three steps with a barrier between them: stage 32 rows, let one thread go along each "
        "row of the tile, store the rows from the tile.",
        "In the first and the last step a warp has one row of the tile, in the middle one it "
        "has a column. Which length of a row is clean for both?",
        "The first step is that of exercise 1. The middle step is for the threads with `ty == "
        "0`: keep the sum in a variable, and put it back into the place of the element. The "
        "last step is the first one turned around.",
    ),
    budget=Budget(shared_bytes=4224),
)
