"""The least and the largest element, of which a histogram takes its first and its last edge."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from numba import cuda, uint32

from ...ptx import load1, load16, misalignment
from ...unrolled import device, jit, named

THREADS = 1024


@device
def least_of(one, other):
    """The smaller one; NaN if one of them is."""
    if other < one or other != other:
        return other
    return one


@device
def largest_of(one, other):
    """The larger one; NaN if one of them is."""
    if other > one or other != other:
        return other
    return one


@lru_cache(maxsize=16)
def extent_of(dtype: Any) -> Any:
    """The kernel `(out, x)`: out[2 * block] and out[2 * block + 1] are the ends of its elements.

    x has elements, and no block is without: blocks begin with the first element of all.
    """
    chunk_size = 16 // (dtype.bitwidth // 8)

    @jit(launch_bounds=(THREADS, 2))
    def extent(out, x):
        lows = cuda.shared.array(THREADS, dtype)
        highs = cuda.shared.array(THREADS, dtype)
        tx = uint32(cuda.threadIdx.x)
        low = load1(x, uint32(0))
        high = low

        # 1. whole chunks of 16 bytes, and what is before and behind them
        n = uint32(x.size)
        before = min(n, uint32(uint32(chunk_size - misalignment(x)) % uint32(chunk_size)))
        chunks = uint32(uint32(n - before) // uint32(chunk_size))
        first = uint32(cuda.blockIdx.x * uint32(THREADS) + tx)
        step = uint32(cuda.gridDim.x * uint32(THREADS))
        chunk = first
        while chunk < chunks:
            for value in load16(x, uint32(before + chunk * uint32(chunk_size))):
                low = least_of(low, value)
                high = largest_of(high, value)
            chunk = uint32(chunk + step)
        if first < before:
            low = least_of(low, load1(x, first))
            high = largest_of(high, load1(x, first))
        at = uint32(before + uint32(chunks * uint32(chunk_size)) + first)
        if at < n:
            low = least_of(low, load1(x, at))
            high = largest_of(high, load1(x, at))

        # 2. a tree over the block
        lows[tx] = low
        highs[tx] = high
        cuda.syncthreads()  # all ends are there
        half = uint32(THREADS // 2)
        while half > uint32(0):
            if tx < half:
                lows[tx] = least_of(lows[tx], lows[uint32(tx + half)])
                highs[tx] = largest_of(highs[tx], highs[uint32(tx + half)])
            cuda.syncthreads()  # this round is done before the next one reads its ends
            half = uint32(half >> uint32(1))
        if tx == uint32(0):
            out[2 * cuda.blockIdx.x] = lows[0]
            out[2 * cuda.blockIdx.x + 1] = highs[0]

    return named(extent, f"extent_{dtype}")
