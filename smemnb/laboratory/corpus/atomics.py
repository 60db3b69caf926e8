"""Atomics on shared and global memory: integers by address pattern; floats as retry loops, by name.

Shared atomics go by one warp per launch where the count is to be exact: with one warp the hardware
counter meets no arbitration.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numba import cuda, float32, int32, uint32

from ...measure.verify.case import Case, empty, numbers

PLACES = {
    "32 banks": np.arange(32),
    "one address": np.zeros(32, np.int64),
    "2 addresses": np.arange(32) % 2,
    "8 addresses": np.arange(32) % 8,
    "one bank": np.arange(32) * 32,
    "4 rows of 8": np.arange(32) // 8 * 32 + np.arange(32) % 8,
}
COUNTERS = 1024


@cuda.jit
def atomic_add_value(out, place, inp):
    """Adds a variable in shared memory."""
    bins = cuda.shared.array(COUNTERS, int32)
    tx = cuda.threadIdx.x
    for at in range(tx, COUNTERS, cuda.blockDim.x):
        bins[at] = 0
    cuda.syncthreads()  # all counters are zero before anyone adds
    cuda.atomic.add(bins, place[tx], inp[tx])
    cuda.syncthreads()  # everyone has added
    for at in range(tx, COUNTERS, cuda.blockDim.x):
        out[at] = bins[at]


@cuda.jit
def atomic_add_one(out, place):
    """Adds the constant 1 in shared memory."""
    bins = cuda.shared.array(COUNTERS, int32)
    tx = cuda.threadIdx.x
    for at in range(tx, COUNTERS, cuda.blockDim.x):
        bins[at] = 0
    cuda.syncthreads()  # all counters are zero before anyone adds
    cuda.atomic.add(bins, place[tx], 1)
    cuda.syncthreads()  # everyone has added
    for at in range(tx, COUNTERS, cuda.blockDim.x):
        out[at] = bins[at]


@cuda.jit
def atomic_cas_shared(out, place, inp):
    """Compares and swaps in shared memory, once per lane."""
    bins = cuda.shared.array(COUNTERS, int32)
    tx = cuda.threadIdx.x
    for at in range(tx, COUNTERS, cuda.blockDim.x):
        bins[at] = 0
    cuda.syncthreads()  # all counters are zero before anyone swaps
    cuda.atomic.cas(bins, place[tx], 0, inp[tx])
    cuda.syncthreads()  # everyone has tried
    for at in range(tx, COUNTERS, cuda.blockDim.x):
        out[at] = bins[at]


@cache
def others(*, unsigned: bool) -> Any:
    """A kernel that does seven other atomics in shared memory, one after the other."""
    kind = uint32 if unsigned else int32

    @cuda.jit
    def atomic_others(out, place, inp):
        bins = cuda.shared.array(COUNTERS, kind)
        tx = cuda.threadIdx.x
        for at in range(tx, COUNTERS, cuda.blockDim.x):
            bins[at] = 50
        cuda.syncthreads()  # all counters have begun
        cuda.atomic.max(bins, place[tx], inp[tx])
        cuda.atomic.min(bins, place[tx] + 32, inp[tx])
        cuda.atomic.and_(bins, place[tx] + 64, inp[tx])
        cuda.atomic.or_(bins, place[tx] + 96, inp[tx])
        cuda.atomic.xor(bins, place[tx] + 128, inp[tx])
        cuda.atomic.exch(bins, place[tx] + 160, inp[tx])
        cuda.atomic.sub(bins, place[tx] + 192, inp[tx])
        cuda.syncthreads()  # everyone is done
        for at in range(tx, COUNTERS, cuda.blockDim.x):
            out[at] = bins[at]

    return atomic_others


@cuda.jit
def atomic_add_float(out, place, inp):
    """Adds a float in shared memory: a loop of tries."""
    bins = cuda.shared.array(COUNTERS, float32)
    tx = cuda.threadIdx.x
    for at in range(tx, COUNTERS, cuda.blockDim.x):
        bins[at] = 0
    cuda.syncthreads()  # all counters are zero before anyone adds
    cuda.atomic.add(bins, place[tx], inp[tx])
    cuda.syncthreads()  # everyone has added
    for at in range(tx, COUNTERS, cuda.blockDim.x):
        out[at] = bins[at]


@cuda.jit
def global_add(out, inp, bins):
    """Adds to counters in global memory."""
    at = cuda.grid(1)
    if at < inp.shape[0]:
        cuda.atomic.add(out, inp[at] % bins, 1)


@cuda.jit
def global_max_returned(out, best, inp):
    """The largest so far, in global memory, and what was there before."""
    at = cuda.grid(1)
    if at < inp.shape[0]:
        out[at] = cuda.atomic.max(best, 0, inp[at])


@cuda.jit
def histogram_shared(out, inp):
    """A histogram per block in shared memory, then one atomic per bin and block."""
    bins = cuda.shared.array(64, int32)
    tx = cuda.threadIdx.x
    if tx < 64:
        bins[tx] = 0
    cuda.syncthreads()  # all bins are zero before anyone counts
    for at in range(cuda.grid(1), inp.shape[0], cuda.gridsize(1)):
        cuda.atomic.add(bins, inp[at] % 64, 1)
    cuda.syncthreads()  # everyone has counted
    if tx < 64:
        cuda.atomic.add(out, tx, bins[tx])


def _case(kernel: Any, said: str, *more: str, dtype: Any = np.int32, retries: str = "") -> Case:
    def make(random: np.random.Generator) -> tuple[Any, ...]:
        place = PLACES[said].astype(np.int64)
        values = [numbers(random, 32, dtype=dtype)] if kernel is not atomic_add_one else []
        return (empty(COUNTERS, dtype=dtype), place, *values)

    name = f"{kernel.py_func.__name__} {', '.join((said, *more))}"
    return Case(name, kernel, (1,), (32,), make, retries=retries)


def _whole(name: str, kernel: Any, grid: int, bins: int, size: int) -> Case:
    def make(random: np.random.Generator) -> tuple[Any, ...]:
        inp = numbers(random, size, dtype=np.int32)
        if kernel is global_max_returned:
            return empty(size, dtype=np.int32), empty(1, dtype=np.int32), inp
        more = () if kernel is histogram_shared else (np.int32(bins),)
        return (empty(bins, dtype=np.int32), inp, *more)

    return Case(name, kernel, (grid,), (64,), make)


CASES = (
    *(_case(atomic_add_value, said) for said in PLACES),
    *(_case(atomic_add_one, said) for said in PLACES),
    *(_case(atomic_cas_shared, said) for said in ("32 banks", "2 addresses", "one bank")),
    *(_case(others(unsigned=False), said) for said in ("32 banks", "8 addresses", "one address")),
    _case(others(unsigned=True), "2 addresses", "unsigned", dtype=np.uint32),
    _case(
        atomic_add_float,
        "8 addresses",
        dtype=np.float32,
        retries="float atomic: compares and swaps until no other lane came between",
    ),
    _whole("global_add, 200 counters", global_add, 3, 200, 192),
    _whole("global_add, 3 counters, ragged", global_add, 2, 3, 101),
    _whole("global_max_returned", global_max_returned, 2, 1, 128),
    _whole("histogram_shared, one warp's worth", histogram_shared, 1, 64, 64),
    _whole("histogram_shared, two blocks", histogram_shared, 2, 64, 500),
)
