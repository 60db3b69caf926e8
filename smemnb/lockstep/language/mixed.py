"""Values that are no numbers: None, texts, members of enums, dtypes, functions, whole arrays.

A lane value is such an object itself where all lanes have the same one. Where a branch leaves
different ones behind, it is a `Mixed`: None on one path and a number on the other is Numba's
optional value, two arrays are an array that each lane chose for itself. A number is taken out of
an optional value where it is used; a lane that has None there raises, as in Numba.

`BINARY`, `COMPARISONS` and `UNARY` are the operators on any values, by their symbol, as expressions
and the functions of Python's `operator` use them. Numbers take the short way of
`numbers/operators.py`; where that is not defined, `of_objects` is asked.
"""

from __future__ import annotations

import ast
import enum
import operator
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ..lanes import LaneValue, Selectable, chosen, constant, truth
from ..memory import KernelArray
from ..numbers import operators as numbers

NUMBERS = (np.ndarray, np.generic)


class Mixed:
    """Objects of which each lane has one; `which` is the number of a lane's option."""

    __slots__ = ("options", "which")

    def __init__(self, options: tuple[Any, ...], which: Any) -> None:
        self.options, self.which = options, which

    def lanes_of(self, at: int) -> Any:
        """The lanes that have option number `at`, as a condition."""
        return self.which == at

    def truth(self) -> LaneValue:
        """Whether each lane's option is true; None is not."""
        return self.each(lambda option, lanes: _as_bool(truth(option)))

    def each(self, apply: Callable[[Any, Any], LaneValue]) -> LaneValue:
        """`apply(option, its lanes)` for every option, joined lane by lane."""
        result = apply(self.options[0], self.lanes_of(0))
        for at, option in enumerate(self.options[1:], 1):
            lanes = self.lanes_of(at)
            result = joined(lanes, apply(option, lanes), result)
        return result


def _as_bool(condition: LaneValue) -> LaneValue:
    return condition if isinstance(condition, np.ndarray) else np.bool_(condition)


def like(pattern: tuple[Any, ...], items: Iterable[Any]) -> tuple[Any, ...]:
    """The items as a tuple of the same class: a named tuple keeps its name."""
    if hasattr(pattern, "_fields"):
        return type(pattern)(*items)
    return tuple(items)


def known(value: Any) -> LaneValue:
    """A value that is known while compiling, as kernels see it."""
    if isinstance(value, tuple):
        return like(value, (known(item) for item in value))
    return constant(value)


def joined(mask: Any, new: LaneValue, old: LaneValue) -> LaneValue:
    """`new` where the mask holds, `old` elsewhere, whatever they are."""
    if new is old:
        return new
    if _merge(new, old):
        return chosen(mask, new, old)
    if isinstance(new, Selectable) and isinstance(old, type(new)):
        return new.selected(mask, old)
    if isinstance(new, tuple) and isinstance(old, tuple) and len(new) == len(old):
        return like(new, (joined(mask, a, b) for a, b in zip(new, old, strict=True)))
    if same(new, old):
        return old
    return _mixed(mask, new, old)


def same(one: Any, other: Any) -> bool:
    """True if two objects are one and the same for all lanes."""
    if one is other:
        return True
    if isinstance(one, KernelArray) and isinstance(other, KernelArray):
        return one.store is other.store and bool(np.all(np.equal(one.shape, other.shape)))
    if isinstance(one, (*NUMBERS, Mixed)) or type(one) is not type(other):
        return False
    return isinstance(one, str | enum.Enum | np.dtype | slice) and bool(one == other)


def _mixed(mask: Any, new: LaneValue, old: LaneValue) -> LaneValue:
    options = list(old.options) if isinstance(old, Mixed) else [old]
    places = []
    for option in new.options if isinstance(new, Mixed) else (new,):
        place = next((at for at, o in enumerate(options) if _fits(o, option)), len(options))
        if place == len(options):
            options.append(option)
        elif _merge(option, options[place]):
            options[place] = chosen(mask, option, options[place])
        places.append(np.int8(place))
    new_which = np.array(places, np.int8)[new.which] if isinstance(new, Mixed) else places[0]
    which = np.where(mask, new_which, old.which if isinstance(old, Mixed) else np.int8(0))
    return options[0] if len(options) == 1 else Mixed(tuple(options), which)


def _fits(one: Any, other: Any) -> bool:
    return _merge(one, other) or same(one, other)


def _merge(one: Any, other: Any) -> bool:
    """Whether lanes with one and lanes with the other have one value together."""
    return any(isinstance(one, kind) and isinstance(other, kind) for kind in _MERGING)


_MERGING: tuple[Any, ...] = (NUMBERS, KernelArray)


def unwrapped(value: LaneValue) -> tuple[LaneValue, Any]:
    """(the value without its None, the lanes that have None instead or False)."""
    if value is None:
        return np.int64(0), np.True_
    if isinstance(value, Mixed) and len(value.options) == 2:
        for at, option in enumerate(value.options):
            if option is None:
                return value.options[1 - at], value.lanes_of(at)
    return value, False


