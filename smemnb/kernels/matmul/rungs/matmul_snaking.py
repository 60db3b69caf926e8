"""matmul_snaking: the outer product turns back after each row.

Row i goes along the columns, row i + 1 back: where they meet, the same register of b is read by two
FFMA in a row. The second one takes it from the first (.reuse), and asks one register bank less.
"""

from __future__ import annotations

from numba import cuda, float32, uint32

from ...ptx import load1, load16, store1, store16
from ...unrolled import device, jit

ROWS = 128  # of out, for a block
COLS = 128
DEPTH = 8  # columns of a and rows of b that are in shared memory at a time
PITCH = ROWS + 4  # words from one k to the next in the turned tile of a: 4 are a pad
A_TILE = DEPTH * PITCH  # element (m, k) of a at k * PITCH + m
B_TILE = DEPTH * COLS  # element (k, n) of b at k * COLS + n
A_BOTH = 2 * A_TILE
B_BOTH = 2 * B_TILE


@device
def put4(registers, first, quad):
    """Put four neighbours into registers."""
    registers[first] = quad[0]
    registers[first + 1] = quad[1]
    registers[first + 2] = quad[2]
    registers[first + 3] = quad[3]


@device
def fetch(a, b, a_at, b_at, a_step, b_step, a_next, b_next):
    """Load this thread's elements of the next tiles: 2 x 16 bytes of each matrix."""
    for line in range(2):
        put4(a_next, line * 4, load16(a, uint32(a_at + line * a_step)))  # 16 sectors
    for line in range(2):
        put4(b_next, line * 4, load16(b, uint32(b_at + line * b_step)))  # 16 sectors


@device
def stage(a_tile, b_tile, a_next, b_next, a_to, b_to):
    """Store them to the tiles, those of a turned."""
    for line in range(2):
        for part in range(4):
            store1(
                a_tile, a_to + (line * 64 + part * PITCH), a_next[line * 4 + part]
            )  # 1 wavefront
    for line in range(2):
        quad = b_next[line * 4], b_next[line * 4 + 1], b_next[line * 4 + 2], b_next[line * 4 + 3]
        store16(b_tile, b_to + line * 4 * COLS, quad)  # 4 wavefronts


@device
def step(k, a_tile, b_tile, acc, a_frag, b_frag, a_from, b_from):
    """Multiply at one k: 16 + 8 reads for 128 products."""
    for quad in range(4):
        at = a_from + (k * PITCH + quad * 16)
        put4(a_frag, quad * 4, load16(a_tile, at))  # 2 wavefronts
    for quad in range(2):
        at = b_from + (k * COLS + quad * 32)
        put4(b_frag, quad * 4, load16(b_tile, at))  # 4 wavefronts
    for i in range(0, 16, 2):
        for j in range(8):
            acc[i, j] += a_frag[i] * b_frag[j]
        for j in range(8):
            acc[i + 1, 7 - j] += a_frag[i + 1] * b_frag[7 - j]


