"""Transpose of elements of 16 bytes, each moved whole: complex128, float32x4, records.

The matrices are passed as uint64 with twice as many columns. Element (y, x) of a 16x16 tile lies at
chunk x ^ (y % 8) of row y: 8 lanes that store neighbours of a row, or read neighbours of a column,
visit all 32 banks. Any rectangle, any rows: an element of 16 bytes always lies on a multiple of 16.
"""

from __future__ import annotations

from numba import cuda, uint32, uint64

from ...ptx import load16, store16
from ...unrolled import device, jit, named
from .order import tile_in_batch, tile_turned

TILE, ROWS = 16, 8  # rows of the tile that a block moves at a time
SIZE, THREADS = TILE * TILE * 2, TILE * ROWS
RESIDENT = 16  # blocks that a multiprocessor must hold: all its threads


@device
def _place(y, x):
    return uint32((y * TILE + (x ^ (y & uint32(7)))) * 2)


@device
def _moved(out, inp, tile, tile_row, tile_col):
    """One tile of 16x16 elements, through shared memory."""
    tx, ty = uint32(cuda.threadIdx.x), uint32(cuda.threadIdx.y)
    row0, col0 = uint32(tile_row * TILE), uint32(tile_col * TILE)
    rows, cols = uint32(inp.shape[0]), uint32(inp.shape[1] // 2)

    # 1. load 16 elements of 2 rows per warp       global: 16 sectors    shared: 4 wavefronts
    pitch = uint32(inp.strides[0] // 8)
    for y0 in range(0, TILE, ROWS):
        y = uint32(ty + y0)
        if row0 + y < rows and col0 + tx < cols:
            at = uint32(uint32(row0 + y) * pitch + uint32(col0 + tx) * 2)
            store16(tile, _place(y, tx), load16(inp, at))
    cuda.syncthreads()  # the tile is full before anyone reads it

    # 2. store 16 elements of 2 columns per warp   shared: 4 wavefronts    global: 16 sectors
    pitch = uint32(out.strides[0] // 8)
    for x0 in range(0, TILE, ROWS):
        x = uint32(ty + x0)
        if col0 + x < cols and row0 + tx < rows:
            at = uint32(uint32(col0 + x) * pitch + uint32(row0 + tx) * 2)
            store16(out, at, load16(tile, _place(tx, x)))


@jit(launch_bounds=(THREADS, RESIDENT))
def transpose_pairs(out, inp):
    """out = inp.T in elements of two uint64.  Blocks of 16x8 threads, a tile of 16x16 each."""
    tile = cuda.shared.array(SIZE, uint64, alignment=16)
    tile_row, tile_col = tile_turned()
    _moved(out, inp, tile, tile_row, tile_col)


@jit(launch_bounds=(THREADS, RESIDENT))
def transpose_pairs_batched(out, inp):
    """The same of a batch: arrays of three dimensions, the first one that of the batch."""
    tile = cuda.shared.array(SIZE, uint64, alignment=16)
    matrix, tile_row, tile_col = tile_in_batch(uint32(inp.shape[2] // 2), TILE)
    _moved(out[matrix], inp[matrix], tile, tile_row, tile_col)


transpose_pairs_batched = named(transpose_pairs_batched, "transpose_pairs")
