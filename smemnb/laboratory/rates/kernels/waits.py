"""Barriers, taken branches, constants, and loads whose slowest one is looked for."""

from __future__ import annotations

from functools import cache

import numpy as np
from numba import cuda, uint32, uint64

from ....kernels.ptx import cycles, load16

UNROLLED = 16
CONSTANTS = 256
RING = (np.arange(CONSTANTS, dtype=np.uint32) + 97) % CONSTANTS


@cuda.jit
def barriers(out, times, a, b, rounds, partitions):
    """out = 0, after `UNROLLED * rounds` barriers of all warps."""
    tid = cuda.threadIdx.x
    cuda.syncthreads()
    began = cycles()
    for _ in range(rounds):
        for _ in range(UNROLLED):
            cuda.syncthreads()
    ended = cycles()
    out[tid] = 0
    if tid % 32 == 0:
        times[tid // 32, 0], times[tid // 32, 1] = began, ended


@cuda.jit
def branches(out, times, a, b, rounds, partitions):
    """out = a number after `UNROLLED * rounds` steps of a loop that jumps back after each."""
    tid = cuda.threadIdx.x
    number, left = uint32(a), uint32(rounds * UNROLLED)
    began = cycles()
    if (tid // 32) % 4 < partitions:
        while left != uint32(0) and number != uint32(tid + 1):  # never: the number is even
            number = uint32(number * uint32(4) + uint32(2) * uint32(b))
            left -= uint32(1)
    ended = cycles()
    out[tid] = number + left
    if tid % 32 == 0:
        times[tid // 32, 0], times[tid // 32, 1] = began, ended


@cuda.jit
def constants(out, times, a, b, rounds, partitions):
    """out = the place after `UNROLLED * rounds` steps in a ring in constant memory."""
    table = cuda.const.array_like(RING)
    tid = cuda.threadIdx.x
    at = uint32(a)
    began = cycles()
    if (tid // 32) % 4 < partitions:
        for _ in range(rounds):
            for _ in range(UNROLLED):
                at = table[at]
    ended = cycles()
    out[tid] = at
    if tid % 32 == 0:
        times[tid // 32, 0], times[tid // 32, 1] = began, ended


@cuda.jit
def slowest(out, waits, ring, rounds):
    """waits = cycles of each warp's loads of a line: all of them, and the slowest one.

    `ring` holds the place of the next line in each element of a line, lane by lane.
    """
    tid = cuda.grid(1)
    at = uint32(uint32(tid // 32 * 7919 * 32) % uint32(ring.size)) + uint32(tid % 32)
    longest, began = 0, cycles()
    before = began
    for _ in range(rounds):
        at = ring[at]
        if at == uint32(0xFFFFFFFF):  # never: the clock is read when the load is back
            break
        now = cycles()
        longest = max(longest, now - before)
        before = now
    out[tid] = at
    if tid % 32 == 0:
        waits[tid // 32, 0], waits[tid // 32, 1] = before - began, longest


@cache
def global_loads(width, apart):
    """Loads that L1 has and that do not wait for each other; lanes `apart` words apart."""

    @cuda.jit
    def kernel(out, times, a, b, rounds, partitions):
        """out = exclusive or of what the thread has read of `out`."""
        tid = cuda.threadIdx.x
        mask = uint32(out.size // 2 - 1)
        first, acc = uint32(tid % 32 * apart), uint32(0)
        at = first
        for place in range(tid, out.size, cuda.blockDim.x):
            acc ^= out[place]  # L1 has all of it
        cuda.syncthreads()
        began = cycles()
        if (tid // 32) % 4 < partitions:
            for turn in range(rounds):
                for step in range(UNROLLED):
                    if width == 16:
                        read = load16(out, at + uint32(step * 16))
                        acc ^= read[0] ^ read[1] ^ read[2] ^ read[3]
                    else:
                        acc ^= out[uint64(at) + uint64(step * 4)]  # apart: never merged
                at = (first + uint32(turn * 32)) & mask
        ended = cycles()
        cuda.syncthreads()
        out[tid] = acc
        if tid % 32 == 0:
            times[tid // 32, 0], times[tid // 32, 1] = began, ended

    return kernel
