"""Where the cells of arrays live: one flat array, a row per block, or a cell per thread.

Shared memory is poisoned when a batch of blocks begins, so that a kernel which reads what nobody
stored does not get a zero by luck.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ..lanes import EVERY_LANE, LaneValue, Mask, chosen, spread

if TYPE_CHECKING:
    from ..batch import Batch

Flat = np.ndarray[Any, np.dtype[Any]]


def poison(dtype: np.dtype[Any]) -> Any:
    """What memory holds before anyone wrote it: NaN, or a number no index survives.

    >>> poison(np.dtype("int32"))
    np.int32(-1431655766)
    """
    if dtype.kind in "fc":
        return dtype.type(np.nan)
    return np.frombuffer(b"\xaa" * dtype.itemsize, dtype)[0] if dtype.kind != "b" else np.True_


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
