"""The arrays a kernel indexes: from index to cell, for all lanes at once.

`KernelArray` turns an index into element offsets, checks every axis, tells the watchers, and
reads or writes one of three stores: `GlobalStore` (one for the launch), `SharedStore` (one per
block of the batch, poisoned when the batch begins) or `LocalStore` (one per thread).

As on the device, a negative signed index counts from the end, and an index beyond the axis is an
error; the engine drops such an access (a load gives 0) and reports it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from .lanes import EVERY_LANE, LaneValue, Mask, cast, chosen, spread
from .watch import Access, OutOfRange, Site

if TYPE_CHECKING:
    from .batch import Batch

Flat = np.ndarray[Any, np.dtype[Any]]


def poison(dtype: np.dtype[Any]) -> Any:
    """What memory holds before anyone wrote it: NaN, or a number no index survives.

    >>> poison(np.dtype("int32"))
    np.int32(-1431655766)
    """
    if dtype.kind in "fc":
        return dtype.type(np.nan)
    return np.frombuffer(b"\xaa" * dtype.itemsize, dtype)[0] if dtype.kind != "b" else np.True_


def c_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Strides in elements of a row-major array.

    >>> c_strides((4, 32, 33))
    (1056, 33, 1)
    """
    return tuple(math.prod(shape[axis + 1 :]) for axis in range(len(shape)))


class Store(Protocol):
    """Where the cells of an array live."""

    def read(self, batch: Batch, offset: LaneValue) -> LaneValue:
        """The cells at these offsets."""

    def write(self, batch: Batch, offset: LaneValue, mask: Mask, value: LaneValue) -> None:
        """Put the values into the cells of the active lanes."""

    def cells(self, batch: Batch, offset: LaneValue) -> tuple[Flat, LaneValue]:
        """A flat array and the place in it of each lane's cell."""


def _scatter(flat: Flat, place: LaneValue, mask: Mask, value: LaneValue) -> None:
    """flat[place] = value in active lanes; the last lane wins where several write one cell."""
    shape = np.broadcast_shapes(np.shape(place), mask.shape, np.shape(value))
    if mask is EVERY_LANE:
        flat[spread(place, shape).ravel()] = spread(value, shape).ravel()
    else:
        active = spread(mask, shape)
        flat[spread(place, shape)[active]] = spread(value, shape)[active]


class GlobalStore:
    """One flat array for the whole launch."""

    def __init__(self, flat: Flat) -> None:
        self.flat = flat

    def read(self, batch: Batch, offset: LaneValue) -> LaneValue:
        """The cells at these offsets."""
        return self.flat.take(offset)

    def write(self, batch: Batch, offset: LaneValue, mask: Mask, value: LaneValue) -> None:
        """Put the values into the cells of the active lanes."""
        _scatter(self.flat, offset, mask, value)

    def cells(self, batch: Batch, offset: LaneValue) -> tuple[Flat, LaneValue]:
        """The flat array and the offsets themselves."""
        return self.flat, offset


class SharedStore:
    """One row of cells per block of the batch."""

    def __init__(self, rows: Flat) -> None:
        self.rows = rows

    @classmethod
    def poisoned(cls, blocks: int, size: int, dtype: np.dtype[Any]) -> SharedStore:
        """Fresh memory of this many blocks, `size` elements each."""
        return cls(np.full((blocks, size), poison(dtype), dtype))

    def cells(self, batch: Batch, offset: LaneValue) -> tuple[Flat, LaneValue]:
        """All rows as one flat array, and each lane's place in it."""
        return self.rows.reshape(-1), offset + batch.block_axis * self.rows.shape[1]

    def read(self, batch: Batch, offset: LaneValue) -> LaneValue:
        """The cells at these offsets, each lane in its own block's row."""
        if not isinstance(offset, np.ndarray):
            return self.rows[:, int(offset)].reshape(-1, 1, 1).copy()
        if offset.shape[0] == 1:
            picked = self.rows.take(offset.reshape(-1), axis=1)
            return picked.reshape(-1, *offset.shape[1:])
        flat, place = self.cells(batch, offset)
        return flat.take(place)

    def write(self, batch: Batch, offset: LaneValue, mask: Mask, value: LaneValue) -> None:
        """Put the values into the cells of the active lanes."""
        flat, place = self.cells(batch, offset)
        _scatter(flat, place, mask, value)


