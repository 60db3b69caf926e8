"""One access laid flat: which thread touched which cell, and when."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ....lockstep.lanes import spread
from ....lockstep.watch import Access, ArrayInfo, Site
from .clocks import Moment

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(slots=True, eq=False)
class Record:
    """An access put aside, with where its blocks stood and its place in the order of events."""

    event: Access
    moment: Moment
    time: int


@dataclass(eq=False)
class Touch:
    """One access, flat: which thread touched which cell.

    `cell` counts units of a region; in shared memory each block of the batch has cells of its own.
    `thread` counts 32 lanes per warp through the whole launch. `epoch` is what the lane's warp has
    passed of syncwarps (`Clocks`). `value` holds the bits a store wrote, None where nobody knows.
    `turn` is the place of each lane in the order of events, None where the time says it.
    """

    site: Site
    array: ArrayInfo
    write: bool
    atomic: bool
    cell: Array
    thread: Array
    epoch: Array | int
    value: Array | None
    moment: Moment
    time: int
    turn: Array | None = None

    def only(self, keep: Array | slice) -> Touch:
        """The touches where `keep` holds."""
        return replace(
            self,
            cell=self.cell[keep],
            thread=self.thread[keep],
            epoch=self.epoch[keep] if isinstance(self.epoch, np.ndarray) else self.epoch,
            value=None if self.value is None else self.value[keep],
            turn=None if self.turn is None else self.turn[keep],
        )

    def parted(self, keep: Array) -> tuple[list[Touch], list[Touch]]:
        """The touches where `keep` holds, and the others; none for neither."""
        if keep.all():
            return [self] if len(keep) else [], []
        return ([self.only(keep)], [self.only(~keep)]) if keep.any() else ([], [self])

    def of_blocks(self, size: int) -> Iterator[tuple[int, Touch]]:
        """Each block of the batch with its touches, where a block has `size` cells.

        The touches must be in order of blocks, as those of an access are.
        """
        block = self.cell // size
        ends = np.flatnonzero(np.r_[block[1:] != block[:-1], True]) + 1
        for first, last in zip([0, *ends[:-1].tolist()], ends.tolist(), strict=True):
            yield int(block[first]), self.only(slice(first, last))

    def moved(self, cell: Array) -> Touch:
        """The same touches with other numbers for their cells."""
        return replace(self, cell=cell)


def flat(record: Record, unit: int, start: int, size: int, count: int) -> Touch:
    """A record as touches of units of `unit` bytes from the address `start` on.

    Args:
        record: the access.
        unit: bytes per cell.
        start: address of cell 0.
        size: cells per block; 0 where all blocks have the same cells.
        count: 1 if one block stands for all, else the blocks of the batch.
    """
    event, moment = record.event, record.moment
    array, active = event.array, event.active
    shape = (event.rounds if event.rounds > 1 else count, *moment.shape[1:])
    per = event.unit // unit
    cell = event.offset if per == 1 else event.offset * per
    if array.base != start:
        cell = cell + (array.base - start) // unit
    cell = spread(cell, shape)
    if size and count > 1:
        cell = cell + np.arange(count, dtype=np.int64).reshape(count, 1, 1) * size
    keep: Any = ...
    if active.size > 1:
        keep = spread(active, shape)
    thread = spread(moment.threads(count), shape)
    value = None
    if event.kind == "store" and event.value is not None:
        whole = shape if event.rounds > 1 else moment.shape
        value = spread(event.value, whole)[: shape[0]][keep].reshape(-1)
    touch = Touch(
        event.site,
        array,
        event.kind != "load",
        event.relaxed or event.kind.startswith("atomic"),
        cell[keep].reshape(-1),
        thread[keep].reshape(-1),
        moment.epochs(shape, keep),
        value if value is None or value.dtype.itemsize == event.unit else None,
        moment,
        record.time,
        None if event.turn is None else spread(event.turn, moment.shape)[keep].reshape(-1),
    )
    return touch if per == 1 else split(touch, per)


def for_blocks(touch: Touch, count: int, size: int) -> Touch:
    """The touches of the first block as those of `count` blocks that do the same."""
    blocks, lanes = np.arange(count)[:, None], touch.moment.shape[1] * 32

    def tiled(values: Array) -> Array:
        return np.tile(values, count)

    return replace(
        touch,
        cell=(touch.cell + blocks * size).reshape(-1),
        thread=(touch.thread + (blocks * lanes).astype(touch.thread.dtype)).reshape(-1),
        epoch=tiled(touch.epoch) if isinstance(touch.epoch, np.ndarray) else touch.epoch,
        value=None if touch.value is None else tiled(touch.value),
    )


def split(touch: Touch, per: int) -> Touch:
    """Touches of cells that are `per` units wide, as touches of units (cells are aligned)."""
    number = len(touch.cell)
    value = touch.value
    if value is not None:
        octets = np.ascontiguousarray(value).view(np.uint8).reshape(number * per, -1)
        value = np.ascontiguousarray(octets).view(f"V{octets.shape[1]}").reshape(-1)
    return replace(
        touch,
        cell=(touch.cell[:, None] + np.arange(per)).reshape(-1),
        thread=np.repeat(touch.thread, per),
        epoch=np.repeat(touch.epoch, per) if isinstance(touch.epoch, np.ndarray) else touch.epoch,
        value=value,
        turn=None if touch.turn is None else np.repeat(touch.turn, per),
    )


def bits(value: Array | None) -> Array:
    """Values as integers that are equal when the bits are."""
    assert value is not None
    width = value.dtype.itemsize
    if width in (1, 2, 4, 8):
        return np.ascontiguousarray(value).view(f"u{width}").astype(np.uint64)
    octets = np.ascontiguousarray(value).view(np.uint8).reshape(len(value), -1)
    return np.unique(octets, axis=0, return_inverse=True)[1].reshape(-1).astype(np.uint64)


def folded(touches: list[Touch], span: int = 1) -> list[Touch]:
    """The same touches with at most two threads per site, cell and epoch: lowest and highest.

    Which pairs of sites race does not change: it depends only on whether the threads of a group
    are one, of one warp, or of several. `span` lanes count as one thread (a block, between blocks).
    """
    kept = []
    for touch in touches:
        order = np.lexsort((touch.thread, touch.epoch + 0 * touch.cell, touch.cell))
        ordered = touch.only(order)
        new = np.ones(len(order) + 1, bool)
        new[1:-1] = ordered.cell[1:] != ordered.cell[:-1]
        if isinstance(ordered.epoch, np.ndarray):
            new[1:-1] |= ordered.epoch[1:] != ordered.epoch[:-1]
        last = new[1:]
        if span > 1:
            first_of = np.maximum.accumulate(np.where(new[:-1], np.arange(len(order)), 0))
            last &= ordered.thread // span != ordered.thread[first_of] // span
        kept.append(ordered.only(new[:-1] | last))
    return kept


def index_of(array: ArrayInfo, offset: int) -> tuple[int, ...]:
    """The index of the element at an offset from the array's lowest address, in its units."""
    index = [0] * len(array.shape)
    axes = sorted(range(len(index)), key=lambda axis: -abs(array.strides[axis]))
    for axis in axes:
        step = abs(array.strides[axis])
        if step and array.shape[axis] > 1:
            at, offset = divmod(offset, step)
            at = min(at, array.shape[axis] - 1)
            index[axis] = at if array.strides[axis] > 0 else array.shape[axis] - 1 - at
    return tuple(index)
