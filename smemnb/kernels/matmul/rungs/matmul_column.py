"""matmul_column: 64x64 of the result per block, 8 rows of one column per thread.

A thread keeps 8 results in registers. At each k it reads one element of b for all of them, so
9 reads serve 8 products where matmul_tiled needs 16.
"""

from __future__ import annotations

from numba import cuda, float32

from ...unrolled import device, jit

ROWS = 64  # of out, for a block
COLS = 64
DEPTH = 8  # columns of a and rows of b that are in shared memory at a time


@device
def store_row(i, out, acc, row, col, alpha, beta):
    """Row i of this thread's 8x1 results, where it lies inside."""
    for j in range(1):
        if row + i < out.shape[0] and col + j * 64 < out.shape[1]:
            value = alpha * acc[i, j]
            if beta != float32(0):
                value += beta * out[row + i, col + j * 64]  # 4 sectors
            out[row + i, col + j * 64] = value  # 4 sectors


@jit(launch_bounds=(512, 1))
def matmul_column(out, a, b, alpha, beta):
    """out = alpha * a @ b + beta * out.  A thread makes 8 rows of a column."""
    a_tile = cuda.shared.array((ROWS, DEPTH), float32)
    b_tile = cuda.shared.array((DEPTH, COLS), float32)
    acc = cuda.local.array((8, 1), float32)
    a_frag = cuda.local.array(8, float32)
    b_frag = cuda.local.array(1, float32)

    # 1. where this block's tile of out begins
    row0 = cuda.blockIdx.y * ROWS
    col0 = cuda.blockIdx.x * COLS

    # 2. within it this thread's 8x1 results: 8 rows of one column
    tid = cuda.threadIdx.x
    m0 = tid // 64 * 8
    n0 = tid % 64
    for i in range(8):
        for j in range(1):
            acc[i, j] = float32(0)

    for k0 in range(0, a.shape[1], DEPTH):
        # 3. load a tile of each, zeros beyond the edge    global: 4 sectors
        #    a: 4 rows of 8 per request    shared: 1 wavefront
        m = tid // 8
        k = tid % 8
        value = float32(0)
        if row0 + m < a.shape[0] and k0 + k < a.shape[1]:
            value = a[row0 + m, k0 + k]
        a_tile[m, k] = value
        #    b: 32 columns per request    shared: 1 wavefront
        k = tid // 64
        n = tid % 64
        value = float32(0)
        if k0 + k < b.shape[0] and col0 + n < b.shape[1]:
            value = b[k0 + k, col0 + n]
        b_tile[k, n] = value
        cuda.syncthreads()  # both tiles are full before anyone reads them

        # 4. multiply: 8 + 1 reads for 8 products at each k    a: 1 wavefront    b: 1 wavefront
        for k in range(DEPTH):
            for i in range(8):
                a_frag[i] = a_tile[m0 + i, k]
            for j in range(1):
                b_frag[j] = b_tile[k, n0 + j * 64]
            for i in range(8):
                for j in range(1):
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
