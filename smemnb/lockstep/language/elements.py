"""Elements of arrays, views and fields: what stands in a subscript, read, stored, updated.

What an index holds is seen while compiling: numbers alone take the short way to
`KernelArray.load` and `save`; slices, `...`, `None` and names of fields the longer one.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from ..lanes import NO_LANE, LaneValue, Mask
from ..memory import KernelArray
from ..memory.attributes import MISSING, attribute, field, field_array
from ..memory.sequences import Flat
from ..memory.views import indexed, is_view
from ..memory.whole import store_whole
from ..watch import Site
from .joined_types import for_cell
from .mixed import Mixed, joined
from .raising import number, raise_in
from .scope import UNKNOWN, Expression, Frame, Scope, Statement

Index = Callable[[Frame, Mask], tuple[Any, ...]]
Setter = Any  # (frame, mask, value) -> None


def _bound(scope: Scope, node: ast.expr | None) -> Expression:
    return (lambda frame, mask: None) if node is None else scope.expression(node)


def _slice(scope: Scope, node: ast.Slice) -> Expression:
    parts = [_bound(scope, part) for part in (node.lower, node.upper, node.step)]
    return lambda frame, mask: slice(*(part(frame, mask) for part in parts))


def _item(scope: Scope, node: ast.expr) -> tuple[Expression, bool]:
    """The closure of one part of an index, and whether it may be more than a number."""
    if isinstance(node, ast.Slice):
        return _slice(scope, node), True
    if isinstance(node, ast.Constant) and (node.value is None or node.value is Ellipsis):
        value = node.value
        return lambda frame, mask: value, True
    if isinstance(node, ast.Attribute) and scope.static(node) is np.newaxis:
        return lambda frame, mask: None, True
    return scope.expression(node), _may_be_more(scope, node)


def _may_be_more(scope: Scope, node: ast.expr) -> bool:
    """Whether an expression may be a slice, None, ... or a tuple with one of these."""
    if isinstance(node, ast.IfExp):
        return _may_be_more(scope, node.body) or _may_be_more(scope, node.orelse)
    if isinstance(node, ast.Tuple):
        return any(_item(scope, part)[1] for part in node.elts)
    if not isinstance(node, ast.Name | ast.Attribute | ast.Subscript):
        return False
    value = scope.static(node)
    if value is not UNKNOWN:
        items = value if isinstance(value, tuple) else (value,)
        return any(not isinstance(item, int | np.integer | str) for item in items)
    own = scope.outer is None and scope.library.knows(scope.function)
    if not isinstance(node, ast.Name) or not own:
        return False
    return scope.library.held(scope.function, node.id, node.lineno) is None


def index_of(scope: Scope, node: ast.Subscript) -> tuple[Index, bool]:
    """The closure of a subscript's index, always a tuple, and whether it may give a view."""
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    compiled = [_item(scope, part) for part in parts]
    items, views = [item for item, _ in compiled], any(view for _, view in compiled)
    views = views or scope.makes_slices

    def run(frame: Frame, mask: Mask) -> tuple[Any, ...]:
        flat: list[Any] = []
        for item in items:
            value = item(frame, mask)
            flat.extend(value) if isinstance(value, tuple) else flat.append(value)
        return tuple(flat)

    if len(items) == 1:
        only = items[0]

        def run_one(frame: Frame, mask: Mask) -> tuple[Any, ...]:
            value = only(frame, mask)
            return value if isinstance(value, tuple) else (value,)

        return run_one, views
    return run, views


def subscript(scope: Scope, node: ast.Subscript) -> Expression:
    """The closure of a subscript that is read."""
    from .expressions import fixed

    value = scope.static(node)
    if value is not UNKNOWN:
        return fixed(scope, node, value)
    owner, (index, views), site = (
        scope.expression(node.value),
        index_of(scope, node),
        scope.site(node, "load"),
    )
    refusals = _Refusals(scope, node, site)

    def run(frame: Frame, mask: Mask) -> LaneValue:
        target, at = owner(frame, mask), index(frame, mask)
        if isinstance(target, KernelArray) and not target.special and len(at) <= len(target.shape):
            return target.load(frame.batch, at, mask, site)
        return _read(target, at, frame, mask, site, refusals)

    def run_views(frame: Frame, mask: Mask) -> LaneValue:
        return _read(owner(frame, mask), index(frame, mask), frame, mask, site, refusals)

    return run_views if views else run


