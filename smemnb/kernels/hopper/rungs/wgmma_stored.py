"""wgmma_stored: results go out by bulk copies, while the next tile is multiplied.

Each warpgroup puts its 64 rows, rounded, into shared memory in the swizzle that bulk copies take,
and one of its threads sends them: four boxes of 64 columns. Nobody waits for these before the next
tile's results come to the same place.

The whole kernel: a block of 384 threads makes 128x256 of out at a time. Its first warpgroup sends
tiles of a and b, 64 of the depth at a time, to 3 stages; the other two multiply 64x256 each.
"""

from __future__ import annotations

from numba import cuda, float32, int32, uint32, uint64
from numba.types import float16

from ...ptx.bulk import bulk_close, bulk_load, bulk_read, bulk_store
from ...ptx.hints import fence_async
from ...ptx.matrices import stmatrix_x4
from ...ptx.mbarriers import (
    mbarrier_arrive,
    mbarrier_arrive_expecting,
    mbarrier_init,
    mbarrier_init_fence,
    mbarrier_tried,
)
from ...ptx.roles import meet, registers_fewer, registers_more
from ...ptx.tensor import cvt_rn_f16x2
from ...ptx.warpgroups import descriptor_of, wgmma_awaited, wgmma_close, wgmma_fence, wgmma_of
from ...unrolled import device, jit

ROWS = 128  # of out, for a block
COLS = 256
DEPTH = 64  # columns of a and rows of b in a stage: 128 bytes of a row of a
PIECE = 64  # columns of b or out in a box: 128 bytes
A_TILE = ROWS * DEPTH  # elements
B_PIECE = DEPTH * PIECE
STAGE = A_TILE + DEPTH * COLS
STAGES = 3
STAGE_BYTES = 2 * STAGE
OUT_PIECE = 64 * PIECE  # rows of a warpgroup, columns of a box
OUT_TILE = 64 * COLS
OUT = STAGES * STAGE  # where results begin
SHARED_BYTES = 2 * (OUT + 2 * OUT_TILE)
OUT_BOX = (64, PIECE)
SUMS = COLS // 2  # of a thread
BAND = 16  # rows of tiles

a_matrix = descriptor_of(128, 16, 1024)  # 8 rows of 128 bytes, then the next 8
b_matrix = descriptor_of(128, 2 * B_PIECE, 1024)  # turned: 64 columns, then the next box
product = wgmma_of(COLS, "f16", b_turned=True)
all_but_one = wgmma_awaited(1, SUMS)
all_done = wgmma_awaited(0, SUMS)
all_sent = bulk_read(0)
fewer_registers = registers_fewer(40)
more_registers = registers_more(232)


@device
def place_of(tile, down, across):
    """Row and column, in tiles, of a tile of out: bands of BAND rows, in them column by column."""
    wide = uint32(BAND * across)
    band = uint32(tile // wide)
    rest = uint32(tile % wide)
    high = uint32(min(uint32(BAND), uint32(down - band * BAND)))
    return uint32(band * BAND + rest % high), uint32(rest // high)


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
    product(acc, a, b, int32(k0))  # the first one of a tile begins from 0
    product(acc, a + uint64(2), b + uint64(128), int32(1))  # 32 bytes on, 16 lines on
    product(acc, a + uint64(4), b + uint64(256), int32(1))
    product(acc, a + uint64(6), b + uint64(384), int32(1))
    wgmma_close()


@device
def store(tiles, out_map, consumer, acc, row0, col0):
    """Put 64 rows of results where bulk copies take them, and send them: 4 boxes."""
    tid = uint32(cuda.threadIdx.x % 128)
    own = uint32(OUT + consumer * OUT_TILE)
    if tid == 0:
        all_sent()
    meet(consumer + uint32(1), 128)  # the results before are read
    row = uint32(tid // uint32(32) * 16 + tid % uint32(16))
    half = uint32(tid % uint32(32) // uint32(16))
    for j in range(COLS // 16):
        first = cvt_rn_f16x2(acc[j * 8], acc[j * 8 + 1])
        second = cvt_rn_f16x2(acc[j * 8 + 2], acc[j * 8 + 3])
        third = cvt_rn_f16x2(acc[j * 8 + 4], acc[j * 8 + 5])
        fourth = cvt_rn_f16x2(acc[j * 8 + 6], acc[j * 8 + 7])
        chunk = uint32((j % 4 * 2 + half) ^ row % uint32(8))
        to = uint32(own + j // 4 * OUT_PIECE + row * PIECE + chunk * 8)
        stmatrix_x4(tiles, to, (first, second, third, fourth))  # 4 wavefronts
    fence_async()  # bulk copies see the rows
    meet(consumer + uint32(1), 128)  # all rows are there
    if tid == 0:
        for piece in range(COLS // PIECE):
            at = uint32(own + piece * OUT_PIECE)
            bulk_store(out_map, (row0, col0 + piece * PIECE), tiles, at)
        bulk_close()


@jit(launch_bounds=(384, 1))
def wgmma_stored(out, out_map, a_map, b_map, depth):
    """out = a @ b.  As wgmma_persistent, results go out by bulk copies."""
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
    down = uint32((out.shape[0] + ROWS - 1) // ROWS)
    across = uint32((out.shape[1] + COLS - 1) // COLS)
    count = uint32(down * across)
    stage = uint32(0)
    tile = uint32(cuda.blockIdx.x)
    if group == 0:
        # 2. one thread sends tiles, stage after stage, as they become empty
        fewer_registers()
        if tid == 0:
            parity = uint32(1)  # the phase before the first one is over: all stages are empty
            while tile < count:
                row, col = place_of(tile, down, across)
                k0 = int32(0)
                while k0 < depth:
                    while not mbarrier_tried(empty, stage, parity):
                        pass
                    send(tiles, stage, a_map, b_map, int32(row * ROWS), int32(col * COLS), k0, full)
                    stage = uint32(stage + 1)
                    if stage == STAGES:
                        stage = uint32(0)
                        parity = uint32(parity ^ 1)
                    k0 = int32(k0 + DEPTH)
                tile = uint32(tile + cuda.gridDim.x)
    else:
        # 3. two warpgroups multiply what is full; one product is under way when the next begins
        more_registers()
        parity = uint32(0)
        lane = uint32(tid % uint32(32))
        consumer = uint32(group - 1)
        while tile < count:
            row, col = place_of(tile, down, across)
            before = stage
            k0 = int32(0)
            while k0 < depth:
                while not mbarrier_tried(full, stage, parity):
                    pass
                multiply(tiles, stage, consumer, acc, k0)
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
            if lane == 0:
                mbarrier_arrive(empty, before)

            # 4. store
            row0 = int32(row * ROWS + consumer * 64)
            store(tiles, out_map, consumer, acc, row0, int32(col * COLS))
            tile = uint32(tile + cuda.gridDim.x)
        # 5. shared memory stays until it is read
        if tid % uint32(128) == 0:
            all_sent()
