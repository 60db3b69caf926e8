"""Transposes of elements of 4 and 8 bytes by 16 bytes, for rows that begin anywhere.

A block takes rows of the input as they lie, 16 bytes per access, each cut at multiples of 16 bytes
of its memory: in the tile a row lies shifted by the elements before its first one. A lane reads
the elements of a column, each of its row's shift, and stores 16 bytes of a row of the output, from
the first multiple of 16 bytes of its memory on. So a tile holds up to 16 bytes of rows more than it
moves, and only a row's two ends go element by element. Where rows follow each other in memory only
the first and the last block have chunks that lie outside of it.

One chunk is left out behind each group of rows that make 16 bytes of the output: lanes that read 8
groups in 4 neighbouring columns find banks of their own.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from numba import cuda, uint32

from ...ptx import load1, load16, misalignment, store1, store16
from ...unrolled import device, jit, named, smaller
from .order import bytes_of, chunk_of_column, tile_in_batch, tile_turned
from .strips import _last_chunk
from .wide import CHUNK_BYTES
from .words import _chunks_read, _some_of_chunk


@dataclass(frozen=True)
class Shape:
    """How a tile is cut; lengths are bytes.

    Attributes:
        down: of a row of the output that a block moves, a multiple of 16.
        across: of a row of the input, likewise.
        threads: of a block.
        resident: blocks that a multiprocessor must hold at once.
    """

    down: int
    across: int
    threads: int
    resident: int

    def tile(self, itemsize: int) -> tuple[int, int]:
        """Rows and columns that a block covers."""
        return self.down // itemsize, self.across // itemsize


LARGE = {4: Shape(256, 256, 256, 6), 8: Shape(256, 256, 256, 6)}
SMALL = {4: Shape(128, 128, 128, 12), 8: Shape(128, 256, 128, 12)}


def _column(count: int, place: Any) -> Any:
    """A device function: `count` elements of a column, of rows that lie shifted, as a tuple."""
    before: Any = _column(count - 1, place) if count > 1 else None
    last = count - 1

    @device
    def one(tile, y, x, start, pitch):
        return (load1(tile, place(y, x, start, pitch)),)

    @device
    def several(tile, y, x, start, pitch):
        value = load1(tile, place(uint32(y + uint32(last)), x, start, pitch))
        return before(tile, y, x, start, pitch) + (value,)  # noqa: RUF005

    return several if count > 1 else one


def _kept(count: int, threads: int, to: Any) -> Any:
    """A device function: this thread's chunks into the tile."""
    before: Any = _kept(count - 1, threads, to) if count > 1 else None
    last, ahead = count - 1, (count - 1) * threads

    @device
    def keep(tile, found, tid, chunks):
        before(tile, found, tid, chunks)
        number = uint32(tid + uint32(ahead))
        if number < chunks:
            store16(tile, to(number), found[last])

    @device
    def keep_one(tile, found, tid, chunks):
        if tid < chunks:
            store16(tile, to(tid), found[0])

    return keep if last else keep_one


