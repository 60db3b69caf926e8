"""Transpose of a matrix, out = inp.T: four rungs.

    transpose_naive      reads along rows, writes down columns: 32 sectors per store
    transpose_tiled      both sides along rows, through a 32x32 tile: the tile's read is 32-way
    transpose_padded     one pad word per tile row: 1 wavefront
    transpose_swizzled   no pad, the column is xor-ed with the row: 1 wavefront

Launch all of them with blocks of 32x32 threads and a grid of ceil(cols / 32) x ceil(rows / 32)
blocks, where inp has rows x cols elements of 4 bytes; any rectangle will do. The limit is a copy
of the matrix: it moves the same bytes.

Taught in `02_banks` (the tile's read) and the chapters on transpose and swizzle.
"""

from __future__ import annotations

from numba import cuda, float32

TILE = 32
PITCH = TILE + 1  # elements from one row of the padded tile to the next


@cuda.jit
def transpose_naive(out, inp):
    """out = inp.T.  Each thread moves one element from global memory to global memory."""
    col, row = cuda.grid(2)
    if row < inp.shape[0] and col < inp.shape[1]:
        out[col, row] = inp[row, col]  # load: 4 sectors    store: 32 sectors


@cuda.jit
def transpose_tiled(out, inp):
    """out = inp.T.  As transpose_naive, but through a tile, so that both sides go along rows."""
    tile = cuda.shared.array((TILE, TILE), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)

    # 1. load a tile row per warp       global: 4 sectors    shared: 1 wavefront
    if row < inp.shape[0] and col < inp.shape[1]:
        tile[ty, tx] = inp[row, col]
    cuda.syncthreads()  # the tile is full before anyone reads it

    # 2. store a tile column per warp   shared: 32 wavefronts    global: 4 sectors
    out_row = cuda.blockIdx.x * TILE + ty
    out_col = cuda.blockIdx.y * TILE + tx
    if out_row < out.shape[0] and out_col < out.shape[1]:
        out[out_row, out_col] = tile[tx, ty]


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


@cuda.jit
def transpose_swizzled(out, inp):
    """out = inp.T.  As transpose_tiled, but a row's cells are permuted: column ^ row, no pad."""
    tile = cuda.shared.array((TILE, TILE), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)

    # 1. load a tile row per warp       global: 4 sectors    shared: 1 wavefront
    if row < inp.shape[0] and col < inp.shape[1]:
        tile[ty, tx ^ ty] = inp[row, col]
    cuda.syncthreads()  # the tile is full before anyone reads it

    # 2. store a tile column per warp   shared: 1 wavefront (was 32)    global: 4 sectors
    out_row = cuda.blockIdx.x * TILE + ty
    out_col = cuda.blockIdx.y * TILE + tx
    if out_row < out.shape[0] and out_col < out.shape[1]:
        out[out_row, out_col] = tile[tx, ty ^ tx]
