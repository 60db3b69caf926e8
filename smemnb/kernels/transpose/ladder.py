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
from .variants import pairs, shifted, turned, wide

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
SHIFTED_BYTES = {1: 1 << 25, 2: 1 << 25, 4: 1 << 25, 8: 1 << 30}
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


def fastest(out: Any, inp: Any) -> Rung:
    """The fastest rung for these arrays of 1, 2, 4, 8 or 16 bytes per element.

    Its kernel moves elements of `TYPES[itemsize]`, pairs of uint64 for 16 bytes: pass views of that
    type. The grid is that of the elements. Ask `reaches` and `largest` of the rung where an array
    may span 2^32 elements, or have millions of rows.
    """
    size = inp.dtype.itemsize
    if size == 16:
        return _unsigned(pairs.transpose_pairs, "", (pairs.TILE, pairs.ROWS), pairs.TILE)
    per_chunk = wide.CHUNK_BYTES // size
    chunks = transpose_fastest if size == 4 else wide.transpose_fastest_of(TYPES[size])
    rung = Rung(chunks, "", (wide.THREADS, 1), wide.TILES[size], per_chunk, span=UNSIGNED)
    if rung.fits(out, inp):
        return rung
    shifts, shape = shifted.transpose_shifted_of(TYPES[size]), shifted.SHAPES[size]
    block, tile = (shape.threads, 1), shape.tile
    rung = Rung(shifts, "", block, tile, span=UNSIGNED, begins=per_chunk)
    large = SHIFTED_BYTES[size] <= inp.shape[0] * inp.shape[1] * size
    if rung.fits(out, inp) and large and inp.shape[0] <= rung.largest[0]:
        return rung
    turns = transpose_turned if size == 4 else turned.transpose_turned_of(TYPES[size])
    return _unsigned(turns, "", (32, 16), 64)
