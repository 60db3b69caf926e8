"""Softmax down the columns of matrices that follow each other: `outer` slabs of length x inner.

A group of `width * lines` threads has `width` neighbouring columns of a slab, `lines` rows at a
time; where columns are few, `width` is `inner` and a group's lanes lie side by side in memory. A
block has `groups` groups. Threads of one column stand `width` apart and add up by halves in shared
memory.

`columns_of(form, threads, chunks, dtype)` keeps a column in registers, at most `lines * chunks`
elements; `long_columns_of` reads it twice, `chunks` elements of a thread at a time, and scales its
sums when the maximum grows. Both are `(out, inp, outer, length, inner, width, lines, groups)` of
arrays of one axis.

**Limits**: flat offsets are 32 bits without a sign.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

from numba import cuda, uint32

from ...ptx import load1, store1
from ...unrolled import device, jit, named
from .pieces import LOWEST, Form


@cache
def _trees() -> tuple[Any, Any]:
    """(largest, total) of the values of `count` threads that stand `width` apart, for all of them.

    Of threads of no group the count is 0: they only wait at the barriers.
    """

    @device
    def largest(shared, line, width, lines, count, value):
        tid = uint32(cuda.threadIdx.x)
        shared[tid] = value
        cuda.syncthreads()  # all values are there before anyone compares
        while lines > 1:
            half = uint32((lines + uint32(1)) // uint32(2))
            if line + half < min(lines, count):
                shared[tid] = max(shared[tid], shared[tid + half * width])
            cuda.syncthreads()  # this half is done before the next one reads it
            lines = half
        return shared[tid - line * width]

    @device
    def total(shared, line, width, lines, count, value):
        tid = uint32(cuda.threadIdx.x)
        shared[tid] = value
        cuda.syncthreads()  # all values are there before anyone adds
        while lines > 1:
            half = uint32((lines + uint32(1)) // uint32(2))
            if line + half < min(lines, count):
                shared[tid] += shared[tid + half * width]
            cuda.syncthreads()  # this half is done before the next one reads it
            lines = half
        return shared[tid - line * width]

    return largest, total


@device
def _place(outer, length, inner, width, lines, groups):
    """(line of the group, lines that take part, first element of the column, rows to go)."""
    tid, size = uint32(cuda.threadIdx.x), uint32(width * lines)
    group = uint32(tid // size)
    within = uint32(tid - group * size)
    line = uint32(within // width)
    tiles = uint32((inner + width - uint32(1)) // width)
    number = uint32(cuda.blockIdx.x * groups + group)
    slab = uint32(number // tiles)
    col = uint32((number - slab * tiles) * width + (within - line * width))
    there = group < groups
    last = length if there and slab < outer and col < inner else uint32(0)
    return line, lines if there else uint32(0), uint32(slab * length * inner + col), last


@cache
def columns_of(form: Form, threads: int, chunks: int, dtype: Any) -> Any:
    """The kernel that keeps columns in registers."""
    low, lowest, log = dtype(-math.inf), dtype(LOWEST[dtype]), form.what == "log_softmax"
    largest, total = _trees()

    # registers for 1024 threads on a multiprocessor, or float64 would leave room for half of them
    @jit(launch_bounds=(threads, max(1, 1024 // threads)))
    def columns_in_registers(out, inp, outer, length, inner, width, lines, groups):
        held = cuda.local.array(chunks, dtype)
        tops = cuda.shared.array(threads, dtype)
        sums = cuda.shared.array(threads, dtype)
        outer, length, inner = uint32(outer), uint32(length), uint32(inner)
        width, lines, groups = uint32(width), uint32(lines), uint32(groups)
        line, count, start, last = _place(outer, length, inner, width, lines, groups)
        first, step = uint32(start + line * inner), uint32(lines * inner)

        at, row = first, line
        for k in range(chunks):
            held[k] = load1(inp, at) if row < last else low
            at, row = uint32(at + step), uint32(row + lines)
        top = lowest
        for k in range(chunks):
            top = max(top, held[k])
        top = largest(tops, line, width, lines, count, top)
        acc = dtype(0)
        for k in range(chunks):
            value = held[k] - top
            power = math.exp(value)
            acc += power
            held[k] = value if log else power
        acc = total(sums, line, width, lines, count, acc)
        shift = math.log(acc) if log else dtype(1) / acc
        at, row = first, line
        for k in range(chunks):
            if row < last:
                store1(out, at, held[k] - shift if log else held[k] * shift)
            at, row = uint32(at + step), uint32(row + lines)

    return named(columns_in_registers, f"{form.what}_of_columns")


@cache
def long_columns_of(form: Form, threads: int, chunks: int, dtype: Any) -> Any:
    """The kernel that reads columns twice."""
    low, lowest, log = dtype(-math.inf), dtype(LOWEST[dtype]), form.what == "log_softmax"
    largest, total = _trees()

    @jit(launch_bounds=(threads, 1))
    def columns_read_twice(out, inp, outer, length, inner, width, lines, groups):
        held = cuda.local.array(chunks, dtype)
        tops = cuda.shared.array(threads, dtype)
        sums = cuda.shared.array(threads, dtype)
        outer, length, inner = uint32(outer), uint32(length), uint32(inner)
        width, lines, groups = uint32(width), uint32(lines), uint32(groups)
        line, count, start, last = _place(outer, length, inner, width, lines, groups)
        first, step = uint32(start + line * inner), uint32(lines * inner)

        own, acc = lowest, dtype(0)
        at, row = first, line
        while row < last:
            top = own
            for k in range(chunks):
                held[k] = load1(inp, at) if row < last else low
                at, row = uint32(at + step), uint32(row + lines)
            for k in range(chunks):
                top = max(top, held[k])
            acc *= math.exp(own - top)
            for k in range(chunks):
                acc += math.exp(held[k] - top)
            own = top
        top = largest(tops, line, width, lines, count, own)
        acc = total(sums, line, width, lines, count, acc * math.exp(own - top))
        shift = math.log(acc) if log else dtype(1) / acc
        at, row = first, line
        while row < last:
            begin, before = at, row
            for k in range(chunks):
                held[k] = load1(inp, at) if row < last else low
                at, row = uint32(at + step), uint32(row + lines)
            at, row = begin, before
            for k in range(chunks):
                if row < last:
                    value = held[k] - top
                    store1(out, at, value - shift if log else math.exp(value) * shift)
                at, row = uint32(at + step), uint32(row + lines)

    return named(columns_read_twice, f"{form.what}_of_long_columns")
