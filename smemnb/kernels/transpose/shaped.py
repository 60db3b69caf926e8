"""Transpose through a padded tile, several rows per thread: block shapes, tiles, unsigned indices.

    transpose_gathered    writes along rows, reads down columns; no tile
    transpose_rows8       transpose_padded with blocks of 32x8: a thread moves 4 elements of a tile
    transpose_rows4       blocks of 32x4: 8 elements each
    transpose_unsigned    as transpose_rows8, with flat offsets of 32 bits without a sign
    transpose_tiled_64    as transpose_unsigned, with tiles of 64x64 and 512 threads
    transpose_turned      as transpose_tiled_64, tiles walked along the output's rows

`transpose_turned_of(dtype)` makes the last one for elements of 1, 2, 4 or 8 bytes.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from numba import cuda, float32, uint32

from ..ptx import load1, store1
from ..unrolled import jit, named
from .order import tile_in_rows, tile_turned

TILE = 32
PITCH = TILE + 1


@cuda.jit
def transpose_gathered(out, inp):
    """out = inp.T.  As transpose_naive, but the store goes along a row, the load down a column."""
    out_row = cuda.blockIdx.x * cuda.blockDim.y + cuda.threadIdx.y
    out_col = cuda.blockIdx.y * cuda.blockDim.x + cuda.threadIdx.x
    if out_row < out.shape[0] and out_col < out.shape[1]:
        out[out_row, out_col] = inp[out_col, out_row]  # load: 32 sectors    store: 4 sectors


def _rows(per_pass: int, name: str) -> Any:
    @cuda.jit
    def transpose_rows(out, inp):
        tile = cuda.shared.array((TILE, PITCH), float32)
        tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
        bx, by = cuda.blockIdx.x, cuda.blockIdx.y

        # 1. load a tile row per warp       global: 4 sectors    shared: 1 wavefront
        col = bx * TILE + tx
        for y in range(ty, TILE, per_pass):
            row = by * TILE + y
            if row < inp.shape[0] and col < inp.shape[1]:
                tile[y, tx] = inp[row, col]
        cuda.syncthreads()  # the tile is full before anyone reads it

        # 2. store a tile column per warp   shared: 1 wavefront    global: 4 sectors
        out_col = by * TILE + tx
        for y in range(ty, TILE, per_pass):
            out_row = bx * TILE + y
            if out_row < out.shape[0] and out_col < out.shape[1]:
                out[out_row, out_col] = tile[tx, y]

    return named(transpose_rows, name)


def _flat(dtype: Any, tile: tuple[int, int], threads_y: int, order: Any, name: str) -> Any:
    """A kernel with tiles of rows x cols elements and blocks of 32 x threads_y threads."""
    itemsize, (tile_rows, tile_cols) = dtype.bitwidth // 8, tile
    pitch = tile_cols + max(1, 4 // itemsize)  # one pad word: a column visits 32 banks
    size = tile_rows * pitch

    @jit(launch_bounds=(32 * threads_y, 1))
    def transpose_flat(out, inp):
        tile = cuda.shared.array(size, dtype)
        tx, ty = uint32(cuda.threadIdx.x), uint32(cuda.threadIdx.y)
        tile_row, tile_col = order()
        rows, cols = uint32(inp.shape[0]), uint32(inp.shape[1])
        row0, col0 = uint32(tile_row * tile_rows), uint32(tile_col * tile_cols)

        # 1. load 32 elements of a tile row per warp       shared: 1 wavefront
        pitch_in = uint32(inp.strides[0] // itemsize)
        for y0 in range(0, tile_rows, threads_y):
            for x0 in range(0, tile_cols, 32):
                y, x = uint32(ty + y0), uint32(tx + x0)
                if row0 + y < rows and col0 + x < cols:
                    at = uint32(uint32(row0 + y) * pitch_in + uint32(col0 + x))
                    store1(tile, uint32(y * pitch + x), load1(inp, at))
        cuda.syncthreads()  # the tile is full before anyone reads it

        # 2. store 32 elements of a tile column per warp   shared: 1 wavefront
        pitch_out = uint32(out.strides[0] // itemsize)
        for x0 in range(0, tile_cols, threads_y):
            for y0 in range(0, tile_rows, 32):
                y, x = uint32(tx + y0), uint32(ty + x0)
                if col0 + x < cols and row0 + y < rows:
                    at = uint32(uint32(col0 + x) * pitch_out + uint32(row0 + y))
                    store1(out, at, load1(tile, uint32(y * pitch + x)))

    return named(transpose_flat, name)


@cache
def transpose_turned_of(dtype: Any, tile: tuple[int, int] = (64, 64), threads_y: int = 16) -> Any:
    """`transpose_turned` for elements of this Numba type, with blocks of 32 x threads_y threads."""
    return _flat(dtype, tile, threads_y, tile_turned, "transpose_turned")


transpose_rows8 = _rows(8, "transpose_rows8")
transpose_rows4 = _rows(4, "transpose_rows4")
transpose_unsigned = _flat(float32, (32, 32), 8, tile_in_rows, "transpose_unsigned")
transpose_tiled_64 = _flat(float32, (64, 64), 16, tile_in_rows, "transpose_tiled_64")
transpose_turned = transpose_turned_of(float32)
