"""wgmma_staged: three more stages are under way while one is multiplied.

Each stage has a barrier of its own. What a stage held has been read by everyone before its thread
sends the next tiles there.

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
DEPTH = 64  # columns of a and rows of b in a stage: 128 bytes of a row of a
PIECE = 64  # columns of b in a box: 128 bytes
A_TILE = ROWS * DEPTH  # elements
B_PIECE = DEPTH * PIECE
STAGE = A_TILE + DEPTH * COLS
STAGES = 4
STAGE_BYTES = 2 * STAGE
SHARED_BYTES = STAGES * STAGE_BYTES
SUMS = COLS // 2  # of a thread

a_matrix = descriptor_of(128, 16, 1024)  # 8 rows of 128 bytes, then the next 8
b_matrix = descriptor_of(128, 2 * B_PIECE, 1024)  # turned: 64 columns, then the next box
product = wgmma_of(COLS, "f16", b_turned=True)
all_done = wgmma_awaited(0, SUMS)


@device
def send(tiles, stage, a_map, b_map, row0, col0, k0, full):
    """Send the tiles at depth k0 to a stage: 3 boxes."""
    to = uint32(stage * STAGE)
    mbarrier_arrive_expecting(full, stage, uint32(STAGE_BYTES))
    bulk_load(tiles, to, a_map, (row0, k0), full, stage)
    for piece in range(COLS // PIECE):
        at = uint32(to + A_TILE + piece * B_PIECE)
        bulk_load(tiles, at, b_map, (k0, col0 + piece * PIECE), full, stage)


@device
def multiply(tiles, stage, group, acc, k0):
    """Add the product of a stage: 4 wgmma over 16 of the depth each."""
    a = a_matrix(tiles, uint32(stage * STAGE + group * (64 * DEPTH)))
    b = b_matrix(tiles, uint32(stage * STAGE + A_TILE))
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
def wgmma_staged(out, a_map, b_map, depth):
    """out = a @ b.  As wgmma_tiled, three more stages are under way."""
    tiles = cuda.shared.array(0, float16, alignment=1024)
    full = cuda.shared.array(STAGES, uint64)
    acc = cuda.local.array(SUMS, float32)

    # 1. barriers: a stage is full when its bytes are there
    tid = uint32(cuda.threadIdx.x)
    if tid == 0:
        for stage in range(STAGES):
            mbarrier_init(full, stage, uint32(1))
        mbarrier_init_fence()
    cuda.syncthreads()  # the barriers are there before anyone asks them

    group = uint32(tid // uint32(128))
    row0 = int32(cuda.blockIdx.y * ROWS)
    col0 = int32(cuda.blockIdx.x * COLS)

    # 2. the first stages are under way
    if tid == 0:
        for stage in range(STAGES - 1):
            if stage * DEPTH < depth:
                at = uint32(stage)
                send(tiles, at, a_map, b_map, row0, col0, int32(stage * DEPTH), full)
    stage = uint32(0)
    ahead = uint32(STAGES - 1)
    parity = uint32(0)
    k0 = int32(0)
    while k0 < depth:
        # 3. one thread sends the stage that all have read, all wait for theirs
        later = int32(k0 + (STAGES - 1) * DEPTH)
        if tid == 0 and later < depth:
            send(tiles, ahead, a_map, b_map, row0, col0, later, full)
        while not mbarrier_tried(full, stage, parity):
            pass

        # 4. multiply
        multiply(tiles, stage, group, acc, k0)
        all_done(acc)
        cuda.syncthreads()  # everyone has read the stage before the next tiles come
        ahead = stage
        stage = uint32(stage + 1)
        if stage == STAGES:
            stage = uint32(0)
            parity = uint32(parity ^ 1)
        k0 = int32(k0 + DEPTH)

    # 5. store
    lane = uint32(tid % uint32(32))
    own = uint32(tid // uint32(32) * 16 + lane // uint32(4))
    store(out, acc, uint32(row0 + own), uint32(col0 + lane % uint32(4) * 2))
