"""`transpose_fastest` for elements of other sizes, other tiles and blocks.

`..rungs.transpose_fastest` is the same kernel for float32 with its numbers in it: read that one.

A chunk is 16 bytes: V elements. Chunk q of tile row y lies at q ^ ((y // V) % 8), so that 8 lanes
that store neighbouring chunks, and 32 lanes that read 8 groups of V rows in 4 neighbouring columns,
both visit all 32 banks. Tiles at the edge go element by element through the same memory. Rows of
both matrices must begin at multiples of 16 bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, partial
from typing import Any

from numba import cuda, uint32

from ....hardware import WARP_LANES
from ...choices import Problem, no_block, no_residence, refuse, wrong_number
from ...ptx import load1, load16, store1, store16
from ...unrolled import device, jit, named
from .order import bytes_of, tile_in_batch, tile_turned

CHUNK_BYTES = 16
THREADS = 512
RESIDENT = 4  # blocks that a multiprocessor must hold: all its threads, 32 registers for each
SWAPS = 7  # chunks trade places among 8: 128 bytes, all banks
TILES = {1: (128, 128), 2: (64, 64), 4: (64, 64), 8: (32, 64)}
"""Bytes of an element -> rows and columns of a tile: 16 KB each, 8 KB of 2 bytes."""
BLOCKS = {1: (THREADS, RESIDENT), 2: (256, 6), 4: (THREADS, RESIDENT), 8: (THREADS, RESIDENT)}
"""Bytes of an element -> threads of a block, and blocks that a multiprocessor must hold."""


def _column(count: int, pitch: int) -> Any:
    """A device function: `count` elements of a tile column, from a place on, as a tuple."""
    if count == 1:

        @device
        def one(tile, at):
            return (load1(tile, at),)

        return one

    before, last = _column(count - 1, pitch), (count - 1) * pitch

    @device
    def several(tile, at):
        return before(tile, at) + (load1(tile, at + last),)  # noqa: RUF005

    return several


def _edge(rows: int, cols: int, itemsize: int, threads: int) -> Any:
    """A device function: a tile at the edge, element by element, in the same places."""
    per_chunk = CHUNK_BYTES // itemsize

    @device
    def cell_of(y, x):
        chunk = uint32((x // uint32(per_chunk)) ^ ((y // uint32(per_chunk)) & uint32(SWAPS)))
        return uint32(y * cols + chunk * per_chunk + x % uint32(per_chunk))

    @device
    def move_edge(out, inp, tile, row0, col0):
        tid = uint32(cuda.threadIdx.x)
        high, wide = uint32(inp.shape[0]), uint32(inp.shape[1])
        pitch = uint32(inp.strides[0] // itemsize)
        for at in range(tid, uint32(rows * cols), uint32(threads)):
            y, x = uint32(at // uint32(cols)), uint32(at % uint32(cols))
            if row0 + y < high and col0 + x < wide:
                there = uint32(uint32(row0 + y) * pitch + uint32(col0 + x))
                store1(tile, cell_of(y, x), load1(inp, there))
        cuda.syncthreads()  # the tile is full before anyone reads it
        pitch = uint32(out.strides[0] // itemsize)
        for at in range(tid, uint32(rows * cols), uint32(threads)):
            x, y = uint32(at // uint32(rows)), uint32(at % uint32(rows))
            if row0 + y < high and col0 + x < wide:
                there = uint32(uint32(col0 + x) * pitch + uint32(row0 + y))
                store1(out, there, load1(tile, cell_of(y, x)))

    return move_edge


def _loaded(rows: int, cols: int, itemsize: int, threads: int) -> Any:
    """A device function: a whole tile from global to shared memory, 16 bytes at a time."""
    per_chunk = CHUNK_BYTES // itemsize
    across = cols // per_chunk // 8  # warps side by side: 4 rows of 8 chunks each
    down = threads // 8 // across
    passes = rows // down

    @device
    def load(inp, tile, row0, col0):
        warp, lane = uint32(cuda.threadIdx.x // 32), uint32(cuda.threadIdx.x % 32)
        y0 = uint32(warp // uint32(across) * uint32(4) + lane // uint32(8))
        q = uint32(warp % uint32(across) * uint32(8) + lane % uint32(8))
        pitch = uint32(inp.strides[0] // itemsize)
        at = uint32(uint32(row0 + y0) * pitch + col0 + q * per_chunk)
        step = uint32(down * pitch)
        for turn in range(passes):
            y = uint32(y0 + turn * down)
            chunk = uint32(q ^ ((y // uint32(per_chunk)) & uint32(SWAPS)))
            cell = uint32(y * cols + chunk * per_chunk)
            store16(tile, cell, load16(inp, uint32(at + turn * step)))

    return load


def _stored(rows: int, cols: int, itemsize: int, threads: int) -> Any:
    """A device function: a whole tile's columns to rows of the output, 16 bytes at a time."""
    per_chunk = CHUNK_BYTES // itemsize
    across = rows // per_chunk // 8  # warps side by side: 4 columns of 8 chunks each
    down = threads // 8 // across
    passes = cols // down
    column = _column(per_chunk, cols)

    @device
    def store(out, tile, row0, col0):
        warp, lane = uint32(cuda.threadIdx.x // 32), uint32(cuda.threadIdx.x % 32)
        x0 = uint32(warp // uint32(across) * uint32(4) + lane // uint32(8))
        p = uint32(warp % uint32(across) * uint32(8) + lane % uint32(8))
        pitch = uint32(out.strides[0] // itemsize)
        to = uint32(uint32(col0 + x0) * pitch + row0 + p * per_chunk)
        step = uint32(down * pitch)
        for turn in range(passes):
            x = uint32(x0 + turn * down)
            chunk = uint32((x // uint32(per_chunk)) ^ (p & uint32(SWAPS)))
            top = uint32(p * per_chunk * cols + chunk * per_chunk + x % uint32(per_chunk))
            store16(out, uint32(to + turn * step), column(tile, top))

    return store


def _problem(itemsize: int, values: Mapping[str, Any]) -> Problem | None:
    found = wrong_number(values, {"rows": 1, "cols": 1, "threads": WARP_LANES, "blocks": 1})
    if found is not None:
        return found
    threads = values["threads"]
    if threads % WARP_LANES:
        return Problem("threads", f"whole warps are wanted: a multiple of {WARP_LANES}")
    warps, group = threads // WARP_LANES, 8 * (CHUNK_BYTES // itemsize)
    for field, other in (("cols", "rows"), ("rows", "cols")):
        if values[field] % group:
            return Problem(
                field,
                f"a warp moves 8 chunks of {CHUNK_BYTES} bytes side by side: a multiple of {group}"
                " is wanted",
            )
        across = values[field] // group
        if warps % across:
            return Problem(
                "threads",
                f"{across} warps stand side by side along {values[field]} {field}: a multiple of"
                f" {across * WARP_LANES} is wanted",
            )
        down = 4 * (warps // across)
        if values[other] % down:
            return Problem(
                other, f"the block moves {down} of them at a time: a multiple of it is wanted"
            )
    shared_bytes = values["rows"] * values["cols"] * itemsize
    return no_block("threads", threads, "rows", shared_bytes) or no_residence(
        "blocks", values["blocks"], threads, shared_bytes
    )


@cache
def transpose_fastest_of(
    dtype: Any,
    tile: tuple[int, int] | None = None,
    threads: int | None = None,
    blocks: int | None = None,
    *,
    batched: bool = False,
) -> Any:
    """`transpose_fastest` for elements of this Numba type.

    Args:
        dtype: of 1, 2, 4 or 8 bytes.
        tile: rows and columns of a tile, those of `TILES` if None.
        threads: of a block, those of `BLOCKS` if None.
        blocks: that a multiprocessor must hold at once, likewise.
        batched: arrays have three dimensions, the first one that of the batch; matrices begin at
            multiples of 16 bytes.

    Raises:
        ValueError: a tile that the block's warps do not move in whole passes, or too large a one.
    """
    itemsize = bytes_of(dtype)
    rows, cols = tile or TILES[itemsize]
    threads, blocks = threads or BLOCKS[itemsize][0], blocks or BLOCKS[itemsize][1]
    choices = {"rows": rows, "cols": cols, "threads": threads, "blocks": blocks}
    refuse("transpose_fastest", choices, partial(_problem, itemsize))
    size = rows * cols
    load, store, move_edge = (
        make(rows, cols, itemsize, threads) for make in (_loaded, _stored, _edge)
    )

    @device
    def move(out, inp, tile, tile_row, tile_col):
        row0, col0 = uint32(tile_row * rows), uint32(tile_col * cols)
        if row0 + rows <= inp.shape[0] and col0 + cols <= inp.shape[1]:
            # 1. 4 rows of 8 chunks per warp     global: 16 sectors    shared: 4 wavefronts
            load(inp, tile, row0, col0)
            cuda.syncthreads()  # the tile is full before anyone reads it

            # 2. 4 columns of 8 chunks: V reads  shared: 1 wavefront each    global: 16 sectors
            store(out, tile, row0, col0)
        else:
            move_edge(out, inp, tile, row0, col0)

    @jit(launch_bounds=(threads, blocks))
    def transpose_chunks(out, inp):
        tile = cuda.shared.array(size, dtype, alignment=16)
        tile_row, tile_col = tile_turned()
        move(out, inp, tile, tile_row, tile_col)

    @jit(launch_bounds=(threads, blocks))
    def transpose_chunks_of_batch(out, inp):
        tile = cuda.shared.array(size, dtype, alignment=16)
        matrix, tile_row, tile_col = tile_in_batch(inp.shape[2], cols)
        move(out[matrix], inp[matrix], tile, tile_row, tile_col)

    return named(transpose_chunks_of_batch if batched else transpose_chunks, "transpose_fastest")
