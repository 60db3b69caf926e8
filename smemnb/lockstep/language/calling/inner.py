"""Functions defined inside a kernel, and lambdas: Numba dissolves them into their caller.

Such a function sees the variables of the call it was defined in, as they are when it runs.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Any

from ...lanes import NO_LANE, LaneValue, Mask
from ..scope import NOTHING, Expression, Frame, Scope, Statement
from .binding import Parameters


class InnerFunction:
    """A function of this name in the frame where it was defined."""

    def __init__(self, body: _Inner, frame: Frame, defaults: Mapping[str, LaneValue]) -> None:
        self.body, self.frame, self.defaults = body, frame, defaults

    def run(
        self,
        caller: Frame,
        mask: Mask,
        arguments: Sequence[LaneValue],
        named: Mapping[str, LaneValue],
    ) -> LaneValue:
        """The result for the lanes of the mask."""
        body = self.body
        frame = Frame(caller.batch, mask, outer=self.frame)
        parameters = Parameters(body.name, body.scope.parameters, body.scope.rest, self.defaults)
        frame.values.update(parameters.bound(arguments, named))
        body.block(frame, mask)
        if frame.raised is not NO_LANE:
            caller.end(frame.raised)
        return None if frame.result is NOTHING else frame.result


class _Inner:
    """What is compiled once of an inner function."""

    def __init__(self, scope: Scope, tree: ast.FunctionDef) -> None:
        self.name = tree.name
        self.scope = Scope(scope.function, scope.library, tree, scope)
        self.block = self.scope.block(tree.body)
        names, given = self.scope.parameters, tree.args.defaults
        first = len(names) - len(given)
        self.defaults = [
            (name, scope.expression(node)) for name, node in zip(names[first:], given, strict=True)
        ]

    def made(self, frame: Frame, mask: Mask) -> InnerFunction:
        """The function as it is defined at this moment."""
        return InnerFunction(self, frame, {n: value(frame, mask) for n, value in self.defaults})


def define(scope: Scope, node: ast.FunctionDef) -> Statement:
    """The closure of a `def` inside the kernel."""
    if node.decorator_list:
        scope.refuse(
            node,
            f"the function {node.name} inside the kernel is decorated",
            "Define it outside the kernel, or leave the decorator out.",
        )
    inner, name = _Inner(scope, node), node.name

    def run(frame: Frame, mask: Mask) -> Mask:
        frame.values[name] = inner.made(frame, mask)
        frame.mark(name, mask)
        return mask

    return run


def lambda_function(scope: Scope, node: ast.Lambda) -> Expression:
    """The closure of a lambda."""
    body: list[Any] = [ast.copy_location(ast.Return(node.body), node.body)]
    tree = ast.copy_location(ast.FunctionDef("<lambda>", node.args, body, []), node)
    inner = _Inner(scope, ast.fix_missing_locations(tree))
    return inner.made
