"""Views of arrays: slices, new axes, transposed, reshaped, seen as another dtype, fields, parts.

A view is a `KernelArray` over the store of its root. Bounds of a slice may differ between lanes;
then its shape, strides and start are lane values.

Slices follow Python: bounds past the end are cut, negative ones count from the end.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import KernelStopped
from ..lanes import LaneValue, Mask
from ..watch import Site
from .arrays import GRID, KernelArray, Shape, c_strides
from .choices import ChosenArray, of_parts
from .stores import UINT8, ByteStore

if TYPE_CHECKING:
    from ..batch import Batch


def fitted(bounds: slice, extent: Any, mask: Mask) -> tuple[Any, Any, Any]:
    """First index, number of indices, and step of a slice along an axis of this extent."""
    parts = (bounds.start, bounds.stop, bounds.step)
    if not any(isinstance(value, np.ndarray) for value in (*parts, extent)):
        whole = slice(*(None if value is None else int(value) for value in parts))
        if whole.step == 0:
            raise KernelStopped("a slice with a step of 0 has no elements. Give another step.")
        indices = range(*whole.indices(extent))
        return indices.start, len(indices), indices.step
    start, count, step = _fitted_lanes(*parts, extent)
    if not mask.all():  # count and step are those of the active lanes; the rest reads the first
        start = np.where(mask, start, 0)
    return start, _same(count, mask), _same(step, mask)


def _fitted_lanes(start: Any, stop: Any, step: Any, extent: Any) -> tuple[Any, Any, Any]:
    """`slice.indices` for lane values."""
    step = np.int64(1) if step is None else np.asarray(step).astype(np.int64)
    back = step < 0
    low, high = np.where(back, -1, 0), np.where(back, extent - 1, extent)

    def bound(given: Any, missing: Any) -> Any:
        if given is None:
            return missing
        at = np.asarray(given).astype(np.int64)
        return np.clip(np.where(at < 0, at + extent, at), low, high)

    first, last = bound(start, np.where(back, high, low)), bound(stop, np.where(back, low, high))
    away = np.where(back, first - last, last - first)
    size = np.where(step == 0, 1, np.abs(step))
    return first, np.maximum(0, (away + size - 1) // size), step


def _same(value: Any, mask: Mask) -> Any:
    """The value as an int if it is the same in all lanes of the mask."""
    if not isinstance(value, np.ndarray):
        return int(value)
    shape = np.broadcast_shapes(value.shape, mask.shape)
    active = np.broadcast_to(value, shape)[np.broadcast_to(mask, shape)]
    if not active.size:
        return 0
    first = active[0]
    return int(first) if bool((active == first).all()) else value


def with_all_axes(index: tuple[Any, ...], ndim: int) -> list[Any]:
    """The index with its Ellipsis, or its missing end, written out."""
    used = sum(item is not None and item is not Ellipsis for item in index)
    full = [slice(None)] * (ndim - used)
    items = list(index)
    for at, item in enumerate(items):
        if item is not Ellipsis:
            continue
        return [*items[:at], *full, *items[at + 1 :]]
    return [*items, *full]


def is_view(index: tuple[Any, ...]) -> bool:
    """Whether an index holds more than numbers: a slice, an Ellipsis, or a new axis."""
    return any(item is None or item is Ellipsis or isinstance(item, slice) for item in index)


def indexed(
    array: KernelArray, batch: Batch, index: tuple[Any, ...], mask: Mask, site: Site
) -> LaneValue | KernelArray:
    """The elements or the view that this index of numbers, slices and new axes gives."""
    if isinstance(array, ChosenArray):
        return array.each(mask, lambda lanes, one: indexed(one, batch, index, lanes, site))
    items = with_all_axes(index, len(array.shape))
    if not is_view(tuple(items)):
        return array.load(batch, tuple(items), mask, site)
    return view_at(array, batch, items, mask, site)


def view_at(
    array: KernelArray, batch: Batch, items: list[Any], mask: Mask, site: Site
) -> KernelArray:
    """The view that an index with every axis written out gives."""
    start: Any = 0 if array.start is None else array.start
    shape: list[Any] = []
    strides: list[Any] = []
    valid, axis = array.valid, 0
    numbers = tuple(0 if isinstance(i, slice) else i for i in items if i is not None)
    for item in items:
        if item is None:
            shape.append(1)
            strides.append(0)
            continue
        stride = array.strides[axis]
        if isinstance(item, slice):
            first, count, step = fitted(item, array.shape[axis], mask)
            shape.append(count)
            strides.append(step * stride)
            at = first
        else:
            at, inside = _at(array, batch, numbers, axis, mask, site)
            if inside is not None:
                valid = inside if valid is None else valid & inside
        start, axis = start + at * stride, axis + 1
    return _with(array, shape, strides, start, valid)


def _at(
    array: KernelArray, batch: Batch, index: tuple[Any, ...], axis: int, mask: Mask, site: Site
) -> tuple[Any, Any]:
    """The offset's share of an index on one axis, and where it is inside (None: everywhere)."""
    extent, at = array.shape[axis], index[axis]
    if not isinstance(at, np.ndarray) and not isinstance(extent, np.ndarray):
        if 0 <= int(at) < extent:
            return int(at), None
    at, inside = array.inside(batch, index, axis, mask, site)
    return at, None if inside.all() else inside | ~mask


def _with(
    array: KernelArray, shape: Any, strides: Any, start: LaneValue, valid: Mask | None
) -> KernelArray:
    view = KernelArray(
        array.name,
        array.space,
        array.store,
        tuple(shape),
        array.dtype,
        strides=tuple(strides),
        base=array.base,
        start=start,
        unit=array.unit,
    )
    return view.derived(array, valid)


