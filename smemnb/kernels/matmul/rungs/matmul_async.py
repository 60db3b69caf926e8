"""matmul_async: tiles come by asynchronous copies, in three stages.

A thread no longer holds the next tiles in registers on their way: it sends them from global to
shared memory, closes a group of copies in every round, and waits for the group that the next round
reads. Two groups are under way while a tile is multiplied, in place of one load. Copies of 4 bytes
turn a as they store it; those of 16 bytes keep b as it is.

Where a copy would reach beyond a matrix it puts zeros, so that any number of rows and any depth
will do. In the last rounds all copies do so; their groups are closed all the same, or the wait
would leave the last tiles under way.
"""

from __future__ import annotations

from numba import cuda, float32, uint32

from ...ptx import load1, load16, store1
from ...ptx.asynchronous import close_group, copy4, copy16, groups_awaited
from ...unrolled import device, jit

ROWS = 128  # of out, for a block
COLS = 128
DEPTH = 8  # columns of a and rows of b that are a stage
PITCH = ROWS + 4  # words from one k to the next in the turned tile of a: 4 are a pad
A_TILE = DEPTH * PITCH  # element (m, k) of a at k * PITCH + m
B_TILE = DEPTH * COLS  # element (k, n) of b at k * COLS + n
STAGES = 3  # one is read while two are on their way
A_STAGES = STAGES * A_TILE
B_STAGES = STAGES * B_TILE
arrived = groups_awaited(STAGES - 2)  # all groups but those of the stages after the next one


@device
def put4(registers, first, quad):
    """Put four neighbours into registers."""
    registers[first] = quad[0]
    registers[first + 1] = quad[1]
    registers[first + 2] = quad[2]
    registers[first + 3] = quad[3]


@device
def send(a, b, a_tile, b_tile, a_at, b_at, a_step, b_step, a_to, b_to, a_rows, a_left, b_left):
    """Send this thread's elements of a stage: 8 of a, 2 x 16 bytes of b.

    The 4 rows of a that a copy reads lie in the same banks of L1 if they begin 128 bytes apart, or
    a multiple of it. Copies of b go past L1, and cost the pipe of shared memory nothing.
    """
    for line in range(8):
        there = uint32(line * 16) < a_rows and uint32(0) < a_left
        copy4(
            a_tile, a_to + line * 16, a, uint32(a_at + line * a_step), there
        )  # 4 sectors, 4 wavefronts
    for line in range(2):
        there = uint32(line * 4) < b_left
        copy16(b_tile, b_to + line * 4 * COLS, b, uint32(b_at + line * b_step), there)  # 16 sectors


@device
def read_fragments(k, a_tile, b_tile, a_frag, b_frag, a_from, b_from):
    """Read this thread's 16 elements of column k of a, and 8 of row k of b."""
    for quad in range(4):
        at = a_from + (k * PITCH + quad * 16)
        put4(a_frag, k % 2 * 16 + quad * 4, load16(a_tile, at))  # 2 wavefronts
    for quad in range(2):
        at = b_from + (k * COLS + quad * 32)
        put4(b_frag, k % 2 * 8 + quad * 4, load16(b_tile, at))  # 4 wavefronts


@device
def multiply(k, acc, a_frag, b_frag):
    """Add the outer product of step k, back and forth along the columns."""
    for i in range(0, 16, 2):
        for j in range(8):
            acc[i, j] += a_frag[k % 2 * 16 + i] * b_frag[k % 2 * 8 + j]
        for j in range(8):
            acc[i + 1, 7 - j] += a_frag[k % 2 * 16 + i + 1] * b_frag[k % 2 * 8 + 7 - j]


@device
def step(k, a_tile, b_tile, acc, a_frag, b_frag, a_from, b_from):
    """Read the fragments of step k + 1, and multiply those of step k meanwhile."""
    read_fragments(k + 1, a_tile, b_tile, a_frag, b_frag, a_from, b_from)
    multiply(k, acc, a_frag, b_frag)


