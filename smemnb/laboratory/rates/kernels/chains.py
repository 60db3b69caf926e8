"""Chains of one kind of instruction, or of two kinds side by side, timed by the clock.

Each thread has `chains` numbers that do not wait for each other, and takes a step in each of them,
`UNROLLED` times per round. Only warps of the first `partitions` quarters of a multiprocessor work.
"""

from __future__ import annotations

import math
from functools import cache

from numba import cuda, float32, float64, int32, uint32, uint64

from ....kernels.ptx import cycles
from ....kernels.unrolled import device, jit, unroll

UNROLLED = 16
STRAIGHT = 64


@device
def multiply_add(x, a, b):
    """A multiply-add."""
    return x * a + b


@device
def add(x, a, b):
    """A sum."""
    return x + a


@device
def xor_add(x, a, b):
    """An exclusive or, then a sum."""
    return (x ^ a) + b


@device
def turn(x, a, b):
    """A word turned by 7 bits, then an exclusive or."""
    return ((x << uint32(7)) | (x >> uint32(25))) ^ a


@device
def compared(x, a, b):
    """A comparison, a choice, an exclusive or."""
    return (x if x > a else b) ^ a


@device
def multiply_add_int(x, a, b):
    """A multiply-add of integers of 32 bits."""
    return int32(x * a + b)


@device
def multiply_add_wide(x, a, b):
    """A product of 32 bits by 32 to 64, with a sum."""
    return uint64(uint64(uint32(x)) * uint64(uint32(a)) + b)


@device
def bits_set(x, a, b):
    """The number of bits that are set, then a sum."""
    return uint32(cuda.popc(x)) + a


@jit(device=True, forceinline=True, fastmath=True)
def root(x, a, b):
    """A reciprocal square root."""
    return float32(1) / math.sqrt(x)


@jit(device=True, forceinline=True, fastmath=True)
def power(x, a, b):
    """A power of e: scaled, then a power of two."""
    return math.exp(x)


@device
def to_int_and_back(x, a, b):
    """A product, to an integer and back."""
    return float32(int32(x * a))


@device
def exchanged(x, a, b):
    """The neighbour lane's number."""
    return cuda.shfl_xor_sync(0xFFFFFFFF, x, 1)


STEPS = {
    "multiply_add": (multiply_add, float32),
    "add": (add, float32),
    "multiply_add64": (multiply_add, float64),
    "add64": (add, float64),
    "xor_add": (xor_add, uint32),
    "turn": (turn, uint32),
    "compared": (compared, int32),
    "multiply_add_int": (multiply_add_int, int32),
    "multiply_add_wide": (multiply_add_wide, uint64),
    "bits_set": (bits_set, uint32),
    "root": (root, float32),
    "power": (power, float32),
    "to_int_and_back": (to_int_and_back, float32),
    "exchanged": (exchanged, int32),
}
"""Step -> the function and the type of the number that it steps."""


