"""Statements: which lanes go on, and what they leave in variables and arrays.

A statement's closure returns the lanes that reach the next statement. Lanes that `break`,
`continue` or `return` leave the mask and wait in the frame until the loop or the call ends, so
that divergent lanes meet again as they do on the device.
"""

from __future__ import annotations

import ast
from typing import Any

from ..lanes import NO_LANE, LaneValue, Mask, both, split, truth
from .elements import assign_element, assign_field, augmented_element, augmented_field
from .expressions import may_raise, operation
from .joined_types import Apart, split_return, stays_apart
from .loops import for_loop, rejoined
from .mixed import SYMBOLS, Mixed, joined
from .raising import number
from .scope import NOTHING, Frame, Scope, Statement

Setter = Any  # (frame, mask, value) -> None
COMMUTE = (ast.Add, ast.Mult, ast.BitAnd, ast.BitOr, ast.BitXor)


def _assign_name(scope: Scope, node: ast.Name) -> Setter:
    name = node.id

    def put(frame: Frame, mask: Mask, value: LaneValue) -> None:
        values = frame.values
        old = values.get(name, NOTHING)
        if old is NOTHING or mask is frame.alive or old is value:
            values[name] = value
        else:
            values[name] = joined(mask, value, old)

    def put_and_mark(frame: Frame, mask: Mask, value: LaneValue) -> None:
        put(frame, mask, value)
        frame.mark(name, mask)

    levels = scope.levels(name)
    if levels:
        return _assign_outer(name, levels)
    return put_and_mark if name in scope.followed else put


def _assign_outer(name: str, levels: int) -> Setter:
    """A variable that an inner function declares as nonlocal."""

    def put(frame: Frame, mask: Mask, value: LaneValue) -> None:
        for _ in range(levels):
            assert frame.outer is not None
            frame = frame.outer
        frame.values[name] = joined(mask, value, frame.values.get(name, value))
        frame.mark(name, mask)

    return put


def _assign_tuple(scope: Scope, node: ast.Tuple | ast.List) -> Setter:
    for target in node.elts:
        if isinstance(target, ast.Starred):
            scope.refuse(
                node, "a starred name cannot be assigned to in a kernel", "Name every value."
            )
    setters = [setter(scope, target) for target in node.elts]

    def put(frame: Frame, mask: Mask, value: LaneValue) -> None:
        if not isinstance(value, tuple) and hasattr(value, "unpacked"):
            value = value.unpacked(frame, mask)
        if not isinstance(value, tuple) or len(value) != len(setters):
            scope.refuse(
                node, f"{ast.unparse(node)} takes {len(setters)} values", "Match both sides."
            )
        for put_one, item in zip(setters, value, strict=True):
            put_one(frame, mask, item)

    return put


def _store_number(scope: Scope, node: ast.Subscript, store: Setter) -> Setter:
    """Storing an optional value stores its number; lanes that have None raise, as in Numba."""

    def put(frame: Frame, mask: Mask, value: LaneValue) -> None:
        if value is None or (isinstance(value, Mixed) and not isinstance(value, Apart)):
            value = number(scope, node, frame, mask, value)
            mask = frame.rest(mask)
            if mask is NO_LANE:
                return
        store(frame, mask, value)

    return put


def setter(scope: Scope, node: ast.expr) -> Setter:
    """The closure that assigns a value to a target."""
    if isinstance(node, ast.Name):
        return _assign_name(scope, node)
    if isinstance(node, ast.Subscript):
        return _store_number(scope, node, assign_element(scope, node))
    if isinstance(node, ast.Attribute):
        return assign_field(scope, node)
    if isinstance(node, (ast.Tuple, ast.List)):
        return _assign_tuple(scope, node)
    scope.refuse(node, f"cannot assign to {ast.unparse(node)}", "Assign to a name or an element.")


def assign(scope: Scope, node: ast.Assign | ast.AnnAssign) -> Statement:
    """The closure of an assignment."""
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    if node.value is None:
        return lambda frame, mask: mask
    if len(targets) == 1:
        scope.apart = stays_apart(scope, node.value, targets[0])
    scope.declared = targets[0].id if isinstance(targets[0], ast.Name) else ""
    value = scope.expression(node.value)
    scope.declared = ""
    setters = []
    for target in targets:
        scope.stored = None if isinstance(target, ast.Tuple | ast.List) else node.value
        scope.update = _update(target, node.value)
        setters.append(setter(scope, target))
    scope.stored, scope.update = None, ""

    if len(setters) == 1 and not may_raise(scope, node.value):
        only = setters[0]

        def run_one(frame: Frame, mask: Mask) -> Mask:
            only(frame, mask, value(frame, mask))
            return frame.rest(mask)

        return run_one

    def run(frame: Frame, mask: Mask) -> Mask:
        result = value(frame, mask)
        mask = frame.rest(mask)
        if mask is not NO_LANE:
            for put in setters:
                put(frame, mask, result)
        return frame.rest(mask)

    return run


