"""The functions of Python's `operator`: calls of them are compiled as the operator itself."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any

_BINARY: dict[str, type[ast.operator]] = {
    "add": ast.Add, "sub": ast.Sub, "mul": ast.Mult, "truediv": ast.Div, "floordiv": ast.FloorDiv,
    "mod": ast.Mod, "pow": ast.Pow, "lshift": ast.LShift, "rshift": ast.RShift,
    "and_": ast.BitAnd, "or_": ast.BitOr, "xor": ast.BitXor,
}  # fmt: skip
_COMPARE: dict[str, type[ast.cmpop]] = {
    "lt": ast.Lt, "le": ast.LtE, "gt": ast.Gt, "ge": ast.GtE, "eq": ast.Eq, "ne": ast.NotEq,
    "is_": ast.Is, "is_not": ast.IsNot,
}  # fmt: skip
_UNARY: dict[str, type[ast.unaryop]] = {
    "neg": ast.USub, "pos": ast.UAdd, "invert": ast.Invert, "inv": ast.Invert, "not_": ast.Not,
}  # fmt: skip

Build = Callable[[list[ast.expr]], ast.expr]


def _binary(kind: type[ast.operator]) -> Build:
    return lambda values: ast.BinOp(values[0], kind(), values[1])


def _comparison(kind: type[ast.cmpop]) -> Build:
    return lambda values: ast.Compare(values[0], [kind()], [values[1]])


def _unary(kind: type[ast.unaryop]) -> Build:
    return lambda values: ast.UnaryOp(kind(), values[0])


def _table() -> dict[Any, tuple[int, Build]]:
    """Function -> (number of arguments, how to build the operator)."""
    found: dict[Any, tuple[int, Build]] = {}
    for name, kind in _BINARY.items():
        found[getattr(operator, name)] = 2, _binary(kind)
        found[getattr(operator, f"i{name.rstrip('_')}")] = 2, _binary(kind)
    for name, comparison in _COMPARE.items():
        found[getattr(operator, name)] = 2, _comparison(comparison)
    for name, sign in _UNARY.items():
        found[getattr(operator, name)] = 1, _unary(sign)
    found[operator.getitem] = 2, lambda v: ast.Subscript(v[0], v[1], ast.Load())
    found[operator.contains] = 2, lambda v: ast.Compare(v[1], [ast.In()], [v[0]])
    return found


_TABLE = _table()


def as_operator(target: Any, node: ast.Call) -> ast.expr | None:
    """The call of a function of `operator` as the operator, None for any other call."""
    try:
        count, build = _TABLE[target]
    except (KeyError, TypeError):
        return None
    starred = any(isinstance(argument, ast.Starred) for argument in node.args)
    if starred or node.keywords or len(node.args) != count:
        return None
    return ast.fix_missing_locations(ast.copy_location(build(list(node.args)), node))
