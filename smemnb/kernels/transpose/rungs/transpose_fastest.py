"""transpose_fastest: out = inp.T by 16 bytes per access, tiles in the order of the output.

A chunk is 16 bytes: 4 elements. Chunk q of tile row y lies at place q ^ (y // 4 % 8) of its row, so
that 8 lanes that store neighbouring chunks, and 32 lanes that read 8 groups of 4 rows in 4
neighbouring columns, both visit all 32 banks.

Launch with blocks of 512 threads, one per 64x64 elements of inp; below 2^32 elements, and rows of
both matrices begin at multiples of 16 bytes.
"""

from __future__ import annotations

from numba import cuda, float32, uint32

from ...ptx import load1, load16, store1, store16
from ...unrolled import device, jit

TILE = 64
CHUNK = 4  # elements in 16 bytes
SIZE, THREADS = TILE * TILE, 512
RESIDENT = 4  # blocks that a multiprocessor holds: all its threads, 32 registers for each
ROWS = 32  # rows of the tile that a block moves at a time, 16 chunks each


@device
def cell(y, x):
    """Where element (y, x) of the tile lies."""
    place = uint32((x // uint32(CHUNK)) ^ (y // uint32(CHUNK) % uint32(8)))
    return uint32(y * TILE + place * CHUNK + x % uint32(CHUNK))


@device
def move_edge(out, inp, tile, row0, col0):
    """Move a tile at the edge, element by element, through the same places."""
    tid = uint32(cuda.threadIdx.x)
    rows, cols = uint32(inp.shape[0]), uint32(inp.shape[1])
    pitch = uint32(inp.strides[0] // 4)
    for number in range(tid, uint32(SIZE), uint32(THREADS)):
        y, x = uint32(number // uint32(TILE)), uint32(number % uint32(TILE))
        if row0 + y < rows and col0 + x < cols:
            at = uint32(uint32(row0 + y) * pitch + uint32(col0 + x))
            store1(tile, cell(y, x), load1(inp, at))
    cuda.syncthreads()  # the tile is full before anyone reads it
    pitch = uint32(out.strides[0] // 4)
    for number in range(tid, uint32(SIZE), uint32(THREADS)):
        y, x = uint32(number % uint32(TILE)), uint32(number // uint32(TILE))
        if row0 + y < rows and col0 + x < cols:
            at = uint32(uint32(col0 + x) * pitch + uint32(row0 + y))
            store1(out, at, load1(tile, cell(y, x)))


@jit(launch_bounds=(THREADS, RESIDENT))
def transpose_fastest(out, inp):
    """out = inp.T.  As transpose_wide, but blocks walk over the tiles along the rows of out."""
    tile = cuda.shared.array(SIZE, float32, alignment=16)
    # neighbouring blocks take neighbouring tiles of a column of inp: they write a row of out
    number = uint32(cuda.blockIdx.y * cuda.gridDim.x + cuda.blockIdx.x)
    high = uint32(cuda.gridDim.y)
    tile_row, tile_col = uint32(number % high), uint32(number // high)
    row0, col0 = uint32(tile_row * TILE), uint32(tile_col * TILE)
    if row0 + TILE <= inp.shape[0] and col0 + TILE <= inp.shape[1]:
        # 1. this lane's place among 32 lines of 16 chunks: a warp has 4 lines, 8 chunks of each
        warp, lane = uint32(cuda.threadIdx.x // 32), uint32(cuda.threadIdx.x % 32)
        line = uint32(warp // uint32(2) * uint32(4) + lane // uint32(8))
        chunk = uint32(warp % uint32(2) * uint32(8) + lane % uint32(8))

        # 2. load 4 rows of 8 chunks per warp          global: 16 sectors    shared: 4 wavefronts
        pitch = uint32(inp.strides[0] // 4)
        start = uint32(uint32(row0 + line) * pitch + col0 + chunk * CHUNK)
        for y0 in range(0, TILE, ROWS):
            y = uint32(line + y0)
            place = uint32(chunk ^ (y // uint32(CHUNK) % uint32(8)))
            four = load16(inp, uint32(start + y0 * pitch))
            store16(tile, uint32(y * TILE + place * CHUNK), four)
        cuda.syncthreads()  # the tile is full before anyone reads it

        # 3. store 4 columns of 8 chunks per warp      shared: 1 wavefront for each of 4 reads
        pitch = uint32(out.strides[0] // 4)
        start = uint32(uint32(col0 + line) * pitch + row0 + chunk * CHUNK)
        for x0 in range(0, TILE, ROWS):
            x = uint32(line + x0)
            place = uint32((x // uint32(CHUNK)) ^ (chunk % uint32(8)))
            top = uint32(chunk * CHUNK * TILE + place * CHUNK + x % uint32(CHUNK))
            first = load1(tile, top)
            second = load1(tile, top + TILE)
            third = load1(tile, top + 2 * TILE)
            fourth = load1(tile, top + 3 * TILE)
            to = uint32(start + x0 * pitch)
            store16(out, to, (first, second, third, fourth))  # global: 16 sectors
    else:
        move_edge(out, inp, tile, row0, col0)
