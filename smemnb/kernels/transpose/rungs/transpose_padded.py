"""transpose_padded: out = inp.T through a padded tile, one element per thread.

Launch with blocks of 32x32 threads, one per 32x32 elements of inp.
"""

from __future__ import annotations

from numba import cuda, float32

TILE = 32
PITCH = TILE + 1  # one pad word per row: a column of the tile visits 32 banks


@cuda.jit
def transpose_padded(out, inp):
    """out = inp.T.  As transpose_tiled, but each tile row has one pad word."""
    tile = cuda.shared.array((TILE, PITCH), float32)  # a column now visits 32 banks
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)

    # 1. load a tile row per warp       global: 4 sectors    shared: 1 wavefront
    if row < inp.shape[0] and col < inp.shape[1]:
        tile[ty, tx] = inp[row, col]
    cuda.syncthreads()  # the tile is full before anyone reads it

    # 2. store a tile column per warp   shared: 1 wavefront (was 32)    global: 4 sectors
    out_row = cuda.blockIdx.x * TILE + ty
    out_col = cuda.blockIdx.y * TILE + tx
    if out_row < out.shape[0] and out_col < out.shape[1]:
        out[out_row, out_col] = tile[tx, ty]
