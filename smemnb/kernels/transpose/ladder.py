"""The rungs of the transpose in order, and which kernel fits an array."""

from __future__ import annotations

from typing import Any

from numba import float32, uint8, uint16, uint64

from ...hardware import SECTOR_BYTES
from ..rung import UNSIGNED, Rung, described
from .rungs.copy_wide import copy_wide
from .rungs.transpose_fastest import transpose_fastest
from .rungs.transpose_gathered import transpose_gathered
from .rungs.transpose_naive import transpose_naive
from .rungs.transpose_padded import transpose_padded
from .rungs.transpose_rows4 import transpose_rows4
from .rungs.transpose_rows8 import transpose_rows8
from .rungs.transpose_swizzled import transpose_swizzled
from .rungs.transpose_tiled import transpose_tiled
from .rungs.transpose_tiled_64 import transpose_tiled_64
from .rungs.transpose_turned import transpose_turned
from .rungs.transpose_unsigned import transpose_unsigned
from .rungs.transpose_wide import transpose_wide
from .variants import direct, line, packed, pairs, shifted, strips, turned, wide, words

TYPES = {1: uint8, 2: uint16, 4: float32, 8: uint64}
"""Bytes of an element -> the type under which the fastest kernels move it."""

_EDGE = (32, 32)


def _unsigned(
    kernel: Any, changed: str, block: tuple[int, int], edge: int, aligned: int = 1
) -> Rung:
    """A rung whose offsets are flat, of 32 bits."""
    return Rung(kernel, changed, block, (edge, edge), aligned, span=UNSIGNED)


_RUNGS = (
    Rung(transpose_naive, "reads along rows", (32, 32), _EDGE),
    Rung(transpose_gathered, "writes along rows", (32, 32), _EDGE),
    Rung(transpose_tiled, "through a 32x32 tile", (32, 32), _EDGE),
    Rung(transpose_padded, "one pad word per tile row", (32, 32), _EDGE),
    Rung(transpose_swizzled, "column ^ row, no pad", (32, 32), _EDGE),
    Rung(transpose_rows8, "padded, blocks of 32x8: 4 elements per thread", (32, 8), _EDGE),
    Rung(transpose_rows4, "blocks of 32x4: 8 elements per thread", (32, 4), _EDGE),
    _unsigned(transpose_unsigned, "blocks of 32x8, unsigned flat offsets", (32, 8), 32),
    _unsigned(transpose_tiled_64, "tiles of 64x64, 512 threads", (32, 16), 64),
    _unsigned(transpose_turned, "tiles along the output's rows", (32, 16), 64),
    _unsigned(transpose_wide, "tiles of 64x64, 16 bytes per access", (512, 1), 64, 4),
    _unsigned(transpose_fastest, "and tiles along the output's rows", (512, 1), 64, 4),
)
LADDER = tuple(described(rung, "out = inp.T.") for rung in _RUNGS)
COPY = Rung(copy_wide, "the limit: a copy by 16 bytes", (64, 4), (4, 256), 4, span=UNSIGNED)


BEFORE = {
    "transpose_tiled": "transpose_naive",
    "transpose_swizzled": "transpose_tiled",
    "transpose_rows8": "transpose_padded",
    "transpose_unsigned": "transpose_rows8",
    "transpose_wide": "transpose_tiled_64",
}
"""The rung against which another one changes one thing, where it is not the one before it."""


FILLED, FILLED_APART = 0.6, 0.3
"""Share of a tile kernel's lanes with something to move, below which a strip is faster: where rows
follow each other in memory, and where that side of a strip goes element by element."""

WHOLE = 0.6
"""Share of the elements in whole tiles, below which words beat chunks of 16 bytes of 1 or 2 bytes:
tiles at edges go element by element."""

