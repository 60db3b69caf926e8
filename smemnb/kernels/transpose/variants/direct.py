"""Transposes of elements of 8 and 16 bytes without a tile, by whole sectors.

4 elements of 8 bytes, or 2 of 16, are a sector. So a warp of 8 x 4 elements reads pieces of 4 rows,
8 elements each, and writes pieces of 8 rows, 4 elements each: whole sectors where rows begin at
sectors. An element goes from one load to one store, and no barrier stands between them, which
decides for matrices of a few MB. A block's warps stand next to each other, along the rows of the
output.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from numba import cuda, uint32

from ...ptx import load1, load16, store1, store16
from ...unrolled import device, jit, named
from .order import bytes_of, tile_in_batch, tile_turned
from .strips import _fraction, _quotient


def _loaded(count: int, get: Any, step: int) -> Any:
    """A device function: `count` elements `step` columns apart, as a tuple; any one outside."""
    before: Any = _loaded(count - 1, get, step) if count > 1 else None
    far = (count - 1) * step

    @device
    def one_of(inp, y, x, rows, cols, pitch):
        x = uint32(x + uint32(far))
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


def _stored(count: int, put: Any, step: int) -> Any:
    """A device function: those elements to their places in the output."""
    before: Any = _stored(count - 1, put, step) if count > 1 else None
    last, far = count - 1, (count - 1) * step

    @device
    def store(out, values, y, x, rows, cols, pitch):
        if last:
            before(out, values, y, x, rows, cols, pitch)
        x = uint32(x + uint32(far))
        if y < rows and x < cols:
            put(out, uint32(x * pitch + y), values[last])

    @device
    def store_one(out, values, y, x, rows, cols, pitch):
        if y < rows and x < cols:
            put(out, uint32(x * pitch + y), values[0])

    return store if last else store_one


@dataclass(frozen=True)
class Shape:
    """How a block covers its elements.

    Attributes:
        across: columns that a warp takes, of 32 elements.
        warps: of a block, one below the other.
        each: elements of a lane, beside each other.
    """

    across: int
    warps: int
    each: int

    @property
    def threads(self) -> int:
        """Of a block."""
        return 32 * self.warps

    @property
    def tile(self) -> tuple[int, int]:
        """Rows and columns that a block covers.

        >>> WIDE.tile, TALL.tile
        ((32, 16), (32, 16))
        """
        return 32 // self.across * self.warps, self.across * self.each


WIDE, TALL, FLAT = Shape(8, 8, 2), Shape(4, 4, 4), Shape(8, 4, 4)


@cache
def transpose_direct_of(
    dtype: Any, shape: Shape, *, pairs: bool = False, batched: bool = False
) -> Any:
    """`transpose_direct` for elements of this Numba type.

    Args:
        dtype: of an element, or of the half of one.
        shape: how a block covers its elements.
        pairs: whether an element is two of `dtype`, uint64: 16 bytes.
        batched: arrays have three dimensions, the first one that of the batch.
    """
    itemsize, units = bytes_of(dtype) * (1 + pairs), 1 + pairs
    wide, each, threads = shape.across, shape.each, shape.threads
    high = 32 // wide
    tile_rows, tile_cols = shape.tile

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
    load, store = _loaded(each, get, wide), _stored(each, put, wide)

    @device
    def move(out, inp, row0, col0):
        tid = uint32(cuda.threadIdx.x)
        warp, lane = uint32(tid // uint32(32)), uint32(tid % uint32(32))
        y, x = uint32(warp * uint32(high) + lane // uint32(wide)), uint32(lane % uint32(wide))
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


THREADS, EACH = 128, 4
"""Of a block that takes a run of a narrow or flat matrix, and elements of a thread."""


def run(extent: int) -> int:
    """Rows of a narrow matrix of so many columns that a block takes; columns of a flat one.

    >>> run(3)
    170
    """
    return THREADS * EACH // extent


def _run_loaded(count: int, get: Any, place: Any) -> Any:
    """A device function: this thread's first `count` elements of a run, as a tuple; 0 outside."""
    before: Any = _run_loaded(count - 1, get, place) if count > 1 else None
    ahead = (count - 1) * THREADS

    @device
    def one_of(inp, tid, first, extent, most, length, pitch, fraction):
        along, across = place(uint32(tid + uint32(ahead)), extent, most, fraction)
        inside = across < extent and along < most and first + along < length
        at = uint32(uint32(first + along) * pitch[0] + across * pitch[1])
        return get(inp, at if inside else uint32(0))

    @device
    def one(inp, tid, first, extent, most, length, pitch, fraction):
        return (one_of(inp, tid, first, extent, most, length, pitch, fraction),)

    @device
    def several(inp, tid, first, extent, most, length, pitch, fraction):
        found = before(inp, tid, first, extent, most, length, pitch, fraction)
        return found + (one_of(inp, tid, first, extent, most, length, pitch, fraction),)  # noqa: RUF005

    return several if count > 1 else one


