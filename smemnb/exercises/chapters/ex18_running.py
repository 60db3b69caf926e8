"""Running sums of short rows: a thread per row, and a tile so that no request lies apart."""

# mypy: disable-error-code="attr-defined"

from functools import partial

import numpy as np
from numba import cuda, float32

from ..exercise import Budget, Case, Exercise, Wrong, cover, scattered


@cuda.jit
def running_sums(out, inp):
    """The sum of each row so far: out = inp.cumsum(axis=1).  Rows of 32 elements or fewer."""
    # FILL (about 17 lines)
    tile = cuda.shared.array((128, 33), float32)  # a column of it visits 32 banks
    tx, lane, warp = cuda.threadIdx.x, cuda.threadIdx.x % 32, cuda.threadIdx.x // 32
    first, warps = cuda.blockIdx.x * cuda.blockDim.x, cuda.blockDim.x // 32
    rows, cols = inp.shape
    for r in range(warp, cuda.blockDim.x, warps):
        if first + r < rows and lane < cols:
            tile[r, lane] = inp[first + r, lane]
    cuda.syncthreads()  # the rows are staged before a thread walks along its own
    if first + tx < rows:
        acc = float32(0)
        for c in range(cols):
            acc += tile[tx, c]
            tile[tx, c] = acc
    cuda.syncthreads()  # the sums are there before a warp stores a row of them
    for row in range(warp, cuda.blockDim.x, warps):
        if first + row < rows and lane < cols:
            out[first + row, lane] = tile[row, lane]


def _matrix(rows, cols, seed=0, unit=1):
    return (scattered((rows, cols), rows + cols + seed, low=-999) * np.float32(unit),)


def _cases():
    """Whole blocks with their budget; fewer rows, fewer columns, other blocks, one to spare."""
    clean = Budget(sectors_per_request=4, requests={"inp": 256, "out": 256}, shared_bytes=16896)
    yield Case(partial(_matrix, 256, 32), (2,), (128,), budget=clean)
    launches = [((1, 32), 64), ((70, 1), 64), ((200, 31), 128), ((97, 32), 96), ((45, 17), 32)]
    for shape, threads in launches:
        data = partial(_matrix, *shape, unit=2.0**40 if shape[0] == 97 else 1)
        yield Case(data, (cover(shape[:1], (threads,))[0] + 1,), (threads,))


def _fresh(draw):
    """Whole blocks, held to the budget of the first case; ragged rows of large numbers."""
    for like, unit in ((0, 1), (None, 2.0**40)):
        threads = draw.one_of(64, 96, 128)
        rows = threads * draw.size(1, 2) if like == 0 else draw.size(2, 200)
        cols = 32 if like == 0 else draw.size(2, 31)
        data = partial(_matrix, rows, cols, draw.numbers(), unit)
        yield Case(data, cover((rows,), (threads,)), (threads,), like=like)


EXERCISE = Exercise(
    name="ex18_running",
    chapter="18_checkpoint",
    title="Running sums of short rows",
    specification=lambda inp: inp.cumsum(axis=1),
    solution=running_sums,
    wrong=(
        Wrong(
            "Rows of 32 words without a pad: all elements of a column lie in one bank.",
            {"tile =": "tile = cuda.shared.array((128, 32), float32)"},
            ("wavefronts", "32-way"),
        ),
        Wrong(
            "Nobody waits until the rows are staged.",
            {"cuda.syncthreads()  # the rows": ""},
            ("findings", "race"),
        ),
        Wrong(
            "Nobody waits for the sums.",
            {"cuda.syncthreads()  # the sums": ""},
            ("findings", "race"),
        ),
        Wrong(
            "Right, but each thread goes along its row in global memory.",
            {"acc += tile": "acc += inp[first + tx, c]"},
            ("sectors", "budget 4"),
        ),
        Wrong(
            "Sums without the element itself.",
            {
                "acc += tile": "mine = tile[tx, c]",
                "tile[tx, c] = acc": "tile[tx, c] = acc\nacc += mine",
            },
            ("output", "wrong"),
        ),
        Wrong(
            "The sum goes on from row to row of a block.",
            {"acc += tile": "acc += tile[tx, c] + tile[0, 0]"},
            ("output", "wrong"),
        ),
        Wrong(
            "Nobody asks whether there is such a row.",
            {"if first + row": "if lane < cols:"},
            ("findings", "out of range"),
        ),
    ),
    cases=tuple(_cases()),
    fresh=_fresh,
    hints=(
        "A thread that goes along its row in global memory has neighbours that lie a row apart. "
        "Where may they lie apart without a price, and what must the rows be long for that?",
        "Three parts with a barrier between each two: warps stage rows of the block, a row per "
        "request; each thread sums up its row in the tile and writes the sums there; warps store "
        "rows.",
        "A tile of 128 rows of 33 elements. A warp takes the rows from its number on, in steps of "
        "the number of warps, and each lane one column. Guards ask for the row and for the column. "
        "Both barriers are reached by every thread of the block.",
    ),
    budget=Budget(shared_bytes=16896),
)
