"""Operators between constants, of a bounded size: nothing like `9**9**9` is ever computed."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from typing import Any

MAX_BITS, MAX_LENGTH = 4096, 4096
"""Of an integer on the way to a constant, and of a tuple or a text."""

_BINARY: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
    ast.BitAnd: operator.and_,
}


class TooLarge(Exception):
    """The result of an operator would be larger than a constant may be."""


def bounded(kind: type[ast.operator], left: Any, right: Any) -> Any:
    """What an operator makes of two numbers, or of tuples and texts with + and *.

    >>> bounded(ast.LShift, 1, 10)
    1024

    Raises:
        TooLarge: the result would be.
        TypeError: it is none of these, or an error of the operator's own.
    """
    if isinstance(left, int) and isinstance(right, int):
        _check_bits(kind, int(left), int(right))
    elif isinstance(left, tuple | str) or isinstance(right, tuple | str):
        _check_length(kind, left, right)
    return _BINARY[kind](left, right)


def _check_bits(kind: type[ast.operator], left: int, right: int) -> None:
    bits = max(left.bit_length(), right.bit_length())
    if kind is ast.Pow:
        bits = left.bit_length() * max(right, 0)
    elif kind is ast.LShift:
        bits = left.bit_length() + max(right, 0)
    elif kind is ast.Mult:
        bits = left.bit_length() + right.bit_length()
    if bits > MAX_BITS:
        raise TooLarge(f"is a number of more than {MAX_BITS} bits")


def _check_length(kind: type[ast.operator], left: Any, right: Any) -> None:
    sides = [side for side in (left, right) if isinstance(side, tuple | str)]
    if kind is ast.Add and len(sides) == 2:
        length = len(left) + len(right)
    elif kind is ast.Mult and len(sides) == 1:
        times = right if sides[0] is left else left
        length = len(sides[0]) * max(int(times), 0)
    else:
        raise TypeError("a tuple or a text is added to another one, or multiplied by an integer")
    if length > MAX_LENGTH:
        raise TooLarge(f"is {length} items long")
