"""What functions and casts of a kernel do to lane values, in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from .typing_rules import DType


def cast(value: Any, dtype: DType) -> Any:
    """A lane value in another dtype, as a GPU converts: the meaning of int32(x), x stored, etc.

    Integers wrap, floats are cut towards zero; a float beyond an integer type's range gives the
    nearest end, NaN gives 0 (PTX `cvt` saturates). 8-bit targets go through 16 bits on the way.

    >>> cast(np.float32(-1.5), np.dtype("uint32")), cast(np.int64(300), np.dtype("uint8"))
    (np.uint32(0), np.uint8(44))
    """
    if value.dtype == dtype:
        return value
    if value.dtype.kind == "f" and dtype.kind in "iu":
        return _cut(value, dtype)
    return value.astype(dtype)


def _cut(value: Any, dtype: DType) -> Any:
    via = np.dtype(f"{dtype.kind}2") if dtype.itemsize == 1 else dtype
    info = np.iinfo(via)
    # the first float past the end; the last one inside may not be representable
    past = 2.0 ** (info.bits - (dtype.kind == "i"))
    inside = (
        (value >= info.min) & (value < past) if dtype.kind == "i" else (value > -1) & (value < past)
    )
    if bool(np.all(inside)):
        return value.astype(via).astype(dtype)
    kept = np.where(inside, value, 0).astype(via)
    ends = np.where(value >= past, info.max, np.where(value < 0, info.min, 0)).astype(via)
    whole = np.where(inside, kept, ends).astype(dtype)
    return whole if isinstance(value, np.ndarray) else whole[()]