def is_same(left: LaneValue, right: LaneValue) -> LaneValue:
    """`left is right`: for numbers, whether type and value are equal."""
    if isinstance(left, Mixed):
        return left.each(lambda option, lanes: is_same(option, right))
    if isinstance(right, Mixed):
        return right.each(lambda option, lanes: is_same(left, option))
    if isinstance(left, NUMBERS) and isinstance(right, NUMBERS):
        return left == right if left.dtype == right.dtype else np.False_
    return np.bool_(same(left, right))


Compute = Callable[[LaneValue, LaneValue], LaneValue]


def of_objects(symbol: str, compute: Compute, left: LaneValue, right: LaneValue) -> LaneValue:
    """An operator on operands of which one is no number; TypeError if it is not defined.

    `compute` is the operator on numbers; it is called for the items of tuples and mixed values.
    """
    for at, side in enumerate((left, right)):
        if isinstance(side, Mixed):
            return _of_mixed(symbol, compute, left, right, at)
        if hasattr(side, "operate"):
            return side.operate(symbol, left, right)
    if isinstance(left, tuple) and isinstance(right, tuple) and symbol in ("==", "!="):
        return _equal_tuples(symbol, compute, left, right)
    if symbol == "*" and isinstance(left, tuple) and isinstance(right, np.integer):
        return left * int(right)
    plain = _plain(left), _plain(right)
    if plain != (left, right) and all(isinstance(side, NUMBERS) for side in plain):
        return compute(*plain)
    arrays = isinstance(left, KernelArray) or isinstance(right, KernelArray)
    if symbol in ("==", "!=") and (left is None or right is None):
        equal = np.bool_(left is right)
        return equal if symbol == "==" else ~equal
    if symbol in ("==", "!=") and not (
        arrays or isinstance(left, NUMBERS) or isinstance(right, NUMBERS)
    ):
        equal = np.bool_(same(left, right) or (_dtypes(left, right) and left == right))
        return equal if symbol == "==" else ~equal
    if symbol in ("==", "!=") and (isinstance(left, str) or isinstance(right, str)):
        return np.bool_(symbol == "!=")  # as Numba: a text and anything else
    if isinstance(left, str) and isinstance(right, str) and symbol in _OF_TEXTS:
        return constant(_OF_TEXTS[symbol](left, right))
    raise TypeError(f"{symbol} of {type(left).__name__} and {type(right).__name__}")


_OF_TEXTS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def _plain(value: Any) -> Any:
    return constant(int(value)) if isinstance(value, int) else value


def _dtypes(left: Any, right: Any) -> bool:
    return any(isinstance(side, np.dtype) for side in (left, right))


def _of_mixed(
    symbol: str, compute: Compute, left: LaneValue, right: LaneValue, at: int
) -> LaneValue:
    side = (left, right)[at]

    def one(option: Any, lanes: Any) -> LaneValue:
        pair = (option, right) if at == 0 else (left, option)
        if all(isinstance(part, NUMBERS) for part in pair):
            return compute(*pair)
        return of_objects(symbol, compute, *pair)

    return side.each(one)


def _equal_tuples(
    symbol: str, compute: Compute, left: tuple[Any, ...], right: tuple[Any, ...]
) -> LaneValue:
    result: LaneValue = np.bool_(len(left) == len(right))
    for one, other in zip(left, right, strict=True) if result else ():
        result = result & equal(one, other)
    return result if symbol == "==" else ~result


def equal(left: LaneValue, right: LaneValue) -> LaneValue:
    """`left == right`, whatever they are; numbers by Numba's rules."""
    return COMPARISONS["=="](left, right)


def contained(item: LaneValue, owner: LaneValue) -> LaneValue:
    """`item in owner`: a tuple, a text, a range."""
    if isinstance(owner, str) and isinstance(item, str):
        return np.bool_(item in owner)
    if hasattr(owner, "contains"):
        return owner.contains(item)
    if not isinstance(owner, tuple):
        raise TypeError(f"`in` a {type(owner).__name__}")
    result: LaneValue = np.False_
    for one in owner:
        result = result | equal(item, one)
    return result


SYMBOLS: dict[type[ast.AST], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%",
    ast.Pow: "**", ast.LShift: "<<", ast.RShift: ">>", ast.BitAnd: "&", ast.BitOr: "|",
    ast.BitXor: "^", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==",
    ast.NotEq: "!=", ast.Is: "is", ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in",
}  # fmt: skip


def _any(symbol: str, compute: Compute) -> Compute:
    def apply(left: LaneValue, right: LaneValue) -> LaneValue:
        try:
            return compute(left, right)
        except (TypeError, AttributeError):
            if isinstance(left, NUMBERS) and isinstance(right, NUMBERS):
                raise
            return of_objects(symbol, apply, left, right)

    return apply


BINARY: dict[str, Compute] = {
    SYMBOLS[kind]: _any(SYMBOLS[kind], compute) for kind, compute in numbers.BINARY.items()
}

COMPARISONS: dict[str, Compute] = {
    **{SYMBOLS[kind]: _any(SYMBOLS[kind], compute) for kind, compute in numbers.COMPARE.items()},
    "is": is_same,
    "is not": lambda left, right: ~is_same(left, right),
    "in": contained,
    "not in": lambda left, right: ~contained(left, right),
}

UNARY: dict[type[ast.unaryop], Any] = dict(numbers.UNARY)
