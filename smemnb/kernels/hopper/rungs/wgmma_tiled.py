"""wgmma_tiled: a thread asks for tiles, the copy engine brings them, two warpgroups multiply.

No thread moves an element to shared memory, and none holds a fragment: bulk copies place the tiles
in the swizzle in which wgmma reads them. Every step waits for its own tiles.

The whole kernel: a block of 256 threads makes 128x128 of out, 64 columns of a and 64 rows of b at a
time. Each of its 2 warpgroups makes 64x128.
"""

from __future__ import annotations

from numba import cuda, float32, int32, uint32, uint64
from numba.types import float16

from ...ptx import store4
from ...ptx.bulk import bulk_load
from ...ptx.mbarriers import (
    mbarrier_arrive_expecting,
    mbarrier_init,
    mbarrier_init_fence,
    mbarrier_tried,
)
from ...ptx.tensor import cvt_rn_f16x2
from ...ptx.warpgroups import descriptor_of, wgmma_awaited, wgmma_close, wgmma_fence, wgmma_of
from ...unrolled import device, jit

ROWS = 128  # of out, for a block
COLS = 128
DEPTH = 64  # columns of a and rows of b in shared memory: 128 bytes of a row of a
PIECE = 64  # columns of b in a box: 128 bytes
A_TILE = ROWS * DEPTH  # elements
B_PIECE = DEPTH * PIECE
STAGE = A_TILE + DEPTH * COLS
STAGE_BYTES = 2 * STAGE
SHARED_BYTES = STAGE_BYTES
SUMS = COLS // 2  # of a thread

a_matrix = descriptor_of(128, 16, 1024)  # 8 rows of 128 bytes, then the next 8
b_matrix = descriptor_of(128, 2 * B_PIECE, 1024)  # turned: 64 columns, then the next box
product = wgmma_of(COLS, "f16", b_turned=True)
all_done = wgmma_awaited(0, SUMS)


@device
def send(tiles, a_map, b_map, row0, col0, k0, full):
    """Send the tiles at depth k0: 3 boxes."""
    mbarrier_arrive_expecting(full, 0, uint32(STAGE_BYTES))
    bulk_load(tiles, uint32(0), a_map, (row0, k0), full, 0)
    for piece in range(COLS // PIECE):
        at = uint32(A_TILE + piece * B_PIECE)
        bulk_load(tiles, at, b_map, (k0, col0 + piece * PIECE), full, 0)


@device
def multiply(tiles, group, acc, k0):
    """Add the product of the tiles: 4 wgmma over 16 of the depth each."""
    a = a_matrix(tiles, uint32(group * (64 * DEPTH)))
    b = b_matrix(tiles, uint32(A_TILE))
    wgmma_fence()
    product(acc, a, b, int32(k0))  # the first one begins from 0
    product(acc, a + uint64(2), b + uint64(128), int32(1))  # 32 bytes on, 16 lines on
    product(acc, a + uint64(4), b + uint64(256), int32(1))
    product(acc, a + uint64(6), b + uint64(384), int32(1))
    wgmma_close()


@device
def store(out, acc, row, col):
    """Store this thread's sums, rounded, two neighbours at a time."""
    for j in range(COLS // 8):
        aside = uint32(col + j * 8)
        for half in range(2):
            down = uint32(row + half * 8)
            if down < out.shape[0] and aside < out.shape[1]:
                pair = cvt_rn_f16x2(acc[j * 4 + half * 2], acc[j * 4 + half * 2 + 1])
                store4(out, uint32(down * uint32(out.strides[0] // 2) + aside), pair)


@jit(launch_bounds=(256, 1))
def wgmma_tiled(out, a_map, b_map, depth):
    """out = a @ b, tiles by bulk copies, products by warpgroups."""
    tiles = cuda.shared.array(0, float16, alignment=1024)
    full = cuda.shared.array(1, uint64)
    acc = cuda.local.array(SUMS, float32)

    # 1. a barrier: the tiles are full when their bytes are there
    tid = uint32(cuda.threadIdx.x)
    if tid == 0:
        mbarrier_init(full, 0, uint32(1))
        mbarrier_init_fence()
    cuda.syncthreads()  # the barrier is there before anyone asks it

    group = uint32(tid // uint32(128))
    row0 = int32(cuda.blockIdx.y * ROWS)
    col0 = int32(cuda.blockIdx.x * COLS)
    parity = uint32(0)
    k0 = int32(0)
    while k0 < depth:
        # 2. one thread sends the tiles, all wait for them
        if tid == 0:
            send(tiles, a_map, b_map, row0, col0, k0, full)
        while not mbarrier_tried(full, 0, parity):
            pass

        # 3. multiply
        multiply(tiles, group, acc, k0)
        all_done(acc)
        cuda.syncthreads()  # everyone has read the tiles before the next ones come
        parity = uint32(parity ^ 1)
        k0 = int32(k0 + DEPTH)

    # 4. store
    lane = uint32(tid % uint32(32))
    own = uint32(tid // uint32(32) * 16 + lane // uint32(4))
    store(out, acc, uint32(row0 + own), uint32(col0 + lane % uint32(4) * 2))