class LocalStore:
    """One cell per element and thread: a list of lane values while indices are uniform."""

    def __init__(self, size: int, dtype: np.dtype[Any]) -> None:
        self.items: list[LaneValue] = [poison(dtype)] * size
        self.dense: Flat | None = None

    def _as_dense(self, batch: Batch) -> Flat:
        if self.dense is None:
            self.dense = np.stack([spread(item, batch.shape) for item in self.items])
        return self.dense

    def read(self, batch: Batch, offset: LaneValue) -> LaneValue:
        """The cell of each lane."""
        if not isinstance(offset, np.ndarray):
            at = int(offset)
            return self.items[at] if self.dense is None else self.dense[at].copy()
        flat, place = self.cells(batch, offset)
        return flat.take(place)

    def write(self, batch: Batch, offset: LaneValue, mask: Mask, value: LaneValue) -> None:
        """Put the values into the cells of the active lanes."""
        if self.dense is None and not isinstance(offset, np.ndarray):
            at = int(offset)
            self.items[at] = value if mask is batch.live else chosen(mask, value, self.items[at])
        else:
            flat, place = self.cells(batch, offset)
            _scatter(flat, place, mask, value)

    def cells(self, batch: Batch, offset: LaneValue) -> tuple[Flat, LaneValue]:
        """All threads' cells as one flat array, and each lane's place in it."""
        dense = self._as_dense(batch)
        return dense.reshape(-1), offset * math.prod(batch.shape) + batch.lane_number


class KernelArray:
    """An array as a kernel sees it: shape, strides, and the store behind it.

    `strides` count elements; `start` is the offset of element 0 (None: 0). A partial index
    (`tile[ty]` of a 2-D tile) gives a `KernelArray` of fewer axes whose `start` differs between
    lanes.
    """

    def __init__(
        self,
        name: str,
        space: str,
        store: Store,
        shape: tuple[int, ...],
        dtype: np.dtype[Any],
        *,
        strides: tuple[int, ...] | None = None,
        base: int = 0,
        start: LaneValue = None,
    ) -> None:
        self.name, self.space, self.store, self.shape = name, space, store, shape
        self.dtype, self.itemsize, self.base = dtype, dtype.itemsize, base
        self.strides = c_strides(shape) if strides is None else strides
        self.start = start
        self.root: KernelArray = self

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    def part(self, offset: LaneValue, axes: int) -> KernelArray:
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
        )
        rest.root = self.root
        return rest

    def place(
        self, batch: Batch, index: tuple[LaneValue, ...], mask: Mask, site: Site
    ) -> tuple[LaneValue, Mask]:
        """Offset of each lane's element and the lanes whose index is inside on every axis."""
        offset, inside = self.start, None
        for axis, (at, extent, stride) in enumerate(
            zip(index, self.shape, self.strides, strict=False)
        ):
            if isinstance(at, np.ndarray):
                if (at.view(f"u{at.itemsize}") >= extent).any():
                    at, ok = self._wrapped(batch, index, axis, mask, site)
                    inside = ok if inside is None else inside & ok
                elif at.dtype != np.int64:
                    at = at.astype(np.int64)
            elif not 0 <= (at := int(at)) < extent:
                at, ok = self._wrapped(batch, index, axis, mask, site)
                inside = ok if inside is None else inside & ok
            step = at if stride == 1 else at * stride
            offset = step if offset is None else offset + step
        if inside is None:
            return offset, mask
        return np.where(inside, offset, 0), mask & inside

    def _wrapped(
        self,
        batch: Batch,
        index: tuple[LaneValue, ...],
        axis: int,
        mask: Mask,
        site: Site,
    ) -> tuple[LaneValue, Mask]:
        """The index on one axis counted from the end where negative, and where it is inside."""
        extent = self.shape[axis]
        at = np.asarray(index[axis]).astype(np.int64).reshape(np.shape(index[axis]) or (1, 1, 1))
        negative = at < 0
        at = np.where(negative, at + extent, at)
        outside = (at < 0) | (at >= extent)
        if batch.watched:
            before = len(self.root.shape) - len(self.shape)  # axes that a view has used up
            for wrapped, lanes in ((False, outside & mask), (True, negative & ~outside & mask)):
                if lanes.any():
                    batch.tell_out_of_range(
                        OutOfRange(
                            site,
                            self.root,
                            before + axis,
                            index[axis],
                            extent,
                            index,
                            lanes,
                            wrapped,
                        )
                    )
        return np.where(outside, 0, at), ~outside

    def load(
        self, batch: Batch, index: tuple[LaneValue, ...], mask: Mask, site: Site
    ) -> LaneValue | KernelArray:
        """The elements at this index, or the remaining array if the index is partial."""
        offset, active = self.place(batch, index, mask, site)
        if len(index) < len(self.shape):
            return self.part(offset, len(index))
        if batch.watched and self.space != "local":
            batch.tell_access(Access(site, self.root, "load", offset, active))
        value = self.store.read(batch, offset)
        return value if active is mask else np.where(active, value, self.dtype.type(0))

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
        value = cast(value, self.dtype)
        if batch.watched and self.space != "local":
            batch.tell_access(Access(site, self.root, "store", offset, active, value))
        batch.writes += 1
        self.store.write(batch, offset, active, value)
