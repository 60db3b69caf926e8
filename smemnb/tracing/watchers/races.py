"""Races in shared memory: two threads touch one cell, one of them writes, nothing orders them.

Lockstep order never shows a race in a result, so races are found from the accesses themselves.
Between two barriers of a block (an *interval*) every access is put aside. When the interval ends,
one pass looks for cells that several threads touch and one writes; nearly always there is none.
Only such cells are then examined pair of lines by pair of lines.

Inside a warp, `syncwarp` orders accesses: each lane carries an epoch that a syncwarp of its lanes
moves on. Two atomics never race with each other.

Limits: after a syncwarp of some lanes only, accesses of lanes in different epochs count as
ordered.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...lockstep.watch import Access, ArrayInfo, Barrier, Site, Watcher
from ..model import Observation
from .cells import cell_count, cell_index
from .race_pairs import Pair, pairs
from .touch import Touch

if TYPE_CHECKING:
    from ...lockstep.batch import Batch, Launch

Array = np.ndarray[Any, np.dtype[Any]]
LANES_BEFORE_FOLDING = 1 << 21


class _Interval:
    """The accesses to one memory since the last barrier, as cells of `grain` bytes."""

    def __init__(self, array: ArrayInfo, grain: int) -> None:
        self.array, self.grain = array, grain
        self.size = cell_count(array, grain)
        self.events: list[tuple[Access, Any]] = []
        self.carried: list[Touch] = []  # of all blocks, from before an incomplete barrier
        self.lanes = 0

    def add(self, event: Access, epoch: Any) -> None:
        """Put an access aside; one of narrower pieces narrows all cells."""
        if event.unit % self.grain:
            self._narrow(math.gcd(self.grain, event.unit))
        self.events += [(cell, epoch) for cell in event.cells(self.grain)]
        self.lanes += event.offset.size * (event.width // self.grain)

    def _narrow(self, grain: int) -> None:
        by = self.grain // grain
        self.events = [(cell, epoch) for event, epoch in self.events for cell in event.cells(grain)]
        self.carried = [touch.narrowed(by) for touch in self.carried]
        self.grain, self.size = grain, cell_count(self.array, grain)


class Races(Watcher):
    """Finds races in shared memory; `observations()` lists them, one per pair of sites."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, Site, Site], Observation] = {}
        self._intervals: dict[int, _Interval] = {}
        self._epoch: Any = 0

    def start(self, launch: Launch) -> None:
        """Remember the launch."""
        self._launch = launch
        self._threads = np.arange(launch.warps * 32, dtype=np.int32).reshape(1, launch.warps, 32)

    def begin_batch(self, batch: Batch) -> None:
        """Fresh shared memory."""
        self._batch, self._intervals, self._epoch = batch, {}, 0

    def access(self, event: Access) -> None:
        """Put the access aside until the interval ends."""
        if event.array.space != "shared":
            return
        memory = event.array.memory
        interval = self._intervals.get(id(memory))
        if interval is None:
            interval = self._intervals[id(memory)] = _Interval(event.array, event.unit)
        interval.add(event, self._epoch)
        if interval.lanes > LANES_BEFORE_FOLDING:
            interval.carried = _folded(self._examine(interval, None))
            interval.events, interval.lanes = [], 0

    def barrier(self, event: Barrier) -> None:
        """End the interval of the blocks that arrived whole, or move a warp's epochs on."""
        if event.scope == "warp":
            self._move_epochs(event)
            return
        blocks = self._complete(event)
        if blocks is not None and not blocks.any():
            return
        for interval in self._intervals.values():
            if interval.events or interval.carried:
                touches = self._examine(interval, blocks)
                interval.events, interval.lanes = [], 0
                interval.carried = [] if blocks is None else self._left(interval, touches, blocks)

    def end_batch(self) -> None:
        """The end of the blocks ends their intervals."""
        for interval in self._intervals.values():
            self._examine(interval, None)
        self._intervals = {}

    def observations(self) -> list[Observation]:
        """One observation per kind and pair of sites; the worst kind of a pair only."""
        worst = [
            seen
            for (kind, *pair), seen in self._found.items()
            if kind == "race" or ("race", *pair) not in self._found
        ]
        return worst

    def _complete(self, event: Barrier) -> Array | None:
        """Per block, whether all its live threads arrived; None if so in every block.

        A barrier that some threads do not reach orders nothing.
        """
        if event.arrived is event.live:
            return None
        blocks = ((event.arrived | ~event.live).all(axis=(1, 2))) & event.arrived.any(axis=(1, 2))
        return None if blocks.all() else np.broadcast_to(blocks, (self._batch.count,))

    def _move_epochs(self, event: Barrier) -> None:
        everyone = event.arrived is event.live and event.members is None
        if everyone and not isinstance(self._epoch, np.ndarray):
            self._epoch += 1
            return
        shape = self._batch.shape
        member = np.broadcast_to(event.arrived, shape)
        if event.members is not None:
            member = member & event.members
        epoch = np.broadcast_to(np.asarray(self._epoch), shape)
        latest = np.where(member, epoch, -1).max(axis=2, keepdims=True)
        self._epoch = np.where(member, latest + 1, epoch)

    def _examine(self, interval: _Interval, blocks: Array | None) -> list[Touch]:
        """Look for races in the blocks that arrived (None: all); the touches come back."""
        events = interval.events
        alike = (
            blocks is None
            and not interval.carried
            and all(
                event.offset.shape[0] == 1
                and event.active.shape[0] == 1
                and (not isinstance(epoch, np.ndarray) or epoch.shape[0] == 1)
                for event, epoch in events
            )
        )
        if alike and not any(event.kind != "load" for event, _ in events):
            return []
        count = 1 if alike else self._batch.count
        touches = [*interval.carried]
        touches += [self._touch(interval, event, epoch, count) for event, epoch in events]
        looked = touches
        if blocks is not None:
            looked = [touch.only(blocks[touch.cell // interval.size]) for touch in touches]
        suspects = _suspects(looked, count * interval.size)
        if suspects is not None:
            for pair in pairs([touch.only(suspects[touch.cell]) for touch in looked]):
                self._note(interval, pair, self._batch.count if alike else 1)
        return touches

    def _left(self, interval: _Interval, touches: list[Touch], blocks: Array) -> list[Touch]:
        """Touches of blocks that did not arrive."""
        return [touch.only(~blocks[touch.cell // interval.size]) for touch in touches]

    def _touch(self, interval: _Interval, event: Access, epoch: Any, count: int) -> Touch:
        """An event as flat cells and threads; `count` 1 if all blocks are alike."""
        shape = (count, *self._batch.shape[1:])
        cell = np.broadcast_to(event.offset, shape)
        if count > 1:
            cell = cell + self._batch.block_axis * interval.size
        thread = np.broadcast_to(self._threads, shape)
        keep: Any = (
            slice(None)
            if event.active.size == 1
            else np.broadcast_to(event.active, shape).reshape(-1)
        )
        value = None
        if event.kind == "store":
            value = np.broadcast_to(
                event.value, shape[:0] + np.broadcast_shapes(shape, np.shape(event.value))
            )[:count].reshape(-1)[keep]
        if isinstance(epoch, np.ndarray):
            epoch = np.broadcast_to(epoch, self._batch.shape)[:count].reshape(-1)[keep]
        return Touch(
            event.site,
            event.kind != "load",
            event.kind.startswith("atomic"),
            cell.reshape(-1)[keep],
            thread.reshape(-1)[keep],
            epoch,
            value,
        )

    def _note(self, interval: _Interval, pair: Pair, weight: int) -> None:
        """Keep the first example of a pair of sites, and count the cells."""
        key = (pair.kind, pair.site, pair.other)
        seen, cells = self._found.get(key), pair.cells * weight
        if seen is not None:
            self._found[key] = replace(seen, count=seen.count + cells)
            return
        launch = self._launch
        block, offset = divmod(pair.cell, interval.size)
        self._found[key] = Observation(
            kind=pair.kind,
            site=pair.site,
            other=pair.other,
            array=interval.array,
            block=launch.block_of(self._batch.first + block),
            thread=launch.thread_of(*divmod(pair.thread, 32)),
            other_thread=launch.thread_of(*divmod(pair.other_thread, 32)),
            warp=pair.thread // 32,
            other_warp=pair.other_thread // 32,
            index=cell_index(interval.array, offset, interval.grain),
            count=cells,
        )


def _suspects(touches: list[Touch], cells: int) -> Array | None:
    """Per cell, whether a thread writes it that is not the only one to touch it; None if none."""
    writes = [touch for touch in touches if touch.write]
    if not writes:
        return None
    if any(touch.atomic for touch in writes):
        if all(touch.atomic for touch in touches):
            return None
        return np.ones(cells, bool)
    writer = np.full(cells, -1, np.int32)
    suspect: list[Array] = []
    for number, touch in enumerate(writes):
        if number:
            before = writer[touch.cell]
            suspect.append(touch.cell[(before >= 0) & (before != touch.thread)])
        writer[touch.cell] = touch.thread
        suspect.append(touch.cell[writer[touch.cell] != touch.thread])
    reads = [touch for touch in touches if not touch.write]
    if reads:
        cell = np.concatenate([touch.cell for touch in reads])
        thread = np.concatenate([touch.thread for touch in reads])
        by = writer[cell]
        suspect.append(cell[(by >= 0) & (by != thread)])
    if not any(len(part) for part in suspect):
        return None
    marked = np.zeros(cells, bool)
    marked[np.concatenate(suspect)] = True
    return marked


def _folded(touches: list[Touch]) -> list[Touch]:
    """The same touches with at most two threads per site, cell and epoch: lowest and highest.

    Which pairs of sites race does not change: it depends only on whether the threads of a group
    are one, of one warp, or of several.
    """
    kept = []
    for touch in touches:
        order = np.lexsort((touch.thread, touch.epoch + 0 * touch.cell, touch.cell))
        ordered = touch.only(order)
        new = np.ones(len(order) + 1, bool)
        new[1:-1] = ordered.cell[1:] != ordered.cell[:-1]
        if isinstance(ordered.epoch, np.ndarray):
            new[1:-1] |= ordered.epoch[1:] != ordered.epoch[:-1]
        kept.append(ordered.only(new[:-1] | new[1:]))
    return kept
