"""Transpose of a matrix: a ladder from one element per thread to the speed of a copy.

Every rung is a file of `rungs/` that reads from top to bottom, its numbers first:

    transpose_naive      reads along rows, writes down columns: 32 sectors per store
    transpose_gathered   writes along rows, reads down columns; no tile
    transpose_tiled      both sides along rows, through a 32x32 tile: the tile's read is 32-way
    transpose_padded     one pad word per tile row: 1 wavefront
    transpose_swizzled   no pad, the column is xor-ed with the row: 1 wavefront
    transpose_rows8      padded, blocks of 32x8: a thread moves 4 elements of a tile
    transpose_rows4      blocks of 32x4: 8 elements each
    transpose_unsigned   as transpose_rows8, with flat offsets of 32 bits without a sign
    transpose_tiled_64   tiles of 64x64 and 512 threads
    transpose_turned     neighbouring blocks write neighbouring tiles of a row of out
    transpose_wide       as transpose_tiled_64, 16 bytes per access, chunks swizzled, no pad
    transpose_fastest    as transpose_wide, in the order of transpose_turned
    copy_wide            no transpose: the limit, the same bytes moved straight

ladder      the rungs in order with their launches, and `fastest(out, inp)`: the kernel that fits
variants    the fast ones from factories, for elements of any size and rows that begin anywhere;
            nobody has to read them to understand a rung
"""

from .rungs.transpose_naive import transpose_naive
from .rungs.transpose_padded import PITCH, TILE, transpose_padded
from .rungs.transpose_swizzled import transpose_swizzled
from .rungs.transpose_tiled import transpose_tiled

__all__ = [
    "PITCH",
    "TILE",
    "transpose_naive",
    "transpose_padded",
    "transpose_swizzled",
    "transpose_tiled",
]
