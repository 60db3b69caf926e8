"""Transposes of elements of 8 and 16 bytes without a tile: a warp takes whole sectors on both sides.

4 elements of 8 bytes, or 2 of 16, are a sector. So a warp of 8 x 4 elements reads 4 pieces of rows
of 8 elements and writes 8 pieces of rows of 4, all in whole sectors where rows begin at sectors, and
an element goes from one load to one store. No barrier stands between them, which decides for
matrices of a few MB. A block's warps stand next to each other, along the rows of the output.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from numba import cuda, uint32

from ...ptx import load1, load16, store1, store16
from ...unrolled import device, jit, named
from .order import bytes_of, tile_in_batch, tile_turned


def _loaded(count: int, get: Any, step: int, down: bool) -> Any:
    """A device function: `count` elements `step` rows or columns apart, as a tuple; 0 outside."""
    before: Any = _loaded(count - 1, get, step, down) if count > 1 else None
    far = (count - 1) * step

    @device
    def one_of(inp, y, x, rows, cols, pitch):
        y = uint32(y + uint32(far)) if down else y
        x = x if down else uint32(x + uint32(far))
        inside = y < rows and x < cols
        return get(inp, uint32(y * pitch + x) if inside else uint32(0))

    @device
    def one(inp, y, x, rows, cols, pitch):
        return (one_of(inp, y, x, rows, cols, pitch),)

    @device
    def several(inp, y, x, rows, cols, pitch):
        found = before(inp, y, x, rows, cols, pitch)
        return found + (one_of(inp, y, x, rows, cols, pitch),)  # noqa: RUF005

    return several if count > 1 else one


def _stored(count: int, put: Any, step: int, down: bool) -> Any:
    """A device function: those elements to their places in the output."""
    before: Any = _stored(count - 1, put, step, down) if count > 1 else None
    last, far = count - 1, (count - 1) * step

    @device
    def store(out, values, y, x, rows, cols, pitch):
        if last:
            before(out, values, y, x, rows, cols, pitch)
        y = uint32(y + uint32(far)) if down else y
        x = x if down else uint32(x + uint32(far))
        if y < rows and x < cols:
            put(out, uint32(x * pitch + y), values[last])

    @device
    def store_one(out, values, y, x, rows, cols, pitch):
        if y < rows and x < cols:
            put(out, uint32(x * pitch + y), values[0])

    return store if last else store_one


@cache
def transpose_direct_of(
    dtype: Any,
    *,
    pairs: bool = False,
    across: int = 8,
    warps: tuple[int, int] = (8, 1),
    each: int = 1,
    down: bool = True,
    batched: bool = False,
) -> Any:
    """`transpose_direct` for elements of this Numba type.

    Args:
        dtype: of an element, or of the half of one.
        pairs: whether an element is two of `dtype`, uint64: 16 bytes.
        across: columns that a warp takes, of 32 elements.
        warps: of a block, down and across.
        each: elements of a lane.
        down: whether they lie one block below the other, or beside.
        batched: arrays have three dimensions, the first one that of the batch.
    """
    itemsize, units = bytes_of(dtype) * (1 + pairs), 1 + pairs
    high, wide = 32 // across, across
    threads = 32 * warps[0] * warps[1]
    rows_at, cols_at = high * warps[0], wide * warps[1]
    tile_rows, tile_cols = (rows_at * each, cols_at) if down else (rows_at, cols_at * each)

    @device
    def get_one(array, at):
        return load1(array, at)

    @device
    def put_one(array, at, value):
        store1(array, at, value)

    @device
    def get_pair(array, at):
        return load16(array, uint32(at * uint32(2)))

    @device
    def put_pair(array, at, value):
        store16(array, uint32(at * uint32(2)), value)

    get, put = (get_pair, put_pair) if pairs else (get_one, put_one)
    step = rows_at if down else cols_at
    load, store = _loaded(each, get, step, down), _stored(each, put, step, down)

    @device
    def move(out, inp, row0, col0):
        tid = uint32(cuda.threadIdx.x)
        warp, lane = uint32(tid // uint32(32)), uint32(tid % uint32(32))
        y = uint32(warp % uint32(warps[0]) * uint32(high) + lane // uint32(wide))
        x = uint32(warp // uint32(warps[0]) * uint32(wide) + lane % uint32(wide))
        rows, cols = uint32(inp.shape[0]), uint32(inp.shape[1] // units)
        y, x = uint32(row0 + y), uint32(col0 + x)
        # 1. pieces of rows, straight to pieces of the output's rows      global: whole sectors
        values = load(inp, y, x, rows, cols, uint32(inp.strides[0] // itemsize))
        store(out, values, y, x, rows, cols, uint32(out.strides[0] // itemsize))

    @jit(launch_bounds=(threads, 1))
    def transpose_direct(out, inp):
        tile_row, tile_col = tile_turned()
        move(out, inp, uint32(tile_row * tile_rows), uint32(tile_col * tile_cols))

    @jit(launch_bounds=(threads, 1))
    def transpose_direct_batched(out, inp):
        matrix, tile_row, tile_col = tile_in_batch(uint32(inp.shape[2] // units), tile_cols)
        if matrix < inp.shape[0]:
            row0, col0 = uint32(tile_row * tile_rows), uint32(tile_col * tile_cols)
            move(out[matrix], inp[matrix], row0, col0)

    return named(transpose_direct_batched if batched else transpose_direct, "transpose_direct")
