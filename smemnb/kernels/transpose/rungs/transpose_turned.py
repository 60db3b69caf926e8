"""transpose_turned: out = inp.T through a padded tile of 64x64, tiles in the order of the output.

Launch with blocks of 32x16 threads, one per 64x64 elements of inp; below 2^32 elements.
"""

from __future__ import annotations

from numba import cuda, float32, uint32

from ...ptx import load1, store1
from ...unrolled import jit

TILE = 64
PITCH = TILE + 1  # one pad word per row: a column of the tile visits 32 banks
ROWS = 16  # rows of the tile that a block moves at a time, one per warp
SIZE, THREADS = TILE * PITCH, 32 * ROWS


@jit(launch_bounds=(THREADS, 1))
def transpose_turned(out, inp):
    """out = inp.T.  As transpose_tiled_64, but blocks walk over the tiles along the rows of out."""
    tile = cuda.shared.array(SIZE, float32)
    tx, ty = uint32(cuda.threadIdx.x), uint32(cuda.threadIdx.y)
    # neighbouring blocks take neighbouring tiles of a column of inp: they write a row of out
    number = uint32(cuda.blockIdx.y * cuda.gridDim.x + cuda.blockIdx.x)
    high = uint32(cuda.gridDim.y)
    tile_row, tile_col = uint32(number % high), uint32(number // high)
    row0, col0 = uint32(tile_row * TILE), uint32(tile_col * TILE)
    rows, cols = uint32(inp.shape[0]), uint32(inp.shape[1])

    # 1. load half a tile row per warp       global: 4 sectors    shared: 1 wavefront
    pitch = uint32(inp.strides[0] // 4)
    for y0 in range(0, TILE, ROWS):
        for x0 in range(0, TILE, 32):
            y, x = uint32(ty + y0), uint32(tx + x0)
            if row0 + y < rows and col0 + x < cols:
                at = uint32(uint32(row0 + y) * pitch + uint32(col0 + x))
                store1(tile, uint32(y * PITCH + x), load1(inp, at))
    cuda.syncthreads()  # the tile is full before anyone reads it

    # 2. store half a tile column per warp   shared: 1 wavefront    global: 4 sectors
    pitch = uint32(out.strides[0] // 4)
    for x0 in range(0, TILE, ROWS):
        for y0 in range(0, TILE, 32):
            y, x = uint32(tx + y0), uint32(ty + x0)
            if col0 + x < cols and row0 + y < rows:
                at = uint32(uint32(col0 + x) * pitch + uint32(row0 + y))
                store1(out, at, load1(tile, uint32(y * PITCH + x)))
