"""What a loop goes over besides ranges, tuples and arrays: `.flat`, NumPy's index iterators.

All lanes are at the same place of a sequence; how many places there are may differ between them.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ..lanes import LaneValue, Mask
from ..watch import Site
from .arrays import KernelArray, Shape

if TYPE_CHECKING:
    from ..batch import Batch


class Sequence:
    """Something that a `for` goes over: `count` (a lane value) places, an item at each."""

    count: LaneValue

    def item(self, frame: Running, mask: Mask, at: int) -> LaneValue:
        """The item at a place, in the lanes of the mask."""
        raise NotImplementedError


class Running(Protocol):
    """What an item needs to know of the call in progress."""

    batch: Batch


class Indices(Sequence):
    """np.ndindex(shape): tuples of indices in row-major order."""

    def __init__(self, shape: Shape) -> None:
        self.shape, self.count = shape, extents((math.prod(shape),))[0]

    def item(self, frame: Running, mask: Mask, at: int) -> tuple[LaneValue, ...]:
        """The index number `at`."""
        return unraveled(at, self.shape)


class Flat:
    """`array.flat`: the elements in row-major order, whatever the strides."""

    def __init__(self, array: KernelArray) -> None:
        self.array, self.shape = array, (array.size,)

    def load(self, batch: Batch, at: Any, mask: Mask, site: Site) -> LaneValue:
        """The element number `at`."""
        index, mask = self._index(batch, at, mask, site)
        return self.array.load(batch, index, mask, site)

    def save(self, batch: Batch, at: Any, mask: Mask, site: Site, value: LaneValue) -> None:
        """Store into the element number `at`."""
        index, mask = self._index(batch, at, mask, site)
        self.array.save(batch, index, mask, site, value)

    def _index(
        self, batch: Batch, at: Any, mask: Mask, site: Site
    ) -> tuple[tuple[LaneValue, ...], Mask]:
        line = KernelArray(
            self.array.name, self.array.space, self.array.store, self.shape, self.array.dtype
        )
        place, inside = line.place(batch, (at,), mask, site)
        return unraveled(place, self.array.shape), inside


class FlatItems(Sequence):
    """The elements of `array.flat`, of np.nditer(array), or with their indices of np.ndenumerate.

    `give` is "element", "cell" (an array without axes) or "index and element".
    """

    def __init__(self, array: KernelArray, site: Site, give: str = "element") -> None:
        self.array, self.site, self.give = array, site, give
        self.count = extents((array.size,))[0]

    def item(self, frame: Running, mask: Mask, at: int) -> LaneValue:
        """The item number `at`."""
        index = unraveled(at, self.array.shape)
        if self.give == "cell":
            offset, _ = self.array.place(frame.batch, index, mask, self.site)
            return self.array.part(offset, len(index))
        value = self.array.load(frame.batch, index, mask, self.site)
        return (index, value) if self.give == "index and element" else value


def extents(sizes: Any) -> tuple[LaneValue, ...]:
    """A shape, or strides, as a kernel sees them."""
    return tuple(n if isinstance(n, np.ndarray) else np.int64(n) for n in sizes)


def unraveled(at: Any, shape: Shape) -> tuple[LaneValue, ...]:
    """The index in a shape of the element with this row-major number.

    >>> [int(i) for i in unraveled(7, (2, 5))]
    [1, 2]
    """
    rest = at if isinstance(at, np.ndarray) else np.int64(at)
    index: list[LaneValue] = []
    for extent in shape[:0:-1]:
        size = np.maximum(extent, 1)
        index.append(rest % size)
        rest = rest // size
    return tuple([*index, rest][::-1]) if shape else ()
