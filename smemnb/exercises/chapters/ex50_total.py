"""The sums of the rows and the sum of those in one launch: who ends last adds up."""

# mypy: disable-error-code="attr-defined"

from functools import partial

import numpy as np
from numba import cuda, float32

from ..exercise import Budget, Case, Exercise, Wrong, scattered, sizes


@cuda.jit
def sums_and_total(out, total, ticket, inp):
    """out = inp.sum(axis=1), a block per row, and total[0] = out.sum(): one launch.

    ticket[0] is 0 before the launch, and is 0 again after it.
    """
    tile = cuda.shared.array(256, float32)
    tx, row, rows = cuda.threadIdx.x, cuda.blockIdx.x, cuda.gridDim.x
    acc = float32(0)
    for col in range(tx, inp.shape[1], cuda.blockDim.x):
        acc += inp[row, col]
    tile[tx] = acc
    cuda.syncthreads()  # all parts are there
    half = cuda.blockDim.x // 2
    while half > 0:
        if tx < half:
            tile[tx] += tile[tx + half]
        cuda.syncthreads()  # this round is done before the next one reads its sums
        half //= 2
    if tx == 0:
        out[row] = tile[0]
        # FILL (about 9 lines)
        cuda.threadfence()  # the sum is in memory before the ticket is drawn
        before = cuda.atomic.add(ticket, 0, 1)
        if before == rows - 1:
            cuda.threadfence()  # no sum is read before the ticket was
            acc = float32(0)
            for k in range(rows):
                acc += out[k]
            total[0] = acc
            ticket[0] = 0


def _specification(inp):
    sums = inp.sum(axis=1)
    return sums, np.array([sums.sum()], np.float32), np.zeros(1, np.int32)


def _matrix(rows, cols, seed=0, unit=1):
    """Whole numbers, larger by `unit`, so that sums are exact in any order."""
    return (scattered((rows, cols), rows + cols + seed, low=-30, high=30) * np.float32(unit),)


def _cases():
    """Whole blocks with their budget; one row, one column, ragged rows, many blocks."""
    once = Budget(sectors_per_request=4, requests={"inp": 48, "out": 12, "ticket": 7, "total": 1})
    yield Case(partial(_matrix, 6, 256), (6,), (128,), budget=once)
    for number, (rows, cols) in enumerate(
        [(1, 300), (7, 1), (40, 33), sizes(2, 50, low=2, high=90)]
    ):
        data = partial(_matrix, rows, cols, unit=2.0**40 if number == 0 else 1)
        yield Case(data, (rows,), ((256, 64, 32, 128)[number],))


def _fresh(draw):
    """Whole blocks, held to the budget of the first case; ragged rows of large numbers."""
    for like, unit in ((0, 1), (None, 2.0**40)):
        threads, rows = draw.one_of(64, 128), draw.size(2, 8)
        cols = threads * draw.size(1, 4) if like == 0 else draw.size(2, 200)
        data = partial(_matrix, rows, cols, draw.numbers(), unit)
        yield Case(data, (rows,), (threads,), like=like)


EXERCISE = Exercise(
    name="ex50_total",
    chapter="50_reduction",
    title="The rows' sums and their total in one launch",
    specification=_specification,
    solution=sums_and_total,
    wrong=(
        Wrong(
            "No fence before the ticket: the last block may read a sum that is still under way.",
            {"cuda.threadfence()  # the sum": ""},
            ("findings", "race"),
        ),
        Wrong(
            "The ticket is counted without an atomic: two blocks may draw the same.",
            {"before = cuda": "before = ticket[0]\nticket[0] += 1"},
            ("output", "wrong"),
        ),
        Wrong(
            "Block 0 adds up, whoever ends last.",
            {"if before": "if row == 0:"},
            ("findings", "race"),
        ),
        Wrong(
            "The last ticket is rows - 1, as the first one is 0.",
            {"if before": "if before == rows:"},
            ("output", "wrong"),
        ),
        Wrong(
            "Nobody sets the ticket back, so the next launch has no last block.",
            {"ticket[0] = 0": ""},
            ("output", "ticket"),
        ),
        Wrong(
            "Every block adds its sum to the total, and loses those of others.",
            {
                "if before": "total[0] += tile[0]\nif before == rows - 1:",
                "total[0] = acc": "",
            },
            ("output", "wrong"),
        ),
    ),
    cases=tuple(_cases()),
    fresh=_fresh,
    start=0,
    hints=(
        "Each block draws a number, and the one with the last number knows that all others have "
        "put down their sums.",
        "Thread 0 draws by an atomic addition, which returns what was there before. A fence stands "
        "between its sum and the ticket.",
        "Fence. The old value of the ticket, by cuda.atomic.add. If it is the number of rows less "
        "one: a second fence, a loop over all sums, the total, and the ticket is 0 again.",
    ),
    budget=Budget(),
)
