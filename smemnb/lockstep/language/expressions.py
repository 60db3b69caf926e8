"""Expressions: lane values from names, operators, elements and attributes.

Both sides of `and`, `or` and a conditional expression run only for the lanes that need them, so
a guard such as `i < n and x[i] > 0` protects its access as it does on the device.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

import numpy as np

from ..lanes import NO_LANE, LaneValue, Mask, cast, chosen, constant, split, truth
from ..meanings.intrinsics import COORDINATES
from ..meanings.names import qualified
from ..memory import KernelArray
from ..numbers.operators import BINARY, COMPARE, UNARY, static_power
from .scope import EXPRESSIONS, UNKNOWN, Expression, Frame, Scope


def _constant(scope: Scope, node: ast.Constant) -> Expression:
    value = constant(node.value)
    return lambda frame, mask: value


def _name(scope: Scope, node: ast.Name) -> Expression:
    name = node.id
    if name not in scope.locals:
        return fixed(scope, node, scope.static(node))
    dtype = scope.library.inferred(scope.function, name, node.lineno)

    def read(frame: Frame, mask: Mask) -> LaneValue:
        try:
            return frame.values[name]
        except KeyError:
            scope.refuse(
                node,
                f"{name!r} is read before anything was assigned to it",
                "Assign it before the branch or loop that may be skipped.",
            )

    if dtype is None:
        return read
    return lambda frame, mask: cast(read(frame, mask), dtype)


def fixed(scope: Scope, node: ast.expr, value: Any) -> Expression:
    """The closure of a value that is known while compiling."""
    coordinate = COORDINATES.get(qualified(value))
    if coordinate is not None:
        return lambda frame, mask: coordinate(frame.batch)
    result = constant(value)
    if isinstance(value, np.ndarray):
        scope.refuse(
            node,
            f"{ast.unparse(node)} is a global array, which Numba copies into the kernel",
            "Pass it as an argument.",
        )
    return lambda frame, mask: result


def _attribute(scope: Scope, node: ast.Attribute) -> Expression:
    if qualified(scope.static(node.value)) not in COORDINATES:
        value = scope.static(node)
        if value is not UNKNOWN:
            return fixed(scope, node, value)
    owner, name = scope.expression(node.value), node.attr

    def read(frame: Frame, mask: Mask) -> LaneValue:
        target = owner(frame, mask)
        if isinstance(target, KernelArray) and name in _ARRAY_ATTRIBUTES:
            return _ARRAY_ATTRIBUTES[name](target)
        if isinstance(target, (np.ndarray, np.generic)) and name in ("real", "imag"):
            return getattr(target, name)
        if isinstance(target, tuple) and hasattr(target, "_fields") and name in target._fields:
            return getattr(target, name)
        scope.refuse(
            node,
            f"the engine does not know the attribute {ast.unparse(node)}",
            f"Arrays have {', '.join(sorted(_ARRAY_ATTRIBUTES))}.",
        )

    return read


_ARRAY_ATTRIBUTES: dict[str, Callable[[KernelArray], LaneValue]] = {
    "shape": lambda array: tuple(np.int64(extent) for extent in array.shape),
    "strides": lambda array: tuple(np.int64(s * array.itemsize) for s in array.strides),
    "size": lambda array: np.int64(array.size),
    "ndim": lambda array: np.int64(len(array.shape)),
    "itemsize": lambda array: np.int64(array.itemsize),
    "nbytes": lambda array: np.int64(array.size * array.itemsize),
    "dtype": lambda array: array.dtype,
}


def _tuple(scope: Scope, node: ast.Tuple) -> Expression:
    items = [scope.expression(item) for item in node.elts]
    return lambda frame, mask: tuple(item(frame, mask) for item in items)


def _binary(scope: Scope, node: ast.BinOp) -> Expression:
    left, right, combine = (
        scope.expression(node.left),
        scope.expression(node.right),
        BINARY[type(node.op)],
    )
    exponent = _literal_int(node.right)
    if isinstance(node.op, ast.Pow) and exponent is not None:
        return lambda frame, mask: static_power(left(frame, mask), exponent)
    return lambda frame, mask: combine(left(frame, mask), right(frame, mask))


def _literal_int(node: ast.expr) -> int | None:
    """The value of an integer literal, with its sign; None for anything else."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = _literal_int(node.operand)
        return None if inner is None else -inner
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return node.value
    return None


def _unary(scope: Scope, node: ast.UnaryOp) -> Expression:
    literal = _literal_int(node)
    if literal is not None:
        value = constant(literal)
        return lambda frame, mask: value
    operand, apply = scope.expression(node.operand), UNARY[type(node.op)]
    return lambda frame, mask: apply(operand(frame, mask))


def _compare(scope: Scope, node: ast.Compare) -> Expression:
    for operator in node.ops:
        if type(operator) not in COMPARE:
            word = {ast.Is: "is", ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in"}
            scope.refuse(
                node, f"the engine does not run `{word[type(operator)]}`", "Compare with ==."
            )
    first = scope.expression(node.left)
    rest = [
        (COMPARE[type(operator)], scope.expression(item))
        for operator, item in zip(node.ops, node.comparators, strict=True)
    ]
    if len(rest) == 1:
        compare, second = rest[0]
        return lambda frame, mask: compare(first(frame, mask), second(frame, mask))

    def run(frame: Frame, mask: Mask) -> LaneValue:
        left, result = first(frame, mask), np.True_
        for compare, item in rest:
            yes, _ = split(mask, result)
            if yes is NO_LANE:
                break
            right = item(frame, yes)
            result = result & compare(left, right)
            left = right
        return result

    return run


def _bool_op(scope: Scope, node: ast.BoolOp) -> Expression:
    parts = [scope.expression(value) for value in node.values]
    is_and = isinstance(node.op, ast.And)

    def run(frame: Frame, mask: Mask) -> LaneValue:
        result = parts[0](frame, mask)
        for part in parts[1:]:
            yes, no = split(mask, truth(result))
            undecided = yes if is_and else no
            if undecided is NO_LANE:
                break
            value = part(frame, undecided)
            result = value if undecided is mask else chosen(undecided, value, result)
        return result

    return run


def _conditional(scope: Scope, node: ast.IfExp) -> Expression:
    test, body, orelse = (
        scope.expression(node.test),
        scope.expression(node.body),
        scope.expression(node.orelse),
    )

    def run(frame: Frame, mask: Mask) -> LaneValue:
        condition = truth(test(frame, mask))
        yes, no = split(mask, condition)
        if no is NO_LANE:
            return body(frame, mask)
        if yes is NO_LANE:
            return orelse(frame, mask)
        return chosen(condition, body(frame, yes), orelse(frame, no))

    return run


EXPRESSIONS.update(
    {
        ast.Constant: _constant,
        ast.Name: _name,
        ast.Attribute: _attribute,
        ast.Tuple: _tuple,
        ast.BinOp: _binary,
        ast.UnaryOp: _unary,
        ast.Compare: _compare,
        ast.BoolOp: _bool_op,
        ast.IfExp: _conditional,
    }
)