@device
def store_row(i, out, acc, row, col, alpha, beta):
    """Row i of this thread's 16x8 results, as far as it lies in out."""
    at_row = row + (i // 4 * 16 + i % 4)
    line = uint32(at_row * (out.strides[0] // 4) + col)
    for j in range(8):
        right = j // 4 * 32 + j % 4
        if at_row < out.shape[0] and col + right < out.shape[1]:
            value = alpha * acc[i, j]
            if beta != float32(0):
                value += beta * load1(out, line + right)  # 16 sectors
            # smemnb: allow[uncoalesced] once per result; stores of 16 bytes would hold acc in
            # aligned quads of registers, and the multiply-adds would wait for their banks
            store1(out, line + right, value)  # 16 sectors


@device
def ahead(at, size, whole):
    """Where the stage after this one begins."""
    at = uint32(at + uint32(size))
    return uint32(0) if at == uint32(whole) else at


@device
def left_of(size, done):
    """How much of a size is left behind what is done."""
    return uint32(size - done) if done < size else uint32(0)


@jit(launch_bounds=(128, 2))
def matmul_async(out, a, b, alpha, beta):
    """out = alpha * a @ b + beta * out.  As matmul_fastest, by copies in 3 stages."""
    a_tile = cuda.shared.array(A_STAGES, float32, alignment=16)
    b_tile = cuda.shared.array(B_STAGES, float32, alignment=16)
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
    n0 = uint32(warp % 2 * 64 + across * 4)
    for i in range(16):
        for j in range(8):
            acc[i, j] = float32(0)

    # 3. what it sends: an element of a, 8 threads to a row, and the same of 7 rows further down;
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
    b_to = uint32(b_k * COLS + b_n)
    a_rows = left_of(uint32(a.shape[0]), uint32(row0 + a_m))
    b_there = uint32(0xFFFFFFFF) if col0 + b_n < b.shape[1] else uint32(0)

    # 4. the first stages are on their way, each a group
    a_free = uint32(0)
    b_free = uint32(0)
    sent = uint32(0)
    for _ in range(STAGES - 1):
        a_left = left_of(k_size, uint32(sent + a_k))
        b_left = left_of(k_size, uint32(sent + b_k)) & b_there
        send(a, b, a_tile, b_tile, a_at, b_at, a_step, b_step,
             uint32(a_free + a_to), uint32(b_free + b_to), a_rows, a_left, b_left)  # fmt: skip
        close_group()
        a_at = uint32(a_at + uint32(DEPTH))
        b_at = uint32(b_at + b_on)
        a_free = ahead(a_free, A_TILE, A_STAGES)
        b_free = ahead(b_free, B_TILE, B_STAGES)
        sent = uint32(sent + uint32(DEPTH))
    arrived()
    cuda.syncthreads()  # everyone's copies of the first stage are there
    read_fragments(0, a_tile, b_tile, a_frag, b_frag, m0, n0)

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
        send(a, b, a_tile, b_tile, a_at, b_at, a_step, b_step,
             uint32(a_free + a_to), uint32(b_free + b_to), a_rows, a_left, b_left)  # fmt: skip
        close_group()
        a_at = uint32(a_at + uint32(DEPTH))
        b_at = uint32(b_at + b_on)
        a_free = ahead(a_free, A_TILE, A_STAGES)
        b_free = ahead(b_free, B_TILE, B_STAGES)
        sent = uint32(sent + uint32(DEPTH))

        # 6. multiply: 8 steps of 16 + 8 reads for 128 products
        step(0, a_tile, b_tile, acc, a_frag, b_frag, a_from, b_from)
        step(1, a_tile, b_tile, acc, a_frag, b_frag, a_from, b_from)
        step(2, a_tile, b_tile, acc, a_frag, b_frag, a_from, b_from)
        step(3, a_tile, b_tile, acc, a_frag, b_frag, a_from, b_from)
        step(4, a_tile, b_tile, acc, a_frag, b_frag, a_from, b_from)
        step(5, a_tile, b_tile, acc, a_frag, b_frag, a_from, b_from)
        step(6, a_tile, b_tile, acc, a_frag, b_frag, a_from, b_from)

        # 7. the next stage
        a_now = ahead(a_now, A_TILE, A_STAGES)
        b_now = ahead(b_now, B_TILE, B_STAGES)
        arrived()
        cuda.syncthreads()  # everyone's copies are there, and everyone has read the stage at hand
        read_fragments(0, a_tile, b_tile, a_frag, b_frag, uint32(a_now + m0), uint32(b_now + n0))
        multiply(7, acc, a_frag, b_frag)

    # 8. store alpha * acc + beta * out    global: 16 sectors
    scale = float32(alpha)
    keep = float32(beta)
    row = row0 + m0
    col = col0 + n0
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
