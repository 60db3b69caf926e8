"""Sums by key: a bank for each thread."""

# mypy: disable-error-code="attr-defined"

from functools import partial

import numpy as np
from numba import cuda, int32

from ..exercise import Budget, Case, Exercise, Wrong, scattered

GROUPS, THREADS = 8, 64
SHAPE = (GROUPS, THREADS)  # column tx lies in bank tx % 32, whatever the key


@cuda.jit
def group_sums(out, key, value):
    """Sums by key, 0 to 7, of each row: out[r, g] = sum of value[r, i] where key[r, i] is g."""
    own = cuda.shared.array(SHAPE, int32)
    tx, row = cuda.threadIdx.x, cuda.blockIdx.x
    n = cuda.blockDim.x  # threads of this block: THREADS, or fewer
    # 1. each thread sets its own 8 sums to 0
    # FILL (about 2 lines)
    for g in range(GROUPS):
        own[g, tx] = 0
    # 2. each thread adds up its own elements of the row
    for i in range(tx, key.shape[1], n):
        g = key[row, i]
        # FILL (about 1 line)
        own[g, tx] += value[row, i]
    cuda.syncthreads()  # every thread has its 8 sums
    # 3. thread tx adds up group tx over the n threads
    if tx < GROUPS:
        total = 0
        # FILL (about 2 lines)
        for t in range(n):
            total += own[tx, (t + tx) % n]  # each lane starts at another bank
        out[row, tx] = total


@cuda.jit
def _group_sums_atomic(out, key, value):
    sums = cuda.shared.array(GROUPS, int32)
    tx, row = cuda.threadIdx.x, cuda.blockIdx.x
    if tx < GROUPS:
        sums[tx] = 0
    cuda.syncthreads()
    for i in range(tx, key.shape[1], cuda.blockDim.x):
        cuda.atomic.add(sums, key[row, i], value[row, i])
    cuda.syncthreads()
    if tx < GROUPS:
        out[row, tx] = sums[tx]


def _group_sums(key, value):
    return np.stack([np.where(key == g, value, 0).sum(axis=1) for g in range(GROUPS)], axis=1)


def _keyed(rows, cols, most=99, seed=0):
    key = scattered((rows, cols), seed=cols + seed, low=0, high=GROUPS - 1, dtype=np.int32)
    return key, scattered((rows, cols), seed=rows + 7 * seed, low=-most, high=most, dtype=np.int32)


def _group_cases():
    """Four full rows with their budget; short rows, one row, one column, other blocks."""
    once = Budget(sectors_per_request=4, requests={"key": 32, "value": 32}, shared_bytes=2048)
    yield Case(partial(_keyed, 4, 256), grid=(4,), block=(64,), budget=once)
    for rows, cols, threads in [(3, 97, 64), (1, 200, 64), (7, 1, 64), (5, 70, 32), (5, 20, 32)]:
        data = partial(_keyed, rows, cols, 10**8 if cols == 20 else 99)  # sums fill an int32
        yield Case(data, grid=(rows,), block=(threads,))


def _fresh(draw):
    """Full rows, held to the budget of the first case; short ones whose sums fill an int32."""
    rows, cols = draw.size(2, 6), THREADS * draw.size(1, 5)
    yield Case(partial(_keyed, rows, cols, seed=draw.numbers()), (rows,), (THREADS,), like=0)
    rows, cols = draw.size(1, 7), draw.size(2, 21)
    data = partial(_keyed, rows, cols, 10**8, seed=draw.numbers())
    yield Case(data, (rows,), (draw.one_of(32, THREADS),))


EXERCISE = Exercise(
    name="ex02_groups",
    chapter="16_widths",
    title="Sums by key",
    specification=_group_sums,
    solution=group_sums,
    wrong=(
        Wrong(
            "The 8 sums of a thread side by side: which bank depends on the key.",
            {
                "own =": "own = cuda.shared.array((THREADS, GROUPS), int32)",
                "own[g, tx] = 0": "own[tx, g] = 0",
                "own[g, tx] +=": "own[tx, g] += value[row, i]",
                "total +=": "total += own[t, tx]",
            },
            ("wavefronts", "8-way, 784 extra"),
        ),
        Wrong(
            "A pad word per group cleans the last loop; in the second, lanes with other "
            "keys collide.",
            {
                "own =": "own = cuda.shared.array((GROUPS, 65), int32)",
                "total +=": "total += own[tx, t]",
            },
            ("wavefronts", "5-way, 146 extra"),
        ),
        Wrong(
            "The last loop goes through the threads in step: 8 lanes, 8 words of one bank.",
            {"total +=": "total += own[tx, t]"},
            ("wavefronts", "8-way"),
        ),
        Wrong(
            "Right, but lanes with one key queue at one address.",
            _group_sums_atomic,
            ("wavefronts", "10-way, 200 extra"),
        ),
        Wrong(
            "The last loop takes THREADS threads for granted; a block may have fewer.",
            {"for t": "for t in range(THREADS):"},
            ("output", "block 32"),
        ),
    ),
    cases=tuple(_group_cases()),
    fresh=_fresh,
    hints=(
        "Begin with SHAPE. Every thread has 8 sums of its own, and which of them it touches "
        "depends on its key. So all 8 sums of a thread must lie in one bank, and 32 threads in "
        "32 banks.",
        "In rows of 64 elements, element (g, tx) lies in bank tx % 32 for every g: steps 1 and 2 "
        "are clean. In step 3, lane tx reads row tx: if all lanes begin with element 0 of their "
        "row, they meet in one bank. The sum may begin anywhere in the row.",
        "In step 3, t counts up to n, and lane tx does not read element t of its row, but element "
        "t + tx, modulo n. Over the whole loop it still visits each of the n elements once.",
    ),
    budget=Budget(shared_bytes=2048),
)
