"""Words of indices that leave an axis."""

from __future__ import annotations

import ast

from ..model import Observation
from ..subscript import subscript
from .words import Words


def out_of_range(words: Words, seen: Observation) -> tuple[str, str]:
    """An index leaves its axis."""
    axis = seen.axis or 0
    name, written = _index(seen, axis)
    index, size = _reach(seen, axis)
    where = f"{words.does(seen)} with index {index} on axis {axis}"
    if index < 0:
        return (
            f"{where}, where {name} has size {size}: before the array, even after Numba has "
            "wrapped it.",
            f"Guard the line: if {_said(written)} >= 0.",
        )
    return f"{where}, but {name} has size {size} there.", _guard(seen, axis, name, written)


def _guard(seen: Observation, axis: int, name: str, written: ast.expr | None) -> str:
    """The cure of an index past the end, by how far it goes and how it is written."""
    index, size = _reach(seen, axis)
    test = f"if {_said(written)} < {name}.shape[{axis}]"
    shape = () if seen.array is None else seen.array.shape
    furthest = int(seen.detail.get("furthest", -1))
    if furthest == size:
        last = f"The last index is {size - 1}" if size else f"{name} has no element there"
        ways = [f"guard the line: {test}"]
        if isinstance(written, ast.BinOp) and isinstance(written.op, ast.Add) and size:
            ways.append(f"go round: ({_said(written)}) % {name}.shape[{axis}]")
        elif isinstance(written, ast.BinOp) and isinstance(written.op, ast.Sub) and size:
            ways.insert(0, f"subtract 1 more: {_said(written)} - 1")
        return f"{last}; {', or '.join(ways)}."
    fits = any(max(index, furthest) < n for at, n in enumerate(shape) if at != axis)
    return f"Guard the line: {test}" + (", or exchange the indices." if fits else ".")


def wrapped_index(words: Words, seen: Observation) -> tuple[str, str]:
    """A negative index counts from the end."""
    axis = seen.axis or 0
    name, written = _index(seen, axis)
    index, size = _reach(seen, axis)
    said = _said(written)
    cause = (
        f"{words.does(seen)} with index {index} on axis {axis}: it counts from the end, Numba "
        f"wraps it to {index + size}, where {name} has size {size}."
    )
    return cause, (
        f"Guard the line: if {said} >= 0; if the other end is meant, write "
        f"({said}) % {name}.shape[{axis}]."
    )


def _reach(seen: Observation, axis: int) -> tuple[int, int]:
    """The first bad index and the size of its axis."""
    size = int(seen.detail.get("size", 0 if seen.array is None else seen.array.shape[axis]))
    return int(seen.detail["index"] if "index" in seen.detail else (seen.index or ())[axis]), size


def _index(seen: Observation, axis: int) -> tuple[str, ast.expr | None]:
    """The array and the index of one axis, as they are written in the source."""
    name, parts = subscript(seen.site.text)
    if not name:
        name = "the array" if seen.array is None else seen.array.name
    return name, parts[axis] if axis < len(parts) else None


def _said(written: ast.expr | None) -> str:
    return "index" if written is None else ast.unparse(written)


def index_overflow(words: Words, seen: Observation) -> tuple[str, str]:
    """The arithmetic of an index does not fit its type."""
    wide, got = seen.detail["wide"], seen.detail["result"]
    where = f"{words.line(seen.site)} computes {seen.site.text} for an index"
    if seen.detail["cast"]:
        return (
            f"{where}: {wide} does not fit and becomes {got} ({words.thread(seen)}).",
            "Leave the cast away: Numba indexes with 64 bits, and computes int32 in int64.",
        )
    return (
        f"{where}: about {wide} does not fit into 64 bits and becomes {got} "
        f"({words.thread(seen)}).",
        "Keep the factors small: reduce them with % first, or test them before the product.",
    )
