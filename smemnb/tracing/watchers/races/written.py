"""Which array parameters a kernel may store to, by its source.

A parameter that is only read from (`a[i]`) or asked for its shape cannot race, if no other argument
is the same memory: its accesses need not be kept. All else (handed to a function, renamed, indexed
with fewer indices than it has axes, an array of records) counts as written.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from ....errors import UnsupportedSyntax
from ....lockstep.lifetime import once_per_function
from ....lockstep.source import source_tree

if TYPE_CHECKING:
    from ....lockstep.batch import Launch
    from ....lockstep.watch import ArrayInfo

_ASKED = {"shape", "size", "ndim", "strides", "dtype"}


def never_written(launch: Launch) -> set[int]:
    """The ids of the argument arrays that no thread can store to."""
    arrays = list(_arrays(getattr(launch, "arguments", ())))
    indices = indices_read(launch.function)
    plain = [one for one in arrays if one.dtype.names is None]  # a[i] of records is no number
    read = [one for one in plain if indices.get(one.name) == {len(one.shape)}]
    kept = {id(one) for one in read}
    others = [span(one) for one in arrays if id(one) not in kept]
    return {id(one) for one in read if not any(_overlap(span(one), other) for other in others)}


def span(array: ArrayInfo) -> tuple[int, int]:
    """The bytes of a global array: address of the first, and past the last."""
    reach = 0
    if 0 not in array.shape:
        steps = zip(array.strides, array.shape, strict=True)
        reach = sum(abs(step) * (extent - 1) for step, extent in steps)
    return array.base, array.base + reach * array.unit + array.itemsize


def _overlap(one: tuple[int, int], other: tuple[int, int]) -> bool:
    return one[0] < other[1] and other[0] < one[1]


def _arrays(values: Iterable[Any]) -> Iterator[ArrayInfo]:
    for value in values:
        if isinstance(value, tuple):
            yield from _arrays(value)
        elif hasattr(value, "itemsize") and hasattr(value, "space"):
            yield value


@once_per_function
def indices_read(function: Any) -> dict[str, set[int]]:
    """Parameters that are only read from or asked for their shape: with how many indices."""
    try:
        tree = source_tree(function)
    except UnsupportedSyntax:
        return {}
    found: dict[str, set[int]] = {
        one.arg: set() for one in (*tree.args.posonlyargs, *tree.args.args)
    }
    harmless = {id(node): count for node, count in _harmless(tree)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id in found:
            if id(node) not in harmless:
                del found[node.id]
            elif count := harmless[id(node)]:
                found[node.id].add(count)
    return found


def _harmless(tree: ast.AST) -> Iterator[tuple[ast.expr, int]]:
    """Names that are only read here, with the number of indices (0: asked for the shape)."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in _ASKED:
            yield node.value, 0
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
            slices = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            if not any(isinstance(part, (ast.Slice, ast.Starred)) for part in slices):
                yield node.value, len(slices)