@cache
def chained(name, chains):
    """A kernel of so many chains of the steps of this name."""
    step, dtype = STEPS[name]
    every = name == "exchanged"  # a shuffle behind a branch is another instruction

    @cuda.jit(fastmath=name in ("root", "power"))
    def kernel(out, times, a, b, rounds, partitions):
        """out = the thread's numbers after `UNROLLED * rounds` steps each, added up."""
        kept = cuda.local.array(chains, dtype)
        tid = cuda.threadIdx.x
        for chain in range(chains):
            kept[chain] = dtype(tid + chain + 1)
        cuda.syncthreads()  # all warps begin together
        began = cycles()
        if every or (tid // 32) % 4 < partitions:
            for _ in range(rounds):
                for _ in range(UNROLLED):
                    for chain in range(chains):
                        kept[chain] = step(kept[chain], a, b)
        ended = cycles()
        total = dtype(0)
        for chain in range(chains):
            total += kept[chain]
        out[tid] = total
        if tid % 32 == 0:
            times[tid // 32, 0], times[tid // 32, 1] = began, ended

    return kernel


@cache
def uniform(chains):
    """A kernel of so many chains of numbers that are the same in all lanes."""

    @cuda.jit
    def kernel(out, times, a, b, rounds, partitions):
        """out = the numbers after `UNROLLED * rounds` steps each, added up."""
        kept = cuda.local.array(chains, uint32)
        tid = cuda.threadIdx.x
        for chain in range(chains):
            kept[chain] = uint32(a + chain)
        cuda.syncthreads()
        began = cycles()
        for _ in range(rounds):
            for _ in range(UNROLLED):
                for chain in range(chains):
                    kept[chain] = uint32((kept[chain] ^ a) + b)
        ended = cycles()
        total = uint32(0)
        for chain in range(chains):
            total += kept[chain]
        out[tid] = total
        if tid % 32 == 0:
            times[tid // 32, 0], times[tid // 32, 1] = began, ended

    return kernel


@cache
def mixed(name):
    """A kernel of four chains of float32 multiply-adds beside four of another step's."""
    step, dtype = STEPS[name]

    @cuda.jit
    def kernel(out, times, a, b, rounds, partitions):
        """out = the thread's numbers of both kinds, added up."""
        kept = cuda.local.array(4, dtype)
        acc = cuda.local.array(4, float32)
        tid = cuda.threadIdx.x
        factor, addend = float32(0.5), float32(a)
        for chain in range(4):
            kept[chain] = dtype(tid + chain + 1)
            acc[chain] = float32(tid + chain)
        cuda.syncthreads()
        began = cycles()
        if (tid // 32) % 4 < partitions:
            for _ in range(rounds):
                for _ in range(UNROLLED):
                    for chain in range(4):
                        acc[chain] = acc[chain] * factor + addend
                        kept[chain] = step(kept[chain], a, b)
        ended = cycles()
        total = dtype(0)
        for chain in range(4):
            total += kept[chain] + dtype(acc[chain])
        out[tid] = total
        if tid % 32 == 0:
            times[tid // 32, 0], times[tid // 32, 1] = began, ended

    return kernel


@cache
def outer(edge, apart):
    """Multiply-adds of three registers each; `edge` and `apart` decide which they are."""
    sums = edge * edge

    @cuda.jit
    def kernel(out, times, a, b, rounds, partitions):
        """out = the thread's `edge` times `edge` sums, added up."""
        acc = cuda.local.array(sums, float32)
        x = cuda.local.array(edge, float32)
        y = cuda.local.array(edge, float32)
        tid = cuda.threadIdx.x
        for one in range(edge):
            x[one], y[one] = float32(tid + one) * a, float32(tid - one) * b
        for one in range(sums):
            acc[one] = float32(one)
        cuda.syncthreads()
        began = cycles()
        if (tid // 32) % 4 < partitions:
            for _ in range(rounds):
                for one in range(sums):
                    at = one * apart % sums
                    acc[at] = acc[at] * x[at // edge] + y[at % edge]
        ended = cycles()
        total = float32(0)
        for one in range(sums):
            total += acc[one]
        out[tid] = total
        if tid % 32 == 0:
            times[tid // 32, 0], times[tid // 32, 1] = began, ended

    return kernel


@cache
def straight(kilobytes):
    """A loop of so many KB, a multiple of 4, of multiply-adds of 16 bytes; no other branch."""

    @device
    def one(acc, a, b):
        for _ in range(STRAIGHT // 4):
            for chain in range(4):
                acc[chain] = acc[chain] * a + b

    @device
    def body(k, acc, a, b):
        one(acc, a, b)
        one(acc, a, b)
        one(acc, a, b)
        one(acc, a, b)

    laid_out = unroll(kilobytes // 4, body)

    @cuda.jit
    def kernel(out, times, a, b, rounds, partitions):
        """out = the thread's four sums, added up."""
        acc = cuda.local.array(4, float32)
        tid = cuda.threadIdx.x
        for chain in range(4):
            acc[chain] = float32(tid + chain)
        cuda.syncthreads()
        began = cycles()
        if (tid // 32) % 4 < partitions:
            for _ in range(rounds):
                laid_out((acc, a, b))
        ended = cycles()
        out[tid] = acc[0] + acc[1] + acc[2] + acc[3]
        if tid % 32 == 0:
            times[tid // 32, 0], times[tid // 32, 1] = began, ended

    return kernel
