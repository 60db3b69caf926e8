"""Many touches as one table, in the order of events: what the exact comparison works on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ....lockstep.watch import Fence
from .clocks import Moment
from .touch import Touch

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(slots=True, eq=False)
class FenceRecord:
    """A fence put aside, with where its blocks stood and its place in the order of events."""

    event: Fence
    moment: Moment
    time: int


@dataclass(eq=False)
class Trail:
    """Points in the lives of threads, one per row.

    `source` says which touch a row is from. `order` grows with the events; two lanes of one event
    come in order of their number. `own` is how many syncwarps the lane has behind it; `known`
    (rows, 32) how many of each lane of its warp it knows to be over, None where all lanes of a warp
    always met. A block has `lanes`.
    """

    source: Array
    cell: Array
    thread: Array
    order: Array
    interval: Array
    phase: Array
    own: Array
    known: Array | None
    lanes: int

    @property
    def block(self) -> Array:
        """The block of each row."""
        return self.thread // self.lanes

    def __len__(self) -> int:
        return len(self.thread)

    def take(self, rows: Array) -> Trail:
        """Some of the rows."""
        known = None if self.known is None else self.known[rows]
        return Trail(
            **{name: getattr(self, name)[rows] for name in _COLUMNS}, known=known, lanes=self.lanes
        )

    def knows(self, rows: Array, lane: Array) -> Array:
        """How many syncwarps of a lane of their warp some rows know to be over."""
        return self.own[rows] if self.known is None else self.known[rows, lane]


_COLUMNS = ("source", "cell", "thread", "order", "interval", "phase", "own")


def trail_of(touches: list[Touch], cells: list[Array], lanes: int, *, partial: bool) -> Trail:
    """The touches as a table.

    Args:
        touches: the accesses.
        cells: numbers of their cells.
        lanes: lanes of a block.
        partial: whether lanes of a warp may have met without the others.
    """
    parts = [
        (t.moment, t.thread, t.turn, t.time, cell) for t, cell in zip(touches, cells, strict=True)
    ]
    return _table(parts, lanes, partial=partial)


def trail_of_fences(
    fences: list[FenceRecord], lanes: int, wanted: Array, *, partial: bool
) -> Trail:
    """The fences of some threads (`wanted`, ascending) as a table; cells mean nothing there."""
    parts = []
    for fence in fences:
        threads = fence.moment.threads(fence.moment.shape[0])
        keep = np.broadcast_to(fence.event.active, fence.moment.shape) & np.isin(threads, wanted)
        thread = threads[keep].reshape(-1)
        turn = fence.event.turn
        if turn is not None:
            turn = np.broadcast_to(turn, fence.moment.shape)[keep].reshape(-1)
        parts.append((fence.moment, thread, turn, fence.time, np.zeros(len(thread), np.int64)))
    return _table(parts, lanes, partial=partial)


def _table(parts: list[Any], lanes: int, *, partial: bool) -> Trail:
    columns: dict[str, list[Array]] = {name: [np.zeros(0, np.int64)] for name in _COLUMNS}
    known: list[Array] = [np.zeros((0, 32), np.int32)]
    for source, (moment, thread, turn, time, cell) in enumerate(parts):
        number = len(thread)
        first = np.asarray(turn if turn is not None else np.full(number, time), np.int64)
        columns["source"].append(np.full(number, source))
        columns["cell"].append(cell)
        columns["thread"].append(thread.astype(np.int64))
        columns["order"].append((first << 32) + thread)
        columns["interval"].append(moment.intervals(thread))
        columns["phase"].append(np.full(number, moment.phase))
        columns["own"].append(moment.own(thread))
        if partial:
            known.append(moment.known(thread))
    joined = {name: np.concatenate(columns[name]) for name in _COLUMNS}
    return Trail(**joined, known=np.concatenate(known) if partial else None, lanes=lanes)


def before(first: Trail, a: Array, second: Trail, b: Array) -> Array:
    """Whether barriers order row `a` of one table before row `b` of another, or one thread does.

    Rows of one thread are ordered by `order`; for others only what barriers say counts.
    """
    one, other = first.thread[a], second.thread[b]
    same_block = one // first.lanes == other // first.lanes
    by_thread = (one == other) & (first.order[a] < second.order[b])
    by_barrier = same_block & (first.interval[a] < second.interval[b])
    met = second.knows(b, one % 32) > first.own[a]
    by_warp = (one // 32 == other // 32) & (first.interval[a] == second.interval[b]) & met
    by_grid = first.phase[a] < second.phase[b]
    return np.asarray(by_thread | by_barrier | by_warp | by_grid)
