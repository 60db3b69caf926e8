"""Long rows: several blocks keep a row in registers and exchange their sums through memory."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

from numba import cuda, uint32

from ...ptx import load1, load16, store1, store16
from ...unrolled import device, jit, named
from .registers import LOWEST, Shape, reductions


@cache
def softmax_joined_of(shape: Shape, dtype: Any, log: bool, ticket: bool, name: str = "") -> Any:
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

    @jit(launch_bounds=(threads, resident))
    def softmax_joined(out, inp, tops, sums, flags):
        """tops, sums: one per block; flags: 2 per row, and 2 more, all 0."""
        held = cuda.local.array((chunks, per), dtype)
        shared = cuda.shared.array(words, dtype)
        both = cuda.shared.array(2, dtype)
        number = cuda.shared.array(1, uint32)
        tid = uint32(cuda.threadIdx.x)
        parts = uint32(cuda.gridDim.x)
        block = uint32(cuda.blockIdx.y * parts + cuda.blockIdx.x)
        if ticket:
            if tid == 0:
                number[0] = cuda.atomic.add(flags, 0, uint32(1))
            cuda.syncthreads()
            block = number[0]
            if block == parts * cuda.gridDim.y - 1 and tid == 0:
                cuda.atomic.exch(flags, 0, uint32(0))
        row = uint32(block // parts)
        piece = uint32(block % parts)
        length = uint32(inp.shape[1])
        first = uint32(piece * uint32(threads * chunks * per))
        start = uint32(row * uint32(inp.strides[0] // size))
        for j in range(chunks):
            col = uint32(first + (tid + j * threads) * per)
            if col < length:
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
                acc += math.exp(held[j, e] - top)
        acc = total(shared, warps, acc)

        arrived, left = uint32(2 * row + 1), uint32(2 * row + 2)
        if tid < 32:
            if tid == 0:
                tops[block] = top
                sums[block] = acc
                cuda.threadfence()
                cuda.atomic.add(flags, arrived, uint32(1))
                tries = 0
                while cuda.atomic.add(flags, arrived, uint32(0)) != parts and tries < 1000000:
                    tries += 1
            cuda.syncwarp()
            cuda.threadfence()
            at = uint32(row * parts)
            top = lowest
            for k in range(tid, parts, uint32(32)):
                top = max(top, tops[at + k])
            for mask in (16, 8, 4, 2, 1):
                top = max(top, cuda.shfl_xor_sync(0xFFFFFFFF, top, mask))
            acc = dtype(0)
            for k in range(tid, parts, uint32(32)):
                acc += sums[at + k] * math.exp(tops[at + k] - top)
            for mask in (16, 8, 4, 2, 1):
                acc += cuda.shfl_xor_sync(0xFFFFFFFF, acc, mask)
            if tid == 0:
                both[0] = top
                both[1] = acc
                if cuda.atomic.inc(flags, left, uint32(parts - 1)) == parts - 1:
                    cuda.atomic.exch(flags, arrived, uint32(0))
        cuda.syncthreads()
        top, acc = both[0], both[1]
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

    return named(softmax_joined, name)
