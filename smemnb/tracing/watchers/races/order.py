"""What atomics and fences order, beyond barriers: release and acquire.

A thread *releases* what was done before its fence when it then changes a cell (an atomic, or a
store to a cell that atomics use). A thread *acquires* it when it reads that cell later: at once
with an atomic, from its next fence or barrier on with a plain load. Barriers and syncwarps carry
both on to other threads, before the fence and after the acquire. Knowledge is handed on: who
acquires, then releases, passes on what it knows.

Every change of a cell counts as seen by all later reads of that cell, as if none had been
overwritten in between; a compare-and-swap counts as a change also when it fails. Both make fewer
races, never more.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ....lockstep.watch import Site
from .trail import FenceRecord, Trail, before, trail_of_fences

Array = np.ndarray[Any, np.dtype[Any]]
MOST_NODES = 1 << 15  # of one launch; with more of them everything counts as ordered
MOST_AT_ONCE = 1 << 20  # pairs of a point and a node
MOST_HEARD = 256  # acquires of a block that are looked through for one that another thread made


@dataclass(eq=False)
class Nodes:
    """Accesses to cells through which threads may signal each other.

    `trail.cell` numbers the cells; `stores`, `loads` and `plain` (no atomic) say what a row is, and
    `trail.source` is the place of its site among `sites`.
    """

    trail: Trail
    stores: Array
    loads: Array
    plain: Array
    sites: list[Site]

    def take(self, rows: Array) -> Nodes:
        """Some of the nodes."""
        kept = self.stores[rows], self.loads[rows], self.plain[rows]
        return Nodes(self.trail.take(rows), *kept, self.sites)


class Order:
    """Which points happen before which others; `points` is the table the answers are about."""

    def __init__(self, points: Trail, nodes: Nodes, fences: list[FenceRecord]) -> None:
        self.points = points
        self.unknown = False
        wanted = np.union1d(points.thread, nodes.trail.thread)
        partial = points.known is not None
        self._fences = trail_of_fences(fences, points.lanes, wanted, partial=partial)
        self._of_blocks = _fenced_intervals(fences, points.lanes)
        self._acquired: list[tuple[list[_Acquired], int]] = [([], 0)] * len(points)
        nodes = self._useful(nodes)
        if len(nodes.trail) > MOST_NODES:
            self.unknown = True
            return
        if not len(nodes.trail):
            self._released = self._known = [0] * len(points)
            return
        order = np.lexsort((nodes.trail.order, nodes.trail.block))
        self._nodes = nodes.take(order)
        self._last = neighbours(self._fences, self._nodes.trail, after=False)
        self._next = neighbours(self._fences, points, after=True)
        self._released = self._covering()
        self._known = self._knowledge()

    def before(self, a: Array, b: Array) -> Array:
        """Whether the points of rows `a` happen before those of rows `b`, which come later."""
        ordered = before(self.points, a, self.points, b)
        if self.unknown:
            return np.ones(len(a), bool)
        for at in np.flatnonzero(~ordered).tolist():
            ordered[at] = self._released[a[at]] & self._known[b[at]] != 0
        return ordered

    def heard(self, a: int, b: int) -> Heard | None:
        """Who else of the block of row `b` has acquired row `a`, where `b` itself has not."""
        if self.unknown or not self._released[a]:
            return None
        entries, number = self._acquired[b]
        for thread, _, acquired, node in entries[:number][:MOST_HEARD]:
            if acquired & self._released[a] and node >= 0:
                return Heard(thread, self._nodes.sites[int(self._nodes.trail.source[node])])
        return None

    def _useful(self, nodes: Nodes) -> Nodes:
        """The nodes of cells that some thread releases something through."""
        trail = nodes.trail
        fenced = _first_after(self._of_blocks, trail.block, np.full(len(trail), -1))
        releases = nodes.stores & (fenced <= trail.interval)
        kept = np.isin(trail.cell, np.unique(trail.cell[releases]))
        return nodes.take(np.flatnonzero(kept))

    def _covering(self) -> list[int]:
        """Per point, the nodes that release it, as bits."""
        released = [0] * len(self.points)
        by_block = _rows_of_blocks(self._nodes.trail.block)
        for block, points in _rows_of_blocks(self.points.block).items():
            nodes = by_block.get(block)
            if nodes is None:
                continue
            step = max(1, MOST_AT_ONCE // len(nodes))
            for some in (points[at : at + step] for at in range(0, len(points), step)):
                packed = np.packbits(self._covered(some, nodes), axis=1, bitorder="little")
                for point, row in zip(some.tolist(), packed, strict=True):
                    released[point] = int.from_bytes(row.tobytes(), "little") << int(nodes[0])
        return released

    def _covered(self, points: Array, nodes: Array) -> Array:
        """(points, nodes) of one block: is there a fence between the point and the node?"""
        trail, fences = self._nodes.trail, self._fences
        a, r = (part.reshape(-1) for part in np.meshgrid(points, nodes, indexing="ij"))
        covered = np.zeros(len(a), bool)
        last, after = self._last[r], self._next[a]
        own = np.flatnonzero(last >= 0)
        covered[own] = before(self.points, a[own], fences, last[own])
        mine = np.flatnonzero(after >= 0)
        covered[mine] |= before(fences, after[mine], trail, r[mine])
        blocks, intervals = self.points.block[a], self.points.interval[a]
        covered |= _first_after(self._of_blocks, blocks, intervals) < trail.interval[r]
        covered &= self.points.order[a] < trail.order[r]
        covered |= self.points.order[a] == trail.order[r]  # the change of the cell itself
        covered &= self._nodes.stores[r]
        return covered.reshape(len(points), len(nodes))

    def _knowledge(self) -> list[int]:
        """Per point, the nodes whose releases its thread has acquired, as bits."""
        trail, fences = self._nodes.trail, self._fences
        known = [0] * len(self.points)
        kind = np.repeat([0, 1, 2], [len(self.points), len(trail), len(fences)])
        row = np.concatenate([np.arange(len(part)) for part in (self.points, trail, fences)])
        order = np.concatenate([self.points.order, trail.order, fences.order])
        progress = _Progress(self.points.lanes)
        sort = np.lexsort((kind, order))
        for what, at in zip(kind[sort].tolist(), row[sort].tolist(), strict=True):
            if what == 0:
                known[at] = progress.known(self.points, at)
                self._acquired[at] = progress.acquired(self.points, at)
            elif what == 1:
                progress.node(self._nodes, at)
            else:
                progress.fence(fences, at)
        return known


_Acquired = tuple[int, int, int, int]
"""Thread, epoch, what it acquired as bits, and the row of the node; -1 for a fence."""


@dataclass(frozen=True)
class Heard:
    """A thread that has acquired what another one of its block has not, and by which access."""

    thread: int
    site: Site


class _Progress:
    """What the threads know while the events are gone through in order."""

    def __init__(self, lanes: int) -> None:
        self._lanes = lanes
        self._published: dict[int, int] = {}
        self._interval: dict[int, int] = {}
        self._base: dict[int, int] = {}  # per block: what was acquired in earlier intervals
        self._here: dict[int, list[_Acquired]] = {}
        self._read: dict[int, int] = {}  # per thread: seen by plain loads, no fence yet

    def known(self, trail: Trail, at: int) -> int:
        """What a point's thread has acquired so far."""
        thread = int(trail.thread[at])
        block = self._enter(thread, int(trail.interval[at]))
        found = self._base.get(block, 0)
        for other, epoch, acquired, _ in self._here.get(block, ()):
            if other == thread or (
                other // 32 == thread // 32 and _knows(trail, at, other % 32) > epoch
            ):
                found |= acquired
        return found

    def acquired(self, trail: Trail, at: int) -> tuple[list[_Acquired], int]:
        """What threads of the block have acquired so far in this interval: the first so many."""
        here = self._here.get(int(trail.thread[at]) // self._lanes, [])
        return here, len(here)

    def node(self, nodes: Nodes, at: int) -> None:
        """A thread reads and changes a cell that signals."""
        trail, thread = nodes.trail, int(nodes.trail.thread[at])
        cell, known = int(trail.cell[at]), self.known(trail, at)
        seen = self._published.get(cell, 0)
        if nodes.loads[at] and seen & ~known:
            if nodes.plain[at]:
                self._read[thread] = self._read.get(thread, 0) | seen
            else:
                self._acquire(trail, at, seen, at)
                known |= seen
        if nodes.stores[at]:
            self._published[cell] = seen | known | 1 << at

    def fence(self, fences: Trail, at: int) -> None:
        """A fence makes what plain loads saw count."""
        thread = int(fences.thread[at])
        self._enter(thread, int(fences.interval[at]))
        if thread in self._read:
            self._acquire(fences, at, self._read.pop(thread), -1)

    def _acquire(self, trail: Trail, at: int, seen: int, node: int) -> None:
        thread = int(trail.thread[at])
        entry = (thread, int(trail.own[at]), seen, node)
        self._here.setdefault(thread // self._lanes, []).append(entry)

    def _enter(self, thread: int, interval: int) -> int:
        """The block of a thread; when its interval is a new one, all know what each knew."""
        block = thread // self._lanes
        if self._interval.get(block, 0) < interval:
            self._interval[block] = interval
            base = self._base.get(block, 0)
            for _, _, acquired, _ in self._here.pop(block, ()):
                base |= acquired
            for other in [one for one in self._read if one // self._lanes == block]:
                base |= self._read.pop(other)
            self._base[block] = base
        return block


def _knows(trail: Trail, at: int, lane: int) -> int:
    return int(trail.own[at] if trail.known is None else trail.known[at, lane])


def _rows_of_blocks(block: Array) -> dict[int, Array]:
    """The rows of each block, in order."""
    sort = np.argsort(block, kind="stable")
    numbers, starts = np.unique(block[sort], return_index=True)
    return dict(zip(numbers.tolist(), np.split(sort, starts[1:]), strict=True))


def neighbours(fences: Trail, points: Trail, *, after: bool) -> Array:
    """Per point the row of its thread's last fence before it, or the next one after; -1: none."""
    if not len(fences) or not len(points):
        return np.full(len(points), -1)
    _, rank = np.unique(np.r_[fences.order, points.order], return_inverse=True)
    _, thread = np.unique(np.r_[fences.thread, points.thread], return_inverse=True)
    key = thread.reshape(-1) * len(rank) + rank.reshape(-1)
    mine, theirs = key[: len(fences)], key[len(fences) :]
    sort = np.argsort(mine)
    place = np.searchsorted(mine[sort], theirs) - (0 if after else 1)
    inside = (place >= 0) & (place < len(sort))
    row = sort[np.where(inside, place, 0)]
    return np.where(inside & (fences.thread[row] == points.thread), row, -1)


def _fenced_intervals(fences: list[FenceRecord], lanes: int) -> Array:
    """(block, interval) in which some thread runs a fence, as ascending numbers."""
    found = [np.zeros(0, np.int64)]
    for fence in fences:
        moment = fence.moment
        active = np.broadcast_to(fence.event.active, moment.shape).any(axis=(1, 2))
        block = np.flatnonzero(active) + moment.first
        found.append((block << 32) + moment.intervals(block * lanes))
    return np.unique(np.concatenate(found))


def _first_after(fenced: Array, block: Array, interval: Array) -> Array:
    """The first interval after `interval` in which the block has a fence; a huge number if none."""
    never = np.iinfo(np.int64).max
    if not len(fenced):
        return np.full(len(block), never)
    place = np.searchsorted(fenced, (block << 32) + interval, side="right")
    row = np.minimum(place, len(fenced) - 1)
    there = (place < len(fenced)) & (fenced[row] >> 32 == block)
    return np.where(there, fenced[row] & 0xFFFFFFFF, never)
