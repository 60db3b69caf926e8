"""Transposes of elements of any size, moved in units: 3 bytes, 12 of float32, 16 that lie anywhere.

A unit is the widest of 1, 2, 4 or 8 bytes that divides the element, the rows' distances and the
first addresses; an element is `count` of them. The matrices are passed as arrays of units, `count`
columns for each column. A tile's row is loaded unit by unit, as it lies; so is a row of the output,
of which unit p belongs to element p // count. Any rectangle, any rows, and batches.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from numba import cuda, uint32

from ....hardware import WAVEFRONT_BYTES
from ...ptx import load1, store1
from ...unrolled import device, jit, named
from .order import bytes_of, tile_in_batch, tile_turned

THREADS_Y = 8  # a block has 32 x 8 threads
SQUARE, TALL, FLAT = (32, 32), (256, 4), (4, 256)
"""Rows and columns of tiles; with pads at most 37 KB of elements of 16 bytes."""


@cache
def transpose_units_of(
    dtype: Any, count: int, tile: tuple[int, int] = SQUARE, *, batched: bool = False
) -> Any:
    """`transpose_units` for elements of several units.

    Args:
        dtype: the Numba type of a unit, of 1, 2, 4 or 8 bytes.
        count: units of an element, at most 16 bytes.
        tile: rows and columns of a tile, multiples of 4 that make up 1024 elements.
        batched: arrays have three dimensions, the first one that of the batch.

    Raises:
        ValueError: no such element, or no such tile.
    """
    itemsize = bytes_of(dtype)
    if not 1 <= count * itemsize <= 16:
        raise ValueError(f"count={count} of {dtype}, but elements have 1 to 16 bytes")
    rows, cols = tile
    if rows * cols != 1024 or rows % 4 or cols % 4:
        raise ValueError(f"tile={tile}, but {SQUARE}, {TALL} and {FLAT} are wanted, or their like")
    wide, high = cols * count, rows * count  # units of a row of the tile, of a row of the output
    # a row ends where the next element of a column would follow in its banks, of 128 bytes
    pitch = wide + (count - wide) % (WAVEFRONT_BYTES // itemsize)
    size = rows * pitch
    # threads of a block: 32 of a row side by side, or fewer where rows are shorter
    across_in, across_out = (min(32, 1 << (one - 1).bit_length()) for one in (wide, high))
    threads = 32 * THREADS_Y

    @device
    def move(out, inp, tile, row0, col0):
        tid = uint32(cuda.threadIdx.x)
        high_in, wide_in = uint32(inp.shape[0]), uint32(inp.shape[1])
        pitch_in = uint32(inp.strides[0] // itemsize)
        pitch_out = uint32(out.strides[0] // itemsize)

        # 1. rows of the tile
        tx, ty = uint32(tid % uint32(across_in)), uint32(tid // uint32(across_in))
        for y0 in range(0, rows, threads // across_in):
            for x0 in range(0, wide, across_in):
                y, x = uint32(ty + uint32(y0)), uint32(tx + uint32(x0))
                inside = y < rows and x < wide
                if inside and row0 + y < high_in and col0 * count + x < wide_in:
                    at = uint32(uint32(row0 + y) * pitch_in + uint32(col0 * uint32(count) + x))
                    store1(tile, uint32(y * uint32(pitch) + x), load1(inp, at))
        cuda.syncthreads()  # the tile is full before anyone reads it

        # 2. rows of the output: unit p is part p % count of element p // count
        tx, ty = uint32(tid % uint32(across_out)), uint32(tid // uint32(across_out))
        for x0 in range(0, cols, threads // across_out):
            for p0 in range(0, high, across_out):
                x, p = uint32(ty + uint32(x0)), uint32(tx + uint32(p0))
                y = uint32(p // uint32(count))
                part = uint32(p - y * uint32(count))
                inside = x < cols and p < high
                if inside and row0 + y < high_in and uint32((col0 + x) * count) < wide_in:
                    at = uint32(uint32(col0 + x) * pitch_out + uint32(row0 * uint32(count) + p))
                    place = uint32(y * uint32(pitch) + x * uint32(count) + part)
                    store1(out, at, load1(tile, place))

    @jit(launch_bounds=(threads, 1))
    def transpose_units(out, inp):
        tile = cuda.shared.array(size, dtype)
        tile_row, tile_col = tile_turned()
        move(out, inp, tile, uint32(tile_row * rows), uint32(tile_col * cols))

    @jit(launch_bounds=(threads, 1))
    def transpose_units_batched(out, inp):
        tile = cuda.shared.array(size, dtype)
        matrix, tile_row, tile_col = tile_in_batch(uint32(inp.shape[2] // count), cols)
        if matrix < inp.shape[0]:
            row0, col0 = uint32(tile_row * rows), uint32(tile_col * cols)
            move(out[matrix], inp[matrix], tile, row0, col0)

    return named(transpose_units_batched if batched else transpose_units, "transpose_units")
