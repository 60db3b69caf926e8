"""Subnormal numbers of float32 under `fastmath`: operations flush them to zero.

Numba compiles a kernel with fastmath=True, and the device functions it calls, with `.ftz`: an
operation on float32 takes a subnormal operand for zero, of its sign, and gives zero for a
subnormal result. So do comparisons, min, max, abs, negation and conversions from and to float64.
Loads, stores, choices and shuffles move bits and change nothing; float64 is never flushed. Read
from the PTX that numba-cuda 0.30.4 makes; PTX ISA, "Floating Point Instructions".

**Limits**: of a variable that is a float32 on one path and a float64 on another, the conversion
where they join is not flushed.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..lanes import LaneValue, cast

_LEAST = np.finfo(np.float32).tiny
_SINGLE, _PAIR = np.dtype(np.float32), np.dtype(np.complex64)


def flush(value: LaneValue) -> LaneValue:
    """A float32 with zero, of the same sign, for what is subnormal; all else as it is.

    >>> [str(flush(np.float32(x))) for x in (1e-40, -1e-40, 1.5e-38)], str(flush(1e-40))
    (['0.0', '-0.0', '1.5e-38'], '1e-40')
    """
    dtype = getattr(value, "dtype", None)
    if dtype == _SINGLE:
        small = np.abs(value) < _LEAST
        if not small.any():
            return value
        kept: Any = np.where(small, np.copysign(np.float32(0), value), value)
        return kept[()]
    if dtype == _PAIR:
        pairs: Any = np.array(value)
        pairs.real, pairs.imag = flush(pairs.real), flush(pairs.imag)
        return pairs[()]
    return value


def converted(value: LaneValue, dtype: np.dtype[Any]) -> LaneValue:
    """A number in another type; a float32 is flushed on its way from or to another float."""
    if getattr(value, "dtype", dtype) == dtype:
        return value
    return flush(cast(flush(value), dtype))
