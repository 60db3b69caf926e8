"""matmul_laid_out: the 8 steps along the depth stand one after the other.

A loop over k costs a comparison, a jump and sums of offsets at each step, and the reads of a step
begin when the one before is done. Laid out, k is a constant: offsets stand in the instructions, and
reads of later steps begin while earlier ones are multiplied.
"""

from __future__ import annotations

from numba import cuda, float32

from ...unrolled import device, jit

ROWS = 128  # of out, for a block
COLS = 128
DEPTH = 8  # columns of a and rows of b that are in shared memory at a time
PITCH = ROWS + 4  # words from one k to the next in the turned tile of a: 4 are a pad


@device
def step(k, a_tile, b_tile, acc, a_frag, b_frag, m0, n0):
    """Multiply at one k: 8 + 8 reads for 64 products."""
    for i in range(8):
        a_frag[i] = a_tile[k, m0 + i]  # 1 wavefront
    for j in range(8):
        b_frag[j] = b_tile[k, n0 + j * 16]  # 1 wavefront
    for i in range(8):
        for j in range(8):
            acc[i, j] += a_frag[i] * b_frag[j]


@device
def store_row(i, out, acc, row, col, alpha, beta):
    """Row i of this thread's 8x8 results."""
    for j in range(8):
        value = alpha * acc[i, j]
        if beta != float32(0):
            value += beta * out[row + i, col + j * 16]  # 4 sectors
        out[row + i, col + j * 16] = value  # 4 sectors


@jit(launch_bounds=(256, 2))
def matmul_laid_out(out, a, b, alpha, beta):
    """out = alpha * a @ b + beta * out.  As matmul_two_blocks, its 8 steps laid out."""
    a_tile = cuda.shared.array((DEPTH, PITCH), float32)  # turned: element (m, k) at [k, m]
    b_tile = cuda.shared.array((DEPTH, COLS), float32)
    acc = cuda.local.array((8, 8), float32)
    a_frag = cuda.local.array(8, float32)
    b_frag = cuda.local.array(8, float32)

    # 1. where this block's tile of out begins
    row0 = cuda.blockIdx.y * ROWS
    col0 = cuda.blockIdx.x * COLS

    # 2. within it this thread's 8x8 results: 8 rows, 8 columns 16 apart
    tid = cuda.threadIdx.x
    m0 = tid // 16 * 8
    n0 = tid % 16
    for i in range(8):
        for j in range(8):
            acc[i, j] = float32(0)

    for k0 in range(0, a.shape[1], DEPTH):
        # 3. load a tile of each    global: 4 sectors
        #    a: 4 rows of 8 per request    shared: 1 wavefront
        for line in range(4):
            m = (tid + line * 256) // 8
            k = tid % 8
            a_tile[k, m] = a[row0 + m, k0 + k]
        #    b: 32 columns per request    shared: 1 wavefront
        for line in range(4):
            k = (tid + line * 256) // 128
            n = tid % 128
            b_tile[k, n] = b[k0 + k, col0 + n]
        cuda.syncthreads()  # both tiles are full before anyone reads them

        # 4. multiply: 8 steps of 8 + 8 reads for 64 products
        step(0, a_tile, b_tile, acc, a_frag, b_frag, m0, n0)
        step(1, a_tile, b_tile, acc, a_frag, b_frag, m0, n0)
        step(2, a_tile, b_tile, acc, a_frag, b_frag, m0, n0)
        step(3, a_tile, b_tile, acc, a_frag, b_frag, m0, n0)
        step(4, a_tile, b_tile, acc, a_frag, b_frag, m0, n0)
        step(5, a_tile, b_tile, acc, a_frag, b_frag, m0, n0)
        step(6, a_tile, b_tile, acc, a_frag, b_frag, m0, n0)
        step(7, a_tile, b_tile, acc, a_frag, b_frag, m0, n0)
        cuda.syncthreads()  # everyone has read before the next tiles overwrite these

    # 5. store alpha * acc + beta * out    global: 4 sectors
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
