"""Atomics: every lane's update takes effect, one after another in order of lane number.

The old values handed back are those of that order, one of the many a GPU may choose; how they are
worked out is in `updates.py`. A float `max` or `min` ignores a NaN operand and leaves a NaN cell
as it is; `nanmax` and `nanmin` replace it. Kinds for the rules of `smemnb.rules.bank`: integers
add, subtract and combine as "atomic_add"; adding the literal 1 is "atomic_increment";
compare-and-swap is "atomic_cas". Floats and 8-byte integers in shared memory are retry loops
without a fixed count, "atomic_retry".
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ..lanes import EVERY_LANE, LaneValue, Mask, cast, spread
from ..memory import KernelArray
from ..memory.choices import of_each
from ..watch import Access, Site
from .updates import CAS, OPERATIONS, in_order, swaps

if TYPE_CHECKING:
    from ..batch import Batch

Implementation = Callable[..., Any]
Array = np.ndarray[Any, np.dtype[Any]]
INT64 = np.dtype("int64")


def kind_of(node: ast.Call, kind: str) -> str:
    """The kind of an atomic call: adding the literal 1 is an increment."""
    if kind == "atomic_add" and len(node.args) == 3 and isinstance(node.args[2], ast.Constant):
        return "atomic_increment" if node.args[2].value == 1 else kind
    return kind


def _placed(
    batch: Batch, mask: Mask, site: Site, array: KernelArray, index: Any, value: Any
) -> tuple[Array, Array, Mask]:
    """(flat memory, cell of each active lane, lanes), once the watchers have been notified."""
    at = index if isinstance(index, tuple) else (index,)
    whole = tuple(i if i.dtype.kind in "iu" else cast(i, INT64) for i in at)
    offset, active = array.place(batch, whole, mask, site)
    kind = site.kind
    if array.itemsize != 4 or (array.dtype.kind not in "iu" and kind != "atomic_cas"):
        kind = "atomic_retry"
    if batch.watched and array.reported:
        batch.report_access(Access(site, array.root, kind, offset, active, value, unit=array.unit))
    flat, place = array.store.cells(batch, offset)
    return flat, _of_lanes(batch, place, active), active


def _count_write(batch: Batch, flat: Array, cells: Array, old: Array) -> None:
    """Count the update if it changed a cell: a loop of attempts in vain is a loop that waits."""
    if len(cells) and (flat[cells[0]] != old[0] or bool((flat[cells] != old).any())):
        batch.writes += 1


def _of_lanes(batch: Batch, value: LaneValue, active: Mask) -> Array:
    """The values of the active lanes in order of lane number."""
    whole = spread(value, batch.shape)
    result: Array = whole.ravel() if active is EVERY_LANE else whole[spread(active, batch.shape)]
    return result


def _by_lane(batch: Batch, values: Array, active: Mask) -> LaneValue:
    """Values of the active lanes as a lane value, 0 in the others."""
    if active is EVERY_LANE:
        return values.reshape(batch.shape)
    result = np.zeros(batch.shape, values.dtype)
    result[spread(active, batch.shape)] = values
    return result


def _old_values(
    name: str, batch: Batch, mask: Mask, site: Site, array: KernelArray, index: Any, value: Any
) -> LaneValue:
    """cuda.atomic.<name>(array, index, value): combine, and return the old values."""
    value = cast(value, array.dtype)
    flat, cells, active = _placed(batch, mask, site, array, index, value)
    operands = _of_lanes(batch, value, active)
    old = in_order(flat, cells, operands, OPERATIONS[name])
    _count_write(batch, flat, cells, old)
    return _by_lane(batch, old, active)


_AT: dict[str, np.ufunc] = {
    "add": np.add,
    "sub": np.subtract,
    "max": np.maximum,
    "min": np.minimum,
    "nanmax": np.fmax,
    "nanmin": np.fmin,
    "and_": np.bitwise_and,
    "or_": np.bitwise_or,
    "xor": np.bitwise_xor,
}


def _no_result(
    name: str, batch: Batch, mask: Mask, site: Site, array: KernelArray, index: Any, value: Any
) -> None:
    """The same where nobody asks for the old values: one pass over the lanes, in their order."""
    value = cast(value, array.dtype)
    flat, cells, active = _placed(batch, mask, site, array, index, value)
    operands = _of_lanes(batch, value, active)
    batch.writes += 1
    if name in ("max", "min") and operands.dtype.kind == "f":
        numbers = ~np.isnan(operands)
        cells, operands = cells[numbers], operands[numbers]
    with np.errstate(all="ignore"):
        _AT[name].at(flat, cells, operands)


def cas(
    batch: Batch, mask: Mask, site: Site, array: KernelArray, index: Any, old: Any, value: Any
) -> LaneValue:
    """cuda.atomic.cas(array, index, old, value): store where the cell holds `old`."""
    both = cast(old, array.dtype), cast(value, array.dtype)
    flat, cells, active = _placed(batch, mask, site, array, index, both)
    operands = swaps(*(_of_lanes(batch, part, active) for part in both))
    found = in_order(flat, cells, operands, CAS)
    _count_write(batch, flat, cells, found)
    return _by_lane(batch, found, active)


def compare_and_swap(
    batch: Batch, mask: Mask, site: Site, array: KernelArray, old: Any, value: Any
) -> LaneValue:
    """cuda.atomic.compare_and_swap(array, old, value): `cas` on element 0."""
    return cas(batch, mask, site, array, np.int64(0), old, value)


IMPLEMENTATIONS: dict[str, tuple[Implementation, str]] = {
    **{
        f"atomic.{name}": (of_each(partial(_old_values, name)), "atomic_add") for name in OPERATIONS
    },
    "atomic.cas": (of_each(cas), "atomic_cas"),
    "atomic.compare_and_swap": (of_each(compare_and_swap), "atomic_cas"),
}

WITHOUT_RESULT: dict[str, Implementation] = {
    f"atomic.{name}": of_each(partial(_no_result, name)) for name in _AT
}
"""Implementations of the same names for a call that is a statement of its own."""