@of_parts
def transposed(array: KernelArray, axes: tuple[int, ...] | None = None) -> KernelArray:
    """The array with its axes in this order, or in reverse."""
    order = range(len(array.shape))[::-1] if axes is None else axes
    shape, strides = [array.shape[axis] for axis in order], [array.strides[axis] for axis in order]
    return _with(array, shape, strides, array.start, array.valid)


@of_parts
def reshaped(array: KernelArray, shape: Shape, where: str) -> KernelArray:
    """The same elements in another shape, one extent of which may be -1.

    Raises:
        KernelStopped: another number of elements, or a shape that needs a copy.
    """
    extents = [n if isinstance(n, np.ndarray) else int(n) for n in shape]
    rest = [n for n in extents if isinstance(n, np.ndarray) or n != -1]
    size, known = array.size, math.prod(rest)
    if len(rest) < len(extents):
        extents = [
            n if isinstance(n, np.ndarray) or n != -1 else size // np.maximum(known, 1)
            for n in extents
        ]
    if bool(np.any(math.prod(extents) != size)):
        raise KernelStopped(
            f"{where}: {_count(size)} elements do not fill the shape {_shown(extents)}. "
            "Give extents whose product is the array's size."
        )
    strides = _strides_after(array, tuple(extents))
    if strides is None:
        raise KernelStopped(
            f"{where}: shape {array.shape} with strides of {array.strides} elements cannot be "
            f"seen as {_shown(extents)} without a copy, and a kernel cannot make one. "
            "Index the array as it is."
        )
    return _with(array, extents, strides, array.start, array.valid)


def _count(size: Any) -> str:
    return "some" if isinstance(size, np.ndarray) else str(size)


def _shown(extents: list[Any]) -> str:
    return f"({', '.join(_count(n) for n in extents)})"


def _strides_after(array: KernelArray, shape: Shape) -> tuple[Any, ...] | None:
    """Strides of the array in another shape, None if it would have to be copied."""
    step = array.itemsize // array.unit
    if len(array.shape) <= 1:  # evenly spaced, however far apart
        step = array.strides[0] if array.shape else step
        return tuple(step * stride for stride in c_strides(shape))
    if not array.uniform or any(isinstance(n, np.ndarray) for n in shape):
        return None
    if tuple(step * stride for stride in c_strides(array.shape)) == array.strides:
        return tuple(step * stride for stride in c_strides(shape))
    model: Any = np.lib.stride_tricks.as_strided(np.zeros(1, UINT8), array.shape, array.strides)
    other = model.view()
    try:
        other.shape = shape
    except AttributeError:
        return None
    return tuple(other.strides)


def raveled(array: KernelArray, where: str) -> KernelArray:
    """All elements along one axis."""
    return reshaped(array, (-1,), where)


@of_parts
def seen_as(array: KernelArray, dtype: np.dtype[Any], where: str) -> KernelArray:
    """The same bytes as elements of another dtype.

    Raises:
        KernelStopped: the last axis does not hold a whole number of them.
    """
    shape, strides = list(array.shape), [s * array.unit for s in array.strides]
    if dtype.itemsize != array.itemsize:
        if not shape or bool(np.any(strides[-1] != array.itemsize)):
            raise KernelStopped(
                f"{where}: the last axis is not contiguous, so its bytes cannot be seen as "
                f"{dtype}. Take the view of the whole array first."
            )
        nbytes = shape[-1] * array.itemsize
        if bool(np.any(nbytes % dtype.itemsize)):
            raise KernelStopped(
                f"{where}: {_count(nbytes)} bytes along the last axis are no whole number of "
                f"{dtype} ({dtype.itemsize} bytes)."
            )
        shape[-1], strides[-1] = nbytes // dtype.itemsize, dtype.itemsize
    return in_bytes(array, dtype, shape, strides, _start_bytes(array))


def _start_bytes(array: KernelArray) -> Any:
    return 0 if array.start is None else array.start * array.unit


def in_bytes(
    array: KernelArray, dtype: np.dtype[Any], shape: Any, strides: Any, start: Any
) -> KernelArray:
    """A view given by byte strides and the byte offset of its first element."""
    item, unit = dtype.itemsize, 1
    if dtype.names is not None:
        store = array.store.typed(UINT8)
    elif item in GRID and not any(np.any(n % item) for n in (start, *strides)):
        store, unit = array.store.typed(dtype), item
        start, strides = start // item, [n // item for n in strides]
    else:
        store = ByteStore(array.store, dtype)
    view = KernelArray(
        array.name,
        array.space,
        store,
        tuple(shape),
        dtype,
        strides=tuple(strides),
        base=array.base,
        start=start,
        unit=unit,
    )
    return view.derived(array, array.valid)


@of_parts
def field_of(array: KernelArray, name: str) -> KernelArray:
    """One field of every record of an array (or of the one record of a reference)."""
    assert array.dtype.fields is not None
    dtype, offset = array.dtype.fields[name][:2]
    shape, strides = array.shape, [s * array.unit for s in array.strides]
    start = _start_bytes(array) + offset
    if dtype.subdtype is not None:
        dtype, inner = dtype.subdtype
        shape = (*shape, *inner)
        strides += [step * dtype.itemsize for step in c_strides(inner)]
    return in_bytes(array, dtype, shape, strides, start)


@of_parts
def half_of(array: KernelArray, name: str) -> KernelArray:
    """`.real` or `.imag` of an array: of a real array itself, and nothing."""
    if array.dtype.kind != "c":
        return array
    half = np.dtype(f"f{array.itemsize // 2}")
    start = _start_bytes(array) + (half.itemsize if name == "imag" else 0)
    return in_bytes(array, half, array.shape, [s * array.unit for s in array.strides], start)
