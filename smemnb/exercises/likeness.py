"""How like the solution a submission is: a number to look at, never a grade.

Both kernels become one list of tokens, in the order of their statements, from which goes what
copies are usually given anew: names, docstrings, comments, types of annotations, the spelling of
constants (`TILE`, 32 and 4 * 8 are one), `x += y` for `x = x + y`, several assignments in one line,
`a > b` for `b < a`, and functions that the kernel calls stand where it calls them first. Likeness
is the share of tokens in common runs of at least `RUN` tokens.

It is only given where an exercise begins from an empty signature and takes more than a few lines:
what is to be put into three lines of a stub has one honest answer, and says nothing of its source.

**Limits**: statements in another order are taken for other statements; an answer that was written
anew from the solution's idea is as good as one's own.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Iterator, Mapping, Set
from difflib import SequenceMatcher
from typing import Any

from .exercise import Exercise
from .source import function_of, source_of
from .variants import holes_of

RUN = 8
"""Tokens; shorter runs (an index, a guard) are common to all kernels."""
LONG = 8
"""Lines of a solution below which every right answer looks alike."""

_FOLDED: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_MIRRORED: Mapping[type[ast.cmpop], type[ast.cmpop]] = {ast.Gt: ast.Lt, ast.GtE: ast.LtE}
_MOST = 2**63


def likeness(exercise: Exercise, source: str) -> float | None:
    """How like the solution a submission is, from 0 to 1.

    None where the exercise does not begin from an empty signature, or no kernel is in the source.

    Args:
        exercise: what it is an answer to.
        source: the text of the kernel, and before it the constants and functions that it uses,
            if these are to be looked through.
    """
    if not from_nothing(exercise):
        return None
    known = _numbers(exercise.solution)
    whole = "\n\n".join(source_of(one) or "" for one in (*exercise.written, exercise.solution))
    theirs, ours = _tokens(source, known), _tokens(whole, known)
    if not theirs or not ours:
        return None
    blocks = SequenceMatcher(None, ours, theirs, autojunk=False).get_matching_blocks()
    common = sum(block.size for block in blocks if block.size >= RUN)
    return round(2 * common / (len(ours) + len(theirs)), 3)


def from_nothing(exercise: Exercise) -> bool:
    """Whether learners write the whole body of a kernel, of more than a few lines."""
    stub = ast.parse(exercise.stub).body[0]
    given = [] if not isinstance(stub, ast.FunctionDef) else _without_docstring(stub.body)
    lines = sum(size for size, _ in holes_of(exercise.solution))
    return all(isinstance(one, ast.Pass) for one in given) and lines >= LONG


def _numbers(kernel: Any) -> dict[str, ast.expr]:
    """The whole numbers that a kernel's file knows by name."""
    function = function_of(kernel)
    known = {} if function is None else function.__globals__
    return {name: ast.Constant(value) for name, value in known.items() if type(value) is int}


def _tokens(source: str, known: Mapping[str, ast.expr]) -> list[str]:
    """The tokens of the last function of a source and of those that it calls; [] if none."""
    try:
        top = ast.parse(source).body
        functions = {node.name: node for node in top if isinstance(node, ast.FunctionDef)}
        if not functions:
            return []
        constants = dict(known)
        for node in top:
            if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
                for target, value in _pairs(node):
                    if isinstance(target, ast.Name):
                        constants[target.id] = _Plain(constants).visit(value)
        kernel = list(functions.values())[-1]
        return list(_of_function(kernel, functions, constants, {kernel.name}))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []


def _of_function(
    node: ast.FunctionDef,
    functions: Mapping[str, ast.FunctionDef],
    constants: Mapping[str, ast.expr],
    met: set[str],
) -> Iterator[str]:
    local = {one.arg for one in node.args.args}
    for part in ast.walk(node):
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
            local.add(part.id)
    plain = _Plain({name: value for name, value in constants.items() if name not in local})
    for statement in _without_docstring(node.body):
        visited = plain.visit(statement)
        for one in visited if isinstance(visited, list) else [visited]:
            if one is None:
                continue
            for token in _walk(one, local):
                called = functions.get(token)
                if called is None:
                    yield token
                elif token not in met:
                    met.add(token)
                    yield from _of_function(called, functions, constants, met)


def _without_docstring(body: list[ast.stmt]) -> list[ast.stmt]:
    first = body[0] if body else None
    said = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    return body[1:] if said else body


def _walk(node: ast.AST, local: Set[str]) -> Iterator[str]:
    """The tokens of a plain tree, each node before its parts."""
    if isinstance(node, ast.Name):
        yield "<name>" if node.id in local else node.id
    elif isinstance(node, ast.Constant):
        yield repr(node.value)
    elif isinstance(node, ast.Attribute):
        if not isinstance(node.value, ast.Name) or node.value.id in local:
            yield from _walk(node.value, local)  # of a module only what it is asked for
        yield f".{node.attr}" if not isinstance(node.value, ast.Name) else node.attr
    else:
        if not isinstance(node, ast.expr_context | ast.Load):
            yield type(node).__name__
        for child in ast.iter_child_nodes(node):
            if not isinstance(child, ast.expr_context):
                yield from _walk(child, local)


def _pairs(node: ast.Assign | ast.AnnAssign) -> list[tuple[ast.expr, ast.expr]]:
    """The targets of an assignment with their values, one by one where both are written so."""
    assert node.value is not None
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    pairs = []
    for target in targets:
        value = node.value
        both = isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple)
        if both and len(target.elts) == len(value.elts):  # type: ignore[attr-defined]
            pairs += list(zip(target.elts, value.elts, strict=True))  # type: ignore[attr-defined]
        else:
            pairs.append((target, value))
    return pairs


class _Plain(ast.NodeTransformer):
    """Takes from a tree what a copy may spell otherwise."""

    def __init__(self, constants: Mapping[str, ast.expr]) -> None:
        self._constants = constants

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """A constant by its value."""
        return self._constants.get(node.id, node) if isinstance(node.ctx, ast.Load) else node

    def visit_Pass(self, node: ast.Pass) -> None:
        """Nothing."""
        return None

    def visit_Assign(self, node: ast.Assign) -> list[ast.stmt]:
        """An assignment for each target."""
        return [
            ast.Assign([self.visit(target)], self.visit(value)) for target, value in _pairs(node)
        ]

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.stmt | None:
        """The same without its type."""
        if node.value is None:
            return None
        return ast.Assign([self.visit(node.target)], self.visit(node.value))

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.stmt:
        """x += y as x = x + y."""
        target = self.visit(node.target)
        return ast.Assign([target], ast.BinOp(target, node.op, self.visit(node.value)))

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        """a > b as b < a."""
        self.generic_visit(node)
        mirrored = _MIRRORED.get(type(node.ops[0])) if len(node.ops) == 1 else None
        if mirrored is None:
            return node
        return ast.Compare(node.comparators[0], [mirrored()], [node.left])

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        """Arithmetic of two numbers as its result."""
        self.generic_visit(node)
        fold = _FOLDED.get(type(node.op))
        left, right = node.left, node.right
        if fold and isinstance(left, ast.Constant) and isinstance(right, ast.Constant):
            try:
                value = fold(left.value, right.value)
            except (TypeError, ArithmeticError):
                return node
            if isinstance(value, int | float) and math.isfinite(value) and abs(value) < _MOST:
                return ast.Constant(value)
        return node
