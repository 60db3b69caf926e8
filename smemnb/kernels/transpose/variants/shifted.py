"""Transpose by 16 bytes for rows that begin anywhere.

`transpose_fastest` moves chunks of 16 bytes, so its rows must begin at multiples of 16. Here a row
of the input is cut at multiples of a sector of its *memory*, wherever its elements begin: chunks go
into the tile as they are, and a row of it lies shifted by the elements before the first one. Who
reads a column of the tile adds each row's shift.

Rows of the output are cut at sectors: a block's piece of one begins up to a sector before its tile,
where the piece of the block before ends. Which rows of the input that needs differs from column to
column, so the tile holds one sector of rows more. Every load and store is of whole sectors; at an
edge, chunks that do not lie whole in a row go element by element.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache, partial
from typing import Any

from numba import cuda, uint32

from ....hardware import SECTOR_BYTES, WARP_LANES
from ...choices import Problem, no_block, no_residence, refuse, wrong_number
from ...ptx import load1, load16, store1, store16
from ...unrolled import device, jit, named
from .order import bytes_of, tile_turned
from .wide import CHUNK_BYTES, SWAPS


@dataclass(frozen=True)
class Shape:
    """How tiles of elements of one size are cut; lengths are elements.

    Attributes:
        rows: of a tile: a block's piece of an output's row, a multiple of 8 chunks of 16 bytes.
        line: from a row of the tile to the next, a multiple of 128 bytes, `cut` of them spare.
        cut: rows of the input are cut at multiples of so many: whole sectors, the largest shift.
        threads: of a block.
        resident: blocks that a multiprocessor must hold at once.

    Raises:
        ValueError: a shape that does not come out even for elements of any size;
            `transpose_shifted_of` refuses one that does not for the size at hand.
    """

    rows: int
    line: int
    cut: int
    threads: int
    resident: int

    def __post_init__(self) -> None:
        refuse("Shape", asdict(self), _problem)

    @property
    def tile(self) -> tuple[int, int]:
        """Rows and columns of a block's tile.

        >>> SHAPES[4].tile
        (32, 120)
        """
        return self.rows, self.line - self.cut


def _problem(values: Mapping[str, Any]) -> Problem | None:
    """What is wrong with a shape, for elements of the smallest size that its line allows."""
    reasons = [_problem_of(size, values) for size in (1, 2, 4, 8)]
    return None if None in reasons else reasons[-1]


def _problem_of(itemsize: int, values: Mapping[str, Any]) -> Problem | None:
    """What is wrong with a shape for elements of `itemsize` bytes."""
    least = {"rows": 1, "line": 1, "cut": 1, "threads": WARP_LANES, "resident": 1}
    found = wrong_number(values, least)
    if found is not None:
        return found
    threads = values["threads"]
    group, sector = 8 * (CHUNK_BYTES // itemsize), SECTOR_BYTES // itemsize
    if values["cut"] % sector:
        return Problem("cut", f"whole sectors are wanted: a multiple of {sector} elements")
    if values["cut"] >= values["line"]:
        return Problem("cut", f"less than line={values['line']} is wanted: a tile needs columns")
    if threads % WARP_LANES:
        return Problem("threads", f"whole warps are wanted: a multiple of {WARP_LANES}")
    for field in ("line", "rows"):
        if values[field] % group:
            return Problem(
                field,
                f"a warp moves 8 chunks of {CHUNK_BYTES} bytes side by side: a multiple of {group}"
                " elements is wanted",
            )
        across = values[field] // group
        if threads // WARP_LANES % across:
            return Problem(
                "threads",
                f"{across} warps stand side by side along {field}={values[field]}: a multiple of"
                f" {across * WARP_LANES} is wanted",
            )
    shared_bytes = (values["rows"] + sector) * values["line"] * itemsize
    return no_block("threads", threads, "rows", shared_bytes) or no_residence(
        "resident", values["resident"], threads, shared_bytes
    )


SHAPES = {
    1: Shape(rows=128, line=256, cut=32, threads=384, resident=4),
    2: Shape(rows=64, line=256, cut=16, threads=512, resident=3),
    4: Shape(rows=32, line=128, cut=8, threads=512, resident=4),
    8: Shape(rows=32, line=64, cut=8, threads=256, resident=4),
}
"""Bytes of an element -> the shape of its tiles."""


@cache
def transpose_shifted_of(dtype: Any, shape: Shape | None = None) -> Any:
    """`transpose_shifted` for elements of this Numba type, of 1, 2, 4 or 8 bytes.

    Both matrices begin at multiples of 16 bytes; their rows need not. No shape: that of `SHAPES`.

    Raises:
        ValueError: a shape that does not come out even for elements of this size.
    """
    itemsize = bytes_of(dtype)
    shape = shape or SHAPES[itemsize]
    refuse("transpose_shifted", asdict(shape), partial(_problem_of, itemsize))
    (rows, cols), line, cut = shape.tile, shape.line, shape.cut
    sector = SECTOR_BYTES // itemsize
    size = (rows + sector) * line
    load, load_some = (_loaded(itemsize, shape, edge) for edge in (False, True))
    store, store_some = (_stored(itemsize, shape, edge) for edge in (False, True))
    store_end = _end(itemsize, shape)

    @jit(launch_bounds=(shape.threads, shape.resident))
    def transpose_shifted(out, inp):
        tile = cuda.shared.array(size, dtype, alignment=16)
        tile_row, tile_col = tile_turned()
        row0, col0 = uint32(tile_row * rows), uint32(tile_col * cols)
        inside = row0 >= sector and row0 + rows < inp.shape[0]
        if inside and col0 >= cut and col0 + line <= inp.shape[1]:
            # 1. 4 rows of 8 chunks per warp     global: 16 sectors    shared: 4 wavefronts
            load(inp, tile, row0, col0)
            cuda.syncthreads()  # the tile is full before anyone reads it

            # 2. 4 columns of 8 chunks           global: 16 sectors
            store(out, inp, tile, row0, col0)
        else:
            load_some(inp, tile, row0, col0)
            cuda.syncthreads()  # the tile is full before anyone reads it
            store_some(out, inp, tile, row0, col0)
            if row0 + rows >= inp.shape[0]:
                store_end(out, inp, tile, row0, col0)

    return named(transpose_shifted, "transpose_shifted")


def _cell(itemsize: int, line: int) -> Any:
    """A device function: where an element of a row of the tile lies, its chunks swizzled."""
    per_chunk = CHUNK_BYTES // itemsize

    @device
    def cell(y, x):
        chunk = uint32((x // uint32(per_chunk)) ^ ((y // uint32(per_chunk)) & uint32(SWAPS)))
        return uint32(y * line + chunk * per_chunk + x % uint32(per_chunk))

    return cell


def _load_some(itemsize: int, line: int) -> Any:
    """A device function: the elements of a chunk that lie in a row of the matrix."""
    per_chunk, cell = CHUNK_BYTES // itemsize, _cell(itemsize, line)

    @device
    def some(inp, tile, y, q, row, at):
        first, last = uint32(row * uint32(inp.strides[0] // itemsize)), uint32(inp.shape[1])
        for part in range(per_chunk):
            col = uint32(at + part - first)  # before the row: beyond its end
            if col < last:
                store1(tile, cell(y, uint32(q * per_chunk + part)), load1(inp, uint32(at + part)))

    return some


def _loaded(itemsize: int, shape: Shape, edge: bool) -> Any:
    """A device function: the rows of a tile, and a sector of rows above it, from sectors' edges.

    At an `edge` chunks that do not lie whole in a row of the matrix go element by element.
    """
    per_chunk, sector = CHUNK_BYTES // itemsize, SECTOR_BYTES // itemsize
    line, cut = shape.line, shape.cut
    across, held = line // per_chunk // 8, shape.rows + sector
    down = shape.threads // 8 // across
    passes, cell, some = -(-held // down), _cell(itemsize, line), _load_some(itemsize, line)

    @device
    def load(inp, tile, row0, col0):
        warp, lane = uint32(cuda.threadIdx.x // 32), uint32(cuda.threadIdx.x % 32)
        y0 = uint32(warp // uint32(across) * uint32(4) + lane // uint32(8))
        q = uint32(warp % uint32(across) * uint32(8) + lane % uint32(8))
        pitch = uint32(inp.strides[0] // itemsize)
        first = uint32(uint32(row0 + y0 - sector) * pitch + col0)
        step = uint32(down * pitch)
        for turn in range(passes):
            y = uint32(y0 + turn * down)
            if turn * down + down <= held or y < held:
                start = uint32(first + turn * step)
                at = uint32(start - start % uint32(cut) + q * per_chunk)
                if not edge:
                    store16(tile, cell(y, uint32(q * per_chunk)), load16(inp, at))
                else:
                    row = uint32(row0 + y - sector)  # above the first row: beyond the last one
                    if row < inp.shape[0]:
                        ahead = uint32(at - uint32(row * pitch))
                        if ahead + per_chunk <= inp.shape[1]:
                            store16(tile, cell(y, uint32(q * per_chunk)), load16(inp, at))
                        else:
                            some(inp, tile, y, q, row, at)

    return load


def _picked(count: int, itemsize: int, line: int, cut: int) -> Any:
    """A device function: `count` elements of a column, of rows that lie shifted, as a tuple."""
    cell = _cell(itemsize, line)
    before: Any = _picked(count - 1, itemsize, line, cut) if count > 1 else None
    last = count - 1

    @device
    def element(tile, x, y, start, pitch):
        shift = uint32(uint32(start + last * pitch) % uint32(cut))
        return load1(tile, cell(uint32(y + last), uint32(x + shift)))

    @device
    def one(tile, x, y, start, pitch):
        return (element(tile, x, y, start, pitch),)

    @device
    def several(tile, x, y, start, pitch):
        value = element(tile, x, y, start, pitch)
        return before(tile, x, y, start, pitch) + (value,)  # noqa: RUF005

    return several if count > 1 else one


def _store_some(itemsize: int, line: int, cut: int) -> Any:
    """A device function: the elements of a chunk that lie in a row of the output."""
    per_chunk, single = CHUNK_BYTES // itemsize, _picked(1, itemsize, line, cut)

    @device
    def some(out, tile, x, y, row, row_start, pitch_in, to):
        for part in range(per_chunk):
            if uint32(row + part) < out.shape[1]:  # above the first row: beyond the last one
                begin = uint32(row_start + part * pitch_in)
                store1(
                    out, uint32(to + part), single(tile, x, uint32(y + part), begin, pitch_in)[0]
                )

    return some


def _stored(itemsize: int, shape: Shape, edge: bool) -> Any:
    """A device function: a tile's columns to rows of the output, from sectors' edges on.

    At an `edge` chunks that do not lie whole in a row of the output go element by element.
    """
    per_chunk, sector = CHUNK_BYTES // itemsize, SECTOR_BYTES // itemsize
    (rows, cols), line, cut = shape.tile, shape.line, shape.cut
    across = rows // per_chunk // 8
    down = shape.threads // 8 // across
    passes = -(-cols // down)
    picked, some = _picked(per_chunk, itemsize, line, cut), _store_some(itemsize, line, cut)

    @device
    def store(out, inp, tile, row0, col0):
        warp, lane = uint32(cuda.threadIdx.x // 32), uint32(cuda.threadIdx.x % 32)
        x0 = uint32(warp // uint32(across) * uint32(4) + lane // uint32(8))
        p = uint32(warp % uint32(across) * uint32(8) + lane % uint32(8))
        pitch_in, pitch = uint32(inp.strides[0] // itemsize), uint32(out.strides[0] // itemsize)
        first = uint32(uint32(col0 + x0) * pitch + row0)
        step = uint32(down * pitch)
        for turn in range(passes):
            x = uint32(x0 + turn * down)
            if turn * down + down <= cols or x < cols:
                start = uint32(first + turn * step)
                early = uint32(start % uint32(sector))
                y = uint32(p * per_chunk + sector - early)
                row = uint32(row0 + y - sector)
                row_start = uint32(row * pitch_in + col0)
                to = uint32(start - early + p * per_chunk)
                if not edge:
                    store16(out, to, picked(tile, x, y, row_start, pitch_in))
                elif col0 + x < out.shape[0]:
                    if row < out.shape[1] and row + per_chunk <= out.shape[1]:
                        store16(out, to, picked(tile, x, y, row_start, pitch_in))
                    else:
                        some(out, tile, x, y, row, row_start, pitch_in, to)

    return store


def _end(itemsize: int, shape: Shape) -> Any:
    """A device function: nobody comes after the last tile, so it goes on to the rows' end."""
    (rows, cols), threads = shape.tile, shape.threads
    sector = SECTOR_BYTES // itemsize
    single = _picked(1, itemsize, shape.line, shape.cut)

    @device
    def store_end(out, inp, tile, row0, col0):
        pitch_in, pitch = uint32(inp.strides[0] // itemsize), uint32(out.strides[0] // itemsize)
        for at in range(uint32(cuda.threadIdx.x), uint32(cols * sector), uint32(threads)):
            x, part = uint32(at // uint32(sector)), uint32(at % uint32(sector))
            start = uint32(uint32(col0 + x) * pitch + row0)
            early = uint32(start % uint32(sector))
            y = uint32(rows + sector - early + part)
            row = uint32(row0 + y - sector)
            if part < early and col0 + x < out.shape[0] and row < out.shape[1]:
                row_start = uint32(row * pitch_in + col0)
                store1(
                    out,
                    uint32(start + rows - early + part),
                    single(tile, x, y, row_start, pitch_in)[0],
                )

    return store_end