def _update(target: ast.expr, value: ast.expr) -> str:
    """The operator of `x[i] = x[i] + v` or the name in `x[i] = max(x[i], v)`, else ""."""
    if not isinstance(target, ast.Subscript | ast.Attribute):
        return ""
    said = ast.unparse(target)
    if isinstance(value, ast.BinOp):
        sides = [value.left, value.right] if isinstance(value.op, COMMUTE) else [value.left]
        return SYMBOLS[type(value.op)] if said in map(ast.unparse, sides) else ""
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name):
        name = value.func.id
        return name if name in ("max", "min") and said in map(ast.unparse, value.args) else ""
    return ""


def augmented(scope: Scope, node: ast.AugAssign) -> Statement:
    """The closure of `target += value` and its kind."""
    combine, value = operation(scope, node, node.op), scope.expression(node.value)
    scope.update = SYMBOLS[type(node.op)]
    if isinstance(node.target, ast.Subscript):
        part = augmented_element(scope, node, node.target)
    elif isinstance(node.target, ast.Attribute):
        part = augmented_field(scope, node, node.target)
    else:
        part = None
    scope.update = ""
    if part is not None:
        return part
    if not isinstance(node.target, ast.Name):
        scope.refuse(node, f"cannot assign to {ast.unparse(node.target)}", "Assign to a name.")
    target = ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target)
    read, put = scope.expression(target), _assign_name(scope, node.target)

    def run(frame: Frame, mask: Mask) -> Mask:
        old = read(frame, mask)
        result = combine(frame, mask, old, value(frame, mask))
        mask = frame.rest(mask)
        if mask is not NO_LANE:
            put(frame, mask, result)
        return mask

    return run


def if_statement(scope: Scope, node: ast.If) -> Statement:
    """The closure of an `if`."""
    condition, body = scope.condition(node.test), scope.block(node.body)
    orelse = scope.block(node.orelse) if node.orelse else None

    def run(frame: Frame, mask: Mask) -> Mask:
        holds = truth(condition(frame, mask))
        mask = frame.rest(mask)
        yes, no = split(mask, holds)
        if no is NO_LANE:
            return body(frame, mask)
        if yes is NO_LANE:
            return orelse(frame, mask) if orelse else mask
        if orelse is None:
            left_yes, left_no = body(frame, yes), no
        else:
            before = dict(frame.values)
            left_yes = body(frame, yes)
            after = _set_back(frame, before)
            left_no = orelse(frame, no)
            for name, value in after.items():
                frame.values[name] = joined(yes, value, frame.values[name])
        if left_yes is yes and left_no is no:
            return mask
        return rejoined(frame, both(left_yes, left_no))

    return run


def _set_back(frame: Frame, before: dict[str, LaneValue]) -> dict[str, LaneValue]:
    """Give variables whose dtype a branch changed their values of before; what they had then.

    The other branch must not see them in the joined type: float64 has no room for all int64.
    """
    after = {
        name: value
        for name, value in frame.values.items()
        if before.get(name, value) is not value
        and getattr(value, "dtype", None) != getattr(before[name], "dtype", None)
    }
    for name in after:
        frame.values[name] = before[name]
    return after


def expression_statement(scope: Scope, node: ast.Expr) -> Statement:
    """The closure of an expression that stands alone."""
    if isinstance(node.value, ast.Constant):
        return lambda frame, mask: mask
    if not isinstance(node.value, ast.Call) and callable(scope.static(node.value)):
        said = ast.unparse(node.value)
        scope.refuse(
            node, f"{said} is named but not called, so nothing happens", f"Write {said}()."
        )
    value = scope.expression(node.value)

    def run(frame: Frame, mask: Mask) -> Mask:
        value(frame, mask)
        return frame.rest(mask)

    return run


def nothing(scope: Scope, node: ast.Pass | ast.Global) -> Statement:
    """The closure of `pass` and `global`, which do nothing in a kernel."""
    return lambda frame, mask: mask


def nonlocal_statement(scope: Scope, node: ast.Nonlocal) -> Statement:
    """The closure of `nonlocal`."""
    for name in node.names:
        if scope.levels(name) is None:
            scope.refuse(
                node, "a kernel cannot change an outer variable", "Pass an array and write to it."
            )
    return lambda frame, mask: mask


def for_statement(scope: Scope, node: ast.For) -> Statement:
    """The closure of a `for` loop."""
    return for_loop(scope, node, setter(scope, node.target))


def break_statement(scope: Scope, node: ast.Break) -> Statement:
    """The closure of a `break`."""

    def run(frame: Frame, mask: Mask) -> Mask:
        frame.broken[-1] = both(frame.broken[-1], mask)
        return NO_LANE

    return run


def continue_statement(scope: Scope, node: ast.Continue) -> Statement:
    """The closure of a `continue`."""

    def run(frame: Frame, mask: Mask) -> Mask:
        frame.skipped[-1] = both(frame.skipped[-1], mask)
        return NO_LANE

    return run


def return_statement(scope: Scope, node: ast.Return) -> Statement:
    """The closure of a `return`."""
    split = split_return(scope, node)
    if split is not None:
        return scope.statement(split)
    value = scope.expression(node.value or ast.copy_location(ast.Constant(None), node))

    def run(frame: Frame, mask: Mask) -> Mask:
        result = value(frame, mask)
        first = frame.result is NOTHING
        frame.result = result if first else joined(mask, result, frame.result)
        frame.alive = frame.alive & ~mask
        frame.returned = True
        if frame.kernel:
            frame.batch.live = frame.alive
        return NO_LANE

    return run
