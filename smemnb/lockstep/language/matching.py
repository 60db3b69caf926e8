"""`match`: the patterns that Numba's bytecode passes, tried one after another.

Values, `|` of them, None, True and False, names (with or without a guard) and `_`. Sequences,
mappings and classes Numba refuses.
"""

from __future__ import annotations

import ast
from collections.abc import Callable

import numpy as np

from ..lanes import NO_LANE, LaneValue, Mask, both, split, truth
from .loops import rejoined
from .mixed import COMPARISONS, is_same, joined
from .scope import NOTHING, Frame, Scope, Statement

Pattern = Callable[[Frame, Mask, LaneValue], LaneValue]


def _pattern(scope: Scope, node: ast.pattern) -> Pattern:
    """The closure that says in which lanes a value fits, and binds its names there."""
    if isinstance(node, ast.MatchValue):
        value, equal = scope.expression(node.value), COMPARISONS["=="]
        return lambda frame, mask, subject: truth(equal(subject, value(frame, mask)))
    if isinstance(node, ast.MatchSingleton):
        constant = node.value if node.value is None else np.bool_(node.value)
        return lambda frame, mask, subject: is_same(subject, constant)
    if isinstance(node, ast.MatchOr):
        return _either([_pattern(scope, one) for one in node.patterns])
    if isinstance(node, ast.MatchAs):
        inner = _pattern(scope, node.pattern) if node.pattern is not None else None
        return _bound(scope, node.name, inner)
    return scope.refuse(
        node,
        f"the pattern {ast.unparse(node)} takes a value apart",
        "Use if and elif, and index the value.",
    )


def _either(patterns: list[Pattern]) -> Pattern:
    def fits(frame: Frame, mask: Mask, subject: LaneValue) -> LaneValue:
        result: LaneValue = np.False_
        for pattern in patterns:
            result = result | pattern(frame, mask, subject)
        return result

    return fits


def _bound(scope: Scope, name: str | None, inner: Pattern | None) -> Pattern:
    def fits(frame: Frame, mask: Mask, subject: LaneValue) -> LaneValue:
        result = np.True_ if inner is None else inner(frame, mask, subject)
        lanes, _ = split(mask, truth(result))
        if name is not None and lanes is not NO_LANE:
            old = frame.values.get(name, NOTHING)
            plain = old is NOTHING or lanes is frame.alive
            frame.values[name] = subject if plain else joined(lanes, subject, old)
            if name in scope.followed:
                frame.mark(name, lanes)
        return result

    return fits


def match(scope: Scope, node: ast.Match) -> Statement:
    """The closure of a `match` statement."""
    subject = scope.expression(node.subject)
    cases = [
        (
            _pattern(scope, case.pattern),
            scope.expression(case.guard) if case.guard else None,
            scope.block(case.body),
        )
        for case in node.cases
    ]

    def run(frame: Frame, mask: Mask) -> Mask:
        value, waiting, done = subject(frame, mask), frame.rest(mask), NO_LANE
        for pattern, guard, body in cases:
            if waiting is NO_LANE:
                break
            yes, no = split(waiting, truth(pattern(frame, waiting, value)))
            if guard is not None and yes is not NO_LANE:
                yes, failed = split(yes, truth(guard(frame, yes)))
                no = both(no, failed)
            if yes is not NO_LANE:
                done = both(done, body(frame, yes))
            waiting = no
        return rejoined(frame, both(done, waiting))

    return run
