"""What a reduction does to two elements: sums, smallest and largest ones, and where they are.

A `Combining` is what the kernels of `variants` are made for. An accumulator is a pair: a value, and
a place, which only argmin and argmax use (the compiler drops it elsewhere). It has functions of the
device:

    lift(element, place)      the accumulator of one element
    merged(a, i, b, j)        that of two together: the same for (b, j, a, i), so any tree will do
    ordered(a, i, b, j)       the same where all of a stands before b, for less
    moved(a, lanes)           the value of the lane whose number differs in these bits
    result(a, i, length)      what is stored

A float's NaN wins, as in NumPy: the first one for argmin and argmax, and among equals the first.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numba import cuda, float32, float64, int32, int64, uint32, uint64

from ..unrolled import device

ALL = 0xFFFFFFFF
NOWHERE = 0xFFFFFFFF
"""The place of no element: behind all others."""


class Combining(NamedTuple):
    """A reduction of elements of a dtype.

    Attributes:
        name: sum, mean, min, max, argmin or argmax.
        dtype: of the elements, of NumPy.
        kind: of accumulators, of Numba.
        out: dtype of the result.
        partial: dtype of NumPy for accumulators in memory.
        places: whether places matter.
        identity: the accumulator of no element, as a number.
        lift: see above.
        merged: see above.
        ordered: see above.
        moved: see above.
        result: see above.
    """

    name: str
    dtype: np.dtype[Any]
    kind: Any
    out: np.dtype[Any]
    partial: np.dtype[Any]
    places: bool
    identity: Any
    lift: Any
    merged: Any
    ordered: Any
    moved: Any
    result: Any


NAMES = ("sum", "mean", "min", "max", "argmin", "argmax")
DTYPES = tuple("int8 uint8 int16 uint16 int32 uint32 int64 uint64 float32 float64".split())
_NUMBA = {"float32": float32, "float64": float64, "int32": int32, "int64": int64, "uint64": uint64}


@cache
def combining(name: str, dtype: str) -> Combining:
    """The reduction of this name for elements of this dtype of NumPy."""
    element = np.dtype(dtype)
    where = name.startswith("arg")
    if name in ("sum", "mean"):
        held = _sum_type(name, element)
        kind, identity = _NUMBA[held.name], 0
        merged = ordered = _added()
    else:
        held = _compared_type(element)
        kind, most = _NUMBA[held.name], name.endswith("max")
        identity = _end(held, lowest=most)
        floats = element.kind == "f"
        merged = ordered = _better(most, floats)
        if where:
            merged, ordered = _first_of(most, floats), _next_of(most, floats)
    out = np.dtype(np.int64) if where else held if name in ("sum", "mean") else element
    return Combining(
        name,
        element,
        kind,
        out,
        held,
        where,
        identity,
        _lifted(kind),
        merged,
        ordered,
        _moved(kind),
        _result(name, kind, _stored_type(out)),
    )


def _sum_type(name: str, element: np.dtype[Any]) -> np.dtype[Any]:
    """NumPy's: integers are added in 64 bits, and floats in their own; means are floats."""
    if element.kind == "f":
        return element
    if name == "mean":
        return np.dtype(np.float64)
    return np.dtype(np.uint64 if element.kind == "u" else np.int64)


def _compared_type(element: np.dtype[Any]) -> np.dtype[Any]:
    """A type that shuffles take and that holds every element."""
    if element.kind == "f" or element.itemsize == 8:
        return element
    return np.dtype(np.int64 if element == np.uint32 else np.int32)


def _stored_type(out: np.dtype[Any]) -> Any:
    from numba.np.numpy_support import from_dtype

    return from_dtype(out)


def _end(held: np.dtype[Any], *, lowest: bool) -> Any:
    if held.kind == "f":
        return -np.inf if lowest else np.inf
    found = np.iinfo(held)
    return int(found.min if lowest else found.max)


@cache
def _lifted(kind: Any) -> Any:
    @device
    def lift(element, place):
        return kind(element), place

    return lift


@cache
def _added() -> Any:
    @device
    def added(a, i, b, j):
        return a + b, i

    return added


