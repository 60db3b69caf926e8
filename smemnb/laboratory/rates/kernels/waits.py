"""Barriers, taken branches, constants, and loads whose slowest one is looked for."""

from __future__ import annotations

import numpy as np
from numba import cuda, float32, uint32

from ....kernels.ptx import cycles

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
    """out = steps of a loop that has a branch in each, which all lanes take in every second one."""
    tid = cuda.threadIdx.x
    acc = float32(tid)
    number = uint32(a)
    began = cycles()
    if (tid // 32) % 4 < partitions:
        for _ in range(rounds):
            for _ in range(UNROLLED):
                if number & uint32(1):
                    acc = acc / (acc + float32(2))
                number = uint32(number * uint32(5) + uint32(1))
    ended = cycles()
    out[tid] = uint32(acc) + number
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
