"""`transpose_turned` for elements of other sizes, other tiles and blocks.

`..rungs.transpose_turned` is the same kernel for float32 with its numbers in it: read that one.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, partial
from typing import Any

from numba import cuda, uint32, uint64

from ....hardware import WARP_LANES
from ...choices import Problem, no_block, refuse, wrong_number
from ...ptx import load1, store1
from ...unrolled import device, jit, named
from .order import bytes_of, tile_in_batch, tile_turned


def _pitch(cols: int, itemsize: int) -> int:
    """Elements from one row of the tile to the next: one pad word, so a column visits 32 banks."""
    return cols + max(1, 4 // itemsize)


def _problem(itemsize: int, values: Mapping[str, Any]) -> Problem | None:
    found = wrong_number(values, dict.fromkeys(("rows", "cols", "threads_y"), 1))
    if found is not None:
        return found
    threads_y = values["threads_y"]
    for field in ("rows", "cols"):
        if values[field] % WARP_LANES:
            return Problem(
                field, f"a warp moves {WARP_LANES} at a time: a multiple of it is wanted"
            )
        if values[field] % threads_y:
            return Problem(
                field,
                f"{threads_y} warps move one each at a time: a multiple of {threads_y} is wanted",
            )
    size = values["rows"] * _pitch(values["cols"], itemsize)
    return no_block("threads_y", WARP_LANES * threads_y, "rows", size * itemsize)


@cache
def transpose_turned_of(
    dtype: Any,
    tile: tuple[int, int] = (64, 64),
    threads_y: int = 16,
    *,
    batched: bool = False,
    whole: bool = False,
) -> Any:
    """`transpose_turned` for elements of a Numba type.

    Args:
        dtype: of 1, 2, 4 or 8 bytes.
        tile: rows and columns of a tile.
        threads_y: a block has 32 x threads_y threads.
        batched: arrays have three dimensions, the first one that of the batch.
        whole: tiles that lie whole inside a matrix go without guards.

    Raises:
        ValueError: a tile that the block's threads do not move in whole passes, or too large a one.
    """
    itemsize = bytes_of(dtype)
    choices = {"rows": tile[0], "cols": tile[1], "threads_y": threads_y}
    refuse("transpose_turned", choices, partial(_problem, itemsize))
    tile_rows, tile_cols = tile
    pitch = _pitch(tile_cols, itemsize)
    size = tile_rows * pitch

    @jit(launch_bounds=(32 * threads_y, 1))
    def transpose_flat(out, inp):
        tile = cuda.shared.array(size, dtype)
        tx, ty = uint32(cuda.threadIdx.x), uint32(cuda.threadIdx.y)
        tile_row, tile_col = tile_turned()
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

    # written out again: with a device function for both, the kernel above would not compile to the
    # machine code of the rung any more
    @jit(launch_bounds=(32 * threads_y, 1))
    def transpose_flat_batched(out, inp):
        tile = cuda.shared.array(size, dtype)
        tx, ty = uint32(cuda.threadIdx.x), uint32(cuda.threadIdx.y)
        matrix, tile_row, tile_col = tile_in_batch(inp.shape[2], tile_cols)
        one_out, one_inp = out[matrix], inp[matrix]
        rows, cols = uint32(one_inp.shape[0]), uint32(one_inp.shape[1])
        row0, col0 = uint32(tile_row * tile_rows), uint32(tile_col * tile_cols)

        pitch_in = uint32(one_inp.strides[0] // itemsize)
        for y0 in range(0, tile_rows, threads_y):
            for x0 in range(0, tile_cols, 32):
                y, x = uint32(ty + y0), uint32(tx + x0)
                if row0 + y < rows and col0 + x < cols:
                    at = uint32(uint32(row0 + y) * pitch_in + uint32(col0 + x))
                    store1(tile, uint32(y * pitch + x), load1(one_inp, at))
        cuda.syncthreads()  # the tile is full before anyone reads it

        pitch_out = uint32(one_out.strides[0] // itemsize)
        for x0 in range(0, tile_cols, threads_y):
            for y0 in range(0, tile_rows, 32):
                y, x = uint32(tx + y0), uint32(ty + x0)
                if col0 + x < cols and row0 + y < rows:
                    at = uint32(uint32(col0 + x) * pitch_out + uint32(row0 + y))
                    store1(one_out, at, load1(tile, uint32(y * pitch + x)))

    if not whole:
        return named(transpose_flat_batched if batched else transpose_flat, "transpose_turned")
    move = _moved(itemsize, tile, threads_y)

    @jit(launch_bounds=(32 * threads_y, 1))
    def transpose_whole(out, inp):
        tile = cuda.shared.array(size, dtype)
        tile_row, tile_col = tile_turned()
        move(out, inp, tile, uint32(tile_row * tile_rows), uint32(tile_col * tile_cols))

    @jit(launch_bounds=(32 * threads_y, 1))
    def transpose_whole_batched(out, inp):
        tile = cuda.shared.array(size, dtype)
        matrix, tile_row, tile_col = tile_in_batch(inp.shape[2], tile_cols)
        row0, col0 = uint32(tile_row * tile_rows), uint32(tile_col * tile_cols)
        move(out[matrix], inp[matrix], tile, row0, col0)

    return named(transpose_whole_batched if batched else transpose_whole, "transpose_turned")


def _moved(itemsize: int, tile: tuple[int, int], threads_y: int) -> Any:
    """A device function: a tile as `transpose_turned` moves it, without guards if it is whole.

    Offsets of 64 bits, so that an access lies at a fixed distance from the one before.
    """
    tile_rows, tile_cols = tile
    pitch = _pitch(tile_cols, itemsize)

    @device
    def move(out, inp, tile, row0, col0):
        tx, ty = uint32(cuda.threadIdx.x), uint32(cuda.threadIdx.y)
        rows, cols = uint32(inp.shape[0]), uint32(inp.shape[1])
        pitch_in, pitch_out = uint32(inp.strides[0] // itemsize), uint32(out.strides[0] // itemsize)
        inside = row0 + tile_rows <= rows and col0 + tile_cols <= cols
        first = uint64(uint32(uint32(row0 + ty) * pitch_in + uint32(col0 + tx)))
        place = uint64(uint32(ty * uint32(pitch) + tx))
        for y0 in range(0, tile_rows, threads_y):
            for x0 in range(0, tile_cols, 32):
                if inside or (row0 + ty + y0 < rows and col0 + tx + x0 < cols):
                    at = uint64(first + uint64(uint64(y0) * uint64(pitch_in)) + uint64(x0))
                    store1(tile, uint64(place + uint64(y0 * pitch + x0)), load1(inp, at))
        cuda.syncthreads()  # the tile is full before anyone reads it

        first = uint64(uint32(uint32(col0 + ty) * pitch_out + uint32(row0 + tx)))
        place = uint64(uint32(tx * uint32(pitch) + ty))
        for x0 in range(0, tile_cols, threads_y):
            for y0 in range(0, tile_rows, 32):
                if inside or (col0 + ty + x0 < cols and row0 + tx + y0 < rows):
                    at = uint64(first + uint64(uint64(x0) * uint64(pitch_out)) + uint64(y0))
                    store1(out, at, load1(tile, uint64(place + uint64(y0 * pitch + x0))))

    return move
