"""Exceptions of a kernel: `raise`, `assert`, and what Numba raises by itself.

A thread that raises ends: it leaves its function and every function around it, and nothing it
would have done after that happens. Only in a kernel with debug=True does the launch raise the
exception; its text then begins with the thread and block, as Numba writes it.
"""

from __future__ import annotations

import ast
from typing import Any

import numpy as np

from ..lanes import NO_LANE, LaneValue, Mask, split, spread, truth
from ..watch import Ended
from .mixed import unwrapped
from .scope import UNKNOWN, Frame, Scope, Statement


class Raised:
    """The first exception of a launch, by number of thread: its class, texts, place, thread."""

    def __init__(
        self, kind: type[BaseException], texts: tuple[Any, ...], place: str, frame: Frame, mask: Any
    ) -> None:
        batch = frame.batch
        number = int(np.flatnonzero(spread(mask, batch.shape))[0])
        blocks, warps, lanes = np.unravel_index(number, batch.shape)
        thread = batch.launch.thread_of(int(warps), int(lanes))
        block = batch.launch.block_of(batch.first + int(blocks))
        self.number = number
        where = f"{place}tid={list(thread[::-1])} ctaid={list(block[::-1])}"
        first = (f"{where}: {texts[0]}",) if texts else (where,)
        self.error = kind(*first, *texts[1:])


def raise_in(
    scope: Scope,
    node: ast.AST,
    frame: Frame,
    mask: Mask,
    kind: type[BaseException],
    *texts: Any,
) -> None:
    """The lanes of the mask raise an exception here."""
    if mask is NO_LANE:
        return
    if scope.library.debug:
        line = getattr(node, "lineno", 0)
        place = f"In function {scope.tree.name!r}, file {scope.file}, line {line}, "
        scope.library.note(Raised(kind, texts, place, frame, mask))
    if frame.batch.watched:
        said = str(texts[0]) if texts else ""
        site = scope.ends.setdefault(node, scope.site(node, "raise"))
        frame.batch.report_ended(Ended(site, kind.__name__, said, mask))
    frame.end(mask)


def number(scope: Scope, node: ast.AST, frame: Frame, mask: Mask, value: LaneValue) -> LaneValue:
    """An optional value without its None; lanes that have None instead raise, as in Numba.

    Where Numba knows of no optional value, None in a number's place is a fault of the engine, and
    refused: no lane ends without a reason that Numba has.
    """
    never = value is None and not scope.library.optional(scope.function)
    if never and frame.rest(mask).any():  # a call in which all lanes raised gives None
        scope.refuse(
            node,
            f"{ast.unparse(node)} takes None for a number",
            "Compare with None by `is` and `is not`, and compute with numbers.",
        )
    plain, without = unwrapped(value)
    if without is not False:
        lanes = mask & np.asarray(without)
        if lanes.any():
            raise_in(
                scope,
                node,
                frame,
                lanes,
                TypeError,
                f"expected {getattr(plain, 'dtype', 'a value')}, got None",
            )
    return plain


def _exception(scope: Scope, node: ast.expr) -> tuple[type[BaseException], tuple[Any, ...]]:
    """The class and the constant arguments of what is raised."""
    called, given = (node.func, node.args) if isinstance(node, ast.Call) else (node, [])
    kind = scope.static(called)
    if not isinstance(kind, type) or not issubclass(kind, BaseException):
        scope.refuse(
            node, f"{ast.unparse(node)} is no exception", "Raise a class, such as ValueError."
        )
    texts = []
    for argument in given:
        value = argument.value if isinstance(argument, ast.Constant) else scope.static(argument)
        if value is UNKNOWN:
            scope.refuse(
                node,
                f"the exception holds {ast.unparse(argument)}, which only a running kernel knows",
                "Give an exception constants only.",
            )
        texts.append(value)
    return kind, tuple(texts)


def raise_statement(scope: Scope, node: ast.Raise) -> Statement:
    """The closure of a `raise`."""
    if node.exc is None:
        scope.refuse(node, "a bare `raise` has no exception", "Name one: raise ValueError.")
    kind, texts = _exception(scope, node.exc)

    def run(frame: Frame, mask: Mask) -> Mask:
        raise_in(scope, node, frame, mask, kind, *texts)
        return NO_LANE

    return run


def assert_statement(scope: Scope, node: ast.Assert) -> Statement:
    """The closure of an `assert`."""
    test = scope.expression(node.test)
    texts: tuple[Any, ...] = ()
    if node.msg is not None:
        texts = (node.msg.value if isinstance(node.msg, ast.Constant) else scope.static(node.msg),)
        if texts[0] is UNKNOWN:
            scope.refuse(node, "the text of an assert must be a constant", "Write a plain text.")

    def run(frame: Frame, mask: Mask) -> Mask:
        condition = truth(test(frame, mask))
        yes, no = split(frame.rest(mask), condition)
        if no is NO_LANE:
            return yes
        raise_in(scope, node, frame, no, AssertionError, *texts)
        return yes

    return run