class _Refusals:
    """What a subscript says when it cannot be run."""

    def __init__(self, scope: Scope, node: ast.expr, site: Site) -> None:
        self.scope, self.node, self.site = scope, node, site

    def no_array(self) -> NoReturn:
        self.scope.refuse(
            self.node,
            f"{self.site.text} takes an element of what has none",
            "Index an array or a tuple.",
        )

    def too_many(self) -> NoReturn:
        self.scope.refuse(
            self.node,
            f"{self.site.text} has too many indices",
            "Give one index per axis of the array.",
        )

    def read_only(self, name: str) -> NoReturn:
        self.scope.refuse(
            self.node,
            f"{self.site.text} stores into {name!r}, a constant of the compiled kernel",
            "Pass the array as an argument.",
        )

    def tuple_item(self, items: tuple[Any, ...], at: Any, frame: Frame, mask: Mask) -> LaneValue:
        """An item of a tuple; where lanes ask for different ones, each lane its own."""
        if isinstance(at, slice):
            bounds = (at.start, at.stop, at.step)
            return tuple(items)[slice(*(None if b is None else int(b) for b in bounds))]
        if not items:
            self.scope.refuse(
                self.node,
                f"{self.site.text} takes an item of an empty tuple",
                "An array of no axes has an empty shape: give it an axis.",
            )
        outside = (at < -len(items)) | (at >= len(items))
        if np.any(outside & mask):
            lost = mask & np.asarray(outside)
            raise_in(self.scope, self.node, frame, lost, IndexError, "tuple index out of range")
        if not isinstance(at, np.ndarray):
            return items[0 if outside else int(at)]
        result = items[0]
        for place, item in enumerate(items[1:], 1):
            result = joined((at == place) | (at == place - len(items)), item, result)
        return result

    def whole_update(self) -> NoReturn:
        self.scope.refuse(
            self.node,
            f"{self.site.text} is a part of an array, which Numba cannot update at once",
            "Write the loop out: for i in range(...): a[i] += ...",
        )


def _read(
    target: Any, at: tuple[Any, ...], frame: Frame, mask: Mask, site: Site, refusals: _Refusals
) -> LaneValue:
    """What a subscript reads: a view, a field, an item of a tuple, an element."""
    batch = frame.batch
    if isinstance(target, Mixed):
        target = number(refusals.scope, refusals.node, frame, mask, target)
        mask = frame.rest(mask)
    if isinstance(target, KernelArray):
        if target.is_record and at:
            if isinstance(at[0], str) and target.shape:
                return field_array(target, at[0])
            if not target.shape:
                return field(target, _name_of(at[0]), batch, mask, site)
        if _counted(at) > len(target.shape):
            refusals.too_many()
        if is_view(at):
            return indexed(target, batch, at, mask, site)
        return target.load(batch, at, mask, site)
    if isinstance(target, tuple):
        return refusals.tuple_item(target, at[0], frame, mask)
    if isinstance(target, Flat):
        return target.load(batch, at[0], mask, site)
    if hasattr(target, "options"):  # lanes differ in what they index
        return target.each(
            lambda option, lanes: _read(option, at, frame, mask & lanes, site, refusals)
        )
    return refusals.no_array()


def _name_of(at: Any) -> str | int:
    return at if isinstance(at, str) else int(at)


def _counted(at: tuple[Any, ...]) -> int:
    return sum(item is not None and item is not Ellipsis for item in at)


def assign_element(scope: Scope, node: ast.Subscript) -> Setter:
    """The closure that stores a value into an element, a field, or all of a view."""
    array, (index, views), site = (
        scope.expression(node.value),
        index_of(scope, node),
        scope.store_site(node),
    )
    refusals = _Refusals(scope, node, site)

    def put(frame: Frame, mask: Mask, value: LaneValue) -> None:
        target, at = array(frame, mask), index(frame, mask)
        if (
            not views
            and isinstance(target, KernelArray)
            and not target.special
            and len(at) == len(target.shape)
        ):
            target.save(frame.batch, at, mask, site, for_cell(value, target.dtype))
        else:
            _store(target, at, frame, mask, site, value, refusals)

    return put


