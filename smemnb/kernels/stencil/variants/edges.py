"""Which element stands for one beyond an edge, by the modes of scipy.ndimage.

    reflect    d c b a | a b c d | d c b a      mirrored between elements
    constant   k k k k | a b c d | k k k k      a value of the caller's
    nearest    a a a a | a b c d | d d d d
    mirror       d c b | a b c d | c b a        mirrored at the last element
    wrap       a b c d | a b c d | a b c d

Any distance is taken: a place further away than the row is long is moved again.
"""

from __future__ import annotations

from numba import int32

from ...unrolled import device

MODES = ("reflect", "constant", "nearest", "mirror", "wrap")
"""A mode's number for the kernels is its place."""
OUTSIDE = -1
"""Where `constant` finds an element."""


@device
def edged(at, size, mode):
    """The element for any place; `OUTSIDE` where it is the value of `constant`."""
    while at < 0 or at >= size:
        if mode == 1:
            return int32(OUTSIDE)
        if mode == 2 or size == 1:
            at = int32(0) if at < 0 else int32(size - 1)
        elif mode == 4:
            at = int32(at + size) if at < 0 else int32(at - size)
        else:  # mirrored: between two elements, or at the last one
            off = int32(1) if mode == 0 else int32(0)
            at = int32(-at - off) if at < 0 else int32(2 * size - 2 + off - at)
    return int32(at)
