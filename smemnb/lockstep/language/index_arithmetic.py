"""Arithmetic that feeds an index, watched for values that do not fit their type.

While a watched kernel is compiled, the expressions that an index is made of are marked: its own
operators and casts, and those of the variables it names. Only additions, subtractions, products,
left shifts and integer casts are followed; behind `%`, `//`, `&`, `^`, `|` or `>>` a wrapped value
is meant (hashes, random numbers), and so it is in a variable that is assigned again and mixes bits.
A name used for something else further down is another variable. An unwatched kernel is compiled
without any of this.

Numba computes int32 and uint32 in 64 bits, so what wraps is a product of large 64-bit numbers, or
a cast to a narrower type. **Limits**: an unsigned number below zero is not reported here (its
access is out of range); nor is what a store to a narrower array cuts off.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..lanes import LaneValue, Mask, cast
from ..numbers.operators import BINARY
from ..watch import Overflow, Site
from . import calls, expressions
from .calls import as_dtype
from .joined_types import widened
from .scope import UNKNOWN, Expression, Frame, Scope

_FOLLOWED = (ast.Add, ast.Sub, ast.Mult, ast.LShift)
_CHECKED = (ast.Mult, ast.LShift)  # sums leave 64 bits only after one of these did
_Loops = dict[ast.AST, tuple[ast.AST, ...]]
_plain_binary, _plain_call = widened(expressions.binary), widened(calls.call)


def index_nodes(scope: Scope) -> frozenset[ast.AST]:
    """The operators and casts of a function that an index is made of."""
    known = scope.library.index_nodes
    if scope.tree not in known:
        known[scope.tree] = frozenset(_collected(scope))
    return known[scope.tree]


def _collected(scope: Scope) -> set[ast.AST]:
    made: dict[str, list[tuple[ast.expr, ast.stmt]]] = {}
    for name, value, statement in _assigned(scope.tree):
        made.setdefault(name, []).append((value, statement))
    loops = _loops(scope.tree)
    waiting, seen, found = list(_indices(scope.tree)), set[ast.AST](), set[ast.AST]()
    while waiting:
        node = waiting.pop()
        if node in seen:
            continue
        seen.add(node)
        if isinstance(node, ast.Name):
            values = made.get(node.id, [])
            if len(values) < 2 or not any(_mixes(value) for value, _ in values):
                waiting += [value for value, where in values if _reaches(where, node, loops)]
        elif isinstance(node, ast.BinOp) and isinstance(node.op, _FOLLOWED):
            found.add(node)
            waiting += [node.left, node.right]
        elif isinstance(node, ast.Call) and _is_cast(scope, node):
            found.add(node)
            waiting += node.args
        elif isinstance(node, ast.Tuple | ast.UnaryOp):
            waiting += node.elts if isinstance(node, ast.Tuple) else [node.operand]
        elif isinstance(node, ast.IfExp):
            waiting += [node.body, node.orelse]
    return found


def _reaches(where: ast.stmt, use: ast.Name, loops: _Loops) -> bool:
    """Whether what a statement assigns to a name may be what a use of it finds: it comes before it.

    In a loop around both, what is below comes round; a loop over the name itself gives it anew.
    """
    around, around_use = loops[where], loops[use]
    for loop in reversed(around_use):
        if isinstance(loop, ast.For) and _binds(loop, use.id):
            return loop in around
    before = (where.lineno, where.col_offset) < (use.lineno, use.col_offset)
    return before or any(loop in around for loop in around_use)


def _binds(loop: ast.For, name: str) -> bool:
    return any(isinstance(one, ast.Name) and one.id == name for one in ast.walk(loop.target))


def _loops(tree: ast.AST) -> _Loops:
    """The loops around each statement and expression, from the outside in."""
    found: _Loops = {}

    def visit(node: ast.AST, around: tuple[ast.AST, ...]) -> None:
        found[node] = around
        within = (*around, node) if isinstance(node, ast.For | ast.While) else around
        for child in ast.iter_child_nodes(node):
            visit(child, within)

    visit(tree, ())
    return found


def _is_cast(scope: Scope, node: ast.Call) -> bool:
    """Whether a call is a cast to an integer."""
    if len(node.args) != 1 or node.keywords:
        return False
    target = scope.static(node.func)
    dtype = None if target is UNKNOWN else as_dtype(target)
    return dtype is not None and dtype.kind in "iu"


def _mixes(value: ast.expr) -> bool:
    """Whether an expression mixes bits, as hashes do: such a variable is meant to wrap."""
    mixing = ast.Mod | ast.BitAnd | ast.BitOr | ast.BitXor | ast.RShift
    return any(isinstance(n, ast.BinOp) and isinstance(n.op, mixing) for n in ast.walk(value))


def _indices(tree: ast.AST) -> Iterator[ast.expr]:
    """The index of every subscript and atomic."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript):
            yield node.slice
        elif isinstance(node, ast.Call) and ".atomic." in ast.unparse(node.func):
            yield from node.args[1:2]