@cache
def transpose_cut_of(dtype: Any, shape: Shape | None = None, *, batched: bool = False) -> Any:
    """`transpose_cut` for elements of this Numba type.

    Args:
        dtype: of 4 or 8 bytes.
        shape: how tiles are cut; that of `LARGE` if None.
        batched: arrays have three dimensions, the first one that of the batch.

    Raises:
        ValueError: elements of another size.
    """
    itemsize = bytes_of(dtype)
    if itemsize not in LARGE:
        raise ValueError(f"dtype={dtype}, but elements of 4 or 8 bytes are wanted")
    shape, per_chunk = shape or LARGE[itemsize], CHUNK_BYTES // itemsize
    threads = shape.threads
    tile_rows, tile_cols = shape.tile(itemsize)
    held = tile_rows + per_chunk  # rows that a tile holds
    per_row = shape.across // CHUNK_BYTES + 1  # chunks of a row: it may begin within one
    passes = -(-held * per_row // threads)
    size = (held * per_row + held // per_chunk) * per_chunk
    chunks_down = shape.down // CHUNK_BYTES
    spot = chunk_of_column(chunks_down)

    @device
    def chunk_at(number, start, pitch_in):
        """Where a chunk of the tile begins: `start` is that of its first row, with misalignment."""
        y, q = uint32(number // uint32(per_row)), uint32(number % uint32(per_row))
        first = uint32(start + y * pitch_in)
        return uint32(first - first % uint32(per_chunk) + q * uint32(per_chunk))

    @device
    def chunk(inp, number, start, more):
        pitch_in, last = more
        at = uint32(chunk_at(number, start, pitch_in) - misalignment(inp))
        return load16(inp, smaller(at, last))

    @device
    def to(number):
        """Where it lies in the tile."""
        left_out = uint32(number // uint32(per_row * per_chunk))
        return uint32(uint32(number + left_out) * uint32(per_chunk))

    @device
    def place(y, x, start, pitch_in):
        """Where element x of row y lies in the tile."""
        early = uint32(uint32(start + y * pitch_in) % uint32(per_chunk))
        chunks = uint32(y * uint32(per_row) + y // uint32(per_chunk))
        return uint32(uint32(chunks * uint32(per_chunk)) + early + x)

    read, keep = _chunks_read(passes, threads, chunk), _kept(passes, threads, to)
    some, column = _some_of_chunk(dtype, per_chunk), _column(per_chunk, place)
    last_chunk = _last_chunk(per_chunk)

    @device
    def move(out, inp, tile, row0, col0):
        tid = uint32(cuda.threadIdx.x)
        rows, cols = uint32(inp.shape[0]), uint32(inp.shape[1])
        pitch_in, pitch = uint32(inp.strides[0] // itemsize), uint32(out.strides[0] // itemsize)
        beyond, left = misalignment(inp), uint32(rows - row0)
        high = smaller(uint32(held), left)
        chunks = uint32(high * uint32(per_row))
        begin = uint32(row0 * pitch_in + col0)
        start = uint32(beyond + begin)

        # 1. rows as they lie                      global: 16 sectors    shared: 4 wavefronts
        line = uint32(per_row * per_chunk)
        total = uint32(uint32(rows - uint32(1)) * pitch_in + cols)
        behind = uint32(begin + uint32(high - uint32(1)) * pitch_in + line)
        inside = (begin >= per_chunk or beyond == 0) and total >= 2 * per_chunk
        if pitch_in != cols:
            inside = col0 >= per_chunk and uint32(col0 + line) <= cols
        last = total
        if inside:
            last = last_chunk(beyond, total)
            keep(tile, read(inp, tid, chunks, start, (pitch_in, last)), tid, chunks)
        if not inside or behind > total:
            number = tid
            while number < chunks:
                at = uint32(chunk_at(number, start, pitch_in) - beyond)
                if not inside or (at > last and at < total):
                    lowest, most = uint32(0), total
                    if pitch_in != cols:
                        lowest = uint32(uint32(row0 + number // uint32(per_row)) * pitch_in)
                        most = uint32(lowest + cols)
                    some(inp, tile, to(number), at, lowest, most)
                number = uint32(number + uint32(threads))
        cuda.syncthreads()  # the rows are there before anyone reads them

        # 2. 16 bytes of a row of the output: a column   shared: 1 wavefront   global: 16 sectors
        beyond = misalignment(out)
        number = tid
        while number < uint32(chunks_down * tile_cols):
            x, q = spot(uint32(number))
            there = uint32(uint32(col0 + x) * pitch + row0)
            ahead = uint32(uint32(uint32(0) - uint32(beyond + there)) % uint32(per_chunk))
            y = uint32(ahead + q * uint32(per_chunk))
            if col0 + x < cols and uint32(y + uint32(per_chunk)) <= left:
                store16(out, uint32(there + y), column(tile, y, x, start, pitch_in))
            number = uint32(number + uint32(threads))

        # 3. both ends of a row of the output, at most a chunk less one element each
        if row0 == 0 or uint32(tile_rows + per_chunk) > left:
            number = tid
            while number < uint32(2 * per_chunk * tile_cols):
                x, slot = (
                    uint32(number // uint32(2 * per_chunk)),
                    uint32(number % uint32(2 * per_chunk)),
                )
                there = uint32(uint32(col0 + x) * pitch + row0)
                ahead = uint32(uint32(uint32(0) - uint32(beyond + there)) % uint32(per_chunk))
                y, behind = slot, uint32(0)
                if slot < per_chunk:
                    if row0 == 0:
                        behind = smaller(ahead, left)
                else:
                    last = smaller(uint32(ahead + uint32(tile_rows)), left)
                    if ahead < last:
                        behind = last
                    whole = uint32(last - ahead) // uint32(per_chunk) * uint32(per_chunk)
                    y = uint32(ahead + whole + slot - uint32(per_chunk))
                if y < behind and col0 + x < cols:
                    value = load1(tile, place(y, x, start, pitch_in))
                    store1(out, uint32(there + y), value)
                number = uint32(number + uint32(threads))

    @jit(launch_bounds=(threads, shape.resident))
    def transpose_cut(out, inp):
        tile = cuda.shared.array(size, dtype, alignment=16)
        tile_row, tile_col = tile_turned()
        move(out, inp, tile, uint32(tile_row * tile_rows), uint32(tile_col * tile_cols))

    @jit(launch_bounds=(threads, shape.resident))
    def transpose_cut_batched(out, inp):
        tile = cuda.shared.array(size, dtype, alignment=16)
        matrix, tile_row, tile_col = tile_in_batch(inp.shape[2], tile_cols)
        if matrix < inp.shape[0]:
            row0, col0 = uint32(tile_row * tile_rows), uint32(tile_col * tile_cols)
            move(out[matrix], inp[matrix], tile, row0, col0)

    return named(transpose_cut_batched if batched else transpose_cut, "transpose_cut")
