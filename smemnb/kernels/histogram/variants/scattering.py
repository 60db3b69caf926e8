"""How often each whole number below `bins` occurs, counted in global memory: any number of bins.

Where shared memory has too few words for the counters, each element would be an atomic of global
memory. A thread therefore holds on to the number that it met last, and adds a run of equal numbers
at once: skewed data, where one number makes up most, would else queue up at its counter.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from numba import cuda, uint32

from ...ptx import load1, load16, misalignment
from ...unrolled import device, jit, named
from .counting import number_of

THREADS = 256


@lru_cache(maxsize=16)
def scattering_of(dtype: Any) -> Any:
    """The kernel `(out, seen, x, bins)` for elements of a type; `seen` as in `counting`."""
    chunk_size = 16 // (dtype.bitwidth // 8)
    number = number_of(dtype)

    @device
    def put(out, bins, last, run):
        if last < bins and run > uint32(0):
            cuda.atomic.add(out, last, run)

    @jit(launch_bounds=(THREADS, 4))
    def scattering(out, seen, x, bins):
        tx = uint32(cuda.threadIdx.x)
        most = uint32(0)
        last = uint32(0)
        run = uint32(0)

        # 1. whole chunks of 16 bytes, and what is before and behind them
        n = uint32(x.size)
        before = min(n, uint32(uint32(chunk_size - misalignment(x)) % uint32(chunk_size)))
        chunks = uint32(uint32(n - before) // uint32(chunk_size))
        first = uint32(cuda.blockIdx.x * uint32(THREADS) + tx)
        step = uint32(cuda.gridDim.x * uint32(THREADS))
        chunk = first
        while chunk < chunks:
            for value in load16(x, uint32(before + chunk * uint32(chunk_size))):
                k = number(value)
                if k != last:
                    put(out, bins, last, run)
                    most = max(most, last)
                    last = k
                    run = uint32(0)
                run = uint32(run + uint32(1))
            chunk = uint32(chunk + step)
        put(out, bins, last, run)
        most = max(most, last)

        if first < before:
            k = number(load1(x, first))
            put(out, bins, k, uint32(1))
            most = max(most, k)
        at = uint32(before + uint32(chunks * uint32(chunk_size)) + first)
        if at < n:
            k = number(load1(x, at))
            put(out, bins, k, uint32(1))
            most = max(most, k)

        # 2. the largest number of all
        if most > uint32(0):
            cuda.atomic.max(seen, 0, most)

    return named(scattering, f"scattering_{dtype}")
