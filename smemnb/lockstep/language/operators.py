"""Operators of a kernel by their symbol, for numbers and for everything else.

`BINARY`, `COMPARISONS` and `UNARY` are what expressions and the functions of Python's `operator`
use. Numbers take the short way of `numbers/operators.py`; where that is not defined, `mixed.py`
is asked.
"""

from __future__ import annotations

import ast
from typing import Any

from ..lanes import LaneValue
from ..numbers import operators as numbers
from .mixed import NUMBERS, Compute, contained, is_same, of_objects

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
