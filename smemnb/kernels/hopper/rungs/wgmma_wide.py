"""wgmma_wide: a block makes 128x256 of out, a warpgroup 64x256.

A wgmma of 256 columns reads its 64 rows of a once for twice as many products, and both warpgroups
read the same b.

The whole kernel: a block of 384 threads makes 128x256 of out. Its first warpgroup sends
tiles of a and b, 64 of the depth at a time, to 4 stages; the other two multiply 64x256 each.
"""

from __future__ import annotations

from numba import cuda, float32, int32, uint32, uint64
from numba.types import float16

from ...ptx import store4
from ...ptx.bulk import bulk_load
from ...ptx.mbarriers import (
    mbarrier_arrive,
    mbarrier_arrive_expecting,
    mbarrier_init,
    mbarrier_init_fence,
    mbarrier_tried,
)
from ...ptx.roles import registers_fewer, registers_more
from ...ptx.tensor import cvt_rn_f16x2
from ...ptx.warpgroups import descriptor_of, wgmma_awaited, wgmma_close, wgmma_fence, wgmma_of
from ...unrolled import device, jit

ROWS = 128  # of out, for a block
COLS = 256
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
all_but_one = wgmma_awaited(1, SUMS)
all_done = wgmma_awaited(0, SUMS)
fewer_registers = registers_fewer(40)
more_registers = registers_more(232)


@device
def send(tiles, stage, a_map, b_map, row0, col0, k0, full):
    """Send the tiles at depth k0 to a stage: 5 boxes."""
    to = uint32(stage * STAGE)
    mbarrier_arrive_expecting(full, stage, uint32(STAGE_BYTES))
    bulk_load(tiles, to, a_map, (row0, k0), full, stage)
    for piece in range(COLS // PIECE):
        at = uint32(to + A_TILE + piece * B_PIECE)
        bulk_load(tiles, at, b_map, (k0, col0 + piece * PIECE), full, stage)


@device
def multiply(tiles, stage, consumer, acc, k0):
    """Add the product of a stage: 4 wgmma over 16 of the depth each."""
    a = a_matrix(tiles, uint32(stage * STAGE + consumer * (64 * DEPTH)))
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


@jit(launch_bounds=(384, 1))
def wgmma_wide(out, a_map, b_map, depth):
    """out = a @ b.  As wgmma_specialised, a block makes 128x256."""
    tiles = cuda.shared.array(0, float16, alignment=1024)
    full = cuda.shared.array(STAGES, uint64)
    empty = cuda.shared.array(STAGES, uint64)
    acc = cuda.local.array(SUMS, float32)

    # 1. barriers: a stage is full when its bytes are there, and empty when 8 warps have read it
    tid = uint32(cuda.threadIdx.x)
    if tid == 0:
        for stage in range(STAGES):
            mbarrier_init(full, stage, uint32(1))
            mbarrier_init(empty, stage, uint32(8))
        mbarrier_init_fence()
    cuda.syncthreads()  # the barriers are there before anyone asks them

    group = uint32(tid // uint32(128))
    row0 = int32(cuda.blockIdx.y * ROWS)
    col0 = int32(cuda.blockIdx.x * COLS)
    stage = uint32(0)
    k0 = int32(0)
    if group == 0:
        # 2. one thread sends tiles, stage after stage, as they become empty
        fewer_registers()
        if tid == 0:
            parity = uint32(1)  # the phase before the first one is over: all stages are empty
            while k0 < depth:
                while not mbarrier_tried(empty, stage, parity):
                    pass
                send(tiles, stage, a_map, b_map, row0, col0, k0, full)
                stage = uint32(stage + 1)
                if stage == STAGES:
                    stage = uint32(0)
                    parity = uint32(parity ^ 1)
                k0 = int32(k0 + DEPTH)
    else:
        # 3. two warpgroups multiply what is full; one product is under way when the next begins
        more_registers()
        parity = uint32(0)
        before = stage
        lane = uint32(tid % uint32(32))
        while k0 < depth:
            while not mbarrier_tried(full, stage, parity):
                pass
            multiply(tiles, stage, uint32(group - 1), acc, k0)
            all_but_one(acc)
            if k0 > 0 and lane == 0:
                mbarrier_arrive(empty, before)  # the stage before is read
            before = stage
            stage = uint32(stage + 1)
            if stage == STAGES:
                stage = uint32(0)
                parity = uint32(parity ^ 1)
            k0 = int32(k0 + DEPTH)
        all_done(acc)

        # 4. store
        own = uint32((tid - uint32(128)) // uint32(32) * 16 + lane // uint32(4))
        store(out, acc, uint32(row0 + own), uint32(col0 + lane % uint32(4) * 2))
