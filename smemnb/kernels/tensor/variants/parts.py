"""Parts of a product's depth, added up in their order: equal bits in every run.

`parts_added_of(result)` makes the kernel `(out, sums, alpha, beta)`: out = alpha * (sums[0] +
sums[1] + ...) + beta * out, with a thread for each element. `sums` is float32, `out` float32 or the
bits of float16 or bfloat16 in uint16; it is not read where beta is 0.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from numba import cuda, float32, uint16, uint32

from ...ptx import load1, store1
from ...ptx.word_numbers import widened_pair
from ...unrolled import device, jit, named
from .ending import ROUNDED, SINGLE

THREADS = 256


def _single() -> tuple[Any, Any]:
    @device
    def kept(value):
        return value

    return kept, kept


def _half(result: str) -> tuple[Any, Any]:
    rounded, widened = ROUNDED[result], widened_pair(result)

    @device
    def narrow(value):
        return uint16(rounded(value, float32(0)))

    @device
    def wide(bits):
        return widened(uint32(bits))[0]

    return narrow, wide


@cache
def parts_added_of(result: str = SINGLE) -> Any:
    """The kernel for a result; a grid of (elements / `THREADS`, 1)."""
    size = 4 if result == SINGLE else 2
    narrow, wide = _single() if result == SINGLE else _half(result)

    @jit(launch_bounds=(THREADS, 1))
    def parts_added(out, sums, alpha, beta):
        place = uint32(cuda.blockIdx.x * THREADS + cuda.threadIdx.x)
        row, col = uint32(place // uint32(out.shape[1])), uint32(place % uint32(out.shape[1]))
        if row >= out.shape[0]:
            return
        at = uint32(row * uint32(sums.strides[1] // 4) + col)
        total = float32(0)
        for part in range(sums.shape[0]):
            total += load1(sums, uint32(at + uint32(part) * uint32(sums.strides[0] // 4)))
        into = uint32(row * uint32(out.strides[0] // size) + col)
        value = float32(alpha) * total
        if float32(beta) != float32(0):
            value += float32(beta) * wide(load1(out, into))
        store1(out, into, narrow(value))

    return named(parts_added, f"parts_added_{result}")
