"""Layer norm and RMS norm of rows in registers."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

from numba import cuda, uint32

from ...ptx import load1, load16, store1, store16
from ...unrolled import device, jit, named
from .registers import Shape, reductions


@cache
def norm_of(
    shape: Shape, dtype: Any, centred: bool, weighted: bool, biased: bool, name: str = ""
) -> Any:
    threads, lanes, chunks, wide, resident = shape
    size = dtype.bitwidth // 8
    per = 16 // size if wide else 1
    rows = threads // lanes
    _, total = reductions(threads, lanes, dtype)
    words = 2 * max(1, threads // 32)
    warps = max(1, threads // 32)

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
    def norm_rows(out, inp, weight, bias, eps):
        held = cuda.local.array((chunks, per), dtype)
        shared = cuda.shared.array(words, dtype)
        tid = uint32(cuda.threadIdx.x)
        lane = uint32(tid % uint32(lanes))
        row = uint32(cuda.blockIdx.x * rows + tid // uint32(lanes))
        length = uint32(inp.shape[1])
        last = length if row < uint32(inp.shape[0]) else uint32(0)
        start = uint32(row * uint32(inp.strides[0] // size))
        for j in range(chunks):
            col = uint32((lane + j * lanes) * per)
            if col < last:
                part = get(inp, uint32(start + col))
                for e in range(per):
                    held[j, e] = part[e]
            else:
                for e in range(per):
                    held[j, e] = dtype(0)
        if centred:
            acc = dtype(0)
            for j in range(chunks):
                for e in range(per):
                    acc += held[j, e]
            mean = total(shared, 0, acc) / dtype(length)
            for j in range(chunks):
                col = uint32((lane + j * lanes) * per)
                for e in range(per):
                    held[j, e] = held[j, e] - mean if col < last else dtype(0)
        acc = dtype(0)
        for j in range(chunks):
            for e in range(per):
                acc += held[j, e] * held[j, e]
        scale = dtype(1) / math.sqrt(total(shared, warps, acc) / dtype(length) + eps)
        start = uint32(row * uint32(out.strides[0] // size))
        for j in range(chunks):
            col = uint32((lane + j * lanes) * per)
            if col < last:
                for e in range(per):
                    held[j, e] *= scale
                if weighted:
                    factors = get(weight, col)
                    for e in range(per):
                        held[j, e] *= factors[e]
                if biased:
                    terms = get(bias, col)
                    for e in range(per):
                        held[j, e] += terms[e]
                put(out, uint32(start + col), held, j)

    return named(norm_rows, name)


@cache
def norm_stay_of(
    shape: Shape, dtype: Any, centred: bool, weighted: bool, biased: bool, name: str = ""
) -> Any:
    """As norm_of, blocks stay and hold weight and bias in registers."""
    threads, lanes, chunks, wide, resident = shape
    size = dtype.bitwidth // 8
    per = 16 // size if wide else 1
    rows = threads // lanes
    _, total = reductions(threads, lanes, dtype)
    words = 4 * max(1, threads // 32)
    warps = max(1, threads // 32)

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
    def norm_stay(out, inp, weight, bias, eps):
        held = cuda.local.array((chunks, per), dtype)
        factor = cuda.local.array((chunks, per), dtype)
        term = cuda.local.array((chunks, per), dtype)
        shared = cuda.shared.array(words, dtype)
        tid = uint32(cuda.threadIdx.x)
        lane = uint32(tid % uint32(lanes))
        row = uint32(cuda.blockIdx.x * rows + tid // uint32(lanes))
        length = uint32(inp.shape[1])
        high = uint32(inp.shape[0])
        for j in range(chunks):
            col = uint32((lane + j * lanes) * per)
            if col < length:
                if weighted:
                    part = get(weight, col)
                    for e in range(per):
                        factor[j, e] = part[e]
                if biased:
                    part = get(bias, col)
                    for e in range(per):
                        term[j, e] = part[e]
        half = 0
        while row < high:
            start = uint32(row * uint32(inp.strides[0] // size))
            for j in range(chunks):
                col = uint32((lane + j * lanes) * per)
                if col < length:
                    part = get(inp, uint32(start + col))
                    for e in range(per):
                        held[j, e] = part[e]
                else:
                    for e in range(per):
                        held[j, e] = dtype(0)
            if centred:
                acc = dtype(0)
                for j in range(chunks):
                    for e in range(per):
                        acc += held[j, e]
                mean = total(shared, half, acc) / dtype(length)
                for j in range(chunks):
                    col = uint32((lane + j * lanes) * per)
                    for e in range(per):
                        held[j, e] = held[j, e] - mean if col < length else dtype(0)
            acc = dtype(0)
            for j in range(chunks):
                for e in range(per):
                    acc += held[j, e] * held[j, e]
            scale = dtype(1) / math.sqrt(total(shared, half + warps, acc) / dtype(length) + eps)
            half = 2 * warps - half
            start = uint32(row * uint32(out.strides[0] // size))
            for j in range(chunks):
                col = uint32((lane + j * lanes) * per)
                if col < length:
                    for e in range(per):
                        held[j, e] *= scale
                        if weighted:
                            held[j, e] *= factor[j, e]
                        if biased:
                            held[j, e] += term[j, e]
                    put(out, uint32(start + col), held, j)
            row = uint32(row + cuda.gridDim.x * rows)

    return named(norm_stay, name)
