"""The most frequent number of an array: counters of blocks, a ticket, a place that goes along."""

# mypy: disable-error-code="attr-defined"

from functools import partial

import numpy as np
from numba import cuda, int32

from ..exercise import Budget, Case, Exercise, Wrong, scattered, sizes

BINS = 256  # at most


@cuda.jit
def most_frequent(out, mode, ticket, inp, bins):
    """out[k] = how many elements are k, and mode[0] = the k with most of them: one launch.

    Numbers lie from 0 to bins - 1, and bins is at most 256; of equal counts the smaller k is taken.
    Blocks are of whole warps. All of out and ticket[0] are 0 before the launch, and ticket[0] is 0
    again after it.
    """
    # FILL (about 33 lines)
    part = cuda.shared.array(BINS, int32)
    last = cuda.shared.array(1, int32)
    tx = cuda.threadIdx.x
    for k in range(tx, bins, cuda.blockDim.x):
        part[k] = 0
    cuda.syncthreads()  # all counters are 0 before anyone adds
    for i in range(cuda.grid(1), inp.size, cuda.gridsize(1)):
        cuda.atomic.add(part, inp[i], 1)
    cuda.syncthreads()  # all have added before anyone reads
    for k in range(tx, bins, cuda.blockDim.x):
        cuda.atomic.add(out, k, part[k])
    cuda.threadfence()  # the block's counts are in memory before its ticket is drawn
    cuda.syncthreads()  # those of all threads
    if tx == 0:
        last[0] = cuda.atomic.add(ticket, 0, 1)
    cuda.syncthreads()  # everyone knows whether the block is the last
    if last[0] == cuda.gridDim.x - 1 and tx < 32:
        cuda.threadfence()  # no count is read before the ticket was
        best, at = -1, 0
        for k in range(tx, bins, 32):
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


def _specification(inp, bins):
    counts = np.bincount(inp, minlength=bins).astype(np.int32)
    return counts, np.array([counts.argmax()], np.int32), np.zeros(1, np.int32)


def _numbers(size, bins, most=None, seed=0):
    """Numbers below `bins`; `most` is the most frequent one, or all are equally frequent."""
    if most is None:
        return ((np.arange(size) * 37 + 5) % bins).astype(np.int32), np.int32(bins)
    found = scattered(size, size + seed, low=0, high=bins - 1, dtype=np.int32)
    found[:: max(2, size // 40)] = most
    return found, np.int32(bins)


def _tied(size, bins, most):
    """Numbers below `bins`, each as often as the others but for `most`, of which there are more."""
    each, more = np.arange(bins), np.tile(most, (size - bins) // len(most))
    return np.concatenate([each, more]).astype(np.int32), np.int32(bins)


def _cases():
    """Whole blocks with their budget; ties, the last bin, one bin, ragged grids.

    Ties of three, of which neither the first lane nor the first of an even lane is the smallest
    number; a last block without an element.
    """
    once = Budget(
        extra=None,
        sectors_per_request=4,
        requests={"inp": 64, "out": 20, "ticket": 5, "mode": 1},
        shared_bytes=4 * (BINS + 1),
        barriers=4,
    )
    yield Case(partial(_numbers, 2048, 128, 90), (4,), (128,), budget=once)
    yield Case(partial(_numbers, 1280, 128), (3,), (128,))
    yield Case(partial(_numbers, 1, 1, 0), (2,), (32,))
    yield Case(partial(_numbers, 700, 100, 99), (1,), (256,))
    yield Case(partial(_numbers, sizes(1, 58, low=200, high=900)[0], 256, 33), (5,), (64,))
    yield Case(partial(_numbers, 333, 37, 36), (2,), (96,))
    yield Case(partial(_tied, 190, 70, (66, 34, 5)), (2,), (64,))
    yield Case(partial(_numbers, 300, 100, 41), (4,), (128,))


def _fresh(draw):
    """Whole rounds of the grid, held to the budget of the first case; a ragged array."""
    blocks, threads = draw.size(2, 5), draw.one_of(64, 128)
    size = threads * blocks * draw.size(1, 3)
    data = partial(_numbers, size, 128, draw.size(0, 127), draw.numbers())
    yield Case(data, (blocks,), (threads,), like=0)
    bins = draw.size(2, 255)
    data = partial(_numbers, draw.size(2, 900), bins, draw.size(0, bins - 1), draw.numbers())
    yield Case(data, (draw.size(1, 5),), (draw.one_of(32, 96, 256),))


EXERCISE = Exercise(
    name="ex55_mode",
    chapter="55_checkpoint",
    title="The most frequent number",
    specification=_specification,
    solution=most_frequent,
    wrong=(
        Wrong(
            "No fence before the ticket.",
            {"cuda.threadfence()  # the block": ""},
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
            {"cuda.atomic.add(out": "out[k] += part[k]"},
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
            "Of equal counts, some lane's number is taken.",
            {"if count > best or": "if count > best:"},
            ("output", "wrong"),
        ),
        Wrong(
            "Lanes keep their own number, and only pass the count on.",
            {"k = cuda": "k = at"},
            ("output", "wrong"),
        ),
        Wrong(
            "The last block looks at its own counters.",
            {"count = out": "count = part[k]"},
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
        "Shared arrays of 256 and of one int32. Set to 0; barrier; a loop over the grid that adds "
        "the constant 1; barrier; an atomic for each counter, fence, barrier; thread 0 draws into "
        "the array of one; barrier. In the last block, lane tx of warp 0 goes over the counts "
        "by 32, and keeps the largest with its number. Five rounds of two shuffles. Lane 0 "
        "stores the number and sets the ticket "
        "to 0.",
    ),
    budget=Budget(extra=None, shared_bytes=4 * (BINS + 1)),
)