def _assigned(tree: ast.AST) -> Iterator[tuple[str, ast.expr, ast.stmt]]:
    """Names and the expressions assigned to them, tuple by tuple where both sides are written."""
    for node in ast.walk(tree):
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            plain = isinstance(node.op, _FOLLOWED)
            yield node.target.id, node.value if plain else _as_binary(node), node
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    yield target.id, node.value, node
                elif isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                    for one, value in zip(target.elts, node.value.elts, strict=False):
                        if isinstance(one, ast.Name):
                            yield one.id, value, node


def _as_binary(node: ast.AugAssign) -> ast.BinOp:
    """`h ^= x` as `h ^ x`."""
    return ast.BinOp(ast.Name(ast.unparse(node.target), ast.Load()), node.op, node.value)


def _watched(scope: Scope, node: ast.expr) -> bool:
    return scope.library.watched and node in index_nodes(scope)


def binary(scope: Scope, node: ast.BinOp) -> Expression:
    """The closure of an operator between two values, watched where an index is made of it."""
    if not isinstance(node.op, _CHECKED) or not _watched(scope, node):
        return _plain_binary(scope, node)
    left, right = scope.expression(node.left), scope.expression(node.right)
    combine, site = BINARY[type(node.op)], scope.site(node, "index")
    shift = isinstance(node.op, ast.LShift)

    def run(frame: Frame, mask: Mask) -> LaneValue:
        a, b = left(frame, mask), right(frame, mask)
        result = combine(a, b)
        if getattr(result, "dtype", np.dtype("f8")).kind in "iu" and not _fits(a, b, shift=shift):
            _report_product(frame, mask, site, (a, b), result, shift=shift)
        return result

    return run


def _fits(a: LaneValue, b: LaneValue, *, shift: bool) -> bool:
    """Whether the operands are so short that their product surely fits into 64 bits."""
    return not shift and _bits(a) + _bits(b) < 64


def _bits(value: LaneValue) -> int:
    if isinstance(value, np.ndarray):
        return 8 * value.itemsize
    return int(value).bit_length()


def _report_product(
    frame: Frame,
    mask: Mask,
    site: Site,
    operands: tuple[Any, Any],
    result: LaneValue,
    *,
    shift: bool,
) -> None:
    a, b = (np.asarray(value) for value in operands)
    true = np.multiply(a, np.exp2(b) if shift else b, dtype=np.float64)
    wrong = np.abs(true - np.asarray(result, np.float64)) > 2.0**62
    _report(frame, mask, site, wrong, true, result)


def call(scope: Scope, node: ast.Call) -> Expression:
    """The closure of a call; a cast of an index is watched."""
    if not _watched(scope, node):
        return _plain_call(scope, node)
    dtype = as_dtype(scope.static(node.func))
    assert dtype is not None  # it was marked as a cast
    value, site = scope.expression(node.args[0]), scope.site(node, "index")

    def run(frame: Frame, mask: Mask) -> LaneValue:
        wide = value(frame, mask)
        result = cast(wide, dtype)
        if getattr(wide, "dtype", dtype).kind in "iu" and _may_be_cut(wide, dtype):
            wrong = np.not_equal(result, wide)
            if dtype.kind == "u":
                wrong = wrong & np.greater_equal(wide, 0)
            _report(frame, mask, site, wrong, wide, result)
        return result

    return run


def _may_be_cut(wide: LaneValue, dtype: np.dtype[Any]) -> bool:
    narrower: bool = wide.dtype.itemsize > dtype.itemsize
    return narrower or (wide.dtype.itemsize == dtype.itemsize and wide.dtype.kind == "u")


def _report(
    frame: Frame, mask: Mask, site: Site, wrong: Any, wide: LaneValue, result: LaneValue
) -> None:
    lanes = mask & wrong
    if frame.batch.watched and lanes.any():
        frame.batch.report_overflow(Overflow(site, wide, result, lanes))
