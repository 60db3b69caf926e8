"""How many elements of a row are at most k: counters for each lane, then a scan over the bins."""

# mypy: disable-error-code="attr-defined"

from functools import partial

import numpy as np
from numba import cuda, int32

from ..exercise import Budget, Case, Exercise, Wrong, scattered, sizes

BINS, LANES = 64, 32
COUNTERS = BINS * LANES


@cuda.jit
def row_ranks(out, inp):
    """How many elements of a row are at most k: out[row, k], a block of whole warps per row.

    The elements are whole numbers from 0 to 63.
    """
    # FILL (about 24 lines)
    part = cuda.shared.array(COUNTERS, int32)  # of number k and a lane at 32 * k + lane
    tx, row = cuda.threadIdx.x, cuda.blockIdx.x
    if row < out.shape[0]:
        for i in range(tx, COUNTERS, cuda.blockDim.x):
            part[i] = 0
        cuda.syncthreads()  # all counters are 0 before anyone adds
        for col in range(tx, inp.shape[1], cuda.blockDim.x):
            cuda.atomic.add(part, inp[row, col] * LANES + tx % LANES, 1)
        cuda.syncthreads()  # all have added before anyone reads
        if tx < 32:
            before = 0
            for start in range(0, BINS, 32):
                k, acc = start + tx, 0
                for turn in range(LANES):
                    acc += part[k * LANES + (k + turn) % LANES]
                step = 1
                while step < 32:
                    left = cuda.shfl_up_sync(0xFFFFFFFF, acc, step)
                    if tx >= step:
                        acc += left
                    step *= 2
                acc += before
                out[row, k] = acc
                before = cuda.shfl_sync(0xFFFFFFFF, acc, 31)


def _ranks(inp):
    """The specification: the numbers themselves are compared."""
    return (inp[:, :, None] <= np.arange(BINS)).sum(1).astype(np.int32)


def _rows(rows, cols, seed=0):
    """Numbers below 64, of which small ones are more frequent, so that ranks do not grow evenly."""
    two = scattered((2, rows, cols), rows * cols + seed, low=0, high=BINS - 1, dtype=np.int32)
    return (np.where(two[1] % 3 == 0, two[0], two[0] // 4),)


def _cases():
    """A full size with its budget; one row, one element, ragged rows, a block to spare."""
    once = Budget(
        sectors_per_request=4,
        requests={"inp": 64, "out": 8},
        shared_bytes=4 * COUNTERS,
        shared_requests=576,
        barriers=2,
    )
    yield Case(partial(_rows, 4, 512), (4,), (128,), budget=once)
    shapes = [(1, 300), (3, 1), (5, 97), sizes(2, seed=56, low=2, high=90)]
    for number, (rows, cols) in enumerate(shapes):
        yield Case(partial(_rows, rows, cols), (rows + number % 2,), ((256, 64, 96, 32)[number],))


def _fresh(draw):
    """Whole rounds of a block, held to the budget; ragged rows."""
    threads, rows = draw.one_of(64, 96, 128), draw.size(2, 5)
    yield Case(
        partial(_rows, rows, threads * draw.size(2, 5), draw.numbers()), (rows,), (threads,), like=0
    )
    yield Case(partial(_rows, rows, draw.size(2, 300), draw.numbers()), (rows + 1,), (threads,))


EXERCISE = Exercise(
    name="ex55_ranks",
    chapter="55_checkpoint",
    title="How many are at most so large",
    specification=_ranks,
    solution=row_ranks,
    wrong=(
        Wrong(
            "Nobody waits until the counters are 0.",
            {"cuda.syncthreads()  # all counters": ""},
            ("findings", "race"),
        ),
        Wrong(
            "Nobody waits until all have added.",
            {"cuda.syncthreads()  # all have": ""},
            ("findings", "race"),
        ),
        Wrong(
            "Adds without an atomic: warps lose each other's additions.",
            {"cuda.atomic": "part[inp[row, col] * LANES + tx % LANES] += 1"},
            ("output", "wrong"),
        ),
        Wrong(
            "The second half of the bins begins anew.",
            {"before = cuda": "before = 0"},
            ("output", "wrong"),
        ),
        Wrong(
            "Stores how many are below k, not at most k.",
            {"out[row, k]": "out[row, k] = acc - part[k * LANES]"},
            ("output", "wrong"),
        ),
        Wrong(
            "Four steps of the scan: the last 16 lanes never hear of the first ones.",
            {"while step": "while step < 16:"},
            ("output", "wrong"),
        ),
        Wrong(
            "Lanes with nothing to take in stay away from the shuffle.",
            {
                "left = ": "left = 0",
                "if tx >= step": "if tx >= step:\n"
                "    left = cuda.shfl_up_sync(0xFFFFFFFF, acc, step)",
            },
            ("findings", "missing lane"),
        ),
        Wrong(
            "Right, but all lanes begin with copy 0, which lies in one bank.",
            {"acc += part": "acc += part[k * LANES + turn]"},
            ("wavefronts", "extra"),
        ),
        Wrong(
            "Right, but a lane adds up the counters of all numbers before its own.",
            {
                "k, acc": "k, acc = start + tx, 0\n"
                "for other in range(start, k):\n"
                "    for turn in range(LANES):\n"
                "        acc += part[other * LANES + (tx + turn) % LANES]",
                "acc += left": "pass",
            },
            ("requests", "go to shared memory"),
        ),
    ),
    cases=tuple(_cases()),
    fresh=_fresh,
    hints=(
        "Two kernels that you have written, one behind the other: the counters of a row, and the "
        "scan of a warp over what they come to.",
        "Count into a copy for each lane, 32 * number + lane. Behind a barrier, one warp takes 32 "
        "numbers at a time: a lane adds up the copies of its number, beginning with another copy "
        "than its neighbours. Then the lanes scan their counts by shuffles, and the last lane's "
        "sum goes on to the next 32 numbers.",
        "A shared array of 2048 int32. Loops in steps of the block: set to 0; barrier; an atomic "
        "that adds the constant 1; barrier. In warp 0, a loop over 0 and 32: k is start + tx, 32 "
        "copies from copy k % 32 on, five steps of shfl_up_sync in which all lanes take part, add "
        "what was before, store, and shfl_sync of lane 31 for what comes next.",
    ),
    budget=Budget(shared_bytes=4 * COUNTERS, barriers=2),
)
