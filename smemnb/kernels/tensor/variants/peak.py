"""mma from registers alone: the speed that a tensor product is measured against.

`mma_peak_of(kind)` makes the kernel `(out, rounds, seed)`: each warp multiplies fragments that it
has in registers, 32 mma to a round as a warp of a product does for 64 x 64 results, and adds up in
as many accumulators. Nothing is read and nothing waits. The numbers are of both signs and of sizes
up to 2, so that the cores switch as they do in a product. `out` takes one number per thread, so
that the compiler keeps the work. A launch of `blocks` blocks does `blocks * WARPS * rounds * MMA *
flops(kind)` operations.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from numba import cuda, float32, uint32

from ...unrolled import device, jit, named
from ..tensor_cut import KINDS, MMA_COLS, MMA_ROWS
from .fragments import MMA as MMA_OF

WARPS = 8
THREADS = 32 * WARPS
DOWN, ACROSS = 4, 8
MMA = DOWN * ACROSS
"""Of a warp in a round."""
BITS = {
    "f16": (0x8FFF8FFF, 0x30003000),
    "bf16": (0x80FF80FF, 0x3F003F00),
    "tf32": (0x80FFE000, 0x3F000000),
}
"""Of a type: which bits of a word are drawn, and which are set: its numbers are then ordinary."""
SCATTER = 2654435761


def flops(kind: str) -> int:
    """Operations of one mma, a multiplication and an addition each.

    >>> flops("bf16"), flops("tf32")
    (4096, 2048)
    """
    return 2 * MMA_ROWS * MMA_COLS * 8 * KINDS[kind].per_word


@cache
def mma_peak_of(kind: str) -> Any:
    """The kernel for a type; a block has `THREADS` threads."""
    mma, (drawn, fixed) = MMA_OF[kind], BITS[kind]

    @device
    def word(seed, place):
        mixed = uint32(uint32(place + seed) * uint32(SCATTER))
        mixed = uint32(uint32(mixed ^ mixed >> uint32(15)) * uint32(SCATTER))
        return uint32((mixed & uint32(drawn)) | uint32(fixed))

    @jit(launch_bounds=(THREADS, 1))
    def mma_peak(out, rounds, seed):
        acc = cuda.local.array((DOWN, ACROSS, 4), float32)
        a = cuda.local.array((DOWN, 4), uint32)
        b = cuda.local.array((ACROSS, 2), uint32)
        tid = uint32(cuda.threadIdx.x)
        for i in range(DOWN):
            for j in range(4):
                a[i, j] = word(uint32(seed), uint32(tid * uint32(64) + uint32(i * 4 + j)))
        for i in range(ACROSS):
            for j in range(2):
                b[i, j] = word(uint32(seed), uint32(tid * uint32(64) + uint32(32 + i * 2 + j)))
        for i in range(DOWN):
            for j in range(ACROSS):
                for which in range(4):
                    acc[i, j, which] = float32(0)
        left = uint32(rounds)
        while left > uint32(0):
            left = uint32(left - uint32(1))
            for i in range(DOWN):
                for j in range(ACROSS):
                    at = j if i % 2 == 0 else ACROSS - 1 - j
                    c = acc[i, at, 0], acc[i, at, 1], acc[i, at, 2], acc[i, at, 3]
                    rows = a[i, 0], a[i, 1], a[i, 2], a[i, 3]
                    d0, d1, d2, d3 = mma(rows, (b[at, 0], b[at, 1]), c)
                    acc[i, at, 0] = d0
                    acc[i, at, 1] = d1
                    acc[i, at, 2] = d2
                    acc[i, at, 3] = d3
        total = float32(0)
        for i in range(DOWN):
            for j in range(ACROSS):
                for which in range(4):
                    total += acc[i, j, which]
        out[cuda.blockIdx.x * THREADS + cuda.threadIdx.x] = total

    return named(mma_peak, f"mma_peak_{kind}")
