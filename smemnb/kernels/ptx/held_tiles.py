"""Kernels that hand out what bulk copies and products of warpgroups make of bytes.

    loading_of(size)    a tile of shared memory, byte for byte, after a bulk load into it
    storing             a tile of given bytes, sent to a box
    product_of(...)     wgmma of two matrices that are given as they lie in shared memory

`laboratory.bulk_values` compares them with the rules on a GPU.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

from numba import cuda, float32, int32, uint8, uint16, uint32, uint64

from ..unrolled import jit
from .accesses import load16, store16
from .bulk import bulk_awaited, bulk_close, bulk_load, bulk_store
from .hints import fence_async
from .mbarriers import (
    mbarrier_arrive_expecting,
    mbarrier_init,
    mbarrier_init_fence,
    mbarrier_tried,
)
from .warpgroups import descriptor_of, wgmma_awaited, wgmma_close, wgmma_fence, wgmma_of

TILE_BYTES = 4096
IMAGE = 8192  # words of 2 bytes of a matrix as it lies in shared memory
THREADS = 128
all_stored = bulk_awaited(0)


class Layout(NamedTuple):
    """How a matrix lies: swizzle, lead and stride in bytes, whether it is turned."""

    swizzle: int
    lead: int
    stride: int
    turned: bool = False


@cache
def loading_of(size: int) -> Any:
    """A kernel: the whole tile after a load of `size` bytes into it."""

    @cuda.jit
    def loading(out, words, row, col):
        tile = cuda.shared.array(TILE_BYTES, uint8, alignment=1024)
        barriers = cuda.shared.array(1, uint64)
        tid = uint32(cuda.threadIdx.x)
        for turn in range(TILE_BYTES // THREADS):
            tile[turn * THREADS + tid] = uint8(0xEE)
        if tid == 0:
            mbarrier_init(barriers, 0, uint32(1))
            mbarrier_init_fence()
        fence_async()
        cuda.syncthreads()
        if tid == 0:
            mbarrier_arrive_expecting(barriers, 0, uint32(size))
            bulk_load(tile, uint32(0), words, (row, col), barriers, 0)
        while not mbarrier_tried(barriers, 0, uint32(0)):
            pass
        for turn in range(TILE_BYTES // THREADS):
            out[turn * THREADS + tid] = tile[turn * THREADS + tid]

    return loading


@cuda.jit
def storing(inp, words, row, col):
    """Fill a tile, and store it to a box."""
    tile = cuda.shared.array(TILE_BYTES, uint8, alignment=1024)
    tid = uint32(cuda.threadIdx.x)
    for turn in range(TILE_BYTES // THREADS):
        tile[turn * THREADS + tid] = inp[turn * THREADS + tid]
    fence_async()
    cuda.syncthreads()
    if tid == 0:
        bulk_store(words, (row, col), tile, uint32(0))
        bulk_close()
        all_stored()


@cache
def product_of(n: int, kind: str, a_lies: Layout, b_lies: Layout) -> Any:
    """A kernel: the product of two images of shared memory, added to c; sums as lanes hold them."""
    a_matrix, b_matrix = descriptor_of(*a_lies[:3]), descriptor_of(*b_lies[:3])
    product = wgmma_of(n, kind, a_turned=a_lies.turned, b_turned=b_lies.turned)
    sums = n // 2
    done = wgmma_awaited(0, sums)

    @jit(launch_bounds=(THREADS, 1))
    def multiplied(out, a, b, c):
        a_tile = cuda.shared.array(IMAGE, uint16, alignment=1024)
        b_tile = cuda.shared.array(IMAGE, uint16, alignment=1024)
        acc = cuda.local.array(sums, float32)
        tid = uint32(cuda.threadIdx.x)
        for turn in range(IMAGE // 8 // THREADS):
            at = uint32((turn * THREADS + tid) * 8)
            store16(a_tile, at, load16(a, at))
            store16(b_tile, at, load16(b, at))
        for at in range(sums):
            acc[at] = c[at, tid]
        fence_async()
        cuda.syncthreads()
        wgmma_fence()
        product(acc, a_matrix(a_tile, uint32(0)), b_matrix(b_tile, uint32(0)), int32(1))
        wgmma_close()
        done(acc)
        for at in range(sums):
            out[at, tid] = acc[at]

    return multiplied
