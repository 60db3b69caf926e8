"""Softmax down columns: several rows of a slab at once, a column's values in registers."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

from numba import cuda, uint32

from ...ptx import load1, store1
from ...unrolled import device, jit, named
from .registers import LOWEST


@cache
def trees(dtype):
    """(largest, total) over `count` threads that stand `width` apart."""

    @device
    def largest(shared, tid, line, width, count, value):
        shared[tid] = value
        cuda.syncthreads()
        while count > 1:
            half = uint32((count + 1) // 2)
            if line + half < count:
                shared[tid] = max(shared[tid], shared[tid + half * width])
            cuda.syncthreads()
            count = half
        return shared[tid - line * width]

    @device
    def total(shared, tid, line, width, count, value):
        shared[tid] = value
        cuda.syncthreads()
        while count > 1:
            half = uint32((count + 1) // 2)
            if line + half < count:
                shared[tid] += shared[tid + half * width]
            cuda.syncthreads()
            count = half
        return shared[tid - line * width]

    return largest, total


@cache
def softmax_columns_of(
    threads: int, chunks: int, dtype: Any, log: bool, resident=1, name=""
) -> Any:
    largest, total = trees(dtype)
    low, lowest = dtype(-math.inf), dtype(LOWEST[dtype])

    @jit(launch_bounds=(threads, resident))
    def softmax_columns(out, inp, outer, length, inner, width, lines, groups):
        held = cuda.local.array(chunks, dtype)
        tops = cuda.shared.array(threads, dtype)
        sums = cuda.shared.array(threads, dtype)
        tid = uint32(cuda.threadIdx.x)
        outer, length, inner = uint32(outer), uint32(length), uint32(inner)
        width, lines, groups = uint32(width), uint32(lines), uint32(groups)
        group_size = uint32(width * lines)
        group = uint32(tid // group_size)
        within = uint32(tid - group * group_size)
        line = uint32(within // width)
        tiles = uint32((inner + width - 1) // width)
        number = uint32(cuda.blockIdx.x * groups + group)
        slab = uint32(number // tiles)
        col = uint32((number - slab * tiles) * width + (within - line * width))
        there = group < groups and slab < outer and col < inner
        last = length if there else uint32(0)
        start = uint32(slab * length * inner + line * inner + col)
        step = uint32(lines * inner)
        at, k = start, line
        for j in range(chunks):
            held[j] = load1(inp, at) if k < last else low
            at, k = uint32(at + step), uint32(k + lines)
        top = lowest
        for j in range(chunks):
            top = max(top, held[j])
        top = largest(tops, tid, line, width, lines, top)
        acc = dtype(0)
        for j in range(chunks):
            if log:
                held[j] = held[j] - top
                acc += math.exp(held[j])
            else:
                held[j] = math.exp(held[j] - top)
                acc += held[j]
        acc = total(sums, tid, line, width, lines, acc)
        if log:
            shift = math.log(acc)
        else:
            shift = dtype(1) / acc
        at, k = start, line
        for j in range(chunks):
            if k < last:
                if log:
                    store1(out, at, held[j] - shift)
                else:
                    store1(out, at, held[j] * shift)
            at, k = uint32(at + step), uint32(k + lines)

    return named(softmax_columns, name)


@cache
def softmax_columns_twice_of(threads: int, chunks: int, dtype: Any, log: bool, name="") -> Any:
    largest, total = trees(dtype)
    low, lowest = dtype(-math.inf), dtype(LOWEST[dtype])

    @jit(launch_bounds=(threads, 1))
    def softmax_columns_twice(out, inp, outer, length, inner, width, lines, groups):
        held = cuda.local.array(chunks, dtype)
        tops = cuda.shared.array(threads, dtype)
        sums = cuda.shared.array(threads, dtype)
        tid = uint32(cuda.threadIdx.x)
        outer, length, inner = uint32(outer), uint32(length), uint32(inner)
        width, lines, groups = uint32(width), uint32(lines), uint32(groups)
        group_size = uint32(width * lines)
        group = uint32(tid // group_size)
        within = uint32(tid - group * group_size)
        line = uint32(within // width)
        tiles = uint32((inner + width - 1) // width)
        number = uint32(cuda.blockIdx.x * groups + group)
        slab = uint32(number // tiles)
        col = uint32((number - slab * tiles) * width + (within - line * width))
        there = group < groups and slab < outer and col < inner
        last = length if there else uint32(0)
        first = uint32(slab * length * inner + col)
        top, acc = lowest, dtype(0)
        k = line
        while k < last:
            new = top
            for j in range(chunks):
                at = uint32(k + uint32(j) * lines)
                held[j] = load1(inp, uint32(first + uint32(at * inner))) if at < last else low
            for j in range(chunks):
                new = max(new, held[j])
            acc *= math.exp(top - new)
            for j in range(chunks):
                acc += math.exp(held[j] - new)
            top = new
            k = uint32(k + chunks * lines)
        best = largest(tops, tid, line, width, lines, top)
        acc *= math.exp(top - best)
        acc = total(sums, tid, line, width, lines, acc)
        if log:
            shift = math.log(acc)
        else:
            shift = dtype(1) / acc
        k = line
        while k < last:
            for j in range(chunks):
                at = uint32(k + uint32(j) * lines)
                if at < last:
                    held[j] = load1(inp, uint32(first + uint32(at * inner)))
            for j in range(chunks):
                at = uint32(k + uint32(j) * lines)
                if at < last:
                    if log:
                        store1(out, uint32(first + uint32(at * inner)), held[j] - best - shift)
                    else:
                        store1(
                            out,
                            uint32(first + uint32(at * inner)),
                            math.exp(held[j] - best) * shift,
                        )
            k = uint32(k + chunks * lines)

    return named(softmax_columns_twice, name)
