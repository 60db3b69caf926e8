"""Copies of operands whose rows do not begin at multiples of 16 bytes.

A copy of 16 bytes to shared memory begins at a multiple of 16 bytes on both sides. Rows that do
not are copied once into memory where they do, with zeros behind them, and the product takes these.
It costs every byte of the operand twice on its way to memory and back: 7 % of the time of a product
of 8192 x 8192 by the model, more of a smaller one.

`aligned_copy_of(size)` makes the kernel `(out, inp)` for matrices along the first axis: `out` is
uint32, with rows of whole chunks, and `inp` uint16 or uint32, by the size of its elements.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from numba import cuda, uint32

from ...ptx import load1, store1
from ...unrolled import jit, named

THREADS = 256


@cache
def aligned_copy_of(size: int) -> Any:
    """The kernel for elements of 2 or 4 bytes; a grid of (words of a matrix / `THREADS`, 1, n)."""
    if size == 2:

        @jit(launch_bounds=(THREADS, 1))
        def aligned_copy(out, inp):
            place = uint32(cuda.blockIdx.x * THREADS + cuda.threadIdx.x)
            row, word = uint32(place // uint32(out.shape[2])), uint32(place % uint32(out.shape[2]))
            if row < inp.shape[1]:
                one = inp[cuda.blockIdx.z]
                at, col = uint32(row * uint32(inp.strides[1] // 2)), uint32(word * uint32(2))
                low, high = uint32(0), uint32(0)
                if col < inp.shape[2]:
                    low = uint32(load1(one, uint32(at + col)))
                if uint32(col + uint32(1)) < inp.shape[2]:
                    high = uint32(load1(one, uint32(at + col + uint32(1))))
                into = uint32(row * uint32(out.strides[1] // 4) + word)
                store1(out[cuda.blockIdx.z], into, uint32(low | (high << uint32(16))))

    else:

        @jit(launch_bounds=(THREADS, 1))
        def aligned_copy(out, inp):
            place = uint32(cuda.blockIdx.x * THREADS + cuda.threadIdx.x)
            row, col = uint32(place // uint32(out.shape[2])), uint32(place % uint32(out.shape[2]))
            if row < inp.shape[1]:
                word = uint32(0)
                if col < inp.shape[2]:
                    at = uint32(row * uint32(inp.strides[1] // 4) + col)
                    word = load1(inp[cuda.blockIdx.z], at)
                into = uint32(row * uint32(out.strides[1] // 4) + col)
                store1(out[cuda.blockIdx.z], into, word)

    return named(aligned_copy, f"aligned_copy_{8 * size}")
