"""The arrays a kernel indexes: from index to cell, for all lanes at once.

`KernelArray` turns an index into element offsets, checks every axis, tells the watchers, and
reads or writes its store.

As on the device, a negative signed index counts from the end, and an index beyond the axis is an
error; the engine drops such an access (a load gives 0) and reports it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..lanes import LaneValue, Mask, cast
from ..watch import Access, OutOfRange, Site
from .stores import Store

if TYPE_CHECKING:
    from ..batch import Batch


def c_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Strides in elements of a row-major array.

    >>> c_strides((4, 32, 33))
    (1056, 33, 1)
    """
    return tuple(math.prod(shape[axis + 1 :]) for axis in range(len(shape)))


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
