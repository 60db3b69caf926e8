"""What a `for` goes over: ranges, tuples, arrays, enumerate and zip of them.

All lanes of a loop are at the same place of what they go over; how many places there are may
differ between lanes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from ..lanes import LaneValue, Mask, cast
from ..memory import KernelArray, sequences
from ..numbers.operators import range_dtype
from ..watch import Site
from .mixed import joined


class Items:
    """Something with a number of places, a lane value, and an item at each."""

    count: LaneValue

    def item(self, frame: _Frame, mask: Mask, at: int) -> LaneValue:
        """The item at a place, for the lanes of the mask."""
        raise NotImplementedError


class _Frame(Protocol):
    batch: Any


class Range(Items):
    """range(start, stop, step)."""

    def __init__(self, *bounds: LaneValue) -> None:
        self.dtype = range_dtype(*(bound.dtype for bound in bounds))
        one, nought = self.dtype.type(1), self.dtype.type(0)
        start, stop = bounds[:2] if len(bounds) > 1 else (nought, bounds[0])
        step = bounds[2] if len(bounds) > 2 else one
        self.start, self.stop, self.step = (cast(v, self.dtype) for v in (start, stop, step))
        gap = np.where(self.step > 0, self.stop - self.start, self.start - self.stop)
        size = np.maximum(np.abs(self.step), one)
        count = np.where(gap > 0, (gap + size - one) // size, 0).astype(np.int64)
        self.count = count if count.ndim else count[()]

    def item(self, frame: _Frame, mask: Mask, at: int) -> LaneValue:
        """start + at * step."""
        return self.start + self.dtype.type(at) * self.step

    def contains(self, value: LaneValue) -> LaneValue:
        """`value in range(...)`."""
        gap = value - self.start
        inside = np.where(
            self.step > 0,
            (value >= self.start) & (value < self.stop),
            (value <= self.start) & (value > self.stop),
        )
        return inside & (gap % self.step == 0)


class TupleItems(Items):
    """The items of a tuple."""

    def __init__(self, items: tuple[LaneValue, ...]) -> None:
        self.items, self.count = items, np.int64(len(items))

    def item(self, frame: _Frame, mask: Mask, at: int) -> LaneValue:
        """The tuple's item."""
        return self.items[at]


class ArrayItems(Items):
    """The elements of an array along its first axis; each is loaded where it is reached."""

    def __init__(self, array: KernelArray, site: Site) -> None:
        self.array, self.site = array, site
        self.count = sequences.extents(array.shape)[0]

    def item(self, frame: _Frame, mask: Mask, at: int) -> LaneValue:
        """The element, by a load."""
        return self.array.load(frame.batch, (np.int64(at),), mask, self.site)


class Enumerated(Items):
    """enumerate(items, start)."""

    def __init__(self, inner: Items, start: LaneValue) -> None:
        self.inner, self.start, self.count = inner, cast(start, np.dtype(np.int64)), inner.count

    def item(self, frame: _Frame, mask: Mask, at: int) -> LaneValue:
        """(number, item)."""
        return self.start + np.int64(at), self.inner.item(frame, mask, at)


class Zipped(Items):
    """zip(a, b, ...): as long as the shortest."""

    def __init__(self, parts: Sequence[Items]) -> None:
        self.parts = parts
        self.count = np.int64(0)
        for at, part in enumerate(parts):
            self.count = part.count if at == 0 else np.minimum(self.count, part.count)

    def item(self, frame: _Frame, mask: Mask, at: int) -> LaneValue:
        """One item of each."""
        return tuple(part.item(frame, mask, at) for part in self.parts)


class Started:
    """iter(items): each lane is at a place of its own, and `next` takes it one on."""

    def __init__(self, inner: Items) -> None:
        self.inner = inner
        self.at: LaneValue = np.int64(0)

    def next(self, frame: _Frame, mask: Mask) -> tuple[LaneValue, Mask]:
        """The item at each lane's place, and the lanes that are past the end."""
        here, at = np.broadcast_arrays(mask, self.at)
        inside = here & (at < self.inner.count)
        result: LaneValue = np.int64(0)
        for turn, place in enumerate(np.unique(np.broadcast_to(at, inside.shape)[inside])):
            lanes = inside & (at == place)
            item = self.inner.item(frame, lanes, int(place))
            result = joined(lanes, item, result) if turn else item
        self.at = np.where(inside, at + 1, at)
        return result, here & ~inside


def items_of(value: LaneValue, site: Site) -> Items | None:
    """What a loop over this value goes over, None if it cannot; `site` is that of its loads."""
    if isinstance(value, Items | sequences.Sequence):
        return value  # type: ignore[return-value]
    if isinstance(value, sequences.Flat):
        return sequences.FlatItems(value.array, site)  # type: ignore[return-value]
    if isinstance(value, tuple):
        return TupleItems(value)
    if isinstance(value, KernelArray):
        return ArrayItems(value, site)
    return None
