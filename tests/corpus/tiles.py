"""Tiles of bulk copies and products of warpgroups: too early, unfenced, in another swizzle."""

import numpy as np
from numba import cuda, float32, int32, uint16, uint32, uint64

from smemnb.kernels.ptx.bulk import bulk_awaited, bulk_close, bulk_load, bulk_store
from smemnb.kernels.ptx.hints import fence_async
from smemnb.kernels.ptx.mbarriers import (
    mbarrier_arrive_expecting,
    mbarrier_init,
    mbarrier_init_fence,
    mbarrier_tried,
)
from smemnb.kernels.ptx.tensor_maps import TensorMap
from smemnb.kernels.ptx.warpgroups import (
    descriptor_of,
    wgmma_awaited,
    wgmma_close,
    wgmma_fence,
    wgmma_of,
)
from tests.corpus.pairs import buggy, clean, zeros

BOX = 1024  # elements: 16 rows of 64
BYTES = 2 * BOX
MATRIX = 4096  # elements: 64 rows of 64
all_stored = bulk_awaited(0)
product, all_done = wgmma_of(64, "f16"), wgmma_awaited(0, 32)
by_128, by_64 = descriptor_of(128, 16, 1024), descriptor_of(64, 16, 512)


def a_map(rows, box, swizzle=0):
    """A map of rows of 64 elements."""
    array = np.arange(rows * 64, dtype=np.uint16).reshape(rows, 64)
    return TensorMap(cuda.to_device(array), (box, 64), swizzle=swizzle)


@buggy("read_before_arrival", 512, 1, 64, args=lambda: (np.zeros(BOX, np.uint16), a_map(16, 16)))
def copied_out(out, words):  # 512 words of 2 elements
    tile = cuda.shared.array(BOX, uint16, alignment=128)
    full = cuda.shared.array(1, uint64)
    tx = cuda.threadIdx.x
    if tx == 0:
        mbarrier_init(full, 0, uint32(1))
        mbarrier_init_fence()
        mbarrier_arrive_expecting(full, 0, uint32(BYTES))
        bulk_load(tile, 0, words, (0, 0), full, 0)  # (1)
    cuda.syncthreads()
    for at in range(tx, BOX, 64):
        out[at] = tile[at]  # (2)
    while not mbarrier_tried(full, 0, uint32(0)):
        pass


@clean
def copied_out_when_there(out, words):
    tile = cuda.shared.array(BOX, uint16, alignment=128)
    full = cuda.shared.array(1, uint64)
    tx = cuda.threadIdx.x
    if tx == 0:
        mbarrier_init(full, 0, uint32(1))
        mbarrier_init_fence()
        mbarrier_arrive_expecting(full, 0, uint32(BYTES))
        bulk_load(tile, 0, words, (0, 0), full, 0)
    cuda.syncthreads()
    while not mbarrier_tried(full, 0, uint32(0)):
        pass
    for at in range(tx, BOX, 64):
        out[at] = tile[at]


@buggy("missing_async_fence", 512, 1, 64, args=lambda: (a_map(16, 16),))
def numbered(words):  # each word of the tile
    tile = cuda.shared.array(BOX, uint16, alignment=128)
    tx = cuda.threadIdx.x
    for at in range(tx, BOX, 64):
        tile[at] = uint16(at)  # (1)
    cuda.syncthreads()
    if tx == 0:
        bulk_store(words, (0, 0), tile, 0)  # (2)
        bulk_close()
        all_stored()


@clean
def numbered_behind_a_fence(words):
    tile = cuda.shared.array(BOX, uint16, alignment=128)
    tx = cuda.threadIdx.x
    for at in range(tx, BOX, 64):
        tile[at] = uint16(at)
    fence_async()
    cuda.syncthreads()
    if tx == 0:
        bulk_store(words, (0, 0), tile, 0)
        bulk_close()
        all_stored()


@buggy("wrong_swizzle", 512, 1, 128, args=lambda: (zeros(128), a_map(64, 64, 128)))
def squares(out, words):  # 8 words of each of 64 rows
    tile = cuda.shared.array(MATRIX, uint16, alignment=1024)
    full = cuda.shared.array(1, uint64)
    acc = cuda.local.array(32, float32)
    tx = cuda.threadIdx.x
    if tx == 0:
        mbarrier_init(full, 0, uint32(1))
        mbarrier_init_fence()
        mbarrier_arrive_expecting(full, 0, uint32(2 * MATRIX))
        bulk_load(tile, 0, words, (0, 0), full, 0)  # (1)
    cuda.syncthreads()
    while not mbarrier_tried(full, 0, uint32(0)):
        pass
    wgmma_fence()
    product(acc, by_64(tile, 0), by_64(tile, 0), int32(0))  # (2)
    wgmma_close()
    all_done(acc)
    out[tx] = acc[0]


@clean
def squares_as_loaded(out, words):
    tile = cuda.shared.array(MATRIX, uint16, alignment=1024)
    full = cuda.shared.array(1, uint64)
    acc = cuda.local.array(32, float32)
    tx = cuda.threadIdx.x
    if tx == 0:
        mbarrier_init(full, 0, uint32(1))
        mbarrier_init_fence()
        mbarrier_arrive_expecting(full, 0, uint32(2 * MATRIX))
        bulk_load(tile, 0, words, (0, 0), full, 0)
    cuda.syncthreads()
    while not mbarrier_tried(full, 0, uint32(0)):
        pass
    wgmma_fence()
    product(acc, by_128(tile, 0), by_128(tile, 0), int32(0))
    wgmma_close()
    all_done(acc)
    out[tx] = acc[0]