def _store(
    target: Any,
    at: tuple[Any, ...],
    frame: Frame,
    mask: Mask,
    site: Site,
    value: LaneValue,
    refusals: _Refusals,
) -> None:
    batch = frame.batch
    if isinstance(target, Flat):
        target.save(batch, at[0], mask, site, for_cell(value, target.array.dtype))
        return
    if hasattr(target, "options"):
        for number, option in enumerate(target.options):
            lanes = mask & target.lanes_of(number)
            if lanes.any():
                _store(option, at, frame, lanes, site, value, refusals)
        return
    if not isinstance(target, KernelArray):
        refusals.no_array()
    if target.space == "const":
        refusals.read_only(target.name)
    if target.is_record and not target.shape and at:
        put_field(target, _name_of(at[0]), frame, mask, site, value)
        return
    if _counted(at) > len(target.shape):
        refusals.too_many()
    if len(at) == len(target.shape) and not is_view(at):
        target.save(batch, at, mask, site, for_cell(value, target.dtype))
        return
    part = indexed(target, batch, at, mask, site)
    store_whole(part, value, batch, mask, site, f"line {site.line}: {site.text}")


def put_field(
    record: KernelArray, name: str | int, frame: Frame, mask: Mask, site: Site, value: LaneValue
) -> None:
    """Store into a field of a record; an array inside it takes a whole array."""
    part = field_array(record, name)
    if part.shape:
        store_whole(part, value, frame.batch, mask, site, f"line {site.line}: {site.text}")
    else:
        part.save(frame.batch, (), mask, site, for_cell(value, part.dtype))


def assign_field(scope: Scope, node: ast.Attribute) -> Setter:
    """The closure of `record.field = value`."""
    owner, name, site = scope.expression(node.value), node.attr, scope.store_site(node)
    refusals = _Refusals(scope, node, site)

    def put(frame: Frame, mask: Mask, value: LaneValue) -> None:
        record = owner(frame, mask)
        if not isinstance(record, KernelArray) or not _has_field(record, name):
            scope.refuse(
                node, f"{site.text} is no field of a record", "Assign to a name or an element."
            )
        if record.space == "const":
            refusals.read_only(record.name)
        put_field(record, name, frame, mask, site, value)

    return put


def _has_field(record: KernelArray, name: str) -> bool:
    return name in (record.dtype.names or ())


def array_attribute(
    array: KernelArray, name: str, frame: Frame, mask: Mask, site: Site
) -> LaneValue:
    """An attribute of an array, or a field; MISSING if it has none of that name."""
    if array.is_record and not array.shape and _has_field(array, name):
        return field(array, name, frame.batch, mask, site)
    return attribute(array, name)


def augmented_element(scope: Scope, node: ast.AugAssign, target: ast.Subscript) -> Statement:
    """The closure of `array[index] += value`: a load, then a store."""
    from .expressions import operation

    combine, value = operation(scope, node, node.op), scope.expression(node.value)
    array, (index, views) = scope.expression(target.value), index_of(scope, target)
    load, store = scope.site(target, "load"), scope.store_site(target)
    refusals = _Refusals(scope, target, load)

    def run(frame: Frame, mask: Mask) -> Mask:
        owner, at = array(frame, mask), index(frame, mask)
        if (
            not views
            and isinstance(owner, KernelArray)
            and not owner.special
            and len(at) == len(owner.shape)
        ):
            old = owner.load(frame.batch, at, mask, load)
            result = combine(frame, mask, old, value(frame, mask))
            mask = frame.rest(mask)
            if mask is not NO_LANE:
                owner.save(frame.batch, at, mask, store, result)
            return mask
        old = _read(owner, at, frame, mask, load, refusals)
        if isinstance(old, KernelArray):
            refusals.whole_update()
        result = combine(frame, mask, old, value(frame, mask))
        mask = frame.rest(mask)
        if mask is not NO_LANE:
            _store(owner, at, frame, mask, store, result, refusals)
        return mask

    return run


def augmented_field(scope: Scope, node: ast.AugAssign, target: ast.Attribute) -> Statement:
    """The closure of `record.field += value`."""
    from .expressions import operation

    combine, value = operation(scope, node, node.op), scope.expression(node.value)
    read = scope.expression(ast.copy_location(_loaded(target), target))
    put = assign_field(scope, target)

    def run(frame: Frame, mask: Mask) -> Mask:
        old = read(frame, mask)
        result = combine(frame, mask, old, value(frame, mask))
        mask = frame.rest(mask)
        if mask is not NO_LANE:
            put(frame, mask, result)
        return mask

    return run


def _loaded(target: ast.Attribute) -> ast.Attribute:
    return ast.Attribute(target.value, target.attr, ast.Load())


__all__ = [
    "MISSING",
    "array_attribute",
    "assign_element",
    "assign_field",
    "augmented_element",
    "augmented_field",
]
