"""Variables that a thread may read before it has assigned anything to them.

`unsure_reads(tree)` follows a function from its first statement to its last and keeps the names
that have a value on every way to a place; a read of any other local name is unsure. Only variables
with such a read are followed while the kernel runs (`Frame.assigned`), so that the others cost
nothing. A loop may go round no times, unless it is a `range` of constants with a first round.

A GPU goes on with whatever the register holds; here it is `memory.poison`, which shows.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

Names = frozenset[str]
Read = tuple[str, int, int]
"""A name, and the line and column where it is read."""

Static = Callable[[ast.expr], Any]
"""What an expression stands for while compiling."""


class _Loop(NamedTuple):
    """What is assigned where a loop is left by `break`, and where a round ends by `continue`."""

    broken: list[Names]
    skipped: list[Names]


def read_of(node: ast.Name) -> Read:
    """The key of a read."""
    return node.id, node.lineno, node.col_offset


def unsure_reads(tree: ast.FunctionDef, names: Iterable[str], static: Static) -> frozenset[Read]:
    """The reads of these local names at which some thread may have assigned nothing to them."""
    arguments = tree.args
    given = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    given += [one for one in (arguments.vararg, arguments.kwarg) if one is not None]
    flow = _Flow(frozenset(names), static)
    flow.block(tree.body, frozenset(one.arg for one in given))
    return frozenset(flow.unsure)


class _Flow:
    """A state is the set of names that are assigned for certain; None where nothing gets to."""

    def __init__(self, names: Names, static: Static) -> None:
        self.names, self.static = names, static
        self.unsure: set[Read] = set()
        self.loops: list[_Loop] = []

    # --- statements ---------------------------------------------------------------------------

    def block(self, nodes: Sequence[ast.stmt], state: Names | None) -> Names | None:
        for node in nodes:
            if state is None:
                return None
            state = self.statement(node, state)
        return state

    def statement(self, node: ast.stmt, state: Names) -> Names | None:
        if isinstance(node, ast.If):
            state = self.expression(node.test, state)
            return _met([self.block(node.body, state), self.block(node.orelse, state)])
        if isinstance(node, ast.While):
            return self._while(node, state)
        if isinstance(node, ast.For):
            return self._for(node, state)
        if isinstance(node, ast.Match):
            return self._match(node, state)
        if isinstance(node, ast.Break):
            self.loops[-1].broken.append(state)
            return None
        if isinstance(node, ast.Continue):
            self.loops[-1].skipped.append(state)
            return None
        if isinstance(node, ast.Return | ast.Raise):
            self._parts(node, state)
            return None
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            self._read(node.target, state)
            return self.expression(node.value, state) | {node.target.id}
        if isinstance(node, ast.FunctionDef):
            for default in node.args.defaults:
                state = self.expression(default, state)
            return state | {node.name}
        if isinstance(node, ast.Assign | ast.AnnAssign):
            if node.value is None:
                return state
            state = self.expression(node.value, state)
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                state = self.expression(target, state)
            return state
        return self._parts(node, state)

    def _while(self, node: ast.While, state: Names) -> Names | None:
        state = self.expression(node.test, state)
        loop = self._round(node.body, state)
        endless = isinstance(node.test, ast.Constant) and bool(node.test.value)
        done = None if endless else self.block(node.orelse, state)
        return _met([done, *loop.broken])

    def _for(self, node: ast.For, state: Names) -> Names | None:
        state = self.expression(node.iter, state)
        loop = self._round(node.body, self.expression(node.target, state))
        ends = _met(loop.skipped) if self._goes_round(node.iter) else state
        done = None if ends is None else self.block(node.orelse, ends)
        return _met([done, *loop.broken])

    def _round(self, body: Sequence[ast.stmt], state: Names) -> _Loop:
        """One round of a loop; its end counts as skipped."""
        self.loops.append(_Loop([], []))
        end = self.block(body, state)
        loop = self.loops.pop()
        if end is not None:
            loop.skipped.append(end)
        return loop

    def _goes_round(self, node: ast.expr) -> bool:
        """Whether a loop over this has a first round for certain: range(4), (a, b)."""
        if isinstance(node, ast.Tuple | ast.List):
            return any(not isinstance(item, ast.Starred) for item in node.elts)
        if not isinstance(node, ast.Call) or self.static(node.func) is not builtins.range:
            return False
        bounds = [_number(one, self.static) for one in node.args]
        return bool(bounds) and None not in bounds and _is_filled(bounds)

    def _match(self, node: ast.Match, state: Names) -> Names | None:
        state = self.expression(node.subject, state)
        ends: list[Names | None] = []
        for case in node.cases:
            inside = state | {
                part.name
                for part in ast.walk(case.pattern)
                if isinstance(part, ast.MatchAs) and part.name
            }
            if case.guard is not None:
                inside = self.expression(case.guard, inside)
            ends.append(self.block(case.body, inside))
        last = node.cases[-1]
        whole = isinstance(last.pattern, ast.MatchAs) and last.pattern.pattern is None
        return _met(ends if whole and last.guard is None else [*ends, state])

    # --- expressions --------------------------------------------------------------------------

    def expression(self, node: ast.expr, state: Names) -> Names:
        """The names assigned behind an expression, whichever parts of it a thread skips."""
        if isinstance(node, ast.Name):
            if isinstance(node.ctx, ast.Load):
                self._read(node, state)
                return state
            return state | {node.id}
        if isinstance(node, ast.BoolOp):
            first = inner = self.expression(node.values[0], state)
            for value in node.values[1:]:
                inner = self.expression(value, inner)
            return first
        if isinstance(node, ast.IfExp):
            state = self.expression(node.test, state)
            return self.expression(node.body, state) & self.expression(node.orelse, state)
        if isinstance(node, ast.NamedExpr):
            return self.expression(node.value, state) | {node.target.id}
        if isinstance(node, ast.Lambda):
            for default in node.args.defaults:
                state = self.expression(default, state)
            return state
        return self._parts(node, state)

    def _parts(self, node: ast.AST, state: Names) -> Names:
        for part in ast.iter_child_nodes(node):
            if isinstance(part, ast.expr):
                state = self.expression(part, state)
            else:
                state = self._parts(part, state)
        return state

    def _read(self, node: ast.Name, state: Names) -> None:
        if node.id in self.names and node.id not in state:
            self.unsure.add(read_of(node))


def _met(ends: Sequence[Names | None]) -> Names | None:
    """What is assigned whichever of several ways was taken."""
    taken = [end for end in ends if end is not None]
    return frozenset.intersection(*taken) if taken else None


def _number(node: ast.expr, static: Static) -> int | None:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = _number(node.operand, static)
        return None if inner is None else -inner
    value = node.value if isinstance(node, ast.Constant) else static(node)
    return value if type(value) is int else None


def _is_filled(bounds: Sequence[Any]) -> bool:
    try:
        return len(range(*bounds)) > 0
    except (TypeError, ValueError):  # a wrong number of bounds, a step of 0
        return False
