"""Transpose of a matrix: a ladder from one element per thread to the speed of a copy.

staged    transpose_naive, _tiled, _padded, _swizzled: blocks of 32x32 threads
rungs     one file for each of the others, and the limit, copy_wide
ladder    all rungs in order, and `fastest(out, inp)`: the one that fits
variants  the fast ones made for elements of any size and for rows that begin anywhere

A rung is one text: its numbers stand at the top of its file, and no call hides an access.
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
