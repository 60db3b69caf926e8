"""The rungs of the transpose in order, and which kernel fits an array."""

from __future__ import annotations

from typing import Any

from numba import float32, uint8, uint16, uint64

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
from .variants import line, packed, pairs, shifted, strips, turned, wide

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
SHIFTED_BYTES = {4: 1 << 25, 8: 1 << 30}
"""Bytes of an element -> of a matrix, above which the kernel for rows that begin anywhere is faster
than element by element (smaller ones have more tiles at edges than inside, and fit into L2)."""

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

FEW_TILES = 256
"""Large tiles of words, of which a matrix should have more: below, smaller ones reach all of a
GPU's multiprocessors."""


def fastest(out: Any, inp: Any, batched: bool = False) -> Rung:
    """The fastest rung for these arrays of 1, 2, 4, 8 or 16 bytes per element.

    Its kernel moves elements of `TYPES[itemsize]`, pairs of uint64 for 16 bytes: pass views of that
    type. The grid is that of the elements. Ask `reaches` and `largest` of the rung where an array
    may span 2^32 elements, or have millions of rows. Where the kernel is to be one for a batch, the
    arrays stand for its matrices, all of which begin as these do.
    """
    rows, cols = inp.shape
    size = inp.dtype.itemsize
    tiles = _tiled(out, inp, batched)
    least = min(rows, cols)
    if 0 < least <= strips.LARGE.most:
        side = inp if cols == least else out
        joined = side.strides[0] == side.shape[1] * size or side.shape[0] == 1
        if least == 1 and joined and not batched:
            found = _line(rows, cols, size)
            if found.fits(out, inp):
                return found
        if _filled(tiles, rows, cols) < (FILLED if joined else FILLED_APART):
            return _strip(rows, cols, size, batched)
    return tiles


def _line(rows: int, cols: int, size: int) -> Rung:
    """The rung of one row or one column."""
    kernel = line.transpose_line_of(TYPES[min(size, 8)], pairs=size == 16)
    each = line.CHUNK_BYTES // size
    taken = line.THREADS * each
    tile = (taken, 1) if cols == 1 else (1, taken)
    return Rung(kernel, "", (line.THREADS, 1), tile, span=UNSIGNED, begins=each)


def _filled(rung: Rung, rows: int, cols: int) -> float:
    """The share of a rung's tiles that a matrix fills."""
    across, down = rung.grid(rows, cols)
    return rows * cols / (across * down * rung.tile[0] * rung.tile[1])


def _strip(rows: int, cols: int, size: int, batched: bool) -> Rung:
    """The rung of a narrow or flat matrix."""
    narrow, least = cols <= rows, min(rows, cols)
    make = strips.transpose_narrow_of if narrow else strips.transpose_flat_of
    dtype, pairs_of = TYPES[min(size, 8)], size == 16
    kernel = make(dtype, least % 2 == 0, pairs=pairs_of, batched=batched)
    taken = strips.LARGE.strip(least, size)
    tile = (taken, least) if narrow else (least, taken)
    return Rung(kernel, "", (strips.LARGE.threads, 1), tile, span=UNSIGNED)


def _tiled(out: Any, inp: Any, batched: bool) -> Rung:
    """The fastest rung that moves tiles."""
    (rows, cols), size = inp.shape, inp.dtype.itemsize
    if size == 16:
        kernel = pairs.transpose_pairs_batched if batched else pairs.transpose_pairs
        return _unsigned(kernel, "", (pairs.TILE, pairs.ROWS), pairs.TILE)
    per_chunk, tile = wide.CHUNK_BYTES // size, wide.TILES[size]
    if size == 4 and not batched:
        chunks = transpose_fastest
    else:
        chunks = wide.transpose_fastest_of(TYPES[size], batched=batched)
    rung = Rung(chunks, "", (wide.THREADS, 1), tile, per_chunk, span=UNSIGNED)
    whole = (rows // tile[0] * tile[0]) * (cols // tile[1] * tile[1])
    if rung.fits(out, inp) and (size > 2 or whole >= WHOLE * rows * cols):
        return rung
    if size <= 2:
        words = packed.WORDS[size]
        high, across = words.tile(size)
        if -(-rows // high) * -(-cols // across) < FEW_TILES:
            words = packed.FEW[size]
        kernel = packed.transpose_packed_of(TYPES[size], words, batched=batched)
        return Rung(kernel, "", (words.threads, 1), words.tile(size), span=UNSIGNED)
    shape = shifted.SHAPES[size]
    large = SHIFTED_BYTES[size] <= rows * cols * size
    if large and not batched:
        shifts = shifted.transpose_shifted_of(TYPES[size])
        block = (shape.threads, 1)
        rung = Rung(shifts, "", block, shape.tile, span=UNSIGNED, begins=per_chunk)
        if rung.fits(out, inp) and rows <= rung.largest[0]:
            return rung
    if size == 4 and not batched:
        turns = transpose_turned
    else:
        turns = turned.transpose_turned_of(TYPES[size], batched=batched)
    return _unsigned(turns, "", (32, 16), 64)
