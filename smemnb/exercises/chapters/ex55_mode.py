"""The most frequent number of an array: counters of blocks, a ticket, a place that goes along."""

# mypy: disable-error-code="attr-defined"

from functools import partial

import numpy as np
from numba import cuda, int32

from ..exercise import Budget, Case, Exercise, Wrong, scattered, sizes

BINS = 128


@cuda.jit
def most_frequent(out, mode, ticket, inp):
    """out[k] = how many elements are k, and mode[0] = the k with most of them: one launch.

    Numbers lie from 0 to 127; of equal counts the smaller k is taken. Blocks have 128 threads. All
    of out and ticket[0] are 0 before the launch, and ticket[0] is 0 again after it.
    """
    # FILL (about 30 lines)
    part = cuda.shared.array(BINS, int32)
    last = cuda.shared.array(1, int32)
    tx = cuda.threadIdx.x
    part[tx] = 0
    cuda.syncthreads()  # all counters are 0 before anyone adds
    for i in range(cuda.grid(1), inp.size, cuda.gridsize(1)):
        cuda.atomic.add(part, inp[i], 1)
    cuda.syncthreads()  # all have added before anyone reads
    cuda.atomic.add(out, tx, part[tx])
    cuda.threadfence()  # the block's counts are in memory before its ticket is drawn
    cuda.syncthreads()  # those of all threads
    if tx == 0:
        last[0] = cuda.atomic.add(ticket, 0, 1)
    cuda.syncthreads()  # everyone knows whether the block is the last
    if last[0] == cuda.gridDim.x - 1 and tx < 32:
        best, at = out[tx], tx
        for k in range(tx + 32, BINS, 32):
            count = out[k]
            if count > best:
                best, at = count, k
        step = 16
        while step > 0:
            count = cuda.shfl_down_sync(0xFFFFFFFF, best, step)
            k = cuda.shfl_down_sync(0xFFFFFFFF, at, step)
            if count > best or (count == best and k < at):
                best, at = count, k
            step //= 2
        if tx == 0:
            mode[0] = at
            ticket[0] = 0


def _specification(inp):
    counts = np.bincount(inp, minlength=BINS).astype(np.int32)
    return counts, np.array([counts.argmax()], np.int32), np.zeros(1, np.int32)


def _numbers(size, seed=0, most=None, even=False):
    """Numbers below 128; `most` is the most frequent one, or all are as frequent as each other."""
    if even:
        return (((np.arange(size) * 37 + 5) % BINS).astype(np.int32),)
    found = scattered(size, size + seed, low=0, high=BINS - 1, dtype=np.int32)
    if most is not None:
        found[:: max(2, size // 40)] = most
    return (found,)


def _cases():
    """Whole blocks with their budget; ties, the last bin, one element, ragged grids."""
    once = Budget(
        extra=None,
        sectors_per_request=4,
        requests={"inp": 64, "out": 20, "ticket": 5, "mode": 1},
        shared_bytes=4 * (BINS + 1),
        barriers=4,
    )
    yield Case(partial(_numbers, 2048, most=90), (4,), (BINS,), budget=once)
    yield Case(partial(_numbers, 1280, even=True), (3,), (BINS,))
    yield Case(partial(_numbers, 1, most=127), (2,), (BINS,))
    yield Case(partial(_numbers, 700, most=127), (1,), (BINS,))
    yield Case(partial(_numbers, *sizes(1, 58, low=200, high=900), most=33), (5,), (BINS,))


def _fresh(draw):
    """Whole rounds of the grid, held to the budget of the first case; a ragged array."""
    blocks = draw.size(2, 5)
    size = BINS * blocks * draw.size(1, 3)
    data = partial(_numbers, size, draw.numbers(), draw.size(0, BINS - 1))
    yield Case(data, (blocks,), (BINS,), like=0)
    data = partial(_numbers, draw.size(2, 900), draw.numbers(), draw.size(0, BINS - 1))
    yield Case(data, (draw.size(1, 5),), (BINS,))


EXERCISE = Exercise(
    name="ex55_mode",
    chapter="55_checkpoint",
    title="The most frequent number",
    specification=_specification,
    solution=most_frequent,
    wrong=(
        Wrong(
            "No fence before the ticket.",
            {"cuda.threadfence()": ""},
            ("findings", "race"),
        ),
        Wrong(
            "Thread 0 draws the ticket before the other threads have added.",
            {"cuda.syncthreads()  # those": ""},
            ("findings", "race"),
        ),
        Wrong(
            "Nobody waits for the ticket.",
            {"cuda.syncthreads()  # everyone": ""},
            ("findings", "race"),
        ),
        Wrong(
            "Nobody waits until all have added.",
            {"cuda.syncthreads()  # all have": ""},
            ("findings", "race"),
        ),
        Wrong(
            "Adds to `out` without an atomic: blocks lose each other's counts.",
            {"cuda.atomic.add(out": "out[tx] += part[tx]"},
            ("output", "wrong"),
        ),
        Wrong(
            "Of equal counts, the larger number is taken.",
            {
                "if count > best:": "if count >= best:",
                "if count > best or": "if count > best or (count == best and k > at):",
            },
            ("output", "wrong"),
        ),
        Wrong(
            "Lanes keep their own number, and only pass the count on.",
            {"k = cuda": "k = at"},
            ("output", "wrong"),
        ),
        Wrong(
            "The last block looks at its own counters.",
            {"best, at = out": "best, at = part[tx], tx", "count = out": "count = part[k]"},
            ("output", "wrong"),
        ),
        Wrong(
            "The ticket stays where it is.",
            {"ticket[0] = 0": ""},
            ("output", "ticket"),
        ),
        Wrong(
            "Right, but counts in global memory, with an atomic for each element.",
            {
                "cuda.atomic.add(part": "cuda.atomic.add(out, inp[i], 1)",
                "cuda.atomic.add(out": "pass",
            },
            ("sectors", "budget"),
        ),
    ),
    cases=tuple(_cases()),
    fresh=_fresh,
    start=0,
    hints=(
        "Three parts: counters of the block, which are added to those of all; the ticket; and a "
        "reduction in the last block, in which each lane brings two things, a count and its "
        "number.",
        "All threads of a block add to `out`, so all of them need a fence, and a barrier stands "
        "before thread 0 draws the ticket. A warp of the last block keeps the larger count and "
        "its number. Numbers come in ascending order within a lane, but not over the lanes of a "
        "shuffle, so equal counts have to be looked at there.",
        "Shared arrays of 128 and of one int32. Set to 0; barrier; a loop over the grid that adds "
        "the constant 1; barrier; an atomic for each counter, fence, barrier; thread 0 draws into "
        "the array of one; barrier. In the last block, lane tx of warp 0 begins with out[tx] and "
        "goes on by 32. Five rounds of two shuffles. Lane 0 stores the number and sets the ticket "
        "to 0.",
    ),
    budget=Budget(extra=None, shared_bytes=4 * (BINS + 1)),
)