@device
def store_row(i, out, acc, row, col, alpha, beta):
    """Row i of this thread's 16x8 results."""
    line = uint32(uint32(row + (i // 4 * 16 + i % 4)) * uint32(out.strides[0] // 4) + col)
    for j in range(8):
        at = line + (j // 4 * 32 + j % 4)
        value = alpha * acc[i, j]
        if beta != float32(0):
            value += beta * load1(out, at)  # 16 sectors
        # smemnb: allow[uncoalesced] once per result; stores of 16 bytes would hold acc in aligned
        # quads of registers, and the multiply-adds of the main loop would wait for their banks
        store1(out, at, value)  # 16 sectors


@jit(launch_bounds=(128, 2))
def matmul_snaking(out, a, b, alpha, beta):
    """out = alpha * a @ b + beta * out.  As matmul_tall, products back and forth."""
    a_tile = cuda.shared.array(A_BOTH, float32, alignment=16)
    b_tile = cuda.shared.array(B_BOTH, float32, alignment=16)
    acc = cuda.local.array((16, 8), float32)
    a_frag = cuda.local.array(16, float32)
    b_frag = cuda.local.array(8, float32)
    a_next = cuda.local.array(8, float32)
    b_next = cuda.local.array(8, float32)

    # 1. where this block's tile of out begins
    row0 = uint32(cuda.blockIdx.y * ROWS)
    col0 = uint32(cuda.blockIdx.x * COLS)

    # 2. within it this thread's 16x8 results: a warp makes 64x64 by 4 x 8 lanes,
    #    a lane's rows are quads 16 apart, its columns quads 32 apart
    tid = uint32(cuda.threadIdx.x)
    warp = uint32(tid // uint32(32))
    lane = uint32(tid % uint32(32))
    down = uint32(lane // uint32(8))
    across = uint32(lane % uint32(8))
    m0 = uint32(uint32(warp // uint32(2)) * 64 + down * 4)
    n0 = uint32(uint32(warp % uint32(2)) * 64 + across * 4)
    for i in range(16):
        for j in range(8):
            acc[i, j] = float32(0)

    # 3. what it loads: 16 bytes of a row of a, 2 threads to a row, and of b, 32 to a row,
    #    and the same 64 rows of a and 4 rows of b further down
    a_pitch = uint32(a.strides[0] // 4)
    b_pitch = uint32(b.strides[0] // 4)
    a_m = uint32(tid // uint32(2))
    a_k = uint32(tid % uint32(2) * 4)
    b_k = uint32(tid // uint32(32))
    b_n = uint32(tid % uint32(32) * 4)
    a_at = uint32(uint32(row0 + a_m) * a_pitch + a_k)
    b_at = uint32(b_k * b_pitch + col0 + b_n)
    a_step = uint32(64 * a_pitch)
    b_step = uint32(4 * b_pitch)
    b_on = uint32(DEPTH * b_pitch)
    a_to = uint32(a_k * PITCH + a_m)
    b_to = uint32(b_k * COLS + b_n)

    # 4. the first tiles
    fetch(a, b, a_at, b_at, a_step, b_step, a_next, b_next)
    stage(a_tile, b_tile, a_next, b_next, a_to, b_to)
    cuda.syncthreads()  # the first tiles are full before anyone reads them

    k_size = uint32(a.shape[1])
    done = uint32(DEPTH)
    more = True
    a_now = uint32(0)  # where the tiles at hand begin; from step 5 on, the next ones
    b_now = uint32(0)
    while more:
        more = done < k_size
        done = uint32(done + uint32(DEPTH))
        a_from = uint32(a_now + m0)
        b_from = uint32(b_now + n0)
        a_now = uint32(A_TILE - a_now)
        b_now = uint32(B_TILE - b_now)
        # 5. let the next tiles come into registers while these are multiplied
        if more:
            a_at = uint32(a_at + uint32(DEPTH))
            b_at = uint32(b_at + b_on)
            fetch(a, b, a_at, b_at, a_step, b_step, a_next, b_next)

        # 6. multiply: 8 steps of 16 + 8 reads for 128 products
        step(0, a_tile, b_tile, acc, a_frag, b_frag, a_from, b_from)
        step(1, a_tile, b_tile, acc, a_frag, b_frag, a_from, b_from)
        step(2, a_tile, b_tile, acc, a_frag, b_frag, a_from, b_from)
        step(3, a_tile, b_tile, acc, a_frag, b_frag, a_from, b_from)
        step(4, a_tile, b_tile, acc, a_frag, b_frag, a_from, b_from)
        step(5, a_tile, b_tile, acc, a_frag, b_frag, a_from, b_from)
        step(6, a_tile, b_tile, acc, a_frag, b_frag, a_from, b_from)
        step(7, a_tile, b_tile, acc, a_frag, b_frag, a_from, b_from)

        # 7. the next tiles go where nobody reads
        stage(a_tile, b_tile, a_next, b_next, uint32(a_now + a_to), uint32(b_now + b_to))
        cuda.syncthreads()  # the next tiles are full before anyone reads them

    # 8. store alpha * acc + beta * out    global: 16 sectors
    scale = float32(alpha)
    keep = float32(beta)
    row = uint32(row0 + m0)
    col = uint32(col0 + n0)
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
