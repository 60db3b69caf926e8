"""Barriers of a block that order nothing: no thread comes to what another touched before them.

A barrier is needed if, without it, a cell would meet two threads, one of them writing. The accesses
before it (since the last barrier that was needed) and those up to the next one are compared. Once
any of its executions is needed, a barrier is needed and nothing more is done for it; of two
barriers in a row the second counts as the needed one.

Taken as needed without a look: barriers that return a value, that some threads miss, and those
between global accesses of a kernel with a fence or next to a global atomic, as other blocks may
rely on their order.

A barrier in a loop of which a launch ran one round only may be there for the next.

**Limits**: a barrier with more than `LANES_AT_MOST` lane values before or behind it, up to the next
needed barriers, is taken as needed.
"""

from __future__ import annotations

import ast
import inspect
import math
import textwrap
import types
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ...lockstep.watch import Access, Barrier, Site, Watcher
from ..model import Observation

if TYPE_CHECKING:
    from ...lockstep.batch import Batch, Launch

Array = np.ndarray[Any, np.dtype[Any]]
LANES_AT_MOST = 1 << 22
NEAR = 4  # accesses on either side of a barrier that are looked at first
SPREAD_AT_MOST = 1 << 22  # cells of a block, for that first look
_NOBODY = np.iinfo(np.int64).max


class Orders(Watcher):
    """Finds barriers that order nothing; `observations()` lists them."""

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
        self._before: list[Access] = []
        self._now: list[Access] = []
        self._pending: Site | None = None
        self._lanes, self._lost = 0, False

    def access(self, event: Access) -> None:
        """Put the access aside until the next barrier."""
        if not self._watching:
            return
        self._now.append(event)
        self._touched = True
        self._lanes += max(event.offset.size, event.active.size)
        if self._lanes > LANES_AT_MOST:
            self._lost = True
            self._needed |= {self._pending} - {None}
            self._pending, self._before, self._now, self._lanes = None, [], [], 0

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
            self._pending, self._before, self._now, self._lanes = None, [], [], 0
        else:
            self._pending, self._before, self._now = site, self._before + self._now, []

    def end_batch(self) -> None:
        """Settle the last barrier."""
        self._settle()
        self._before, self._now, self._pending = [], [], None

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

    def _settle(self) -> None:
        """Decide whether the barrier asked about is needed by what followed it."""
        site = self._pending
        if site is None or site in self._needed:
            return
        if self._seen_by_others() or self._meet():
            self._needed.add(site)
            self._before = []
            self._lanes = sum(max(e.offset.size, e.active.size) for e in self._now)

    def _seen_by_others(self) -> bool:
        """Whether other blocks may rely on the order of global accesses around the barrier."""
        before, now = (
            [event.kind for event in events if event.array.space == "global"]
            for events in (self._before, self._now)
        )
        if not before or not now:
            return False
        return self._fenced or any(kind.startswith("atomic") for kind in before + now)

    def _meet(self) -> bool:
        """Whether some cell is touched on both sides, by two threads, and written by one."""
        for space in ("shared", "global"):
            before, now = (
                [event for event in events if event.array.space == space]
                for events in (self._before, self._now)
            )
            written = any(event.kind != "load" for event in before + now)
            if not (before and now and written):
                continue
            near = before[-NEAR:], now[:NEAR]  # as a rule they meet at once, in the first block
            if self._meet_at_once(*near) or self._share_a_cell(before, now):
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

    def _share_a_cell(self, before: list[Access], now: list[Access]) -> bool:
        both = before + now
        grain = math.gcd(*(event.unit for event in both))
        alike = all(e.offset.shape[0] == 1 and e.active.shape[0] == 1 for e in both)
        blocks = 1 if alike else self._batch.count
        flat = [
            [self._flat(cell, grain, blocks) for event in events for cell in event.cells(grain)]
            for events in (before, now)
        ]
        cells = np.unique(np.concatenate([cell for side in flat for cell, _, _ in side]))
        (all_a, write_a), (all_b, write_b) = (_spans(side, cells) for side in flat)
        return _meets(write_a, all_b) or _meets(all_a, write_b)

    def _flat(self, event: Access, grain: int, blocks: int) -> tuple[Array, Array, bool]:
        """Cells, their threads, and whether they are written."""
        shape = (blocks, *self._batch.shape[1:])
        block = np.arange(blocks, dtype=np.int64).reshape(-1, 1, 1) << 42
        cell = event.address[:blocks] // grain + block
        thread = np.arange(shape[1] * 32).reshape(1, -1, 32)
        active = np.broadcast_to((event.active & self._launch.live)[:blocks], shape)
        return (
            np.broadcast_to(cell, shape)[active],
            np.broadcast_to(thread, shape)[active],
            event.kind != "load",
        )


Span = tuple[Array, Array]
"""Per cell the lowest and the highest thread that touches it; the highest is -1 for none."""


def _spans(side: list[tuple[Array, Array, bool]], cells: Array) -> tuple[Span, Span]:
    """Of all accesses of one side, and of those that write."""
    spans = [(np.full(len(cells), _NOBODY), np.full(len(cells), -1)) for _ in range(2)]
    for cell, thread, write in side:
        place = np.searchsorted(cells, cell)
        for low, high in spans if write else spans[:1]:
            np.minimum.at(low, place, thread)
            np.maximum.at(high, place, thread)
    return spans[0], spans[1]


def _meets(first: Span, second: Span) -> bool:
    """Whether some cell has a thread in each, and they are not one and the same."""
    both = (first[1] >= 0) & (second[1] >= 0)
    alone = (first[0] == first[1]) & (second[0] == second[1]) & (first[0] == second[0])
    return bool((both & ~alone).any())


def _functions(function: Any, found: list[Any]) -> list[Any]:
    """A function and the functions that it names, and so on."""
    code = getattr(function, "__code__", None)
    if code is None or function in found:
        return found
    found.append(function)
    cells = [cell.cell_contents for cell in function.__closure__ or () if _filled(cell)]
    for value in [function.__globals__.get(name) for name in code.co_names] + cells:
        inner = getattr(value, "py_func", value)
        if isinstance(inner, types.FunctionType):
            _functions(inner, found)
    return found


def _loops(function: Any) -> Iterator[tuple[str, int, int]]:
    """File, first and last line of every loop of a function; none if it has no source."""
    try:
        lines, first = inspect.getsourcelines(function)
        tree = ast.parse(textwrap.dedent("".join(lines)))
    except (OSError, SyntaxError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.For | ast.While):
            last = node.end_lineno or node.lineno
            yield function.__code__.co_filename, node.lineno + first - 1, last + first - 1


def _filled(cell: Any) -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False
