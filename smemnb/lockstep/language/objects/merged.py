"""The one type of `a if c else b`, `a and b`, `a or b`, whichever side the lanes take."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING

from ...lanes import LaneValue, cast
from .mixed import NUMBERS

if TYPE_CHECKING:
    from ..scope import Place, Scope


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
    line, column = node.end_lineno or 0, node.end_col_offset or 0
    return [(node.lineno, line, node.col_offset, column)]
