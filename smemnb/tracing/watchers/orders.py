"""Barriers of a block that order nothing: no thread comes to what another touched before them.

A barrier is needed if, without it, a cell would meet two threads, one of them writing. The accesses
before it (since the last barrier that was needed) and those up to the next one are compared. Once
any of its executions is needed, a barrier is needed and nothing more is done for it; of two
barriers in a row the second counts as the needed one.

Taken as needed without a look: barriers that return a value, that some threads miss, and those
between global accesses of a kernel with a fence or next to a global atomic, as other blocks may
rely on their order. An asynchronous copy stores twice: when it is issued, as it may arrive at once,
and when its group is awaited, as it may arrive no sooner.

A barrier in a loop of which a launch ran one round only may be there for the next.

**Limits**: a barrier with more than `LANES_AT_MOST` lane values before or behind it, up to the next
needed barriers, is taken as needed.
"""

from __future__ import annotations

import ast
import math
import types
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import UnsupportedSyntax
from ...lockstep.source import closure_values, source_tree
from ...lockstep.watch import Access, Barrier, CopyGroup, Site, Watcher
from ..model import Observation
from .spans import BLOCK, History, Spans

if TYPE_CHECKING:
    from ...lockstep.batch import Batch, Launch

Array = np.ndarray[Any, np.dtype[Any]]
LANES_AT_MOST = 1 << 22
NEAR = 4  # accesses on either side of a barrier that are looked at first
SPREAD_AT_MOST = 1 << 22  # cells of a block, for that first look
SPACES = ("shared", "global")


class _Side:
    """The accesses to one memory before a barrier, since the last one that was needed.

    `events` are those whose cells are not in `history` yet; `recent` the last of all.
    """

    def __init__(self) -> None:
        self.kinds: set[str] = set()
        self.recent: list[Access] = []
        self.events: list[Access] = []
        self.history = History()

    def add(self, events: list[Access], spans: Spans | None) -> None:
        """Add accesses, and their spans if these are known."""
        self.kinds |= {event.kind for event in events}
        self.recent = (self.recent + events)[-NEAR:]
        if spans is None:
            self.events += events
        else:
            self.history.add(spans)


