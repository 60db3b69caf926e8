"""Which element stands for one beyond an edge, by the modes of scipy.ndimage.

    reflect    d c b a | a b c d | d c b a      mirrored between elements
    constant   k k k k | a b c d | k k k k      a value of the caller's
    nearest    a a a a | a b c d | d d d d
    mirror       d c b | a b c d | c b a        mirrored at the last element
    wrap       a b c d | a b c d | a b c d

Any distance is taken: an element further away than the row is long is mirrored again.
"""

from __future__ import annotations

from numba import int32

from ...unrolled import device

MODES = ("reflect", "constant", "nearest", "mirror", "wrap")
"""A mode's number for the kernels is its place."""
OUTSIDE = -1
"""Where `constant` finds an element."""


@device
def beyond(at, size, mode):
    """The element for place `at`, which is not one of 0 ... size - 1; `OUTSIDE` of `constant`."""
    if mode == 1:
        return int32(OUTSIDE)
    if mode == 2:
        return int32(0) if at < 0 else int32(size - 1)
    # mirrored at the last element: a period less two, and nothing to mirror in a row of one
    less = int32(0)
    if mode == 3:
        less = int32(1)
    period = int32(size)
    if mode != 4:
        period = max(int32(2 * (size - less)), int32(1))
    at = int32(at % period)
    if at >= size:
        at = int32(period - int32(1) + less - at)
    return at


@device
def edged(at, size, mode):
    """The element for any place."""
    if at < 0 or at >= size:
        return beyond(at, size, mode)
    return int32(at)
