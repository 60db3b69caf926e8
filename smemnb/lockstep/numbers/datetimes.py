"""Operators on dates and durations (datetime64, timedelta64), added to the tables of numbers.

NumPy's own results are Numba's: units are brought together, NaT stays NaT and compares as unequal
to everything. But a duration times or through a float32 is computed in float32 (`in_float32`), and
what leaves 64 bits in the finer unit wraps, also to the number that NumPy takes for NaT
(`wrapping`).
Source: Numba-compiled functions of the same operators, compared in tests/lockstep and by random
programs (tests/oracle).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .casts import cast

DATE, DURATION = np.dtype("M8").num, np.dtype("m8").num
TEXTS = (np.dtype("S").num, np.dtype("U").num)
FLOAT32 = np.dtype("f4").num
IN_FLOAT32 = object()
"""The entry of a duration and a float32."""
WRAPPING = object()
"""The entry of two dates or durations."""
_NUMBERS = tuple(np.dtype(code).num for code in "bhilqBHIfd")
_COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")
_OF_TWO = {
    **dict.fromkeys(_COMPARISONS, ((DATE, DATE), (DURATION, DURATION))),
    "+": ((DATE, DURATION), (DURATION, DATE), (DURATION, DURATION)),
    "-": ((DATE, DATE), (DATE, DURATION), (DURATION, DURATION)),
    "*": tuple(p for n in _NUMBERS for p in ((DURATION, n), (n, DURATION))),
    "/": ((DURATION, DURATION), *((DURATION, n) for n in _NUMBERS)),
    "//": tuple((DURATION, n) for n in _NUMBERS),
}


def add_to(table: dict[str, list[list[Any]]], unary: dict[str, list[Any]]) -> None:
    """Enter None, NumPy's own result, for every operator that dates, durations, texts have."""
    for symbol, pairs in _OF_TWO.items():
        for one, other in pairs:
            of_two = {one, other} <= {DATE, DURATION}
            narrow = IN_FLOAT32 if FLOAT32 in (one, other) else None
            _allow(table[symbol], one, other, WRAPPING if of_two else narrow)
    for symbol in ("==", "!="):
        for one in TEXTS:
            _allow(table[symbol], one, one)
    for symbol in ("-", "+", "abs"):
        unary[symbol][DURATION] = None


def _allow(rows: list[list[Any]], one: int, other: int, entry: Any = None) -> None:
    rows[one] = list(rows[one])  # the rows of types that no operator knows are one list
    rows[one][other] = entry


def wrapping(compute: Callable[[Any, Any], Any], left: Any, right: Any) -> Any:
    """An operator on two dates or durations, brought to one unit in 64 bits.

    >>> wrapping(np.add, np.timedelta64(2**53, "D"), np.timedelta64(1, "ms")).astype(np.int64)
    np.int64(-9223372036854775807)
    """
    result = compute(left, right)
    sides = [_as_duration(side) for side in (left, right)]
    try:
        common = np.promote_types(sides[0].dtype, sides[1].dtype)
    except TypeError:  # months and days have no unit in common
        return result
    scaled = [side.astype(common) for side in sides]
    none = np.isnat(sides[0]) | np.isnat(sides[1])
    wrapped = (np.isnat(scaled[0]) | np.isnat(scaled[1])) & ~none
    if not np.any(wrapped):
        return result
    exact = compute(*(side.astype(np.int64) for side in scaled)).astype(result.dtype)
    return np.where(wrapped, exact, result)[()]


def _as_duration(value: Any) -> Any:
    return value.astype(np.int64).astype(value.dtype.str.replace("M8", "m8"))


def in_float32(symbol: str, left: Any, right: Any) -> Any:
    """A duration times or through a float32, cut to a whole number of its unit.

    Through 0 or NaN it is NaT.

    >>> in_float32("*", np.timedelta64(2**24 + 1, "s"), np.float32(1))
    np.timedelta64(16777216,'s')
    """
    span, number = (left, right) if left.dtype.kind == "m" else (right, left)
    count = span.astype(np.int64)
    with np.errstate(all="ignore"):
        if symbol == "*":
            wide = count.astype(np.float32) * number
        else:
            wide = count.astype(np.float32) / number
        whole = cast(wide, np.dtype(np.int64)).astype(span.dtype)
    none = np.isnat(span) if symbol == "*" else np.isnat(span) | np.isnan(number) | (number == 0)
    result = np.where(none, span.dtype.type("NaT"), whole)
    return result if result.ndim else result[()]
