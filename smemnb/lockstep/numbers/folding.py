"""Operators between literals, computed as CPython does while it compiles.

Numba reads bytecode, and there `2**70 >> 60`, `7 // 2` or `3 ** -1` are already constants, with
Python's numbers and not with 64-bit ones. What CPython folds differs between its versions, so it
is asked: an expression of literals is compiled, and if one constant is left, that is its value.
"""

from __future__ import annotations

import ast
import dis
from collections.abc import Callable
from typing import Any

_QUIET = {"RESUME", "NOP", "CACHE", "LOAD_CONST", "LOAD_SMALL_INT", "RETURN_VALUE", "RETURN_CONST"}


def folded(node: ast.expr) -> Any:
    """The number CPython puts in place of an operator between literals; None where it puts none.

    >>> folded(ast.parse("3 ** -1 * 6", mode="eval").body), folded(ast.parse("x + 1").body[0].value)
    (2.0, None)
    """
    if not _of_literals(node):
        return None
    code = compile(ast.Expression(node), "<constant>", "eval")
    if any(step.opname not in _QUIET for step in dis.get_instructions(code)):
        return None
    value = eval(code, {"__builtins__": {}})
    return value if isinstance(value, bool | int | float | complex) else None


def between_constants(node: ast.expr, value_of: Callable[[ast.expr], Any]) -> Any:
    """What Python makes of an operator between two numbers that are known; None where they are not.

    Numba decides such a test before it types anything: `if N ** -1` holds for the global N = 2.
    `value_of` gives the number that an operand is, or anything else.

    >>> between_constants(ast.parse("N ** -1", mode="eval").body, lambda side: folded(side) or 2)
    0.5
    """
    if not isinstance(node, ast.BinOp):
        return None
    sides = [value_of(side) for side in (node.left, node.right)]
    if not all(isinstance(side, bool | int | float | complex) for side in sides):
        return None
    left, right = (ast.Constant(side) for side in sides)
    whole = ast.Expression(ast.BinOp(left, node.op, right))
    try:
        code = compile(ast.fix_missing_locations(whole), "<constant>", "eval")
        return eval(code, {"__builtins__": {}})
    except (ArithmeticError, TypeError, ValueError):
        return None


def literal_int(node: ast.expr) -> int | None:
    """The value of an integer literal, with its sign; None for anything else."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = literal_int(node.operand)
        return None if inner is None else -inner
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return node.value
    return None


def _of_literals(node: ast.expr) -> bool:
    if isinstance(node, ast.BinOp):
        return _of_literals(node.left) and _of_literals(node.right)
    if isinstance(node, ast.UnaryOp):
        return _of_literals(node.operand)
    if isinstance(node, ast.BoolOp):
        return all(map(_of_literals, node.values))
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float | complex)
