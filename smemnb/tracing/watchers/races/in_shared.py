"""Races in the shared memory of a block, interval by interval.

Between two barriers every access to a region is put aside. When the interval ends, one pass looks
for cells that several threads touch and one writes; only such cells are examined further.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ....lockstep.batch import DYNAMIC_BASE
from ....lockstep.watch import ArrayInfo
from .exact import pairs_of
from .pairs import Pair, pairs_in_blocks
from .signals import SignalLog, addresses, judged, signals_of
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
            self._report([self._examine(region, None)])
            region.carried = folded(self._touches(region, self._batch.count))
            region.records, region.lanes = [], 0

    def end_interval(self, blocks: Array | None, time: int) -> None:
        """Examine the blocks that passed a barrier (None: all) at this time."""
        busy = [region for region in self._regions if region.records or region.carried]
        self._report([self._examine(region, blocks) for region in busy])
        for region in busy:
            region.carried = [] if blocks is None else self._left(region, ~blocks)
            region.records, region.lanes = [], 0
        if blocks is None:
            self._since = time

    def _left(self, region: Region, stay: Array) -> list[Touch]:
        """The touches of blocks that did not arrive."""
        touches = self._touches(region, self._batch.count)
        return [touch.only(stay[touch.cell // region.size]) for touch in touches]

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

    def _touches(self, region: Region, count: int) -> list[Touch]:
        """All that was put aside; `count` 1 if one block stands for all."""
        flattened = [
            flat(one, region.unit, region.start, region.size, count) for one in region.records
        ]
        return region.carried + flattened

    def _examine(self, region: Region, blocks: Array | None) -> Suspected:
        """The touches of suspicious cells, of the blocks that arrived (None: all)."""
        alike = blocks is None and not region.carried and all(map(_alike, region.records))
        if alike and not any(record.event.kind != "load" for record in region.records):
            return Suspected(region, [], 1)
        count = 1 if alike else self._batch.count
        touches = self._touches(region, count)
        if blocks is not None:
            touches = [touch.only(blocks[touch.cell // region.size]) for touch in touches]
        reads = [touch for touch in touches if not touch.write]
        marked = suspects((t for t in touches if t.write), lambda: reads, count * region.size)
        if marked is not None and any(touch.atomic for touch in touches):
            marked = plain_beside_atomic(touches, marked)
        if marked is None or not marked.any():
            return Suspected(region, [], 1)
        if alike and (self._log.fences or any(touch.moment.partial for touch in touches)):
            touches, alike = self._touches(region, self._batch.count), False
            marked = np.tile(marked, self._batch.count)
        found = [touch.only(marked[touch.cell]) for touch in touches]
        weight = self._batch.count if alike else 1
        return Suspected(region, [touch for touch in found if len(touch.cell)], weight)

    def _report(self, found: list[Suspected]) -> None:
        """Tell the racing pairs among the suspicious touches of several regions."""
        if not any(one.touches for one in found):
            return
        log, lanes = self._log.since(self._since), self._batch.shape[1] * 32
        address = [
            addresses(touch, one.region.start, one.region.unit, one.region.size, lanes)
            for one in found
            for touch in one.touches
        ]
        signals = signals_of(log, [t for one in found for t in one.touches], address, lanes)
        for region, touches, weight in found:
            pairs = pairs_of(touches, signals, lanes)
            if pairs is None:
                pairs = pairs_in_blocks(touches)
            for pair in judged(pairs, touches, log.fences, lanes):
                self._found(region, pair, weight)


def _alike(record: Record) -> bool:
    """Whether an access is the same in all blocks."""
    event, warp = record.event, record.moment.warp
    return (
        event.offset.shape[0] == 1
        and event.active.shape[0] == 1
        and event.turn is None
        and (not isinstance(warp, np.ndarray) or warp.shape[0] == 1)
    )
