"""How often each whole number below `bins` occurs, counted in shared memory.

As `histogram_lanes`, with what that rung leaves open: elements of 1 to 8 bytes that begin anywhere,
and any number of bins that fits. There are 2^shift copies of the counters; of value k, lanes use
the word (k << shift) + lane % 2^shift. With 32 copies no two lanes share a bank; with fewer, lanes
of one copy may, and an atomic of random values takes 2 wavefronts with 16 copies, 3 with 8, and
3.5 with one.

Where shared memory has too few words for all bins, blocks share them in `groups`: block b counts
bins of group b % groups alone, and reads what the other blocks of its slice read, too, at about the
same time, so most of it comes from the L2 cache.

Values that have no counter, negative ones among them, are not counted. `seen` keeps the largest
value of all, as an unsigned number of 32 bits, and behind it a 0. A grid of a single block stores
what it has counted; several add it to `out` and `seen`, which then hold zeros before.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from numba import cuda, uint32, uint64

from ...ptx import load1, load16, misalignment
from ...unrolled import device, jit, named

BEYOND = 0xFFFFFFFF
"""What `seen` keeps of a value of 8 bytes that needs more than 32 bits."""


def number_of(dtype: Any) -> Any:
    """A device function: the value as an unsigned number of 32 bits, a negative one very large."""
    if dtype.bitwidth == 64:

        @device
        def number(value):
            return uint32(min(uint64(value), uint64(BEYOND)))

    else:

        @device
        def number(value):
            return uint32(value)

    return number


@lru_cache(maxsize=64)
def counting_of(dtype: Any, threads: int, resident: int) -> Any:
    """The kernel `(out, seen, x, bins, shift, groups)` for elements of a type.

    It is launched with 4 bytes of shared memory for each of the counters of a group, of which there
    are ceil(bins / groups) << shift, and with a multiple of `groups` blocks.

    Args:
        dtype: of Numba, a whole number of 1, 2, 4 or 8 bytes.
        threads: of a block.
        resident: blocks on a multiprocessor.
    """
    chunk_size = 16 // (dtype.bitwidth // 8)
    number = number_of(dtype)

    @device
    def add(value, part, low, high, shift, copy, most):
        k = number(value)
        if low <= k and k < high:
            cuda.atomic.add(part, uint32((uint32(k - low) << shift) + copy), 1)
            return most
        return max(most, k)

    @jit(launch_bounds=(threads, resident))
    def counting(out, seen, x, bins, shift, groups):
        part = cuda.shared.array(0, uint32)
        tx = uint32(cuda.threadIdx.x)
        copies = uint32(uint32(1) << shift)
        copy = uint32(tx & uint32(copies - uint32(1)))
        most = uint32(0)

        # 1. the bins of this block; all their counters begin at 0
        alone = cuda.gridDim.x == 1
        if alone and tx == uint32(0):
            seen[0] = 0
            seen[1] = 0
        group = uint32(cuda.blockIdx.x % groups)
        each = uint32((bins + groups - 1) // groups)
        low = uint32(group * each)
        mine = min(each, uint32(bins - min(bins, low)))
        high = uint32(low + mine)
        at = tx
        while at < uint32(mine << shift):
            part[at] = 0
            at = uint32(at + uint32(threads))
        cuda.syncthreads()  # all counters are 0 before anyone adds

        # 2. whole chunks of 16 bytes, two of a thread under way at a time
        n = uint32(x.size)
        before = min(n, uint32(uint32(chunk_size - misalignment(x)) % uint32(chunk_size)))
        chunks = uint32(uint32(n - before) // uint32(chunk_size))
        first = uint32(uint32(cuda.blockIdx.x // groups) * uint32(threads) + tx)
        step = uint32(uint32(cuda.gridDim.x // groups) * uint32(threads))
        chunk = first
        while uint32(chunk + step) < chunks:
            at = uint32(before + chunk * uint32(chunk_size))
            one = load16(x, at)
            two = load16(x, uint32(at + step * uint32(chunk_size)))
            for value in one:
                most = add(value, part, low, high, shift, copy, most)
            for value in two:
                most = add(value, part, low, high, shift, copy, most)
            chunk = uint32(chunk + uint32(step * uint32(2)))
        if chunk < chunks:
            for value in load16(x, uint32(before + chunk * uint32(chunk_size))):
                most = add(value, part, low, high, shift, copy, most)

        # 3. what is before and behind the chunks
        if first < before:
            most = add(load1(x, first), part, low, high, shift, copy, most)
        at = uint32(before + uint32(chunks * uint32(chunk_size)) + first)
        if at < n:
            most = add(load1(x, at), part, low, high, shift, copy, most)
        cuda.syncthreads()  # all have added before anyone reads

        # 4. a thread adds the copies of a bin, from its own lane's on
        k = tx
        while k < mine:
            acc = uint32(0)
            for turn in range(copies):
                lane = uint32(uint32(k + turn) & uint32(copies - uint32(1)))
                acc = uint32(acc + part[uint32((k << shift) + lane)])
            if alone:
                out[k] = acc
            elif acc > uint32(0):
                cuda.atomic.add(out, uint32(low + k), acc)
            if acc > uint32(0):
                most = max(most, uint32(low + k))
            k = uint32(k + uint32(threads))
        if most > uint32(0):
            cuda.atomic.max(seen, 0, most)

    return named(counting, f"counting_{dtype}")
