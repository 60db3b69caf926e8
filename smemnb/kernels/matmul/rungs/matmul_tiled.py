"""matmul_tiled: tiles of 16x16 in shared memory; each element is loaded once per tile.

Launched as matmul_naive. Taught in the chapter on tiled multiplication.
"""

from __future__ import annotations

from numba import cuda, float32

TILE = 16


@cuda.jit
def matmul_tiled(out, a, b):
    """out = a @ b.  As matmul_naive, but the block stages 16x16 tiles of a and b."""
    a_tile = cuda.shared.array((TILE, TILE), float32)
    b_tile = cuda.shared.array((TILE, TILE), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    acc = float32(0)

    for k0 in range(0, a.shape[1], TILE):
        # 1. stage a tile of each; zeros beyond the edge    global: 4 sectors    shared: 1 wavefront
        a_tile[ty, tx] = float32(0)
        b_tile[ty, tx] = float32(0)
        if row < a.shape[0] and k0 + tx < a.shape[1]:
            a_tile[ty, tx] = a[row, k0 + tx]
        if k0 + ty < b.shape[0] and col < b.shape[1]:
            b_tile[ty, tx] = b[k0 + ty, col]
        cuda.syncthreads()  # both tiles are full before anyone reads them

        # 2. one row of a against one column of b    shared: 1 wavefront each
        for k in range(TILE):
            acc += a_tile[ty, k] * b_tile[k, tx]
        cuda.syncthreads()  # everyone has read before the next tiles overwrite these

    if row < out.shape[0] and col < out.shape[1]:
        out[row, col] = acc  # 4 sectors: two rows of 16
