"""Transpose of a matrix: a ladder from one element per thread to the speed of a copy.

staged   transpose_naive, _tiled, _padded, _swizzled: blocks of 32x32 threads
shaped   coalesced stores, block shapes, unsigned offsets, larger tiles, order of tiles
wide     16 bytes per access; the limit, a copy
shifted  16 bytes per access for rows that begin anywhere
pairs    elements of 16 bytes, moved whole
ladder   all rungs in order, and `fastest(out, inp)`: the one that fits
"""

from .staged import (
    PITCH,
    TILE,
    transpose_naive,
    transpose_padded,
    transpose_swizzled,
    transpose_tiled,
)

__all__ = [
    "PITCH",
    "TILE",
    "transpose_naive",
    "transpose_padded",
    "transpose_swizzled",
    "transpose_tiled",
]
