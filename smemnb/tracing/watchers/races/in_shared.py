"""Races in the shared memory of a block, interval by interval.

Between two barriers every access to a region is put aside. When the interval ends, one pass looks
for cells that several threads touch and one writes; only such cells are examined further.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ....lockstep.batch import DYNAMIC_BASE
from ....lockstep.watch import ArrayInfo
from .exact import pairs_of
from .pairs import Pair, pairs_in_blocks
from .signals import SignalLog, addresses, judged
from .suspects import plain_beside_atomic, suspects
from .touch import Record, Touch, flat, folded, split

if TYPE_CHECKING:
    from ....lockstep.batch import Batch

Array = np.ndarray[Any, np.dtype[Any]]
LANES_BEFORE_FOLDING = 1 << 21
Found = Callable[["Region", Pair, int], None]


class Region:
    """Shared memory that one array, or several over the same bytes, look at in units of bytes."""

    def __init__(self, start: int, stop: int, unit: int) -> None:
        self.start, self.stop, self.unit = start, stop, unit
        self.records: list[Record] = []
        self.carried: list[Touch] = []  # of all blocks, from before an incomplete barrier
        self.lanes = 0

    @property
    def size(self) -> int:
        """Units per block."""
        return -(-(self.stop - self.start) // self.unit)

    def narrow(self, width: int, array: ArrayInfo) -> None:
        """Take units that accesses of `width` bytes to this array are made of, too."""
        unit = math.gcd(self.unit, width, array.base - self.start)
        if unit != self.unit:
            per, self.unit = self.unit // unit, unit
            self.carried = [split(touch.moved(touch.cell * per), per) for touch in self.carried]


class SharedRaces:
    """Watches the shared memory of the blocks in flight; `found` is told each racing pair."""

    def __init__(self, log: SignalLog, found: Found) -> None:
        self._log, self._found = log, found

    def begin(self, batch: Batch) -> None:
        """Fresh shared memory."""
        self._batch, self._since = batch, 0
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
        if region.lanes > LANES_BEFORE_FOLDING:
            region.carried = folded(self._examine(region, None))
            region.records, region.lanes = [], 0

    def end_interval(self, blocks: Array | None, time: int) -> None:
        """Examine the blocks that passed a barrier (None: all) at this time."""
        for region in self._regions:
            if region.records or region.carried:
                touches = self._examine(region, blocks)
                region.records, region.lanes = [], 0
                region.carried = []
                if blocks is not None:
                    stay = ~blocks
                    region.carried = [t.only(stay[t.cell // region.size]) for t in touches]
        if blocks is None:
            self._since = time

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

    def _examine(self, region: Region, blocks: Array | None) -> list[Touch]:
        """Look for races in the blocks that arrived (None: all); the touches come back."""
        alike = blocks is None and not region.carried and all(map(_alike, region.records))
        if alike and not any(record.event.kind != "load" for record in region.records):
            return []
        count = 1 if alike else self._batch.count
        touches = [*region.carried]
        touches += [
            flat(one, region.unit, region.start, region.size, count) for one in region.records
        ]
        looked = touches
        if blocks is not None:
            looked = [touch.only(blocks[touch.cell // region.size]) for touch in touches]
        reads = [touch for touch in looked if not touch.write]
        marked = suspects((t for t in looked if t.write), lambda: reads, count * region.size)
        if marked is not None and any(touch.atomic for touch in looked):
            marked = plain_beside_atomic(looked, marked)
        if marked is not None and marked.any():
            log = self._log.since(self._since)
            exact = bool(log.fences) or any(touch.moment.partial for touch in looked)
            if alike and exact:
                looked = [
                    flat(one, region.unit, region.start, region.size, self._batch.count)
                    for one in region.records
                ]
                marked, alike = np.tile(marked, self._batch.count), False
            touches_there = [touch.only(marked[touch.cell]) for touch in looked]
            for pair in self._pairs(region, log, touches_there):
                self._found(region, pair, self._batch.count if alike else 1)
        return touches

    def _pairs(self, region: Region, log: SignalLog, touches: list[Touch]) -> list[Pair]:
        lanes = self._batch.shape[1] * 32
        touches = [touch for touch in touches if len(touch.cell)]
        address = [addresses(t, region.start, region.unit, region.size, lanes) for t in touches]
        pairs = pairs_of(touches, address, log, lanes)
        if pairs is None:
            pairs = pairs_in_blocks(touches)
        return judged(pairs, touches, log.fences, lanes)


def _alike(record: Record) -> bool:
    """Whether an access is the same in all blocks."""
    event, warp = record.event, record.moment.warp
    return (
        event.offset.shape[0] == 1
        and event.active.shape[0] == 1
        and event.turn is None
        and (not isinstance(warp, np.ndarray) or warp.shape[0] == 1)
    )
