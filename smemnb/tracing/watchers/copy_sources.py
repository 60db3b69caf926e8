"""Where asynchronous copies read: who stores there while one of them is under way.

A copy reads its source at some time between its issue and the wait of its thread that says that it
has arrived. Whoever stores there in between may or may not be seen by it ("overwritten_source"):

- its own thread, before that wait;
- another thread of the block, before a barrier after that wait. A barrier between the issue and the
  store does not help, though the race check, for which the copy reads when it is issued, takes the
  two for ordered by it.

A store before the issue, and threads of other blocks, are left to the race check.

Source: PTX ISA, completion mechanisms for asynchronous copy operations: modifying the source before
the operation is complete is undefined.

**Limits**: a fence and an atomic after the wait count as a barrier, for whichever thread. The phase
of an mbarrier that is over for one thread is over for its block.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ...hardware import WORD_BYTES
from ...lockstep.lanes import WARP, spread
from ...lockstep.watch import Access, CopyGroup
from .races.clocks import Clocks, Moment
from .races.written import span

Array = np.ndarray[Any, np.dtype[Any]]
Shape = tuple[int, int, int]


class Met(NamedTuple):
    """Stores into what copies of one line still read, a row per element and pair of threads."""

    copy: Access
    row: Array
    thread: Array  # of the copy
    other: Array
    address: Array
    landed: Array


@dataclass(eq=False)
class _Source:
    """A request of copies, and what was so when it was issued; `barrier` once it is attached."""

    event: Access
    group: Array  # per thread, groups closed before: the number of the open one
    barrier: Array | None = None
    phase: Array | None = None


class Sources:
    """The copies of a batch that may still read, and the waits since the first of them.

    All arrays have a row per block, or one that stands for all, and a column per thread.
    """

    def __init__(self) -> None:
        self._sources: list[_Source] = []
        self._waits: list[tuple[Moment, Array]] = []
        self.fenced = False

    def __bool__(self) -> bool:
        """Whether any copy may still read."""
        return bool(self._sources)

    def issued(self, event: Access, committed: Array) -> None:
        """A request of copies reads global memory."""
        self._sources.append(_Source(event, committed))

    def waited(self, moment: Moment, arrived: Array) -> None:
        """Threads have waited; `arrived` counts the groups of each that are there."""
        if self._sources:
            self._waits.append((moment, arrived))

    def attached(self, event: CopyGroup, shape: Shape, passed: Mapping[int, Array]) -> None:
        """What the active lanes have issued arrives before a phase of an mbarrier ends."""
        active = spread(event.active, shape).reshape(shape[0], -1)
        self._sources = [one for one in self._sources if not _all_passed(one, shape, passed)]
        for one in self._sources:
            if one.barrier is None or one.phase is None:
                one.barrier, one.phase = np.full((2, *active.shape), -1, np.int64)
            fresh = active & (one.barrier < 0)
            for name in ("barrier", "phase"):
                given = spread(getattr(event, name), shape).reshape(active.shape)
                setattr(one, name, np.where(fresh, given, getattr(one, name)))

    def barrier(self, shape: Shape) -> None:
        """Forget what has arrived: all threads of the block know of it from here on."""
        if not self._sources:
            return
        self._sources = [one for one in self._sources if not self._all_there(one, shape)]
        if not self._sources:
            self._waits = []

    def _all_there(self, one: _Source, shape: Shape) -> bool:
        if not self._waits:
            return False
        active = spread(one.event.active, shape).reshape(shape[0], -1)
        there: Array = one.group < self._waits[-1][1]
        return bool((there | ~active).all())

    def met_by(
        self, event: Access, clocks: Clocks, shape: Shape, passed: Mapping[int, Array]
    ) -> Iterator[Met]:
        """What a store, or an atomic, meets of the sources of copies under way."""
        low, high = span(event.array)
        near = [
            one
            for one in self._sources
            if span(one.event.array)[0] < high and low < span(one.event.array)[1]
        ]
        if not near:
            return
        stored = _Lanes.of(event, shape, WORD_BYTES)
        for one in near:
            read = _Lanes.of(one.event, shape, WORD_BYTES)
            unit = 1 if stored.partial or read.partial else WORD_BYTES
            mine, theirs, address = _meeting(stored.cells(unit), read.cells(unit))
            if not len(mine):
                continue
            row, other = stored.row[mine], stored.thread[mine]
            thread = read.thread[theirs]
            landed, known = self._landed(one, clocks.now, row, thread, other, shape, passed)
            early = ~landed | ((thread != other) & ~known)
            if early.any():
                yield Met(
                    one.event, row[early], thread[early], other[early], address[early] * unit,
                    landed[early],
                )  # fmt: skip

    def _landed(
        self,
        one: _Source,
        now: Moment,
        row: Array,
        thread: Array,
        other: Array,
        shape: Shape,
        passed: Mapping[int, Array],
    ) -> tuple[Array, Array]:
        """Whether each copy has arrived, and whether the other thread knows of it."""
        landed = np.zeros(len(row), bool)
        known = np.zeros(len(row), bool)
        if one.barrier is not None and one.phase is not None:
            at, phase = _in(one.barrier, row, thread), _in(one.phase, row, thread)
            for address, phases in passed.items():
                known |= (at == address) & (phases.max(axis=1)[row] > phase)
            landed |= known
        group = _in(one.group, row, thread)
        interval, epoch = _moment(now, shape, row, other)
        for moment, arrived in self._waits:
            lands = ~landed & (group < _in(arrived, row, thread))
            if lands.any():
                then, of_warp = _moment(moment, shape, row, thread)
                knows = then < interval
                knows |= (thread // WARP == other // WARP) & (of_warp < epoch)
                known |= lands & (knows | self.fenced)
                landed |= lands
        return landed, known


@dataclass(eq=False)
class _Lanes:
    """The active lanes of an access to global memory, a row per lane."""

    row: Array
    thread: Array
    address: Array
    width: Array
    partial: bool  # whether some lane touches a part of a word

    @classmethod
    def of(cls, event: Access, shape: Shape, word: int) -> _Lanes:
        """The lanes that an access has, each with its first address and its bytes."""
        active = spread(event.active, shape)
        row, warp, lane = np.nonzero(active)
        address = spread(event.address, shape)[active]
        if event.first is None:
            width = np.full(len(row), event.width)
        else:
            width = spread(event.first, shape)[active].astype(np.int64) * event.unit
        partial = bool(((width % word != 0) | (address % word != 0)).any())
        return cls(row, warp * WARP + lane, address, width, partial)

    def cells(self, unit: int) -> tuple[Array, Array, Array]:
        """Every piece of `unit` bytes: its number, the block it was met in, the lane it is of."""
        count = self.width // unit
        lane = np.repeat(np.arange(len(count)), count)
        inside = np.arange(len(lane)) - np.repeat(np.cumsum(count) - count, count)
        return self.address[lane] // unit + inside, self.row[lane], lane


def _meeting(
    stored: tuple[Array, Array, Array], read: tuple[Array, Array, Array]
) -> tuple[Array, Array, Array]:
    """Pairs of lanes of one block that meet in a cell: both lanes, and the cell."""
    first = min((int(one[0].min()) for one in (stored, read) if len(one[0])), default=0)
    most = max((int(one[0].max()) for one in (stored, read) if len(one[0])), default=0)
    size = most - first + 1
    keys = [(cell - first) + row.astype(np.int64) * size for cell, row, _ in (stored, read)]
    order = np.argsort(keys[1], kind="stable")
    low, high = (np.searchsorted(keys[1][order], keys[0], side) for side in ("left", "right"))
    count = high - low
    at = np.repeat(np.arange(len(count)), count)
    inside = np.arange(len(at)) - np.repeat(np.cumsum(count) - count, count)
    theirs = order[low[at] + inside]
    return stored[2][at], read[2][theirs], stored[0][at]


def _all_passed(one: _Source, shape: Shape, passed: Mapping[int, Array]) -> bool:
    """Whether an mbarrier has told some thread of each block that all copies are there."""
    if one.barrier is None or one.phase is None:
        return False
    there = ~spread(one.event.active, shape).reshape(shape[0], -1)
    for address, phases in passed.items():
        over = phases.max(axis=1, keepdims=True) > one.phase
        there = there | ((one.barrier == address) & over)
    return bool(there.all())


def _in(values: Array, row: Array, thread: Array) -> Array:
    """The value of each thread, where one row may stand for all."""
    found: Array = values[row if len(values) > 1 else 0 * row, thread]
    return found


def _moment(now: Moment, shape: Shape, row: Array, thread: Array) -> tuple[Array, Array]:
    """Interval and epoch of threads."""
    interval = np.asarray(now.interval).reshape(-1)
    of_lanes = np.asarray(now.epochs(shape, np.ones(shape, bool))).reshape(-1)
    epoch: Array = np.broadcast_to(of_lanes, (shape[0] * shape[1] * WARP,)).reshape(shape[0], -1)
    return interval[row if len(interval) > 1 else 0 * row], epoch[row, thread]
