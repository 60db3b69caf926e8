"""What a scan combines, and in which types: sums and largest values."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numba import float64, int64
from numba.np import numpy_support

from ..unrolled import device


@dataclass(frozen=True)
class Combining:
    """An operation and its types.

    Attributes:
        name: "sum" or "max".
        dtype: of the input's elements.
        acc: inside a tile, and of the output.
        carry: between tiles, of 8 bytes.
        combine: a device function of two numbers of one type.
        zero: what changes nothing when it is combined.
    """

    name: str
    dtype: Any
    acc: Any
    carry: Any
    combine: Any
    zero: float


@device
def added(x, y):
    """The sum of two numbers."""
    return x + y


@device
def larger(x, y):
    """The larger of two numbers; one that is no number, if one is."""
    if x >= y or x != x:
        return x
    return y


@cache
def combining(name: str, dtype: str, acc: str) -> Combining:
    """The operation "sum" or "max" for NumPy's names of types: `combining("sum", "i4", "i8")`.

    Inside a tile it is float32, float64, int32 or int64, which shuffles take; int64 adds uint64
    too, as both have the same bits.
    """
    of = numpy_support.from_dtype
    kinds = {"f": float64, "i": int64}
    result = np.dtype(acc)
    if name == "sum":
        combine, zero = added, 0.0
    else:
        combine = larger
        zero = -np.inf if result.kind == "f" else int(np.iinfo(result).min)
    return Combining(name, of(np.dtype(dtype)), of(result), kinds[result.kind], combine, zero)
