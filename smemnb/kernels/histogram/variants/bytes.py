"""How often each of the 256 values of a byte occurs, at the speed at which memory is read.

As `histogram_paired`, for elements that begin anywhere, and the largest value that occurs. Its
arguments are those of `counting`, so that either may be launched.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from numba import cuda, uint8, uint32

from ...ptx import load1, load16, misalignment
from ...unrolled import device, jit, named

BINS = 256
LANES = 32  # copies of the counters, one per bank
COUNTERS = BINS * LANES
CHUNK = 16


@device
def add(value, part, lane):
    """Count a byte; a negative one as the number that its bits are without a sign."""
    cuda.atomic.add(part, uint32(uint8(value) * LANES | lane), 1)


@lru_cache(maxsize=4)
def counting_bytes_of(dtype: Any, threads: int) -> Any:
    """The kernel `(out, seen, x, bins, shift, groups)` for int8 or uint8, of 256 bins or more.

    It brings its own shared memory, and needs no shift. With 0 for groups, `seen` is left as it is.
    """

    @jit(launch_bounds=(threads, 2))
    def counting_bytes(out, seen, x, bins, shift, groups):
        part = cuda.shared.array(COUNTERS, uint32)
        tx = uint32(cuda.threadIdx.x)
        lane = uint32(cuda.laneid)
        most = uint32(0)

        # 1. all counters begin at 0
        alone = cuda.gridDim.x == 1
        if alone and groups > uint32(0) and tx == uint32(0):
            seen[0] = 0
            seen[1] = 0
        at = tx
        while at < uint32(COUNTERS):
            part[at] = 0
            at = uint32(at + uint32(threads))
        cuda.syncthreads()  # all counters are 0 before anyone adds

        # 2. whole chunks of 16 bytes, two of a thread under way at a time
        n = uint32(x.size)
        before = min(n, uint32(uint32(CHUNK - misalignment(x)) % uint32(CHUNK)))
        chunks = uint32(uint32(n - before) // uint32(CHUNK))
        first = uint32(cuda.blockIdx.x * uint32(threads) + tx)
        step = uint32(cuda.gridDim.x * uint32(threads))
        chunk = first
        while uint32(chunk + step) < chunks:
            at = uint32(before + chunk * uint32(CHUNK))
            one = load16(x, at)
            two = load16(x, uint32(at + step * uint32(CHUNK)))
            for value in one:
                add(value, part, lane)
            for value in two:
                add(value, part, lane)
            chunk = uint32(chunk + uint32(step * uint32(2)))
        if chunk < chunks:
            for value in load16(x, uint32(before + chunk * uint32(CHUNK))):
                add(value, part, lane)

        # 3. what is before and behind the chunks
        if first < before:
            add(load1(x, first), part, lane)
        at = uint32(before + uint32(chunks * uint32(CHUNK)) + first)
        if at < n:
            add(load1(x, at), part, lane)
        cuda.syncthreads()  # all have added before anyone reads

        # 4. a thread adds the copies of a value, from its own lane's on
        k = tx
        while k < uint32(BINS):
            acc = uint32(0)
            for turn in range(LANES):
                acc = uint32(acc + part[uint32(k * LANES + (k + turn) % LANES)])
            if alone:
                out[k] = acc
            elif acc > uint32(0):
                cuda.atomic.add(out, k, acc)
            if acc > uint32(0):
                most = max(most, k)
            k = uint32(k + uint32(threads))
        k = uint32(tx + uint32(BINS))
        while alone and k < bins:
            out[k] = 0
            k = uint32(k + uint32(threads))
        if groups > uint32(0) and most > uint32(0):
            cuda.atomic.max(seen, 0, most)

    return named(counting_bytes, f"counting_{dtype}")
