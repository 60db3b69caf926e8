"""Atomics: every lane's update takes effect, one after another in order of lane number.

The old values handed back are those of that order, one of the many a GPU may choose. Kinds for
the rules of `smemnb.rules.bank`: integers add, subtract and combine as "atomic_add"; adding the
literal 1 is "atomic_increment"; compare-and-swap is "atomic_cas". Floats and 8-byte integers in
shared memory are retry loops without a fixed count, "atomic_retry".
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..lanes import LaneValue, Mask, cast, spread
from ..memory import KernelArray
from ..watch import Access, Site

if TYPE_CHECKING:
    from ..batch import Batch

Combine = Callable[[Any, Any], Any]


def kind_of(node: ast.Call, kind: str) -> str:
    """The kind of an atomic call: adding the literal 1 is an increment."""
    if kind == "atomic_add" and len(node.args) == 3 and isinstance(node.args[2], ast.Constant):
        return "atomic_increment" if node.args[2].value == 1 else kind
    return kind


def _update(
    batch: Batch,
    mask: Mask,
    site: Site,
    array: KernelArray,
    index: Any,
    value: Any,
    combine: Combine,
) -> LaneValue:
    """Combine the values into the cells in order of lanes; the old values come back."""
    at = index if isinstance(index, tuple) else (index,)
    offset, active = array.place(batch, at, mask, site)
    kind = site.kind
    if array.itemsize != 4 or (array.dtype.kind not in "iu" and kind != "atomic_cas"):
        kind = "atomic_retry"
    if batch.watched and array.space != "local":
        batch.tell_access(Access(site, array.root, kind, offset, active, value))
    batch.writes += 1
    flat, place = array.store.cells(batch, offset)
    lanes = spread(active, batch.shape)
    cells = spread(place, batch.shape)[lanes]
    old = np.zeros(batch.shape, array.dtype)
    parts = value if isinstance(value, tuple) else (value,)
    columns = [spread(cast(part, array.dtype), batch.shape)[lanes] for part in parts]
    operands = np.stack(columns, 1) if isinstance(value, tuple) else columns[0]
    old[lanes] = _in_order(flat, cells, operands, combine)
    return old


def _in_order(flat: Any, cells: Any, operands: Any, combine: Combine) -> Any:
    """Apply the updates round by round: round n takes the n-th update of each cell."""
    old = np.empty(len(cells), flat.dtype)
    order = np.argsort(cells, kind="stable")
    ordered = cells[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]]) if len(cells) else cells
    lengths = np.diff(np.r_[starts, len(cells)])
    turn = 0
    while len(starts):
        who = order[starts + turn]
        here = cells[who]
        old[who] = flat[here]
        flat[here] = combine(flat[here], operands[who])
        turn += 1
        keep = lengths > turn
        starts, lengths = starts[keep], lengths[keep]
    return old


def _meaning(combine: Combine) -> Callable[..., LaneValue]:
    def meaning(
        batch: Batch, mask: Mask, site: Site, array: KernelArray, index: Any, value: Any
    ) -> LaneValue:
        return _update(batch, mask, site, array, index, value, combine)

    return meaning


def _wrap_increment(old: Any, limit: Any) -> Any:
    return np.where(old >= limit, 0, old + 1).astype(old.dtype)


def _wrap_decrement(old: Any, limit: Any) -> Any:
    return np.where((old == 0) | (old > limit), limit, old - 1).astype(old.dtype)


def cas(
    batch: Batch, mask: Mask, site: Site, array: KernelArray, index: Any, old: Any, value: Any
) -> LaneValue:
    """cuda.atomic.cas(array, index, old, value): store where the cell holds `old`."""

    def swap(current: Any, operands: Any) -> Any:
        return np.where(current == operands[:, 0], operands[:, 1], current)

    return _update(batch, mask, site, array, index, (old, value), swap)


def compare_and_swap(
    batch: Batch, mask: Mask, site: Site, array: KernelArray, old: Any, value: Any
) -> LaneValue:
    """cuda.atomic.compare_and_swap(array, old, value): `cas` on element 0."""
    return cas(batch, mask, site, array, np.int64(0), old, value)


_COMBINE: dict[str, Combine] = {
    "add": np.add,
    "sub": np.subtract,
    "max": np.maximum,
    "min": np.minimum,
    "nanmax": np.fmax,
    "nanmin": np.fmin,
    "and_": np.bitwise_and,
    "or_": np.bitwise_or,
    "xor": np.bitwise_xor,
    "exch": lambda old, new: new,
    "inc": _wrap_increment,
    "dec": _wrap_decrement,
}

MEANINGS: dict[str, tuple[Callable[..., Any], str]] = {
    **{f"atomic.{name}": (_meaning(f), "atomic_add") for name, f in _COMBINE.items()},
    "atomic.cas": (cas, "atomic_cas"),
    "atomic.compare_and_swap": (compare_and_swap, "atomic_cas"),
}
