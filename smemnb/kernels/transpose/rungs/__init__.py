"""The rungs of the transpose after the first four, one file each, to be read from top to bottom.

    gathered    writes along rows, reads down columns; no tile
    rows8       transpose_padded with blocks of 32x8: a thread moves 4 elements of a tile
    rows4       blocks of 32x4: 8 elements each
    unsigned    as rows8, with flat offsets of 32 bits without a sign
    tiled_64    as unsigned, with tiles of 64x64 and 512 threads
    turned      as tiled_64, neighbouring blocks write neighbouring tiles of a row of out
    wide        as tiled_64, 16 bytes per access, chunks swizzled, no pad
    fastest     as wide, in the order of turned
    copied      copy_wide, the limit

A file has its numbers at the top and no call that hides an access. `..variants` makes the same
kernels for other elements and for rows that begin anywhere; `..ladder` has all rungs in order.
"""

from .copied import copy_wide
from .fastest import transpose_fastest
from .gathered import transpose_gathered
from .rows4 import transpose_rows4
from .rows8 import transpose_rows8
from .tiled_64 import transpose_tiled_64
from .turned import transpose_turned
from .unsigned import transpose_unsigned
from .wide import transpose_wide

__all__ = [
    "copy_wide",
    "transpose_fastest",
    "transpose_gathered",
    "transpose_rows4",
    "transpose_rows8",
    "transpose_tiled_64",
    "transpose_turned",
    "transpose_unsigned",
    "transpose_wide",
]
