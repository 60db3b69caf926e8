"""matmul_unguarded: whole tiles only, so no load and no store is guarded.

A guarded load is a branch, and the next one begins behind it: a thread waits for memory five times
for each pair of tiles. Without guards its 8 loads begin one after the other, and it waits once.
Rows and columns of out must be multiples of 128, the depth of 8.
"""

from __future__ import annotations

from numba import cuda, float32

from ...unrolled import device, jit

ROWS = 128  # of out, for a block
COLS = 128
DEPTH = 8  # columns of a and rows of b that are in shared memory at a time
PITCH = ROWS + 4  # words from one k to the next in the turned tile of a: 4 are a pad


@device
def store_row(i, out, acc, row, col, alpha, beta):
    """Row i of this thread's 8x8 results."""
    for j in range(8):
        value = alpha * acc[i, j]
        if beta != float32(0):
            value += beta * out[row + i, col + j * 16]  # 4 sectors
        out[row + i, col + j * 16] = value  # 4 sectors


@jit(launch_bounds=(256, 1))
def matmul_unguarded(out, a, b, alpha, beta):
    """out = alpha * a @ b + beta * out.  As matmul_turned_padded, without guards."""
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

        # 4. multiply: 8 + 8 reads for 64 products at each k    a: 1 wavefront    b: 1 wavefront
        for k in range(DEPTH):
            for i in range(8):
                a_frag[i] = a_tile[k, m0 + i]
            for j in range(8):
                b_frag[j] = b_tile[k, n0 + j * 16]
            for i in range(8):
                for j in range(8):
                    acc[i, j] += a_frag[i] * b_frag[j]
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
