"""`matmul_async` with another number of stages, in static or in dynamic shared memory.

    matmul_staged_of(stages)                  2 to 8 stages
    matmul_staged_of(stages, dynamic=True)    the same in the memory that the launch asks for
    shared_bytes(stages)                      which is so many bytes

Both tiles lie in one array: the stages of a, behind them those of b. Each stage is 8,320 bytes: 5
of them are 41,600, and 6 are more than the 48 KB that a launch may ask for without a word
(`operations.prepared.allow_shared`).
"""

from __future__ import annotations

from functools import cache
from typing import Any

from numba import cuda, float32, uint32

from ...ptx.asynchronous import close_group, groups_awaited
from ...unrolled import jit, named
from ..rungs.matmul_async import (
    A_TILE,
    B_TILE,
    COLS,
    DEPTH,
    PITCH,
    ROWS,
    ahead,
    left_of,
    multiply,
    read_fragments,
    send,
    step,
    store_row,
)

FEWEST, MOST = 2, 8


def shared_bytes(stages: int) -> int:
    """Shared memory of a block.

    >>> [shared_bytes(stages) for stages in (2, 3, 5, 6)]
    [16640, 24960, 41600, 49920]
    """
    return 4 * stages * (A_TILE + B_TILE)


@cache
def matmul_staged_of(stages: int, *, dynamic: bool = False) -> Any:
    """The kernel `(out, a, b, alpha, beta)`, launched as `matmul_async` is.

    Args:
        stages: tiles of each matrix: one is read while the others are on their way.
        dynamic: whether they lie in dynamic shared memory; the launch then asks for
            `shared_bytes(stages)`.

    Raises:
        ValueError: less than 2 or more than 8 stages.
    """
    if not FEWEST <= stages <= MOST:
        raise ValueError(f"stages={stages}: a pipeline here has {FEWEST} to {MOST} of them")
    a_stages, b_stages = stages * A_TILE, stages * B_TILE
    b_first, size = a_stages, 0 if dynamic else a_stages + b_stages
    arrived = groups_awaited(stages - 2)

    @jit(launch_bounds=(128, 2))
    def matmul_staged(out, a, b, alpha, beta):
        shared = cuda.shared.array(size, float32, alignment=16)
        acc = cuda.local.array((16, 8), float32)
        a_frag = cuda.local.array(32, float32)  # of two steps, in turns
        b_frag = cuda.local.array(16, float32)

        # 1. where this block's tile of out begins
        row0 = cuda.blockIdx.y * ROWS
        col0 = cuda.blockIdx.x * COLS

        # 2. within it this thread's 16x8 results: a warp makes 64x64 by 4 x 8 lanes,
        #    a lane's rows are quads 16 apart, its columns quads 32 apart
        tid = cuda.threadIdx.x
        warp = tid // 32
        lane = tid % 32
        down = lane // 8
        across = lane % 8
        m0 = uint32(warp // 2 * 64 + down * 4)
        n0 = uint32(b_first + warp % 2 * 64 + across * 4)
        for i in range(16):
            for j in range(8):
                acc[i, j] = float32(0)

        # 3. what it sends: an element of a, 8 threads to a row, and those of 7 rows further down;
        #    16 bytes of b, 32 threads to a row, and the same 4 rows further down
        k_size = uint32(a.shape[1])
        a_pitch = a.strides[0] // 4
        b_pitch = b.strides[0] // 4
        a_m = tid // 8
        a_k = uint32(tid % 8)
        b_k = uint32(tid // 32)
        b_n = tid % 32 * 4
        a_at = uint32((row0 + a_m) * a_pitch + a_k)
        b_at = uint32(b_k * b_pitch + col0 + b_n)
        a_step = uint32(16 * a_pitch)
        b_step = uint32(4 * b_pitch)
        b_on = uint32(DEPTH * b_pitch)
        a_to = uint32(a_k * PITCH + a_m)
        b_to = uint32(b_first + b_k * COLS + b_n)
        a_rows = left_of(uint32(a.shape[0]), uint32(row0 + a_m))
        b_there = uint32(0xFFFFFFFF) if col0 + b_n < b.shape[1] else uint32(0)

        # 4. the first stages are on their way, each a group
        a_free = uint32(0)
        b_free = uint32(0)
        sent = uint32(0)
        for _ in range(stages - 1):
            a_left = left_of(k_size, uint32(sent + a_k))
            b_left = left_of(k_size, uint32(sent + b_k)) & b_there
            send(a, b, shared, shared, a_at, b_at, a_step, b_step,
                 uint32(a_free + a_to), uint32(b_free + b_to), a_rows, a_left, b_left)  # fmt: skip
            close_group()
            a_at = uint32(a_at + uint32(DEPTH))
            b_at = uint32(b_at + b_on)
            a_free = ahead(a_free, A_TILE, a_stages)
            b_free = ahead(b_free, B_TILE, b_stages)
            sent = uint32(sent + uint32(DEPTH))
        arrived()
        cuda.syncthreads()  # everyone's copies of the first stage are there
        read_fragments(0, shared, shared, a_frag, b_frag, m0, n0)

        a_now = uint32(0)  # where the stage at hand begins; from step 7 on, the next one
        b_now = uint32(0)
        done = uint32(0)
        while done < k_size:
            done = uint32(done + uint32(DEPTH))
            a_from = uint32(a_now + m0)
            b_from = uint32(b_now + n0)
            # 5. send a stage to where everyone has read; a group in every round, also of zeros
            a_left = left_of(k_size, uint32(sent + a_k))
            b_left = left_of(k_size, uint32(sent + b_k)) & b_there
            send(a, b, shared, shared, a_at, b_at, a_step, b_step,
                 uint32(a_free + a_to), uint32(b_free + b_to), a_rows, a_left, b_left)  # fmt: skip
            close_group()
            a_at = uint32(a_at + uint32(DEPTH))
            b_at = uint32(b_at + b_on)
            a_free = ahead(a_free, A_TILE, a_stages)
            b_free = ahead(b_free, B_TILE, b_stages)
            sent = uint32(sent + uint32(DEPTH))

            # 6. multiply: 8 steps of 16 + 8 reads for 128 products
            step(0, shared, shared, acc, a_frag, b_frag, a_from, b_from)
            step(1, shared, shared, acc, a_frag, b_frag, a_from, b_from)
            step(2, shared, shared, acc, a_frag, b_frag, a_from, b_from)
            step(3, shared, shared, acc, a_frag, b_frag, a_from, b_from)
            step(4, shared, shared, acc, a_frag, b_frag, a_from, b_from)
            step(5, shared, shared, acc, a_frag, b_frag, a_from, b_from)
            step(6, shared, shared, acc, a_frag, b_frag, a_from, b_from)

            # 7. the next stage
            a_now = ahead(a_now, A_TILE, a_stages)
            b_now = ahead(b_now, B_TILE, b_stages)
            arrived()
            cuda.syncthreads()  # everyone's copies are there; everyone has read this stage
            read_fragments(
                0, shared, shared, a_frag, b_frag, uint32(a_now + m0), uint32(b_now + n0)
            )
            multiply(7, acc, a_frag, b_frag)

        # 8. store alpha * acc + beta * out    global: 16 sectors
        scale = float32(alpha)
        keep = float32(beta)
        row = row0 + m0
        col = col0 + (n0 - uint32(b_first))
        store_row(0, out, acc, row, col, scale, keep)
        store_row(1, out, acc, row, col, scale, keep)
        store_row(2, out, acc, row, col, scale, keep)
        store_row(3, out, acc, row, col, scale, keep)
        store_row(4, out, acc, row, col, scale, keep)
        store_row(5, out, acc, row, col, scale, keep)
        store_row(6, out, acc, row, col, scale, keep)
        store_row(7, out, acc, row, col, scale, keep)
        store_row(8, out, acc, row, col, scale, keep)
        store_row(9, out, acc, row, col, scale, keep)
        store_row(10, out, acc, row, col, scale, keep)
        store_row(11, out, acc, row, col, scale, keep)
        store_row(12, out, acc, row, col, scale, keep)
        store_row(13, out, acc, row, col, scale, keep)
        store_row(14, out, acc, row, col, scale, keep)
        store_row(15, out, acc, row, col, scale, keep)

    return named(matmul_staged, f"matmul_staged_{stages}{'_dynamic' if dynamic else ''}")
