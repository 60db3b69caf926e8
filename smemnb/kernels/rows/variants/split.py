"""Long rows in two launches: the first leaves maximum and sum of each part, the second divides."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

from numba import cuda, uint32

from ...ptx import load1, load16, store1, store16
from ...unrolled import device, jit, named
from .registers import LOWEST, Shape, reductions


@cache
def softmax_split_of(shape: Shape, dtype: Any, log: bool, name: str = "") -> Any:
    threads, lanes, chunks, wide, resident = shape
    size = dtype.bitwidth // 8
    per = 16 // size if wide else 1
    largest, total = reductions(threads, threads, dtype)
    warps = threads // 32
    words = 2 * warps
    low, lowest = dtype(-math.inf), dtype(LOWEST[dtype])

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

    @device
    def fetch(held, inp, start, first, length, tid):
        for j in range(chunks):
            col = uint32(first + (tid + j * threads) * per)
            if col < length:
                part = get(inp, uint32(start + col))
                for e in range(per):
                    held[j, e] = part[e]
            else:
                for e in range(per):
                    held[j, e] = low

    @jit(launch_bounds=(threads, resident))
    def parts_of_rows(tops, sums, inp):
        held = cuda.local.array((chunks, per), dtype)
        shared = cuda.shared.array(words, dtype)
        tid = uint32(cuda.threadIdx.x)
        block = uint32(cuda.blockIdx.y * cuda.gridDim.x + cuda.blockIdx.x)
        length = uint32(inp.shape[1])
        first = uint32(cuda.blockIdx.x * uint32(threads * chunks * per))
        start = uint32(cuda.blockIdx.y * uint32(inp.strides[0] // size))
        fetch(held, inp, start, first, length, tid)
        top = lowest
        for j in range(chunks):
            for e in range(per):
                top = max(top, held[j, e])
        top = largest(shared, top)
        acc = dtype(0)
        for j in range(chunks):
            for e in range(per):
                acc += math.exp(held[j, e] - top)
        acc = total(shared, warps, acc)
        if tid == 0:
            tops[block] = top
            sums[block] = acc

    @jit(launch_bounds=(threads, resident))
    def rows_from_parts(out, inp, tops, sums):
        held = cuda.local.array((chunks, per), dtype)
        shared = cuda.shared.array(words, dtype)
        tid = uint32(cuda.threadIdx.x)
        # the last blocks of the first launch left theirs in the L2 cache: begin there
        parts = uint32(cuda.gridDim.x)
        row = uint32(cuda.gridDim.y - 1 - cuda.blockIdx.y)
        piece = uint32(parts - 1 - cuda.blockIdx.x)
        length = uint32(inp.shape[1])
        first = uint32(piece * uint32(threads * chunks * per))
        start = uint32(row * uint32(inp.strides[0] // size))
        fetch(held, inp, start, first, length, tid)
        at = uint32(row * parts)
        top = lowest
        for k in range(tid, parts, uint32(threads)):
            top = max(top, tops[at + k])
        top = largest(shared, top)
        acc = dtype(0)
        for k in range(tid, parts, uint32(threads)):
            acc += sums[at + k] * math.exp(tops[at + k] - top)
        acc = total(shared, warps, acc)
        start = uint32(row * uint32(out.strides[0] // size))
        if log:
            shift = math.log(acc)
        else:
            shift = dtype(1) / acc
        for j in range(chunks):
            col = uint32(first + (tid + j * threads) * per)
            for e in range(per):
                if log:
                    held[j, e] = held[j, e] - top - shift
                else:
                    held[j, e] = math.exp(held[j, e] - top) * shift
            if col < length:
                put(out, uint32(start + col), held, j)

    return named(parts_of_rows, name), named(rows_from_parts, name)
