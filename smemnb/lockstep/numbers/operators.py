"""Python's operators on lane values, with the result types that Numba gives them.

`TABLE` of `typing_rules` says per pair of dtypes whether NumPy's own result is right (nearly
always, in a kernel that keeps to one type) or which casts are needed.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ..lanes import LaneValue, cast
from . import datetimes, division, typing_rules
from .powers import divide, multiply, power

Binary = Callable[[LaneValue, LaneValue], LaneValue]
Unary = Callable[[LaneValue], LaneValue]

datetimes.add_to(typing_rules.TABLE, typing_rules.UNARY)


def _binary(
    symbol: str, compute: Callable[..., Any], exact: Callable[..., Any] | None = None
) -> Binary:
    """An operator: `compute` where the table says None, `exact` (or the same) on cast operands."""
    after_casts = exact or compute
    table = typing_rules.TABLE[symbol]

    def apply(left: LaneValue, right: LaneValue) -> LaneValue:
        try:
            rule = table[left.dtype.num][right.dtype.num]
        except AttributeError:  # no numbers: tuples, or nothing that Numba would let pass
            return _of_tuples(symbol, left, right)
        if rule is None:
            return compute(left, right)
        if rule is datetimes.WRAPPING:
            return datetimes.wrapping(compute, left, right)
        if rule is datetimes.IN_FLOAT32:
            return datetimes.in_float32(symbol, left, right)
        operand, result = rule
        return cast(after_casts(cast(left, operand), cast(right, operand)), result)

    return apply


def _unary(symbol: str, compute: Callable[..., Any]) -> Unary:
    row = typing_rules.UNARY[symbol]

    def apply(value: LaneValue) -> LaneValue:
        rule = row[value.dtype.num]
        if rule is None:
            return compute(value)
        operand, result = rule
        return cast(compute(cast(value, operand)), result)

    return apply


BINARY: dict[type[ast.operator], Binary] = {
    ast.Add: _binary("+", np.add),
    ast.Sub: _binary("-", np.subtract),
    ast.Mult: _binary("*", np.multiply, multiply),
    ast.Div: _binary("/", np.true_divide, divide),
    ast.FloorDiv: _binary("//", division.floor_divide),
    ast.Mod: _binary("%", division.remainder),
    ast.Pow: power,
    ast.LShift: _binary("<<", np.left_shift),
    ast.RShift: _binary(">>", np.right_shift),
    ast.BitAnd: _binary("&", np.bitwise_and),
    ast.BitOr: _binary("|", np.bitwise_or),
    ast.BitXor: _binary("^", np.bitwise_xor),
}

COMPARE: dict[type[ast.cmpop], Binary] = {
    ast.Lt: _binary("<", np.less),
    ast.LtE: _binary("<=", np.less_equal),
    ast.Gt: _binary(">", np.greater),
    ast.GtE: _binary(">=", np.greater_equal),
    ast.Eq: _binary("==", np.equal),
    ast.NotEq: _binary("!=", np.not_equal),
}

UNARY: dict[type[ast.unaryop], Unary] = {
    ast.USub: _unary("-", np.negative),
    ast.UAdd: _unary("+", np.positive),
    ast.Invert: _unary("~", np.invert),
    ast.Not: _unary("not", np.logical_not),
}


def _of_tuples(symbol: str, left: LaneValue, right: LaneValue) -> LaneValue:
    """An operator on two tuples: joined by +, compared item by item from the first one on."""
    if not isinstance(left, tuple) or not isinstance(right, tuple):
        raise TypeError(f"{symbol} of {type(left).__name__} and {type(right).__name__}")
    if symbol == "+":
        return left + right
    if symbol in ("==", "!="):
        same = np.bool_(len(left) == len(right))
        for one, other in zip(left, right, strict=False):
            same = same & COMPARE[ast.Eq](one, other)
        return same if symbol == "==" else ~same
    if symbol not in ("<", "<=", ">", ">="):
        raise TypeError(f"{symbol} of two tuples")
    short, long = len(left), len(right)  # where all items are equal, the lengths decide
    ends = {"<": short < long, "<=": short <= long, ">": short > long, ">=": short >= long}
    result: LaneValue = np.bool_(ends[symbol])
    strictly = COMPARE[ast.Lt if symbol[0] == "<" else ast.Gt]
    for one, other in reversed(list(zip(left, right, strict=False))):
        result = strictly(one, other) | (COMPARE[ast.Eq](one, other) & result)
    return result


def static_power(base: LaneValue, exponent: int) -> LaneValue:
    """`base ** exponent` with a literal exponent: that of an int64."""
    return power(base, typing_rules.literal_dtype(exponent).type(exponent))


@functools.cache
def range_dtype(*dtypes: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype of the variable of a loop over a range of these bounds."""
    return typing_rules.range_dtype(*dtypes)
