"""matmul_warped: a warp makes 64x32 of the result in place of 16x128.

Per step it reads 64 + 32 = 96 words in place of 16 + 128 = 144.

A preparation: shared memory is not what limits this kernel. matmul_tall needs a warp of this shape,
and offsets of 32 bits throughout, of which the compiler makes a faster kernel there (TUNING.md).
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
def fetch(a, b, a_at, b_at, a_next, b_next):
    """Load this thread's elements of the next tiles: 16 bytes of each matrix."""
    put4(a_next, 0, load16(a, a_at))  # 16 sectors
    put4(b_next, 0, load16(b, b_at))  # 16 sectors


@device
def stage(a_tile, b_tile, a_next, b_next, a_to, b_to):
    """Store them to the tiles, those of a turned."""
    for part in range(4):
        store1(a_tile, a_to + part * PITCH, a_next[part])  # 1 wavefront
    quad = b_next[0], b_next[1], b_next[2], b_next[3]
    store16(b_tile, b_to, quad)  # 4 wavefronts


@device
def step(k, a_tile, b_tile, acc, a_frag, b_frag, a_from, b_from):
    """Multiply at one k: 8 + 8 reads for 64 products."""
    for quad in range(2):
        at = a_from + (k * PITCH + quad * 32)
        put4(a_frag, quad * 4, load16(a_tile, at))  # 2 wavefronts
    for quad in range(2):
        at = b_from + (k * COLS + quad * 16)
        put4(b_frag, quad * 4, load16(b_tile, at))  # 4 wavefronts
    for i in range(8):
        for j in range(8):
            acc[i, j] += a_frag[i] * b_frag[j]


@device
def store_row(i, out, acc, row, col, alpha, beta):
    """Row i of this thread's 8x8 results."""
    line = uint32(uint32(row + (i // 4 * 32 + i % 4)) * uint32(out.strides[0] // 4) + col)
    for j in range(8):
        at = line + (j // 4 * 16 + j % 4)
        value = alpha * acc[i, j]
        if beta != float32(0):
            value += beta * load1(out, at)  # 16 sectors
        # smemnb: allow[uncoalesced] once per result; stores of 16 bytes would hold acc in aligned
        # quads of registers, and the multiply-adds of the main loop would wait for their banks
        store1(out, at, value)  # 16 sectors


@jit(launch_bounds=(256, 2))
def matmul_warped(out, a, b, alpha, beta):
    """out = alpha * a @ b + beta * out.  As matmul_prefetched, with 64x32 per warp."""
    a_tile = cuda.shared.array(A_BOTH, float32, alignment=16)
    b_tile = cuda.shared.array(B_BOTH, float32, alignment=16)
    acc = cuda.local.array((8, 8), float32)
    a_frag = cuda.local.array(8, float32)
    b_frag = cuda.local.array(8, float32)
    a_next = cuda.local.array(4, float32)
    b_next = cuda.local.array(4, float32)

    # 1. where this block's tile of out begins
    row0 = uint32(cuda.blockIdx.y * ROWS)
    col0 = uint32(cuda.blockIdx.x * COLS)

    # 2. within it this thread's 8x8 results: a warp makes 64x32 by 8 x 4 lanes,
    #    a lane's rows are quads 32 apart, its columns quads 16 apart
    tid = uint32(cuda.threadIdx.x)
    warp = uint32(tid // uint32(32))
    lane = uint32(tid % uint32(32))
    down = uint32(lane // uint32(4))
    across = uint32(lane % uint32(4))
    m0 = uint32(warp // 4 * 64 + down * 4)
    n0 = uint32(warp % 4 * 32 + across * 4)
    for i in range(8):
        for j in range(8):
            acc[i, j] = float32(0)

    # 3. what it loads: 16 bytes of a row of a, 2 threads to a row, and of b, 32 to a row
    a_pitch = uint32(a.strides[0] // 4)
    b_pitch = uint32(b.strides[0] // 4)
    a_m = uint32(tid // uint32(2))
    a_k = uint32(tid % uint32(2) * 4)
    b_k = uint32(tid // uint32(32))
    b_n = uint32(tid % uint32(32) * 4)
    a_at = uint32(uint32(row0 + a_m) * a_pitch + a_k)
    b_at = uint32(b_k * b_pitch + col0 + b_n)
    b_on = uint32(DEPTH * b_pitch)
    a_to = uint32(a_k * PITCH + a_m)
    b_to = uint32(b_k * COLS + b_n)

    # 4. the first tiles
    fetch(a, b, a_at, b_at, a_next, b_next)
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
            fetch(a, b, a_at, b_at, a_next, b_next)

        # 6. multiply: 8 steps of 8 + 8 reads for 64 products
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
