"""Branches that a constant closes: they are taken out before anything inside is looked at.

Numba prunes a branch whose test it knows from the bytecode and the argument types: a global, a
closure variable, `x is None` of an argument that is None, `a.ndim == 2`, `isinstance`. What stands
in such a branch need not exist. Which tests it decided, and how, `Inferred.decided` knows; where
nobody inferred, globals and closure variables are looked at here.

`live(tree, truth)` returns the tree without these branches, and without statements behind a
`return`, `raise`, `break` or `continue`. `a and b` and `a if c else b` lose the parts that are
never evaluated. Functions defined inside are left as they are: they are pruned on their own.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

from ..depth import deep_enough

Place = tuple[int, int, int, int]
"""Line, last line, column, last column of an expression, as in Python's syntax trees."""


def place_of(node: ast.expr | ast.stmt) -> Place:
    """Where a node stands in the source."""
    return node.lineno, node.end_lineno or 0, node.col_offset, node.end_col_offset or 0


class Decided(NamedTuple):
    """What Numba knows of a test: whether it holds, or (`of_none`) whether this is None."""

    holds: bool
    of_none: bool = False


Truth = Callable[[ast.expr], bool | None]
"""Whether an expression is true in every thread; None where only a running kernel knows."""


def as_inferred(decided: Mapping[Place, Decided]) -> Truth:
    """The truth of the tests that Numba decided, by their places."""

    def truth(node: ast.expr) -> bool | None:
        found = decided.get(place_of(node))
        if found is not None and not found.of_none:
            return found.holds
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            found = decided.get(place_of(node.left))
            if found is not None and found.of_none:
                if isinstance(node.ops[0], ast.Is):
                    return found.holds
                if isinstance(node.ops[0], ast.IsNot):
                    return not found.holds
        return None

    return truth


def live(tree: ast.FunctionDef, truth: Truth, names: Collection[str] = ()) -> ast.FunctionDef:
    """The tree of a function without what can never run; the tree itself is changed.

    Of a test that Numba decided by a variable that has one value, the read of these names stays
    as a statement, a `Read`: threads may come there without having assigned it.
    """
    pruner = _Pruner(truth, names)
    with deep_enough():
        tree.body = pruner.block(tree.body)
    return tree


class Read(ast.Expr):
    """A variable of a test that was taken out."""


def without_sure_reads(tree: ast.FunctionDef, unsure: Callable[[ast.Name], bool]) -> None:
    """Make a `pass` of every `Read` of what all threads have assigned, a statement of others."""
    _Reads(unsure).visit(tree)


class _Reads(ast.NodeTransformer):
    def __init__(self, unsure: Callable[[ast.Name], bool]) -> None:
        self.unsure = unsure

    def visit_Read(self, node: Read) -> ast.stmt:
        assert isinstance(node.value, ast.Name)
        kept = ast.Expr(node.value) if self.unsure(node.value) else ast.Pass()
        return ast.copy_location(kept, node)