def _run_stored(count: int, put: Any, place: Any) -> Any:
    """A device function: those elements to their places in the output."""
    before: Any = _run_stored(count - 1, put, place) if count > 1 else None
    last, ahead = count - 1, (count - 1) * THREADS

    @device
    def store(out, values, tid, first, extent, most, length, pitch, fraction):
        if last:
            before(out, values, tid, first, extent, most, length, pitch, fraction)
        along, across = place(uint32(tid + uint32(ahead)), extent, most, fraction)
        if across < extent and along < most and first + along < length:
            put(out, uint32(uint32(first + along) * pitch[0] + across * pitch[1]), values[last])

    @device
    def store_one(out, values, tid, first, extent, most, length, pitch, fraction):
        along, across = place(tid, extent, most, fraction)
        if across < extent and along < most and first + along < length:
            put(out, uint32(uint32(first + along) * pitch[0] + across * pitch[1]), values[0])

    return store if last else store_one


@cache
def transpose_direct_run_of(dtype: Any, *, flat: bool, pairs: bool = False) -> Any:
    """`transpose_direct_narrow` or `transpose_direct_flat` for elements of this Numba type.

    A block takes a run of rows or columns, whole, in the order of the output: its stores lie side
    by side, and sectors that several of its loads share come from L1.

    Args:
        dtype: of an element, or of the half of one.
        flat: whether the matrix has few rows, else few columns.
        pairs: whether an element is two of `dtype`, uint64: 16 bytes.
    """
    itemsize, units = bytes_of(dtype) * (1 + pairs), 1 + pairs

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

    @device
    def place_flat(number, extent, most, fraction):
        """(place along the run, across it): all of a column, then the next one."""
        along = _quotient(number, fraction)
        return along, uint32(number - along * extent)

    @device
    def place_narrow(number, extent, most, fraction):
        """The same, all of a row of the output, then the next one."""
        across = _quotient(number, fraction)
        return uint32(number - across * most), across

    get, put = (get_pair, put_pair) if pairs else (get_one, put_one)
    place = place_flat if flat else place_narrow
    load, store = _run_loaded(EACH, get, place), _run_stored(EACH, put, place)
    lane = THREADS * EACH

    @jit(launch_bounds=(THREADS, 1))
    def transpose_direct_run(out, inp):
        tid = uint32(cuda.threadIdx.x)
        block = uint32(cuda.blockIdx.y * cuda.gridDim.x + cuda.blockIdx.x)
        rows, cols = uint32(inp.shape[0]), uint32(inp.shape[1] // units)
        pitch_in, pitch = uint32(inp.strides[0] // itemsize), uint32(out.strides[0] // itemsize)
        extent, length = (rows, cols) if flat else (cols, rows)
        most = uint32(uint32(lane) // extent)
        first, fraction = uint32(block * most), _fraction(extent if flat else most)
        # 1. a run in the order of the output, straight to its places
        steps_in = (uint32(1), pitch_in) if flat else (pitch_in, uint32(1))
        steps_out = (pitch, uint32(1)) if flat else (uint32(1), pitch)
        values = load(inp, tid, first, extent, most, length, steps_in, fraction)
        store(out, values, tid, first, extent, most, length, steps_out, fraction)

    return named(
        transpose_direct_run, "transpose_direct_flat" if flat else "transpose_direct_narrow"
    )