MB = 10**6
SMALL_STRIPS, MIDDLE_STRIPS = 4 * MB, 16 * MB
"""Bytes of a matrix below which shorter strips reach all of a GPU's multiprocessors."""
WIDE_STRIPS = {1: 4 * MB, 2: 8 * MB, 4: 8 * MB, 8: 8 * MB, 16: 8 * MB}
"""Bytes of an element -> of a matrix, from which on strips of 65 to 128 columns beat tiles."""
CHUNKS = {1: 0, 2: 0, 4: 32 * MB, 8: 128 * MB}
"""Bytes of an element -> of a matrix, from which on 16 bytes per access beat elements: below, the
smaller tiles of single elements have fewer to wait for at a barrier."""
WORDS = {1: 7 * MB, 2: 6 * MB}
"""Bytes of an element -> of a matrix, from which on words beat elements."""
SHIFTED = {4: (128 * MB, 512), 8: (1000 * MB, 512)}
"""Bytes of an element -> bytes and fewest rows or columns of a matrix, from which on shifted rows
beat elements: smaller ones have more tiles at edges than inside."""
TALL = 64 * MB
"""Bytes of a matrix of 8-byte elements, from which on pieces of the output's rows are longer."""
DIRECT = 4 * MB
"""Bytes of a matrix of 16-byte elements, below which none waits at a barrier."""
FLAT_RUNS = {4: (5 * MB, 32), 8: (5 * MB, 32), 16: (5 * MB, 32)}
"""Bytes of an element -> bytes and most rows of a flat matrix, up to which a run of columns is
moved without a tile: nobody waits at a barrier."""
FLAT_PAIRS, NARROW_RUNS = (64 * MB, 3), (2 * MB, 3)
"""The same of few rows of 16 bytes, whose loads are whole lines; of few columns of 8 bytes."""
MANY = 10**12
"""Bytes that stand for those of a batch: it has blocks enough."""


def fastest(out: Any, inp: Any, batched: bool = False) -> Rung:
    """The fastest rung for these arrays of 1, 2, 4, 8 or 16 bytes per element.

    Its kernel moves elements of `TYPES[itemsize]`, pairs of uint64 for 16 bytes: pass views of that
    type. The grid is that of the elements. Ask `reaches` and `largest` of the rung where an array
    may span 2^32 elements, or have millions of rows. Where the kernel is to be one for a batch, the
    arrays stand for its matrices, all of which begin as these do.
    """
    rows, cols = inp.shape
    size, least = inp.dtype.itemsize, min(rows, cols)
    moved = MANY if batched else rows * cols * size
    side = inp if cols == least else out
    joined = side.strides[0] == side.shape[1] * size or side.shape[0] == 1
    if least == 1 and joined and not batched:
        found = _line(rows, cols, size)
        if found.fits(out, inp):
            return found
    if 0 < least and _is_run(rows, cols, size, moved):
        return _run(rows, cols, size)
    tiles = _tiled(out, inp, batched, moved)
    if 0 < least <= strips.LARGE.most:
        if _filled(tiles, rows, cols) < (FILLED if joined else FILLED_APART):
            return _strip(rows, cols, size, batched, _cut_of(moved, least))
    elif joined and least <= strips.WIDE.most and moved >= WIDE_STRIPS[size]:
        strip = _strip(rows, cols, size, batched, strips.WIDE)
        if (cols == least or size <= 2) and strips.WIDE.filled(least) >= FILLED:
            return strip
    return tiles


def _line(rows: int, cols: int, size: int) -> Rung:
    """The rung of one row or one column."""
    kernel = line.transpose_line_of(TYPES[min(size, 8)], pairs=size == 16)
    each = wide.CHUNK_BYTES // size
    taken = line.THREADS * each
    tile = (taken, 1) if cols == 1 else (1, taken)
    return Rung(kernel, "", (line.THREADS, 1), tile, span=UNSIGNED, begins=each)


def _is_run(rows: int, cols: int, size: int, moved: int) -> bool:
    """Whether a run of a narrow or flat matrix goes without a tile."""
    if rows >= cols:
        return size == 8 and moved < NARROW_RUNS[0] and cols <= NARROW_RUNS[1]
    if size == 16 and moved < FLAT_PAIRS[0] and rows <= FLAT_PAIRS[1]:
        return True
    most, high = FLAT_RUNS.get(size, (0, 0))
    return moved < most and rows <= high


def _run(rows: int, cols: int, size: int) -> Rung:
    """The rung of such a run."""
    flat, least = rows < cols, min(rows, cols)
    kernel = direct.transpose_direct_run_of(TYPES[min(size, 8)], flat=flat, pairs=size == 16)
    taken = direct.run(least)
    tile = (least, taken) if flat else (taken, least)
    return Rung(kernel, "", (direct.THREADS, 1), tile, span=UNSIGNED)


def _filled(rung: Rung, rows: int, cols: int) -> float:
    """The share of a rung's tiles that a matrix fills."""
    across, down = rung.grid(rows, cols)
    return rows * cols / (across * down * rung.tile[0] * rung.tile[1])


