"""Transpose for rows that begin anywhere: rows of the output are stored from a sector's edge on.

`transpose_turned` stores 64 elements from a multiple of 64 columns on. Where rows have odd lengths,
that is beside a sector's edge, and both end sectors of each piece are written in part. Here a piece
begins up to a sector earlier, at the edge, and ends where the next one begins: whole sectors. Which
rows of the input it needs differs from column to column, so the tile holds one sector of rows more.

The edges are those of an output whose first element lies on one; of any other, the result is the
same and the stores are as they were.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from numba import cuda, uint32

from ..ptx import load1, store1
from ..unrolled import device, jit, named
from .order import tile_turned

SECTOR_BYTES = 32
TILES = {1: (128, 64), 2: (128, 64), 4: (64, 64), 8: (64, 64)}
"""Bytes of an element -> rows and columns of a tile."""


@cache
def transpose_snapped_of(dtype: Any, threads_y: int = 16) -> Any:
    """`transpose_snapped` for elements of this Numba type, blocks of 32 x threads_y threads."""
    itemsize = dtype.bitwidth // 8
    tile_rows, tile_cols = TILES[itemsize]
    sector = SECTOR_BYTES // itemsize  # rows above the tile that are there as well
    held = tile_rows + sector
    pitch = tile_cols + max(1, 4 // itemsize)  # one pad word: a column visits 32 banks
    size, load = held * pitch, _loaded(itemsize, threads_y, held, pitch)

    @jit(launch_bounds=(32 * threads_y, 1))
    def transpose_snapped(out, inp):
        tile = cuda.shared.array(size, dtype)
        tx, ty = uint32(cuda.threadIdx.x), uint32(cuda.threadIdx.y)
        tile_row, tile_col = tile_turned()
        rows, cols = uint32(inp.shape[0]), uint32(inp.shape[1])
        row0, col0 = uint32(tile_row * tile_rows), uint32(tile_col * tile_cols)

        # 1. load 32 elements of a row per warp, from a sector of rows above the tile on
        load(inp, tile, tx, ty, row0, col0)
        cuda.syncthreads()  # the tile is full before anyone reads it

        # 2. store 32 elements of a column per warp, from a sector's edge on: 128 bytes, 4 sectors
        pitch_out = uint32(out.strides[0] // itemsize)
        last = row0 + tile_rows >= rows
        for x0 in range(0, tile_cols, threads_y):
            x = uint32(ty + x0)
            if col0 + x < cols:
                line = uint32(uint32(col0 + x) * pitch_out)
                early = uint32(line & uint32(sector - 1))
                for y0 in range(0, tile_rows, 32):
                    y = uint32(tx + y0 + sector - early)
                    row = uint32(row0 + y - sector)
                    if row < rows:
                        store1(out, uint32(line + row), load1(tile, uint32(y * pitch + x)))
                if last and tx < early:  # nobody comes after this tile: it goes on to the end
                    y = uint32(tx + held - early)
                    row = uint32(row0 + y - sector)
                    if row < rows:
                        store1(out, uint32(line + row), load1(tile, uint32(y * pitch + x)))

    return named(transpose_snapped, "transpose_snapped")


def _loaded(itemsize: int, threads_y: int, held: int, pitch: int) -> Any:
    """A device function: the rows of a tile, and a sector of rows above it."""
    (_, tile_cols), sector = TILES[itemsize], SECTOR_BYTES // itemsize

    @device
    def load(inp, tile, tx, ty, row0, col0):
        rows, cols = uint32(inp.shape[0]), uint32(inp.shape[1])
        pitch_in = uint32(inp.strides[0] // itemsize)
        for y0 in range(0, held, threads_y):
            y = uint32(ty + y0)
            row = uint32(row0 + y - sector)  # above the first row: beyond the last one
            if y < held and row < rows:
                for x0 in range(0, tile_cols, 32):
                    x = uint32(tx + x0)
                    if col0 + x < cols:
                        at = uint32(row * pitch_in + uint32(col0 + x))
                        store1(tile, uint32(y * pitch + x), load1(inp, at))

    return load
