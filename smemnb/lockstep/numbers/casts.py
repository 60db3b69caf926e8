"""A lane value in another dtype, as a GPU converts it."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import typing_rules as rules
from .typing_rules import FLOAT16, FLOAT32, DType


def cast(value: Any, dtype: DType) -> Any:
    """A lane value in another dtype, as a GPU converts: for int32(x), x stored, and so on.

    Integers wrap. float32 and float64 are cut towards zero, float16 is rounded to even (PTX
    `cvt.rzi` and `cvt.rni`, which is what Numba compiles to). A float beyond the integer type's
    range gives the nearest end; 8-bit targets go through 16 bits first. NaN gives 0, or the bit
    pattern 100...0 if either side has 64 bits.

    >>> cast(np.float32(-1.5), np.dtype("uint32")), cast(np.int64(300), np.dtype("uint8"))
    (np.uint32(0), np.uint8(44))
    """
    if value.dtype == dtype:
        return value
    if value.dtype.kind == "f" and dtype.kind in "iu":
        return _cut(value, dtype)
    return value.astype(dtype)


def _cut(value: Any, dtype: DType) -> Any:
    half = value.dtype == FLOAT16
    via = np.dtype(f"{dtype.kind}2") if dtype.itemsize == 1 and not half else dtype
    info = np.iinfo(via)
    number = np.rint(value.astype(FLOAT32)) if half else value
    past = 2.0 ** (info.bits - (dtype.kind == "i"))
    inside = (number >= info.min) & (number < past)
    if bool(np.all(inside)):
        return number.astype(via).astype(dtype)
    nan = 0 if value.dtype.itemsize < 8 and dtype.itemsize < 8 else 1 << (8 * dtype.itemsize - 1)
    kept = np.where(inside, number, 0).astype(via)
    ends = np.where(number >= past, via.type(info.max), via.type(info.min))
    ends = np.where(np.isnan(value), np.array(nan, f"u{via.itemsize}").astype(via), ends)
    whole = np.where(inside, kept, ends).astype(dtype)
    return whole if isinstance(value, np.ndarray) else whole[()]


def to_int(value: Any) -> Any:
    """int(x): an integer keeps its type, bool and floats give int64."""
    return cast(value, rules.int_dtype(value.dtype))


def to_float(value: Any) -> Any:
    """float(x): a float keeps its type, an integer gives float64."""
    return cast(value, rules.float_dtype(value.dtype))


def to_bool(value: Any) -> Any:
    """bool(x): True where x is not 0."""
    return value.astype(bool)