def _cut_of(moved: int, least: int) -> strips.Cut:
    """How much of a narrow or flat matrix a block takes."""
    if moved < SMALL_STRIPS and least <= strips.SMALL.most:
        return strips.SMALL
    return strips.MIDDLE if moved < MIDDLE_STRIPS else strips.LARGE


def _strip(rows: int, cols: int, size: int, batched: bool, cut: strips.Cut) -> Rung:
    """The rung of a narrow or flat matrix."""
    narrow, least = cols <= rows, min(rows, cols)
    make = strips.transpose_narrow_of if narrow else strips.transpose_flat_of
    dtype, pairs_of = TYPES[min(size, 8)], size == 16
    kernel = make(dtype, least % 2 == 0, pairs=pairs_of, batched=batched, cut=cut)
    taken = cut.strip(least, size)
    tile = (taken, least) if narrow else (least, taken)
    return Rung(kernel, "", (cut.threads, 1), tile, span=UNSIGNED)


def _tiled(out: Any, inp: Any, batched: bool, moved: int) -> Rung:
    """The fastest rung that moves tiles."""
    (rows, cols), size = inp.shape, inp.dtype.itemsize
    if size == 16:
        return _pairs(out, inp, batched, moved)
    chunks = _chunks(size, batched)
    tile = chunks.tile
    whole = (rows // tile[0] * tile[0]) * (cols // tile[1] * tile[1])
    if chunks.fits(out, inp) and (size > 2 or whole >= WHOLE * rows * cols):
        if moved >= CHUNKS[size]:
            return chunks
    if size <= 2:
        if moved < WORDS[size]:
            return _turned(size, (64, 64), 16, batched)
        return _words(size, batched)
    large, least = SHIFTED[size]
    if large <= moved < MANY and least <= min(rows, cols):
        shape, per_chunk = shifted.SHAPES[size], wide.CHUNK_BYTES // size
        shifts, block = shifted.transpose_shifted_of(TYPES[size]), (shape.threads, 1)
        rung = Rung(shifts, "", block, shape.tile, span=UNSIGNED, begins=per_chunk)
        if rung.fits(out, inp) and rows <= rung.largest[0]:
            return rung
    high = 64 if size == 4 or moved >= TALL else 32
    return _turned(size, (high, 32), 8, batched)


def _chunks(size: int, batched: bool) -> Rung:
    """Tiles by 16 bytes, of rows that begin at multiples of 16 bytes."""
    if size == 4 and not batched:
        kernel = transpose_fastest
    else:
        threads, blocks = wide.BLOCKS[size]
        kernel = wide.transpose_fastest_of(TYPES[size], None, threads, blocks, batched=batched)
    block = (wide.BLOCKS[size][0], 1)
    return Rung(kernel, "", block, wide.TILES[size], wide.CHUNK_BYTES // size, span=UNSIGNED)


def _turned(size: int, tile: tuple[int, int], threads_y: int, batched: bool) -> Rung:
    """Tiles element by element."""
    kernel = turned.transpose_turned_of(TYPES[size], tile, threads_y, batched=batched, whole=True)
    return Rung(kernel, "", (32, threads_y), tile, span=UNSIGNED)


def _words(size: int, batched: bool) -> Rung:
    """Tiles of elements of 1 and 2 bytes, by words."""
    if size == 1:
        shape = packed.WORDS[size]
        kernel = packed.transpose_packed_of(TYPES[size], shape, batched=batched)
        return Rung(kernel, "", (shape.threads, 1), shape.tile(size), span=UNSIGNED)
    cut = words.SHAPES[size]
    kernel = words.transpose_words_of(TYPES[size], cut, batched=batched)
    return Rung(kernel, "", (cut.threads, 1), cut.tile(size), span=UNSIGNED)


def _pairs(out: Any, inp: Any, batched: bool, moved: int) -> Rung:
    """Elements of 16 bytes: without a tile where rows begin at sectors, or blocks are few."""
    sectors = not (out.strides[0] % SECTOR_BYTES or inp.strides[0] % SECTOR_BYTES)
    if sectors or moved < DIRECT:
        shape = direct.WIDE if sectors else direct.TALL
        kernel = direct.transpose_direct_of(TYPES[8], shape, pairs=True, batched=batched)
        return Rung(kernel, "", (shape.threads, 1), shape.tile, span=UNSIGNED)
    kernel = pairs.transpose_pairs_batched if batched else pairs.transpose_pairs
    return _unsigned(kernel, "", (pairs.TILE, pairs.ROWS), pairs.TILE)
