"""matmul_by_quads: a thread reads its rows and columns by 16 bytes.

4 reads in place of 16 instructions as written (10 as compiled: rows of a are neighbours, and ptxas
reads them by 16 bytes itself). So a thread's columns are two quads of neighbours now, 64 apart.
The wavefronts stay: 16 bytes for 16 lanes are 256 bytes, two passes at least.
"""

from __future__ import annotations

from numba import cuda, float32, uint32

from ...ptx import load1, load16, store1
from ...unrolled import device, jit

ROWS = 128  # of out, for a block
COLS = 128
DEPTH = 8  # columns of a and rows of b that are in shared memory at a time
PITCH = ROWS + 4  # words from one k to the next in the turned tile of a: 4 are a pad
A_TILE = DEPTH * PITCH  # element (m, k) of a at k * PITCH + m
B_TILE = DEPTH * COLS  # element (k, n) of b at k * COLS + n


@device
def put4(registers, first, quad):
    """Put four neighbours into registers."""
    registers[first] = quad[0]
    registers[first + 1] = quad[1]
    registers[first + 2] = quad[2]
    registers[first + 3] = quad[3]


@device
def step(k, a_tile, b_tile, acc, a_frag, b_frag, a_from, b_from):
    """Multiply at one k: 8 + 8 reads for 64 products."""
    for quad in range(2):
        at = a_from + (k * PITCH + quad * 8)
        put4(a_frag, quad * 4, load16(a_tile, at))  # 2 wavefronts
    for quad in range(2):
        at = b_from + (k * COLS + quad * 64)
        put4(b_frag, quad * 4, load16(b_tile, at))  # 4 wavefronts
    for i in range(8):
        for j in range(8):
            acc[i, j] += a_frag[i] * b_frag[j]


@device
def store_row(i, out, acc, row, col, alpha, beta):
    """Row i of this thread's 8x8 results."""
    line = uint32((row + (i // 4 * 8 + i % 4)) * (out.strides[0] // 4) + col)
    for j in range(8):
        at = line + (j // 4 * 64 + j % 4)
        value = alpha * acc[i, j]
        if beta != float32(0):
            value += beta * load1(out, at)  # 16 sectors
        # smemnb: allow[uncoalesced] by 16 bytes acc would lie in aligned quads, and FFMAs wait
        store1(out, at, value)  # 16 sectors


@jit(launch_bounds=(256, 2))
def matmul_by_quads(out, a, b, alpha, beta):
    """out = alpha * a @ b + beta * out.  As matmul_unsigned, reading 16 bytes at a time."""
    a_tile = cuda.shared.array(A_TILE, float32, alignment=16)
    b_tile = cuda.shared.array(B_TILE, float32, alignment=16)
    acc = cuda.local.array((8, 8), float32)
    a_frag = cuda.local.array(8, float32)
    b_frag = cuda.local.array(8, float32)

    # 1. where this block's tile of out begins
    row0 = cuda.blockIdx.y * ROWS
    col0 = cuda.blockIdx.x * COLS

    # 2. within it this thread's 8x8 results: a warp makes 16x128 by 2 x 16 lanes,
    #    a lane's rows are quads 8 apart, its columns quads 64 apart
    tid = cuda.threadIdx.x
    warp = tid // 32
    lane = tid % 32
    down = lane // 16
    across = lane % 16
    m0 = uint32(warp * 16 + down * 4)
    n0 = uint32(across * 4)
    for i in range(8):
        for j in range(8):
            acc[i, j] = float32(0)

    # 3. what it loads: 4 elements of a, 8 threads to a row, and 4 of b, 128 to a row
    a_pitch = a.strides[0] // 4
    b_pitch = b.strides[0] // 4
    a_m = tid // 8
    a_k = tid % 8
    b_k = tid // 128
    b_n = tid % 128
    a_at = uint32((row0 + a_m) * a_pitch + a_k)
    b_at = uint32(b_k * b_pitch + col0 + b_n)
    a_step = uint32(32 * a_pitch)
    b_step = uint32(2 * b_pitch)
    b_on = uint32(DEPTH * b_pitch)
    a_to = uint32(a_k * PITCH + a_m)
    b_to = uint32(b_k * COLS + b_n)

    k_size = uint32(a.shape[1])
    done = uint32(0)
    while done < k_size:
        # 4. load a tile of each    global: 4 sectors    shared: 1 wavefront
        for line in range(4):
            value = load1(a, uint32(a_at + line * a_step))
            store1(a_tile, a_to + line * 32, value)
        for line in range(4):
            value = load1(b, uint32(b_at + line * b_step))
            store1(b_tile, b_to + line * 2 * COLS, value)
        a_at = uint32(a_at + uint32(DEPTH))
        b_at = uint32(b_at + b_on)
        done = uint32(done + uint32(DEPTH))
        cuda.syncthreads()  # both tiles are full before anyone reads them

        # 5. multiply: 8 steps of 8 + 8 reads for 64 products
        step(0, a_tile, b_tile, acc, a_frag, b_frag, m0, n0)
        step(1, a_tile, b_tile, acc, a_frag, b_frag, m0, n0)
        step(2, a_tile, b_tile, acc, a_frag, b_frag, m0, n0)
        step(3, a_tile, b_tile, acc, a_frag, b_frag, m0, n0)
        step(4, a_tile, b_tile, acc, a_frag, b_frag, m0, n0)
        step(5, a_tile, b_tile, acc, a_frag, b_frag, m0, n0)
        step(6, a_tile, b_tile, acc, a_frag, b_frag, m0, n0)
        step(7, a_tile, b_tile, acc, a_frag, b_frag, m0, n0)
        cuda.syncthreads()  # everyone has read before the next tiles overwrite these

    # 6. store alpha * acc + beta * out    global: 16 sectors
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
