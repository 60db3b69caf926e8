"""Races in the shared memory of a block, interval by interval.

Between two barriers every access to a region is put aside. When the interval ends, one pass looks
for cells that several threads touch and one writes; only such cells are examined further.

Where blocks pass unequal numbers of barriers, a barrier ends the interval of some of them. The
touches of the others wait (`waiting`) and are not looked at again before their blocks arrive, so
that the work grows with the number of touches and not with that of barriers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ....lockstep.batch import DYNAMIC_BASE
from ....lockstep.watch import ArrayInfo
from .exact import pairs_of
from .folding import merged
from .pairs import Pair, pairs_in_blocks
from .passes import with_passes
from .signals import SignalLog, addresses, judged, signals_of
from .suspects import plain_beside_atomic, suspects
from .touch import Record, Touch, flat, folded, for_blocks, split
from .waiting import Waiting

if TYPE_CHECKING:
    from ....lockstep.batch import Batch

Array = np.ndarray[Any, np.dtype[Any]]
LANES_BEFORE_FOLDING = 1 << 21
Found = Callable[["Region", Pair, int], None]


class Region:
    """Shared memory that one array, or several over the same bytes, look at in units of bytes.

    `records` are the accesses since the last barrier of any block. Touches from before it, or
    folded ones, are in `alike` as long as the first block stands for all, else in `waiting`.
    """

    def __init__(self, start: int, stop: int, unit: int) -> None:
        self.start, self.stop, self.unit = start, stop, unit
        self.records: list[Record] = []
        self.alike: list[Touch] = []
        self.waiting = Waiting()
        self.told: dict[Any, Array] = {}  # cells of pairs that are known in this interval
        self.lanes, self.limit = 0, LANES_BEFORE_FOLDING

    @property
    def size(self) -> int:
        """Units per block."""
        return -(-(self.stop - self.start) // self.unit)

    @property
    def busy(self) -> bool:
        """Whether it was touched in this interval."""
        return bool(self.records or self.alike or self.waiting)

    def narrow(self, width: int, array: ArrayInfo) -> None:
        """Take units that accesses of `width` bytes to this array are made of, too."""
        unit = math.gcd(self.unit, width, array.base - self.start)
        if unit != self.unit:
            per, before, self.unit = self.unit // unit, self.size, unit
            for group in (self.alike, *self.waiting.groups()):
                group[:] = [
                    split(touch.moved(self._first_unit(touch.cell, before, per)), per)
                    for touch in group
                ]
            for key, cells in self.told.items():
                first = self._first_unit(cells, before, per)
                self.told[key] = (first[:, None] + np.arange(per)).reshape(-1)

    def _first_unit(self, cell: Array, before: int, per: int) -> Array:
        """The first of the `per` units of cells, of which a block had `before`."""
        first: Array = cell // before * self.size + cell % before * per
        return first

    def flattened(self, count: int) -> list[Touch]:
        """The records as touches; `count` 1 if one block stands for all."""
        return [flat(one, self.unit, self.start, self.size, count) for one in self.records]

    def part(self, count: int) -> None:
        """From here on each of the `count` blocks has touches of its own in `alike`."""
        self.alike = [for_blocks(touch, count, self.size) for touch in self.alike]
        for key, cells in self.told.items():
            self.told[key] = (np.arange(count)[:, None] * self.size + cells).reshape(-1)


class Suspected(NamedTuple):
    """The touches of suspicious cells of a region; each block stands for `weight` of them."""

    region: Region
    touches: list[Touch]
    weight: int


class SharedRaces:
    """Watch the shared memory of the blocks in flight; `found` is called with each racing pair."""

    def __init__(self, log: SignalLog, found: Found) -> None:
        self._log, self._found = log, found

    def begin(self, batch: Batch) -> None:
        """Fresh shared memory."""
        self._batch = batch
        self._passed = np.zeros(batch.count, np.int64)  # per block, when its interval began
        self._regions: list[Region] = []
        self._of_array: dict[int, tuple[Region, ArrayInfo]] = {}

    def access(self, record: Record) -> None:
        """Put an access aside until the interval ends."""
        event = record.event
        entry = self._of_array.get(id(event.array))
        region = self._region(event.array) if entry is None else entry[0]
        if event.unit != region.unit or event.array.base != region.start:
            region.narrow(event.unit, event.array)
        if event.elements == 1:
            region.records.append(record)
        else:
            region.records += [Record(one, record.moment, record.time) for one in event.cells()]
        region.lanes += event.offset.size * event.elements
        if region.lanes > region.limit:
            self._fold(region)

    def end_interval(self, blocks: Array | None, time: int) -> None:
        """Examine the blocks that passed a barrier (None: all) at this time."""
        busy = [region for region in self._regions if region.busy]
        since = int((self._passed if blocks is None else self._passed[blocks]).min())
        if blocks is None:
            self._report([self._examine_all(region) for region in busy], since)
        else:
            self._report([self._examine(region, blocks) for region in busy], since)
        for region in busy:
            self._forget(region, blocks)
        self._passed[... if blocks is None else blocks] = time

    def _forget(self, region: Region, blocks: Array | None) -> None:
        """Begin a new interval of these blocks, whose touches have been examined."""
        region.records, region.lanes, region.limit = [], 0, LANES_BEFORE_FOLDING
        if blocks is None:
            region.alike, region.waiting, region.told = [], Waiting(), {}
            return
        for key, cells in region.told.items():
            region.told[key] = cells[~blocks[cells // region.size]]

    def _fold(self, region: Region) -> None:
        """Examine what has come together, and keep as little of it as later touches may meet."""
        self._report([self._examine_all(region)], int(self._passed.min()), fold=True)
        together = self._together(region)
        if together:
            touches = region.alike + region.flattened(1)
        else:
            touches = self._all_apart(region)
        kept = folded(touches) if self._log.fences else merged(touches)
        region.alike, region.waiting = (kept if together else []), Waiting()
        if not together:
            self._put(region, kept)
        region.records, region.lanes = [], 0
        region.limit = LANES_BEFORE_FOLDING + 2 * sum(len(touch.cell) for touch in kept)

    def _region(self, array: ArrayInfo) -> Region:
        """The region of an array; arrays over the same bytes share one."""
        start, stop = array.base, array.base + math.prod(array.shape) * array.itemsize
        if array.base >= DYNAMIC_BASE:
            start, stop = DYNAMIC_BASE, DYNAMIC_BASE + self._batch.launch.shared_bytes
        for region in self._regions:
            if region.start <= start and max(stop, start + 1) <= region.stop:
                break
        else:
            region = Region(start, stop, array.itemsize)
            self._regions.append(region)
        self._of_array[id(array)] = (region, array)
        return region

    def _together(self, region: Region) -> bool:
        """Whether one block stands for all: they do the same, and no signal orders threads."""
        moments = [record.moment for record in region.records]
        moments += [touch.moment for touch in region.alike]
        signals = self._log.fences or any(moment.partial for moment in moments)
        return not signals and _all_alike(region)

    def _put(self, region: Region, touches: list[Touch]) -> None:
        for touch in touches:
            region.waiting.put(touch, self._passed, region.size)

    def _part(self, region: Region) -> None:
        """From here on no block stands for others."""
        if region.alike:
            region.part(self._batch.count)
            self._put(region, region.alike)
            region.alike = []

    def _all_apart(self, region: Region) -> list[Touch]:
        """All touches of the intervals in progress, of each block its own, in order of time."""
        self._part(region)
        touches = region.waiting.all() + region.flattened(self._batch.count)
        return sorted(touches, key=lambda touch: touch.time)

    def _examine_all(self, region: Region) -> Suspected:
        """The touches of suspicious cells of all blocks."""
        if _all_alike(region):  # mostly there is nothing to see in the first block either
            touches = []
            if any(record.event.kind != "load" for record in region.records) or any(
                touch.write for touch in region.alike
            ):
                touches = region.alike + region.flattened(1)
            found = _suspicious(touches, region.size)
            if not found or self._together(region):
                return Suspected(region, found, self._batch.count)
        found = _suspicious(self._all_apart(region), self._batch.count * region.size)
        return Suspected(region, found, 1)

    def _examine(self, region: Region, blocks: Array) -> Suspected:
        """The touches of suspicious cells of the blocks that arrived; the others' go on waiting."""
        self._part(region)
        size = region.size
        touches = region.waiting.take(blocks, self._passed, size)
        for touch in region.flattened(self._batch.count):
            arrived, others = touch.parted(blocks[touch.cell // size])
            touches += arrived
            self._put(region, others)
        touches.sort(key=lambda touch: touch.time)
        number, place = np.flatnonzero(blocks), np.cumsum(blocks) - 1
        close = [t.moved(place[t.cell // size] * size + t.cell % size) for t in touches]
        found = _suspicious(close, len(number) * size)  # a table of the cells of these blocks only
        return Suspected(
            region, [t.moved(number[t.cell // size] * size + t.cell % size) for t in found], 1
        )

    def _report(self, found: list[Suspected], since: int, *, fold: bool = False) -> None:
        """Tell the racing pairs among the suspicious touches of several regions.

        Args:
            found: the touches.
            since: when the earliest of their intervals began.
            fold: whether these intervals go on.
        """
        if not any(one.touches for one in found):
            return
        log, lanes = self._log.since(since), self._batch.shape[1] * 32
        address = [
            addresses(touch, one.region.start, one.region.unit, one.region.size, lanes)
            for one in found
            for touch in one.touches
        ]
        signals = signals_of(log, [t for one in found for t in one.touches], address, lanes)
        for region, touches, weight in found:
            pairs = pairs_of(touches, signals, lanes)
            if pairs is None:
                pairs = with_passes(pairs_in_blocks(touches), touches)
            for pair in judged(pairs, touches, log.fences, lanes):
                fresh = _fresh(region, pair, keep=fold)
                if len(fresh.cells):
                    self._found(region, fresh, weight)


def _fresh(region: Region, pair: Pair, *, keep: bool) -> Pair:
    """The pair without the cells that it was told with before the touches were folded."""
    key = (pair.kind, pair.site, pair.other)
    known = region.told.get(key)
    cells = pair.cells if known is None else pair.cells[~np.isin(pair.cells, known)]
    if keep:
        region.told[key] = cells if known is None else np.union1d(known, cells)
    return replace(pair, cells=cells)


def _suspicious(touches: list[Touch], cells: int) -> list[Touch]:
    """The touches of those cells that are worth a closer look."""
    reads = [touch for touch in touches if not touch.write]
    marked = suspects((t for t in touches if t.write), lambda: reads, cells)
    if marked is not None and any(touch.atomic for touch in touches):
        marked = plain_beside_atomic(touches, marked)
    if marked is None or not marked.any():
        return []
    found = [touch.only(marked[touch.cell]) for touch in touches]
    return [touch for touch in found if len(touch.cell)]


def _all_alike(region: Region) -> bool:
    """Whether the first block stands for all in everything since their barrier."""
    return not region.waiting and all(map(_alike, region.records))


def _alike(record: Record) -> bool:
    """Whether an access is the same in all blocks."""
    event, warp = record.event, record.moment.warp
    return (
        event.offset.shape[0] == 1
        and event.active.shape[0] == 1
        and event.turn is None
        and (not isinstance(warp, np.ndarray) or warp.shape[0] == 1)
    )
