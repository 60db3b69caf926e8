"""Kernels that wait: chains of loads and of multiply-adds, timed by the multiprocessor's clock.

In a chase the value that is read is the place that is read next, so no load can begin before the
one before it is back. `times` gets, per warp, the counter's value before and after.
"""

from __future__ import annotations

from functools import cache

from numba import cuda, float32, uint32

from ...kernels.ptx import cycles

WORDS = 4096
"""Elements of the chase in shared memory: 16 KB."""
UNROLLED = 32
"""Steps of a chain per round of the loop, laid out one after the other: no loop counter between."""


@cuda.jit
def chase(last, times, ring, start, rounds):
    """last[0] = the place after `UNROLLED * rounds` steps, each read from the one before it."""
    at = uint32(start)
    began = cycles()
    for _ in range(rounds):
        for _ in range(UNROLLED):
            at = ring[at]
    ended = cycles()
    last[0] = at
    times[0, 0], times[0, 1] = began, ended


@cuda.jit
def chase_shared(last, times, ring, rounds):
    """last = each thread's place after `UNROLLED * rounds` steps in a ring in shared memory."""
    tile = cuda.shared.array(WORDS, uint32)
    tid = cuda.threadIdx.x
    for place in range(tid, WORDS, cuda.blockDim.x):
        tile[place] = ring[place]
    cuda.syncthreads()  # the ring is whole before anyone follows it
    at = uint32(tid)
    began = cycles()
    for _ in range(rounds):
        for _ in range(UNROLLED):
            at = tile[at]
    ended = cycles()
    last[tid] = at
    if tid % 32 == 0:
        times[tid // 32, 0], times[tid // 32, 1] = began, ended


@cache
def chases(walks):
    """A kernel in which one thread follows so many walks at once, a step of each per round."""

    @cuda.jit
    def kernel(last, times, ring, rounds):
        """last = the walks' places after `UNROLLED * rounds` steps; from where `last` says."""
        at = cuda.local.array(walks, uint32)
        for walk in range(walks):
            at[walk] = last[walk]
        began = cycles()
        for _ in range(rounds):
            for _ in range(UNROLLED):
                for walk in range(walks):
                    at[walk] = ring[at[walk]]
        ended = cycles()
        for walk in range(walks):
            last[walk] = at[walk]
        times[0, 0], times[0, 1] = began, ended

    return kernel


@cache
def multiply_adds(chains):
    """A kernel in which each thread has so many sums that do not wait for each other."""

    @cuda.jit
    def kernel(out, times, factor, addend, rounds):
        """out = the thread's sums after `UNROLLED * rounds` multiply-adds each, added up."""
        acc = cuda.local.array(chains, float32)
        tid = cuda.threadIdx.x
        for chain in range(chains):
            acc[chain] = float32(tid + chain)
        cuda.syncthreads()  # all warps begin together
        began = cycles()
        for _ in range(rounds):
            for _ in range(UNROLLED):
                for chain in range(chains):
                    acc[chain] = acc[chain] * factor + addend
        ended = cycles()
        total = float32(0)
        for chain in range(chains):
            total += acc[chain]
        out[tid] = total
        if tid % 32 == 0:
            times[tid // 32, 0], times[tid // 32, 1] = began, ended

    return kernel


@cache
def walks(loads):
    """A kernel in which each thread has so many loads under way, and no more.

    A walk's next place is the sum of its place and of what it has read there, so its next load
    waits for this one.
    """

    @cuda.jit
    def kernel(out, ones, rounds):
        """out = where the thread's walks end, added up; `ones` holds ones."""
        at = cuda.local.array(loads, uint32)
        threads = uint32(cuda.gridsize(1))
        stride = uint32(threads * uint32(loads))
        for walk in range(loads):
            at[walk] = uint32(cuda.grid(1)) + threads * uint32(walk)
        for _ in range(rounds):
            for walk in range(loads):
                at[walk] += ones[at[walk]] * stride
        total = uint32(0)
        for walk in range(loads):
            total += at[walk]
        out[cuda.grid(1)] = total

    return kernel