class _Pruner(ast.NodeTransformer):
    def __init__(self, truth: Truth, names: Collection[str]) -> None:
        self.truth, self.names = truth, names

    # --- tests --------------------------------------------------------------------------------

    def _test(self, node: ast.expr) -> ast.expr:
        """A test with what is known put in its place: True, False, or the parts that are left."""
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            inner = self._test(node.operand)
            if _known(inner) is not None:
                return _constant(node, not _known(inner))
            return ast.copy_location(ast.UnaryOp(node.op, inner), node)
        if isinstance(node, ast.BoolOp):
            return self._parts(node)
        if isinstance(node, ast.IfExp):
            test = self._test(node.test)
            if _known(test) is not None:
                return self._test(node.body if _known(test) else node.orelse)
            sides = self._test(node.body), self._test(node.orelse)
            return ast.copy_location(ast.IfExp(test, *sides), node)
        holds = _known(node) if isinstance(node, ast.Constant) else self.truth(node)
        return self.visit(node) if holds is None else _constant(node, holds)

    def _parts(self, node: ast.BoolOp) -> ast.expr:
        """`and` and `or` as a test, up to the part that decides it."""
        closing = isinstance(node.op, ast.Or)
        left: list[ast.expr] = []
        for value in node.values:
            part = self._test(value)
            if _known(part) is None:
                left.append(part)
            elif _known(part) is closing:
                if not left:
                    return part
                left.append(part)
                break
        if len(left) > 1:
            return ast.copy_location(ast.BoolOp(node.op, left), node)
        return left[0] if left else _constant(node, not closing)

    # --- expressions --------------------------------------------------------------------------

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        test = self._test(node.test)
        if _known(test) is not None:
            return self.visit(node.body if _known(test) else node.orelse)  # type: ignore[no-any-return]
        node.test, node.body, node.orelse = test, self.visit(node.body), self.visit(node.orelse)
        return node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        """`and` and `or` as a value: a part that is known and not the last is left out or is it."""
        closing = isinstance(node.op, ast.Or)
        left: list[ast.expr] = []
        for value in node.values[:-1]:
            known = _known(self._test_of(value))
            if known is None:
                left.append(self.visit(value))
            elif known is closing:
                left.append(self.visit(value))
                break
        else:
            left.append(self.visit(node.values[-1]))
        if len(left) == 1:
            return left[0]
        node.values = left
        return node

    def _test_of(self, node: ast.expr) -> ast.expr:
        """What is known of a value as a test; the value itself stays as it is."""
        if isinstance(node, ast.UnaryOp | ast.BoolOp | ast.IfExp):
            return node  # its parts are looked at where it is visited
        holds = _known(node) if isinstance(node, ast.Constant) else self.truth(node)
        return node if holds is None else _constant(node, holds)

    # --- statements ---------------------------------------------------------------------------

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.Lambda:
        return node

    def visit_If(self, node: ast.If) -> Any:
        reads = self._reads(node.test)
        test = self._test(node.test)
        holds = _outcome(test)
        if holds is not None:
            taken = self.block(node.body if holds else node.orelse, empty=True)
            return [*reads, *_evaluated(test), *taken]
        node.test, node.body = test, self.block(node.body)
        node.orelse = self.block(node.orelse, empty=True)
        return node

    def _reads(self, test: ast.expr) -> list[ast.stmt]:
        """The variables that a comparison reads, where it is decided as a whole."""
        if not isinstance(test, ast.Compare) or self.truth(test) is None:
            return []
        read = [test.left, *test.comparators]
        return [
            ast.copy_location(Read(one), one)
            for one in read
            if isinstance(one, ast.Name) and one.id in self.names
        ]

    def visit_While(self, node: ast.While) -> Any:
        node.test = self._test(node.test)
        if _outcome(node.test) is False:
            return [*_evaluated(node.test), *self.block(node.orelse, empty=True)]
        node.body, node.orelse = self.block(node.body), self.block(node.orelse, empty=True)
        return node

    def visit_For(self, node: ast.For) -> ast.For:
        node.target, node.iter = self.visit(node.target), self.visit(node.iter)
        node.body, node.orelse = self.block(node.body), self.block(node.orelse, empty=True)
        return node

    def visit_Match(self, node: ast.Match) -> Any:
        node.subject = self.visit(node.subject)
        cases = []
        for case in node.cases:
            holds = self.truth(case.pattern.value) if _of_value(case) else None  # type: ignore[attr-defined]
            if holds is False:
                continue
            if holds:
                case.pattern = ast.copy_location(ast.MatchAs(), case.pattern)
            if case.guard is not None:
                case.guard = self._test(case.guard)
            case.body = self.block(case.body)
            cases.append(case)
            if holds and case.guard is None:
                break
        node.cases = cases
        return node if cases else ast.copy_location(ast.Expr(node.subject), node)

    def block(self, nodes: Sequence[ast.stmt], *, empty: bool = False) -> list[ast.stmt]:
        """The statements that can run; `pass` where none is left, unless there may be none."""
        left: list[ast.stmt] = []
        for node in nodes:
            found = self.visit(node)
            left += found if isinstance(found, list) else [found]
            if left and _leaves(left[-1]):
                break
        if not left and not empty:
            left.append(ast.copy_location(ast.Pass(), nodes[0]))
        return left


def _known(node: ast.expr) -> bool | None:
    return bool(node.value) if isinstance(node, ast.Constant) else None


def _outcome(node: ast.expr) -> bool | None:
    """What a test comes to, whatever its unknown parts are; None where they decide it."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        inner = _outcome(node.operand)
        return None if inner is None else not inner
    if isinstance(node, ast.BoolOp):
        closing = isinstance(node.op, ast.Or)
        parts = [_outcome(value) for value in node.values]
        if closing in parts:
            return closing
        return None if None in parts else not closing
    return _known(node)


def _evaluated(test: ast.expr) -> list[ast.stmt]:
    """What is left of a test whose outcome is known: parts of it may load, call or raise."""
    if isinstance(test, ast.Constant):
        return []
    nothing = ast.copy_location(ast.Pass(), test)
    return [ast.copy_location(ast.If(test, [nothing], []), test)]


def _constant(node: ast.expr, holds: Any) -> ast.expr:
    return ast.copy_location(ast.Constant(holds), node)


def _of_value(case: ast.match_case) -> bool:
    return isinstance(case.pattern, ast.MatchValue)


def _leaves(node: ast.stmt) -> bool:
    """Whether nothing behind a statement in its block can run."""
    if isinstance(node, ast.Return | ast.Raise | ast.Break | ast.Continue):
        return True
    if isinstance(node, ast.If):
        ends = [block and _leaves(block[-1]) for block in (node.body, node.orelse)]
        return all(ends)
    if isinstance(node, ast.While) and _known(node.test):
        return not _breaks(node.body)
    return False


def _breaks(nodes: Sequence[ast.AST]) -> bool:
    """Whether a `break` of this loop stands among these statements."""
    for node in nodes:
        if isinstance(node, ast.Break):
            return True
        if isinstance(node, ast.For | ast.While):
            if _breaks(node.orelse):
                return True
        elif not isinstance(node, ast.FunctionDef | ast.Lambda):
            if _breaks(list(ast.iter_child_nodes(node))):
                return True
    return False