class Orders(Watcher):
    """Finds barriers that order nothing; `observations()` lists them."""

    takes_rounds = True

    def __init__(self) -> None:
        self._needed: set[Site | None] = set()
        self._met: dict[Site, int] = {}
        self._watching, self._touched, self._blocks = False, False, 0

    def start(self, launch: Launch) -> None:
        """Remember the launch; one without barriers is not looked at."""
        functions = _functions(launch.function, [])
        names = {name for function in functions for name in function.__code__.co_names}
        self._functions = functions
        self._launch, self._fenced = launch, any("fence" in name for name in names)
        self._watching = "syncthreads" in names and launch.threads > 1

    def begin_batch(self, batch: Batch) -> None:
        """Nothing has been touched yet."""
        self._batch, self._blocks = batch, self._blocks + batch.count
        self._lost = False
        self._under_way, self._groups = list[tuple[int, Access]](), 0
        self._begin(None)

    def _begin(self, pending: Site | None) -> None:
        """Forget what came before."""
        self._before = {space: _Side() for space in SPACES}
        self._now: list[Access] = []
        self._spans: dict[str, Spans] = {}  # of what came since the last barrier, where known
        self._pending, self._lanes = pending, 0

    def access(self, event: Access) -> None:
        """Put the access aside until the next barrier."""
        if not self._watching:
            return
        if event.rounds > 1:
            for one in event.each_round():
                self.access(one)
            return
        if event.copy and event.kind == "store":
            self._under_way.append((self._groups, event))
        self._now.append(event)
        self._touched = True
        self._lanes += max(event.offset.size, event.active.size)
        if self._lanes > LANES_AT_MOST:
            self._lost = True
            self._needed |= {self._pending} - {None}
            self._begin(None)

    def copy_group(self, event: CopyGroup) -> None:
        """Let the copies that are awaited store now."""
        if not self._watching:
            return
        if event.step == "commit":
            self._groups += 1
            return
        until = self._groups - event.pending
        self._now += [copy for group, copy in self._under_way if group < until]
        self._under_way = [one for one in self._under_way if one[0] >= until]

    def barrier(self, event: Barrier) -> None:
        """Settle the barrier before this one, and begin to ask about this one."""
        if not self._watching or event.scope != "block":
            return
        self._settle()
        site = event.site
        self._met[site] = self._met.get(site, 0) + self._batch.count
        whole = event.arrived is event.live and event.live is self._launch.live
        if not site.text.endswith("syncthreads()") or not whole or self._lost:
            self._needed.add(site)
            self._lost = False
        if site in self._needed:
            self._begin(None)
        else:
            for space, side in self._before.items():
                side.add(self._events(space), self._spans.get(space))
            self._pending, self._now, self._spans = site, [], {}

    def end_batch(self) -> None:
        """Settle the last barrier."""
        self._settle()
        self._begin(None)

    def observations(self) -> list[Observation]:
        """One observation per barrier that none of its executions needed."""
        if not self._watching or not self._touched:
            return []
        return [
            Observation(
                kind="unused_barrier",
                site=site,
                block=(0, 0, 0),
                thread=(0, 0, 0),
                warp=0,
                count=times,
            )
            for site, times in self._met.items()
            if site not in self._needed and not self._may_go_round(site, times)
        ]

    def _may_go_round(self, site: Site, times: int) -> bool:
        """Whether a barrier stands in a loop of which this launch ran one round at most."""
        return times <= self._blocks and any(
            file == site.file and first <= site.line <= last
            for function in self._functions
            for file, first, last in _loops(function)
        )

    def _events(self, space: str) -> list[Access]:
        """What came since the last barrier, in one memory."""
        return [event for event in self._now if event.array.space == space]

    def _settle(self) -> None:
        """Decide whether the barrier asked about is needed by what followed it."""
        site = self._pending
        if site is None or site in self._needed:
            return
        if self._seen_by_others() or self._meet():
            self._needed.add(site)
            now = self._now
            self._begin(site)
            self._now, self._lanes = now, sum(max(e.offset.size, e.active.size) for e in now)

    def _seen_by_others(self) -> bool:
        """Whether other blocks may rely on the order of global accesses around the barrier."""
        before = self._before["global"].kinds
        now = {event.kind for event in self._events("global")}
        if not before or not now:
            return False
        return self._fenced or any(kind.startswith("atomic") for kind in before | now)

    def _meet(self) -> bool:
        """Whether some cell is touched on both sides, by two threads, and written by one."""
        for space in SPACES:
            before, now = self._before[space], self._events(space)
            kinds = before.kinds | {event.kind for event in now}
            if not (before.kinds and now and kinds - {"load"}):
                continue
            near = before.recent, now[:NEAR]  # as a rule they meet at once, in the first block
            if self._meet_at_once(*near) or self._share_a_cell(space, now):
                return True
        return False

    def _meet_at_once(self, before: list[Access], now: list[Access]) -> bool:
        """Whether two accesses to one array meet in the first block; False where it is not seen."""
        for one in before:
            for other in now:
                alike = one.array is other.array and one.unit == other.unit
                alike = alike and one.elements == other.elements == 1
                written = one.kind != "load" or other.kind != "load"
                if alike and written and self._cross(one, other):
                    return True
        return False

    def _cross(self, one: Access, other: Access) -> bool:
        """Whether the last thread at some cell in one access is not the thread of the other."""
        (cells, threads, _), (others, their, _) = (
            self._flat(event, event.unit, 1) for event in (one, other)
        )
        if not (len(cells) and len(others)):
            return False
        least, most = int(min(cells.min(), others.min())), int(max(cells.max(), others.max()))
        if most - least > SPREAD_AT_MOST:
            return False
        last = np.full(most - least + 1, -1)
        last[cells - least] = threads
        met = last[others - least]
        return bool(((met >= 0) & (met != their)).any())

    def _share_a_cell(self, space: str, now: list[Access]) -> bool:
        before = self._before[space]
        if before.events:
            before.history.add(self._spans_of(before.events))
            before.events = []
        self._spans[space] = self._spans_of(now)
        return before.history.meets(self._spans[space])

    def _spans_of(self, events: list[Access]) -> Spans:
        grain = math.gcd(*(event.unit for event in events))
        alike = all(e.offset.shape[0] == 1 and e.active.shape[0] == 1 for e in events)
        blocks = 1 if alike else self._batch.count
        touches = [
            self._flat(cell, grain, blocks) for event in events for cell in event.cells(grain)
        ]
        return Spans.of(touches, grain, blocks)

    def _flat(self, event: Access, grain: int, blocks: int) -> tuple[Array, Array, bool]:
        """Cells, their threads, and whether they are written."""
        shape = (blocks, *self._batch.shape[1:])
        block = np.arange(blocks, dtype=np.int64).reshape(-1, 1, 1) << BLOCK
        cell = event.address[:blocks] // grain + block
        thread = np.arange(shape[1] * 32).reshape(1, -1, 32)
        active = np.broadcast_to((event.active & self._launch.live)[:blocks], shape)
        return (
            np.broadcast_to(cell, shape)[active],
            np.broadcast_to(thread, shape)[active],
            event.kind != "load",
        )


def _functions(function: Any, found: list[Any]) -> list[Any]:
    """A function and the functions that it names, and so on."""
    code = getattr(function, "__code__", None)
    if code is None or function in found:
        return found
    found.append(function)
    named = [function.__globals__.get(name) for name in code.co_names]
    for value in [*named, *closure_values(function).values()]:
        inner = getattr(value, "py_func", value)
        if isinstance(inner, types.FunctionType):
            _functions(inner, found)
    return found


def _loops(function: Any) -> Iterator[tuple[str, int, int]]:
    """File, first and last line of every loop of a function; none if it has no source."""
    try:
        tree = source_tree(function)
    except UnsupportedSyntax:
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.For | ast.While):
            last = node.end_lineno or node.lineno
            yield function.__code__.co_filename, node.lineno, last
