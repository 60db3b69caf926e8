"""transpose_rows8: out = inp.T through a padded tile, 4 elements per thread.

Launch with blocks of 32x8 threads, one per 32x32 elements of inp.
"""

from __future__ import annotations

from numba import cuda, float32

TILE = 32
PITCH = TILE + 1  # one pad word per row: a column of the tile visits 32 banks
ROWS = 8  # rows of the tile that a block moves at a time, one per warp


@cuda.jit
def transpose_rows8(out, inp):
    """out = inp.T.  As transpose_padded, but a block of 32x8 threads: 4 elements each."""
    tile = cuda.shared.array((TILE, PITCH), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    bx, by = cuda.blockIdx.x, cuda.blockIdx.y

    # 1. load a tile row per warp       global: 4 sectors    shared: 1 wavefront
    col = bx * TILE + tx
    for y in range(ty, TILE, ROWS):
        row = by * TILE + y
        if row < inp.shape[0] and col < inp.shape[1]:
            tile[y, tx] = inp[row, col]
    cuda.syncthreads()  # the tile is full before anyone reads it

    # 2. store a tile column per warp   shared: 1 wavefront    global: 4 sectors
    out_col = by * TILE + tx
    for y in range(ty, TILE, ROWS):
        out_row = bx * TILE + y
        if out_row < out.shape[0] and out_col < out.shape[1]:
            out[out_row, out_col] = tile[tx, y]
