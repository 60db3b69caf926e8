"""The arrays a kernel indexes: from index to cell, for all lanes at once.

`KernelArray` turns an index into offsets, checks every axis, notifies the watchers, and reads or
writes its store. Views (`views.py`) are `KernelArray`s over the store of their root; the watchers
are always called with the root and its addresses.

As on the device, a negative signed index counts from the end, and an index beyond the axis is an
error; the engine drops such an access (a load gives 0) and reports it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..lanes import NO_LANE, LaneValue, Mask, Selectable, cast
from ..numbers.subnormals import converted
from ..watch import Access, OutOfRange, Site, Unwritten, pieces_of
from .records import copy_record
from .stores import ByteStore, LocalStore, Store

if TYPE_CHECKING:
    from ..batch import Batch

Extent = Any
"""An int, or a lane value where a view has another shape in each lane."""
Shape = tuple[Extent, ...]

GRID = (1, 2, 4, 8, 16)  # bytes of the dtypes that a store can hold as elements


def c_strides(shape: Shape) -> tuple[Extent, ...]:
    """Strides in elements of a row-major array.

    >>> c_strides((4, 32, 33))
    (1056, 33, 1)
    """
    return tuple(math.prod(shape[axis + 1 :]) for axis in range(len(shape)))


class KernelArray(Selectable):
    """An array as a kernel sees it: shape, strides, and the store behind it.

    `strides` and `start`, the offset of element 0 (None: 0), count `unit` bytes: elements, or
    bytes where elements do not lie on the grid of their size (records, odd strides). Views and
    partial indices (`tile[ty]` of a 2-D tile) give `KernelArray`s whose `start`, and sometimes
    shape and strides, differ between lanes; `valid` (None: all) are the lanes whose view lies
    inside. `root` is the array that was declared or passed, `memory` what all that share its
    bytes have in common, `used` how many axes of the root an index has used up.
    """

    __array_ufunc__ = None  # NumPy would take it for an object, unequal to any number

    def __init__(
        self,
        name: str,
        space: str,
        store: Store,
        shape: Shape,
        dtype: np.dtype[Any],
        *,
        strides: tuple[Extent, ...] | None = None,
        base: int = 0,
        start: LaneValue = None,
        unit: int = 0,
    ) -> None:
        self.name, self.space, self.shape = name, space, shape
        self.dtype, self.itemsize, self.base = dtype, dtype.itemsize, base
        self.is_record = dtype.names is not None
        self.special = self.is_record or dtype.kind in "SUV" or space == "const"
        if not unit:
            unit = 1 if self.is_record or dtype.itemsize not in GRID else dtype.itemsize
            if unit != dtype.itemsize and not self.is_record:
                store = ByteStore(store, dtype)
        if strides is None:
            strides = tuple(step * dtype.itemsize // unit for step in c_strides(shape))
        self.store, self.strides, self.unit, self.start = store, strides, unit, start
        self.valid: Mask | None = None
        self.uniform = not any(isinstance(n, np.ndarray) for n in (*shape, *strides))
        self.reported = space in ("shared", "global")
        self._root: KernelArray | None = None  # no reference to itself: freed with its batch
        self._memory: KernelArray | None = None
        self.used = 0
        self.whole = unit == dtype.itemsize and dtype.kind not in "cSU"

    @property
    def size(self) -> Extent:
        """Number of elements."""
        return math.prod(self.shape)

    def selected(self, mask: Mask, old: Any) -> Any:
        """This array where the mask holds, `old` elsewhere."""
        from .choices import choose

        return choose(mask, self, old)

    @property
    def root(self) -> KernelArray:
        """The array that was declared or passed."""
        return self if self._root is None else self._root

    @root.setter
    def root(self, root: KernelArray) -> None:
        self._root = None if root is self else root

    @property
    def memory(self) -> KernelArray:
        """What all arrays over the same bytes have in common."""
        return self if self._memory is None else self._memory

    @memory.setter
    def memory(self, memory: KernelArray) -> None:
        self._memory = None if memory is self else memory

    def derived(self, root: KernelArray, valid: Mask | None, used: int = 0) -> KernelArray:
        """This array, as a view of `root`."""
        self.root, self.memory, self.valid, self.used = root.root, root.memory, valid, used
        self.reported = root.reported
        return self

    def as_root(self, name: str) -> KernelArray:
        """This view as an array in its own right that only shares its `memory`."""
        self.name, self.root, self.used = name, self, 0
        return self

    def part(self, offset: LaneValue, axes: int, valid: Mask | None = None) -> KernelArray:
        """The array that is left after indexing the first `axes` axes."""
        rest = KernelArray(
            self.name,
            self.space,
            self.store,
            self.shape[axes:],
            self.dtype,
            strides=self.strides[axes:],
            base=self.base,
            start=offset,
            unit=self.unit,
        )
        return rest.derived(self, valid, self.used + axes)

    def place(
        self, batch: Batch, index: tuple[LaneValue, ...], mask: Mask, site: Site
    ) -> tuple[LaneValue, Mask]:
        """Offset of each lane's element and the lanes whose index is inside on every axis."""
        offset, inside = self.start, self.valid
        if not self.uniform:
            return self._placed(batch, index, mask, site)
        for axis, (at, extent, stride) in enumerate(
            zip(index, self.shape, self.strides, strict=False)
        ):
            if isinstance(at, np.ndarray):
                beyond = at.view(f"u{at.itemsize}") >= extent
                if beyond.any():
                    if not (beyond & mask).any():  # lanes that have left go anywhere
                        at = np.where(beyond, 0, at.astype(np.int64, copy=False))
                    else:
                        at, ok = self.inside(batch, index, axis, mask, site)
                        inside = ok if inside is None else inside & ok
                elif at.dtype != np.int64:
                    at = at.astype(np.int64)
            elif not 0 <= (at := int(at)) < extent:
                at, ok = self.inside(batch, index, axis, mask, site)
                inside = ok if inside is None else inside & ok
            step = at if stride == 1 else at * stride
            offset = step if offset is None else offset + step
        if offset is None:
            offset = 0
        if inside is None:
            return offset, mask
        return np.where(inside, offset, 0), mask & inside

    def _placed(
        self, batch: Batch, index: tuple[LaneValue, ...], mask: Mask, site: Site
    ) -> tuple[LaneValue, Mask]:
        """`place` where shape or strides differ between lanes."""
        offset, inside = 0 if self.start is None else self.start, self.valid
        for axis, stride in zip(range(len(index)), self.strides, strict=False):
            at, ok = self.inside(batch, index, axis, mask, site)
            inside = ok if inside is None else inside & ok
            offset = offset + at * stride
        if inside is None or inside.all():
            return offset, mask
        return np.where(inside, offset, 0), mask & inside

    def inside(
        self, batch: Batch, index: tuple[LaneValue, ...], axis: int, mask: Mask, site: Site
    ) -> tuple[LaneValue, Mask]:
        """The index on one axis counted from the end where negative, and where it is inside."""
        extent, given = self.shape[axis], np.asarray(index[axis])
        at = given.astype(np.int64).reshape(np.shape(index[axis]) or (1, 1, 1))
        beyond: Any = at < 0
        negative = beyond if given.dtype.kind == "i" else np.False_
        at = np.where(negative, at + extent, at)
        outside = (at < 0) | (at >= extent)
        if batch.watched:
            for wrapped, lanes in ((False, outside & mask), (True, negative & ~outside & mask)):
                if lanes.any():
                    self._report_outside(batch, index, axis, site, lanes, wrapped=wrapped)
        return np.where(outside, 0, at), ~outside

    def _report_outside(
        self,
        batch: Batch,
        index: tuple[LaneValue, ...],
        axis: int,
        site: Site,
        lanes: Mask,
        *,
        wrapped: bool,
    ) -> None:
        extent = self.shape[axis]
        if isinstance(extent, np.ndarray):  # one number must do: that of the first such lane
            shape = np.broadcast_shapes(extent.shape, lanes.shape)
            first = int(np.broadcast_to(lanes, shape).argmax())
            extent = int(np.broadcast_to(extent, shape).reshape(-1)[first])
        shown = self.root if self.root.dtype == self.dtype and self._leads_to_root() else self
        batch.report_out_of_range(
            OutOfRange(site, shown, self.used + axis, index[axis], extent, index, lanes, wrapped)
        )

    def _leads_to_root(self) -> bool:
        """Whether this is the root, or what is left of it after whole indices."""
        return self.used + len(self.shape) == len(self.root.shape) and self.uniform

    def load(
        self, batch: Batch, index: tuple[LaneValue, ...], mask: Mask, site: Site
    ) -> LaneValue | KernelArray:
        """The elements at this index, or the remaining array if the index is partial."""
        offset, active = self.place(batch, index, mask, site)
        if len(index) < len(self.shape) or self.is_record:
            valid = None if active is mask else active | ~mask
            return self.part(offset, len(index), valid)
        if batch.watched:
            if self.reported:
                self.report(batch, site, "load", offset, active)
            elif isinstance(self.store, LocalStore) and self.store.written is not None:
                self._look(batch, site, self.store, offset, active)
        value = self.store.read(batch, offset)
        return value if active is mask else np.where(active, value, np.zeros((), self.dtype))

    def save(
        self,
        batch: Batch,
        index: tuple[LaneValue, ...],
        mask: Mask,
        site: Site,
        value: LaneValue,
    ) -> None:
        """Write the values to the elements at this index, in active lanes."""
        offset, active = self.place(batch, index, mask, site)
        if self.is_record:
            copy_record(self.part(offset, len(index)), value, batch, active, site)
            return
        if self.special:
            value = np.asarray(value).astype(self.dtype)
        else:
            convert = converted if batch.launch.flushes else cast
            value = convert(value, self.dtype)
        if batch.watched and self.reported:
            self.report(batch, site, "store", offset, active, value)
        if not batch.scrutiny or self._changes(batch, offset, active, value):
            batch.writes += 1
        self.store.write(batch, offset, active, value)

    def _look(
        self, batch: Batch, site: Site, store: LocalStore, offset: LaneValue, active: Mask
    ) -> None:
        """Notify the watchers of lanes that load what they have not stored in a local array."""
        assert store.written is not None
        early = store.written.missing(batch, offset, active)
        if early is not NO_LANE:
            batch.report_unwritten(Unwritten(site, self.root, offset, early))
        elif store.written.complete(batch):
            store.written = None

    def _changes(self, batch: Batch, offset: LaneValue, active: Mask, value: LaneValue) -> bool:
        """Whether a store leaves other values than it finds."""
        if self.special:
            return True
        old = self.store.read(batch, offset)
        differs = (old != value) & ~((old != old) & (value != value))  # NaN for NaN is no change
        return bool((differs & active).any())

    def report(
        self,
        batch: Batch,
        site: Site,
        kind: str,
        offset: LaneValue,
        active: Mask,
        value: LaneValue = None,
    ) -> None:
        """Notify the watchers of an access at these offsets, in the pieces a GPU moves.

        A complex number is moved as two numbers, in shared memory as one piece of twice their size
        where the array begins on a multiple of that (so the compiler joins them, or not); a text
        character by character, what is not aligned byte by byte.
        """
        if self.whole:
            batch.report_access(
                Access(site, self.root, kind, offset, active, value, unit=self.unit)
            )
            return
        width = self.piece_bytes()
        parts: list[Any] = [None] * (self.itemsize // width)
        if value is not None:
            parts = pieces_of(value, width)
        if self.dtype.kind == "c" and self.space == "shared" and len(parts) == 2:
            if self.root.base % self.itemsize == 0:
                both = None if value is None else tuple(parts)
                there = offset * (self.unit // width)
                event = Access(site, self.root, kind, there, active, both, 2, unit=width)
                batch.report_access(event)
                return
        for at, part in enumerate(parts):
            there = offset * (self.unit // width) + at
            batch.report_access(Access(site, self.root, kind, there, active, part, unit=width))

    def piece_bytes(self) -> int:
        """The bytes that a GPU moves at a time to read or write one element."""
        if self.dtype.kind == "c" and self.unit == self.itemsize:
            return self.itemsize // 2
        return 4 if self.dtype.kind == "U" and self.root.base % 4 == 0 else 1
