"""The element farthest from 0, of each row and of all: shuffles, tickets, one launch."""

# mypy: disable-error-code="attr-defined"

from functools import partial

import numpy as np
from numba import cuda, float32, int32

from ..exercise import Budget, Case, Exercise, Wrong, scattered, sizes


@cuda.jit
def peaks(out, peak, ticket, inp):
    """out = abs(inp).max(axis=1), a block per row, and peak[0] = out.max(): one launch.

    ticket[0] is 0 before the launch, and is 0 again after it. Blocks are of whole warps.
    """
    # FILL (about 31 lines)
    best = cuda.shared.array(32, float32)  # a block has 32 warps at most
    last = cuda.shared.array(1, int32)
    tx, row, rows = cuda.threadIdx.x, cuda.blockIdx.x, cuda.gridDim.x
    top = float32(0)
    for col in range(tx, inp.shape[1], cuda.blockDim.x):
        top = max(top, abs(inp[row, col]))
    step = 16
    while step > 0:
        top = max(top, cuda.shfl_down_sync(0xFFFFFFFF, top, step))
        step //= 2
    if tx % 32 == 0:
        best[tx // 32] = top
    cuda.syncthreads()  # every warp has put down its largest
    if tx == 0:
        for warp in range(1, cuda.blockDim.x // 32):
            top = max(top, best[warp])
        out[row] = top
        cuda.threadfence()  # the row's is in memory before the ticket is drawn
        last[0] = cuda.atomic.add(ticket, 0, 1)
    cuda.syncthreads()  # everyone knows whether the block is the last
    if last[0] == rows - 1 and tx < 32:
        cuda.threadfence()  # no row's is read before the ticket was
        for k in range(tx, rows, 32):
            top = max(top, out[k])
        step = 16
        while step > 0:
            top = max(top, cuda.shfl_down_sync(0xFFFFFFFF, top, step))
            step //= 2
        if tx == 0:
            peak[0] = top
            ticket[0] = 0


def _specification(inp):
    tops = np.abs(inp).max(axis=1)
    return tops, np.array([tops.max()], np.float32), np.zeros(1, np.int32)


def _matrix(rows, cols, seed=0, unit=1):
    """Whole numbers of both signs, larger by `unit`."""
    return (scattered((rows, cols), rows + cols + seed, low=-999, high=900) * np.float32(unit),)


def _cases():
    """Whole blocks with their budget; one row, one column, ragged rows, more rows than lanes."""
    once = Budget(
        sectors_per_request=4,
        requests={"inp": 320, "out": 42, "ticket": 41, "peak": 1},
        shared_bytes=132,
        barriers=2,
    )
    yield Case(partial(_matrix, 40, 256), (40,), (128,), budget=once)
    for number, (rows, cols) in enumerate(
        [(1, 299), (7, 1), (70, 33), sizes(2, 51, low=2, high=90)]
    ):
        data = partial(_matrix, rows, cols, unit=2.0**40 if number == 0 else 1)
        yield Case(data, (rows,), ((256, 64, 32, 128)[number],))


def _fresh(draw):
    """Whole blocks, held to the budget of the first case; ragged rows of large numbers."""
    for like, unit in ((0, 1), (None, 2.0**40)):
        threads, rows = draw.one_of(64, 128), draw.size(2, 40)
        cols = threads * draw.size(1, 4) if like == 0 else draw.size(2, 200)
        data = partial(_matrix, rows, cols, draw.numbers(), unit)
        yield Case(data, (rows,), (threads,), like=like)


EXERCISE = Exercise(
    name="ex50_peak",
    chapter="50_reduction",
    title="The element farthest from 0",
    specification=_specification,
    solution=peaks,
    wrong=(
        Wrong(
            "Nobody waits until every warp has put down its largest.",
            {"cuda.syncthreads()  # every": ""},
            ("findings", "race"),
        ),
        Wrong(
            "Nobody waits for the ticket: other threads read what was there before.",
            {"cuda.syncthreads()  # everyone": ""},
            ("findings", "race"),
        ),
        Wrong(
            "No fence before the ticket.",
            {"cuda.threadfence()  # the row": ""},
            ("findings", "race"),
        ),
        Wrong(
            "The largest, not the one farthest from 0.",
            {"top = max(top, abs": "top = max(top, inp[row, col])"},
            ("output", "wrong"),
        ),
        Wrong(
            "Reads 32 rows at the end, also where there are more.",
            {"for k in": "for k in range(tx, min(rows, 32), 32):"},
            ("output", "wrong"),
        ),
        Wrong(
            "Right, but begins with a float64.",
            {"top = float32(0)": "top = -np.inf"},
            ("findings", "float64"),
        ),
        Wrong(
            "The ticket stays where it is.",
            {"ticket[0] = 0": ""},
            ("output", "ticket"),
        ),
        Wrong(
            "Right, but every lane goes over all rows at the end.",
            {"for k in": "for k in range(rows):"},
            ("requests", "out"),
        ),
    ),
    cases=tuple(_cases()),
    fresh=_fresh,
    start=0,
    hints=(
        "Rows first, as in the chapter on warps: threads, lanes, warps. Then the ticket. Then the "
        "last block does the same with the rows' results.",
        "Lanes pass their values down by shuffles, warps through shared memory and a barrier. "
        "Thread 0 stores the row's result, puts a fence behind it and draws the ticket, which all "
        "threads read behind a second barrier. One warp is enough for the end.",
        "Shared arrays of 32 elements and of one. A loop over the row with abs. Five shuffles. "
        "Lane 0 of each warp stores. Barrier. Thread 0 goes over the warps, stores, fence, atomic "
        "addition. Barrier. In the last block warp 0 goes over the rows by 32, shuffles; "
        "lane 0 stores the peak and sets the ticket to 0.",
    ),
    budget=Budget(shared_bytes=132),
)
