"""Operators on dates and durations (datetime64, timedelta64), added to the tables of numbers.

NumPy's own results are Numba's: units are brought together, NaT stays NaT and compares as unequal
to everything. Source: Numba-compiled functions of the same operators, compared in tests/lockstep.
"""

from __future__ import annotations

from typing import Any

import numpy as np

DATE, DURATION = np.dtype("M8").num, np.dtype("m8").num
TEXTS = (np.dtype("S").num, np.dtype("U").num)
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
            _allow(table[symbol], one, other)
    for symbol in ("==", "!="):
        for one in TEXTS:
            _allow(table[symbol], one, one)
    for symbol in ("-", "+", "abs"):
        unary[symbol][DURATION] = None


def _allow(rows: list[list[Any]], one: int, other: int) -> None:
    rows[one] = list(rows[one])  # the rows of types that no operator knows are one list
    rows[one][other] = None