@cache
def _better(most: bool, floats: bool) -> Any:
    if most and floats:

        @device
        def better(a, i, b, j):
            return a if a >= b or a != a else b, i

    elif floats:

        @device
        def better(a, i, b, j):
            return a if a <= b or a != a else b, i

    elif most:

        @device
        def better(a, i, b, j):
            return a if a >= b else b, i

    else:

        @device
        def better(a, i, b, j):
            return a if a <= b else b, i

    return better


@cache
def _wins(most: bool, floats: bool) -> Any:
    """`wins(a, b)`: whether b is better than a, or NaN beside a number."""
    if floats and most:

        @device
        def wins(a, b):
            return not (b <= a) and a == a

    elif floats:

        @device
        def wins(a, b):
            return not (b >= a) and a == a

    elif most:

        @device
        def wins(a, b):
            return b > a

    else:

        @device
        def wins(a, b):
            return b < a

    return wins


@cache
def _next_of(most: bool, floats: bool) -> Any:
    wins = _wins(most, floats)

    @device
    def following(a, i, b, j):
        won = wins(a, b)
        return (b if won else a), (j if won else i)

    return following


@cache
def _first_of(most: bool, floats: bool) -> Any:
    wins = _wins(most, floats)

    @device
    def first(a, i, b, j):
        # of accumulators that are as good, or both NaN, neither wins: the first one stays
        won = wins(a, b) or (j < i and not wins(b, a))
        return (b if won else a), (j if won else i)

    return first


@cache
def _moved(kind: Any) -> Any:
    if kind is uint64:

        @device
        def moved(value, lanes):
            return uint64(cuda.shfl_xor_sync(ALL, int64(value), lanes))

    else:

        @device
        def moved(value, lanes):
            return cuda.shfl_xor_sync(ALL, value, lanes)

    return moved


@cache
def _result(name: str, kind: Any, stored: Any) -> Any:
    if name == "mean":

        @device
        def result(value, place, length):
            return stored(value / kind(length))

    elif name.startswith("arg"):

        @device
        def result(value, place, length):
            return stored(place)

    else:

        @device
        def result(value, place, length):
            return stored(value)

    return result


# --- several elements at once -------------------------------------------------------------------


@cache
def several(of: Combining, count: int) -> Any:
    """`several(values, place)`: the accumulator of so many neighbours, pairs first."""
    return _several(of, 0, count)


@cache
def _several(of: Combining, first: int, count: int) -> Any:
    lift, ordered = of.lift, of.ordered
    if count == 1:

        @device
        def one(values, place):
            return lift(values[first], uint32(place + uint32(first)))

        return one
    if count == 2:

        @device
        def pair(values, place):
            a, i = lift(values[first], uint32(place + uint32(first)))
            b, j = lift(values[first + 1], uint32(place + uint32(first + 1)))
            return ordered(a, i, b, j)

        return pair
    if count == 4:

        @device
        def quad(values, place):
            a, i = lift(values[first], uint32(place + uint32(first)))
            b, j = lift(values[first + 1], uint32(place + uint32(first + 1)))
            c, k = lift(values[first + 2], uint32(place + uint32(first + 2)))
            d, m = lift(values[first + 3], uint32(place + uint32(first + 3)))
            a, i = ordered(a, i, b, j)
            c, k = ordered(c, k, d, m)
            return ordered(a, i, c, k)

        return quad
    low, high = _several(of, first, count // 2), _several(of, first + count // 2, count // 2)

    @device
    def both(values, place):
        a, i = low(values, place)
        b, j = high(values, place)
        return ordered(a, i, b, j)

    return both


@cache
def across(of: Combining, lanes: int) -> Any:
    """`across(value, place)`: the accumulator of `lanes` neighbouring lanes, in each of them."""
    merged, moved, places = of.merged, of.moved, of.places
    first = lanes // 2
    if places:

        @device
        def reduced(value, place):
            apart = first
            while apart > 0:
                other, at = (
                    moved(value, apart),
                    uint32(cuda.shfl_xor_sync(ALL, int32(place), apart)),
                )
                value, place = merged(value, place, other, at)
                apart //= 2
            return value, place

    else:

        @device
        def reduced(value, place):
            apart = first
            while apart > 0:
                value, place = merged(value, place, moved(value, apart), place)
                apart //= 2
            return value, place

    return reduced
