"""The types of an expression that the types of its parts do not decide.

`settlement`: both sides of `a if c else b`, `a and b`, `a or b` have one type, whichever of them
the lanes take. `widened`: a result that Numba stores in a type of its own. `split_return` and
`stays_apart` are for the other case: where little is left to do behind a conditional expression
(its value is returned, or stored by the last statement), CPython compiles that little once for each
side, and so each side keeps its own type up to the end. How much is little differs between its
versions, so the function's bytecode is asked: what was compiled twice is there twice.
"""

from __future__ import annotations

import ast
import copy
import dis
import functools
from collections import Counter
from collections.abc import Callable, Iterator
from types import CodeType
from typing import TYPE_CHECKING, Any

import numpy as np

from ..lanes import LaneValue, Mask, cast
from .mixed import NUMBERS, Mixed
from .pruning import Place, place_of

if TYPE_CHECKING:
    from .scope import Expression, Frame, Scope


def settlement(scope: Scope, node: ast.expr) -> Callable[[LaneValue], LaneValue]:
    """The cast to the type that both sides are joined in, though all lanes may take one."""
    own = scope.outer is None
    dtype = scope.library.merged(scope.function, _sides(node)) if own else None
    if dtype is None:
        return lambda value: value

    def settle(value: LaneValue) -> LaneValue:
        if isinstance(value, NUMBERS) and value.dtype != dtype:
            return cast(value, dtype)
        return value

    return settle


def _sides(node: ast.expr) -> list[Place]:
    """The places of the expressions of which one becomes the value."""
    if isinstance(node, ast.IfExp):
        return _sides(node.body) + _sides(node.orelse)
    if isinstance(node, ast.BoolOp):
        return [place for value in node.values for place in _sides(value)]
    return [place_of(node)]


def wide_dtype(scope: Scope, node: ast.expr | ast.stmt) -> np.dtype[Any] | None:
    """The dtype in which the result of this node is stored, None if its operands decide it."""
    return scope.library.widened(scope.function, place_of(node)) if scope.outer is None else None


def widened(build: Callable[[Scope, Any], Expression]) -> Callable[[Scope, Any], Expression]:
    """The same expressions, with results cast where Numba stores them in another type."""

    def built(scope: Scope, node: ast.expr) -> Expression:
        closure, dtype = build(scope, node), wide_dtype(scope, node)
        if dtype is None:
            return closure

        def run(frame: Frame, mask: Mask) -> LaneValue:
            value = closure(frame, mask)
            return cast(value, dtype) if isinstance(value, NUMBERS) else value

        return run

    return built


# --- conditional expressions whose sides are not joined ------------------------------------------


@functools.lru_cache(maxsize=512)
def _repeated(code: CodeType) -> frozenset[Place]:
    """The places of instructions that stand in a function more than once."""
    count: Counter[tuple[str, Any]] = Counter()
    for step in dis.get_instructions(code):
        place = tuple(step.positions) if step.positions else (None,)
        if None not in place and not step.opname.startswith("LOAD"):
            count[step.opname, place] += 1
    return frozenset(place for (_, place), times in count.items() if times > 1)


class Apart(Mixed):
    """Numbers of different types that nothing joins."""

    __slots__ = ()


def stays_apart(scope: Scope, value: ast.expr, target: ast.expr) -> list[ast.IfExp]:
    """The parts of `cell = a if c else b` whose sides are stored by a store of their own each."""
    if not isinstance(value, ast.IfExp) or scope.outer is not None:
        return []
    if not isinstance(target, ast.Subscript | ast.Attribute):
        return []
    if place_of(target) not in _repeated(scope.function.__code__):
        return []
    return list(_choices(value))


def _choices(node: ast.expr) -> Iterator[ast.IfExp]:
    if isinstance(node, ast.IfExp):
        yield node
        yield from _choices(node.body)
        yield from _choices(node.orelse)


def apart(condition: Any, yes: LaneValue, no: LaneValue) -> LaneValue | None:
    """Two numbers of different types that are not joined; None where they are to be."""
    options = [side.options if isinstance(side, Mixed) else (side,) for side in (no, yes)]
    every = (*options[0], *options[1])
    if not all(isinstance(option, NUMBERS) for option in every):
        return None
    if len({option.dtype for option in every}) == 1:
        return None
    first, second = (side.which if isinstance(side, Mixed) else np.int8(0) for side in (no, yes))
    return Apart(every, np.where(condition, second + len(options[0]), first))


def for_cell(value: LaneValue, dtype: np.dtype[Any]) -> LaneValue:
    """What a cell of this dtype gets of numbers that were not joined."""
    if isinstance(value, Apart):
        return value.each(lambda option, lanes: cast(option, dtype))
    return value


class Side(ast.expr):
    """A side put in the place of its conditional expression; CPython folds no operator on it."""

    _fields = ("value",)
    value: ast.expr


def split_return(scope: Scope, node: ast.Return) -> ast.If | None:
    """`if c: return f(a)`, else `return f(b)`, for a `return f(a if c else b)` compiled so."""
    if scope.outer is not None or node.value is None:
        return None
    if not any(isinstance(part, ast.IfExp) for part in ast.walk(node.value)):
        return None
    path = _to_apart(node, _repeated(scope.function.__code__))
    if path is None:
        return None
    choice = path[-1]
    sides = [_with_side(path, _kept(side)) for side in (choice.body, choice.orelse)]
    split = ast.If(choice.test, [sides[0]], [sides[1]])
    return ast.copy_location(split, node)


def _kept(side: ast.expr) -> ast.expr:
    if isinstance(side, ast.IfExp):  # which is split in its turn
        return side
    kept = ast.copy_location(Side(), side)
    kept.value = side
    return kept


def _to_apart(node: Any, repeated: frozenset[Place]) -> list[Any] | None:
    """The nodes from a statement down to a conditional expression that nothing joins behind it."""
    if isinstance(node, ast.IfExp):
        return [node]
    followed = (ast.Return, ast.BinOp, ast.UnaryOp, ast.Compare, ast.Call)
    if isinstance(node, followed) and place_of(node) in repeated:
        for child in ast.iter_child_nodes(node):
            path = _to_apart(child, repeated)
            if path is not None:
                return [node, *path]
    return None


def _with_side(path: list[Any], side: ast.expr) -> Any:
    """The first node of a path with this side in the place of its last one."""
    new: Any = side
    for owner, child in zip(path[-2::-1], path[:0:-1], strict=True):
        made = copy.copy(owner)
        for name, value in ast.iter_fields(owner):
            if value is child:
                setattr(made, name, new)
            elif isinstance(value, list) and child in value:
                setattr(made, name, [new if item is child else item for item in value])
        new = made
    return new
