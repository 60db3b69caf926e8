"""matmul_tiled_32: tiles and blocks of 32x32."""

from __future__ import annotations

from numba import cuda, float32

TILE = 32


@cuda.jit
def matmul_tiled_32(out, a, b):
    """out = a @ b.  As matmul_tiled, with tiles of 32x32: each element is loaded half as often."""
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
        out[row, col] = acc  # 4 sectors
