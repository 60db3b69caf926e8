"""Races in global memory: within a block, and between blocks, which no barrier orders.

Accesses are put aside by reference until the launch is over, or too many have come together. Then
one pass per region (arrays over the same bytes) looks whether each cell was touched once, and if
not, whether some cell was touched by several threads and written. Only such cells are examined.
Arrays that the kernel never stores to, by its source, are not watched at all.

**Limits**: when more than `MOST_LANES` accesses have come together, those before count by the
lowest and highest block that touched a cell at each line; with fences and atomics in the launch,
such an early access counts as ordered.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from .exact import pairs_of
from .pairs import BLOCKS, Pair, pairs_between_blocks, pairs_in_blocks
from .passes import with_passes
from .signals import SignalLog, addresses, judged, signals_of
from .suspects import plain_beside_atomic, suspects
from .touch import Record, Touch, flat, folded, split
from .written import never_written, span

if TYPE_CHECKING:
    from ....lockstep.batch import Launch

Array = np.ndarray[Any, np.dtype[Any]]
MOST_LANES = 1 << 24
MOST_IN_BATCH = 1 << 22  # lanes of one batch, before what repeats is dropped
MOST_CELLS = 1 << 19  # suspicious ones examined at a time, where no signal orders threads
EARLY = -1  # the time of accesses of which only the extremes are kept


@dataclass(eq=False)
class Region:
    """Global memory from `start` to `stop` that some arrays look at, in units of bytes."""

    start: int
    stop: int
    unit: int
    records: list[Record]
    early: list[Touch]

    @property
    def size(self) -> int:
        """Units in all."""
        return -(-(self.stop - self.start) // self.unit)

    def touches(self, *, write: bool) -> Iterator[Touch]:
        """The writes, or the reads, one after another."""
        for touch in self.early:
            if touch.write == write:
                yield touch
        for record in self.records:
            if (record.event.kind != "load") == write:
                count = record.moment.shape[0]
                yield flat(record, self.unit, self.start, 0, count)


Found = Callable[[Region, Pair, int], None]


class GlobalRaces:
    """Watches global memory through a launch; `found` is called with each racing pair."""

    def __init__(self, launch: Launch, log: SignalLog, found: Found) -> None:
        self._log, self._found = log, found
        self._lanes_of_block = launch.warps * 32
        self._unwatched = never_written(launch)
        self._records: list[Record] = []
        self._early: list[tuple[Touch, int, int]] = []  # with address of cell 0 and unit
        self._lanes = self._in_batch = self._first = 0
        self._limit = MOST_IN_BATCH
        self._reported: dict[Any, Array] = {}

    def access(self, record: Record) -> None:
        """Put an access aside."""
        event = record.event
        if id(event.array) in self._unwatched:
            return
        if event.elements == 1:
            self._records.append(record)
        else:
            self._records += [Record(one, record.moment, record.time) for one in event.cells()]
        lanes = (event.offset.size + event.active.size) * event.elements
        self._lanes += lanes
        self._in_batch += lanes
        if self._in_batch > self._limit:
            self._drop_repeats()

    def end_batch(self) -> None:
        """Examine what has come together, if it is much."""
        if self._lanes > MOST_LANES:
            self.examine(keep=True)
        self._first, self._in_batch, self._limit = len(self._records), 0, MOST_IN_BATCH

    def _drop_repeats(self) -> None:
        """Keep of this batch one access per thread, cell and line between two barriers."""
        records, self._records = self._records[self._first :], self._records[: self._first]
        self._lanes -= self._in_batch
        self._in_batch = 0
        for region in _regions(records, []):
            groups: dict[Any, list[Touch]] = {}
            for touch in chain(region.touches(write=True), region.touches(write=False)):
                key = (touch.site, touch.write, touch.array.dtype, id(touch.moment))
                groups.setdefault(key, []).append(touch)
            for members in groups.values():
                kept = _without_repeats(_joined(members))
                self._early.append((kept, region.start, region.unit))
                self._in_batch += len(kept.cell)
        self._lanes += self._in_batch
        self._limit = MOST_IN_BATCH + 2 * self._in_batch

    def examine(self, *, keep: bool = False) -> None:
        """Look for races in all that was put aside; `keep` what later accesses may race with."""
        early: list[tuple[Touch, int, int]] = []
        found: list[tuple[Region, list[Touch]]] = []
        for region in _regions(self._records, self._early):
            if any(_writes(region)) and (keep or not _touched_once(region)):
                for touches in _suspected(region, whole=bool(self._log.fences)):
                    if self._log.fences:
                        found.append((region, touches))
                    else:
                        self._note([(region, touches)])
            if keep:
                early += self._folded(region)
        self._note(found)
        self._records, self._early, self._lanes = [], early, 0

    def _folded(self, region: Region) -> list[tuple[Touch, int, int]]:
        touches = [touch for write in (True, False) for touch in region.touches(write=write)]
        merged = folded(_by_site(touches), self._lanes_of_block)
        return [(touch, region.start, region.unit) for touch in merged]

    def _note(self, found: list[tuple[Region, list[Touch]]]) -> None:
        """Tell the racing pairs among the touches of each region."""
        log, lanes = self._log, self._lanes_of_block
        late = [
            (region, [touch for touch in touches if touch.time > EARLY])
            for region, touches in found
        ]
        address = [addresses(t, r.start, r.unit, 0, lanes) for r, touches in late for t in touches]
        signals = signals_of(log, [t for _, touches in late for t in touches], address, lanes)
        for (region, touches), (_, now) in zip(found, late, strict=True):
            keys = _cells_in_blocks(now, lanes, region.size)
            inside_blocks = np.concatenate([np.zeros(0, np.int64), *keys])
            pairs = pairs_of(now, signals, lanes, inside_blocks)
            if pairs is None:
                inside = [touch.moved(key) for touch, key in zip(now, keys, strict=True)]
                pairs = pairs_between_blocks(touches, lanes)
                pairs += with_passes(pairs_in_blocks(inside), inside)
            for pair in judged(pairs, touches, log.fences, lanes):
                if len((fresh := self._fresh(region, pair)).cells):
                    self._found(region, fresh, 1)

    def _fresh(self, region: Region, pair: Pair) -> Pair:
        """The pair without cells it was already told with, where early accesses are kept."""
        if pair.scope != BLOCKS or not self._early:
            return pair
        key = (pair.kind, pair.site, pair.other)
        address = pair.cells * region.unit + region.start
        known = self._reported.get(key, np.zeros(0, np.int64))
        self._reported[key] = np.union1d(known, address)
        return replace(pair, cells=pair.cells[~np.isin(address, known)])


def _suspected(region: Region, *, whole: bool) -> Iterator[list[Touch]]:
    """The touches of cells that several threads touch and one writes, in order of time.

    Cell by cell they belong together; all come at once if `whole`, else some cells at a time.
    """
    marked = suspects(region.touches(write=True), lambda: region.touches(write=False), region.size)
    if marked is None:
        return
    step = region.size if whole else MOST_CELLS
    for part in np.unique(np.flatnonzero(marked) // step).tolist():
        some = np.zeros_like(marked)
        there = slice(part * step, (part + 1) * step)
        some[there] = marked[there]
        touches = _only(chain(region.touches(write=True), region.touches(write=False)), some)
        if any(touch.atomic for touch in touches):
            touches = _only(touches, plain_beside_atomic(touches, some))
        if touches:
            yield sorted(touches, key=lambda touch: touch.time)


def _only(touches: Iterable[Touch], marked: Array) -> list[Touch]:
    return [touch.only(chosen) for touch in touches if (chosen := marked[touch.cell]).any()]


def _writes(region: Region) -> Iterator[bool]:
    yield from (True for touch in region.early if touch.write)
    yield from (True for record in region.records if record.event.kind != "load")


def _touched_once(region: Region) -> bool:
    """Whether no cell was touched twice."""
    if region.early:
        return False
    touched, lanes = np.zeros(region.size, bool), 0
    for write in (True, False):
        for touch in region.touches(write=write):
            touched[touch.cell] = True
            lanes += len(touch.cell)
    return int(np.count_nonzero(touched)) == lanes


def _cells_in_blocks(touches: list[Touch], lanes: int, size: int) -> list[Array]:
    """Per touch, numbers of the cells that differ between blocks and intervals.

    There are `size` cells in all: a number's remainder is the cell.
    """
    places = [(touch.thread // lanes, touch.moment.intervals(touch.thread)) for touch in touches]
    most = max((int(interval.max(initial=0)) for _, interval in places), default=0) + 1
    return [
        touch.cell + size * (block.astype(np.int64) * most + interval)
        for touch, (block, interval) in zip(touches, places, strict=True)
    ]


def _joined(members: list[Touch]) -> Touch:
    """Touches of one site and moment as one."""
    last, epoch = members[-1], members[-1].epoch
    values = [touch.value for touch in members if touch.value is not None]
    turns = [touch.turn for touch in members if touch.turn is not None]
    if isinstance(epoch, np.ndarray):
        epoch = np.concatenate([touch.epoch for touch in members])
    return replace(
        last,
        cell=np.concatenate([touch.cell for touch in members]),
        thread=np.concatenate([touch.thread for touch in members]),
        epoch=epoch,
        value=np.concatenate(values) if len(values) == len(members) else None,
        turn=np.concatenate(turns) if len(turns) == len(members) else None,
    )


def _without_repeats(touch: Touch) -> Touch:
    """The last touch of each thread and cell."""
    order = np.lexsort((touch.thread, touch.cell))
    cell, thread = touch.cell[order], touch.thread[order]
    last = np.ones(len(order), bool)
    last[:-1] = (cell[1:] != cell[:-1]) | (thread[1:] != thread[:-1])
    return touch.only(order[last])


def _by_site(touches: list[Touch]) -> list[Touch]:
    """Touches of one site as one."""
    groups: dict[Any, list[Touch]] = {}
    for touch in touches:
        groups.setdefault((touch.site, touch.write, touch.array.dtype), []).append(touch)
    merged = []
    for members in groups.values():
        values = [touch.value for touch in members if touch.value is not None]
        merged.append(
            replace(
                members[-1],
                cell=np.concatenate([touch.cell for touch in members]),
                thread=np.concatenate([touch.thread for touch in members]),
                value=np.concatenate(values) if len(values) == len(members) else None,
                turn=None,
                epoch=0,
                moment=replace(members[-1].moment, interval=0, warp=0),
                time=EARLY,
            )
        )
    return merged


def _regions(records: list[Record], early: list[tuple[Touch, int, int]]) -> list[Region]:
    """The records by the memory they are about, arrays that overlap together."""
    arrays = {id(one.event.array): one.event.array for one in records}
    arrays |= {id(touch.array): touch.array for touch, _, _ in early}
    regions: list[Region] = []
    of_array: dict[int, Region] = {}
    for array in sorted(arrays.values(), key=span):
        start, stop = span(array)
        if not regions or start >= regions[-1].stop:
            regions.append(Region(start, stop, array.itemsize, [], []))
        region = regions[-1]
        region.stop = max(region.stop, stop)
        region.unit = math.gcd(region.unit, array.base - region.start)
        of_array[id(array)] = region
    for record in records:
        region = of_array[id(record.event.array)]
        region.unit = math.gcd(region.unit, record.event.unit)
        region.records.append(record)
    for touch, start, unit in early:
        region = of_array[id(touch.array)]
        per, shift = unit // region.unit, (start - region.start) // region.unit
        moved = touch.moved(touch.cell * per + shift)
        region.early.append(moved if per == 1 else split(moved, per))
    return regions
