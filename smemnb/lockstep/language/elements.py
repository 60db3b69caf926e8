"""Elements of arrays: an index, a load, a store, a store that begins with a load."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from ..lanes import LaneValue, Mask
from ..memory import KernelArray
from ..numbers.operators import BINARY
from .scope import EXPRESSIONS, Expression, Frame, Scope, Statement

Index = Callable[[Frame, Mask], tuple[LaneValue, ...]]
Setter = Any  # (frame, mask, value) -> None


def index_of(scope: Scope, node: ast.Subscript) -> Index:
    """The closure of a subscript's index, always a tuple of lane values."""
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    for part in parts:
        if isinstance(part, ast.Slice):
            scope.refuse(
                node, f"the engine does not run the slice {ast.unparse(node)}", "Index one element."
            )
    items = [scope.expression(part) for part in parts]

    def run(frame: Frame, mask: Mask) -> tuple[LaneValue, ...]:
        flat: list[LaneValue] = []
        for item in items:
            value = item(frame, mask)
            flat.extend(value) if isinstance(value, tuple) else flat.append(value)
        return tuple(flat)

    if len(items) == 1:
        only = items[0]

        def run_one(frame: Frame, mask: Mask) -> tuple[LaneValue, ...]:
            value = only(frame, mask)
            return value if isinstance(value, tuple) else (value,)

        return run_one
    return run


def _subscript(scope: Scope, node: ast.Subscript) -> Expression:
    owner, index, site = (
        scope.expression(node.value),
        index_of(scope, node),
        scope.site(node, "load"),
    )

    def run(frame: Frame, mask: Mask) -> LaneValue:
        target, at = owner(frame, mask), index(frame, mask)
        if isinstance(target, tuple):
            return target[int(at[0])]
        if not isinstance(target, KernelArray) or len(at) > len(target.shape):
            scope.refuse(
                node, f"{site.text} has too many indices", "Give one index per axis of the array."
            )
        return target.load(frame.batch, at, mask, site)

    return run


def assign_element(scope: Scope, node: ast.Subscript) -> Setter:
    """The closure that stores a value into an element."""
    array, index, site = (
        scope.expression(node.value),
        index_of(scope, node),
        scope.site(node, "store"),
    )

    def put(frame: Frame, mask: Mask, value: LaneValue) -> None:
        target = array(frame, mask)
        if not isinstance(target, KernelArray):
            scope.refuse(node, f"{site.text} is not an element of an array", "Assign to an array.")
        at = index(frame, mask)
        if len(at) != len(target.shape):
            scope.refuse(
                node,
                f"{site.text} has {len(at)} of {len(target.shape)} indices",
                "Assign one element at a time.",
            )
        target.save(frame.batch, at, mask, site, value)

    return put


def augmented_element(scope: Scope, node: ast.AugAssign, target: ast.Subscript) -> Statement:
    """The closure of `array[index] += value`: a load, then a store."""
    combine, value = BINARY[type(node.op)], scope.expression(node.value)
    array, index = scope.expression(target.value), index_of(scope, target)
    load, store = scope.site(target, "load"), scope.site(target, "store")

    def run(frame: Frame, mask: Mask) -> Mask:
        owner, at = array(frame, mask), index(frame, mask)
        old = owner.load(frame.batch, at, mask, load)
        owner.save(frame.batch, at, mask, store, combine(old, value(frame, mask)))
        return mask

    return run


EXPRESSIONS[ast.Subscript] = _subscript
