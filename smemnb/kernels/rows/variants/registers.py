"""Rows that one block, one warp or a few lanes keep in registers: softmax, log_softmax, norms."""

from __future__ import annotations

import math
from functools import cache
from typing import Any, NamedTuple

from numba import cuda, float32, float64, uint32

from ...ptx import load1, load16, store1, store16
from ...unrolled import device, jit, named

ALL = 0xFFFFFFFF
LOWEST = {float32: -3.4028234663852886e38, float64: -1.7976931348623157e308}


class Shape(NamedTuple):
    """How a row lies in registers."""

    threads: int
    lanes: int
    chunks: int
    wide: bool
    resident: int = 1


@cache
def reductions(threads, lanes, dtype):
    """(largest, total): of the lanes that share a row, for all of them."""
    zero, warps = dtype(0), max(1, threads // 32)
    span = min(lanes, 32)
    first = span // 2

    @device
    def lanes_max(value):
        mask = first
        while mask > 0:
            value = max(value, cuda.shfl_xor_sync(ALL, value, mask))
            mask //= 2
        return value

    @device
    def lanes_sum(value):
        mask = first
        while mask > 0:
            value += cuda.shfl_xor_sync(ALL, value, mask)
            mask //= 2
        return value

    if lanes <= 32:

        @device
        def largest(shared, value):
            return lanes_max(value)

        @device
        def total(shared, at, value):
            return lanes_sum(value)

        return largest, total

    half = warps // 2

    @device
    def largest(shared, value):
        value = lanes_max(value)
        tid = cuda.threadIdx.x
        lane = uint32(tid % 32)
        if lane == 0:
            shared[tid // 32] = value
        cuda.syncthreads()
        value = shared[lane % uint32(warps)]
        mask = half
        while mask > 0:
            value = max(value, cuda.shfl_xor_sync(ALL, value, mask))
            mask //= 2
        return value

    @device
    def total(shared, at, value):
        value = lanes_sum(value)
        tid = cuda.threadIdx.x
        lane = uint32(tid % 32)
        if lane == 0:
            shared[at + tid // 32] = value
        cuda.syncthreads()
        value = shared[at + lane % uint32(warps)]
        mask = half
        while mask > 0:
            value += cuda.shfl_xor_sync(ALL, value, mask)
            mask //= 2
        return value

    return largest, total


@cache
def softmax_of(shape: Shape, dtype: Any, log: bool, name: str = "", fast: bool = False) -> Any:
    threads, lanes, chunks, wide, resident = shape
    size = dtype.bitwidth // 8
    per = 16 // size if wide else 1
    rows = threads // lanes
    largest, total = reductions(threads, lanes, dtype)
    words = 2 * max(1, threads // 32)
    warps = max(1, threads // 32)
    low, lowest = dtype(-math.inf), dtype(LOWEST[dtype])
    steps = tuple(range(chunks))

    @device
    def get(inp, at):
        if wide:
            return load16(inp, at)
        return (load1(inp, at),)

    @device
    def put(out, at, held, j):
        if wide:
            if per == 4:
                store16(out, at, (held[j, 0], held[j, 1], held[j, 2], held[j, 3]))
            else:
                store16(out, at, (held[j, 0], held[j, 1]))
        else:
            store1(out, at, held[j, 0])

    @jit(launch_bounds=(threads, resident), fastmath=fast)
    def softmax_rows(out, inp):
        held = cuda.local.array((chunks, per), dtype)
        shared = cuda.shared.array(words, dtype)
        tid = uint32(cuda.threadIdx.x)
        lane = uint32(tid % uint32(lanes))
        row = uint32(cuda.blockIdx.x * rows + tid // uint32(lanes))
        length = uint32(inp.shape[1])
        there = row < uint32(inp.shape[0])
        last = length if there else uint32(0)
        start = uint32(row * uint32(inp.strides[0] // size))
        for j in range(chunks):
            col = uint32((lane + j * lanes) * per)
            if col < last:
                part = get(inp, uint32(start + col))
                for e in range(per):
                    held[j, e] = part[e]
            else:
                for e in range(per):
                    held[j, e] = low
        top = lowest
        for j in range(chunks):
            for e in range(per):
                top = max(top, held[j, e])
        top = largest(shared, top)
        acc = dtype(0)
        for j in range(chunks):
            for e in range(per):
                if log:
                    held[j, e] = held[j, e] - top
                    acc += math.exp(held[j, e])
                else:
                    held[j, e] = math.exp(held[j, e] - top)
                    acc += held[j, e]
        acc = total(shared, warps, acc)
        start = uint32(row * uint32(out.strides[0] // size))
        if log:
            shift = math.log(acc)
        else:
            shift = dtype(1) / acc
        for j in range(chunks):
            col = uint32((lane + j * lanes) * per)
            for e in range(per):
                if log:
                    held[j, e] -= shift
                else:
                    held[j, e] *= shift
            if col < last:
                put(out, uint32(start + col), held, j)

    return named(softmax_rows, name)
