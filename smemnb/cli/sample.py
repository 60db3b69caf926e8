"""The kernel that `smemnb doctor` traces to see whether tracing works."""

from __future__ import annotations

from numba import cuda, float32

TILE = 32


@cuda.jit
def transpose_tiled(out, inp):  # type: ignore[no-untyped-def]
    """out = inp.T, one 32x32 tile per block; its column read is 32-way."""
    tile = cuda.shared.array((TILE, TILE), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    if row < inp.shape[0] and col < inp.shape[1]:
        tile[ty, tx] = inp[row, col]
    cuda.syncthreads()  # the tile is full before anyone reads it
    out_row = cuda.blockIdx.x * TILE + ty
    out_col = cuda.blockIdx.y * TILE + tx
    if out_row < out.shape[0] and out_col < out.shape[1]:
        out[out_row, out_col] = tile[tx, ty]
