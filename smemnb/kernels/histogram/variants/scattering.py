"""How often each whole number below `bins` occurs, counted in global memory: any number of bins.

Where shared memory has too few words for the counters, each element is an atomic of global memory.
Those of one address come one after the other, so a number that makes up a few percent of the
elements would set the pace. Each block therefore keeps counters of its own for numbers that it met
twice within a chunk of its first elements: a slot for each last digits of a number, with a tag that
says which number it counts.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from numba import cuda, uint32

from ...ptx import load1, load16, misalignment
from ...unrolled import device, jit, named
from .counting import number_of

THREADS = 1024
SLOTS = 4096


@lru_cache(maxsize=16)
def scattering_of(dtype: Any) -> Any:
    """The kernel `(out, seen, x, bins)` for elements of a type; `seen` as in `counting`."""
    chunk_size = 16 // (dtype.bitwidth // 8)
    number = number_of(dtype)

    @device
    def add(value, tags, part, out, bins, most):
        k = number(value)
        slot = uint32(k % uint32(SLOTS))
        if tags[slot] == k:
            cuda.atomic.add(part, slot, 1)
            return most
        if k < bins:
            cuda.atomic.add(out, k, 1)
        return max(most, k)

    @jit(launch_bounds=(THREADS, 2))
    def scattering(out, seen, x, bins):
        tags = cuda.shared.array(SLOTS, uint32)
        part = cuda.shared.array(SLOTS, uint32)
        tx = uint32(cuda.threadIdx.x)
        most = uint32(0)

        # 1. no slot has a tag: 0 belongs to slot 0 alone
        at = tx
        while at < uint32(SLOTS):
            tags[at] = 0
            part[at] = 0
            at = uint32(at + uint32(THREADS))
        cuda.syncthreads()  # slots are empty before anyone takes one

        # 2. numbers that a thread meets twice in its first chunk get a slot
        n = uint32(x.size)
        before = min(n, uint32(uint32(chunk_size - misalignment(x)) % uint32(chunk_size)))
        chunks = uint32(uint32(n - before) // uint32(chunk_size))
        first = uint32(cuda.blockIdx.x * uint32(THREADS) + tx)
        step = uint32(cuda.gridDim.x * uint32(THREADS))
        if first < chunks:
            some = load16(x, uint32(before + first * uint32(chunk_size)))
            for i in range(chunk_size - 1):
                k = number(some[i])
                for j in range(i + 1, chunk_size):
                    if number(some[j]) == k and k < bins:
                        cuda.atomic.max(tags, uint32(k % uint32(SLOTS)), k)
        cuda.syncthreads()  # all tags are there before anyone asks for one

        # 3. whole chunks of 16 bytes, two of a thread under way at a time; the rest
        chunk = first
        while uint32(chunk + step) < chunks:
            at = uint32(before + chunk * uint32(chunk_size))
            one = load16(x, at)
            two = load16(x, uint32(at + step * uint32(chunk_size)))
            for value in one:
                most = add(value, tags, part, out, bins, most)
            for value in two:
                most = add(value, tags, part, out, bins, most)
            chunk = uint32(chunk + uint32(step * uint32(2)))
        if chunk < chunks:
            for value in load16(x, uint32(before + chunk * uint32(chunk_size))):
                most = add(value, tags, part, out, bins, most)
        if first < before:
            most = add(load1(x, first), tags, part, out, bins, most)
        at = uint32(before + uint32(chunks * uint32(chunk_size)) + first)
        if at < n:
            most = add(load1(x, at), tags, part, out, bins, most)
        cuda.syncthreads()  # all have added before anyone reads

        # 4. the counts of slots are added to those of their numbers
        at = tx
        while at < uint32(SLOTS):
            if part[at] > uint32(0):
                cuda.atomic.add(out, tags[at], part[at])
                most = max(most, tags[at])
            at = uint32(at + uint32(THREADS))
        if most > uint32(0):
            cuda.atomic.max(seen, 0, most)

    return named(scattering, f"scattering_{dtype}")
