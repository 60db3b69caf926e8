"""Races judged by vector clocks: each access of each lane by itself, all pairs compared.

`Listener` writes down what a launch does, lane by lane. `races` goes through it once: a barrier
joins the clocks of those that meet in it; a fence keeps a copy of its thread's clock; an atomic
leaves that copy at its cell and takes up what others have left there. A clock has an entry per
thread of the launch.

Slow and plain: no intervals, no batches of lanes, no thought of speed. Limits: cells are elements
of one width; what `max`, `min` or `compare_and_swap` decide, and flags without an atomic, are not
known here.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np

from smemnb.lockstep.watch import Access, Barrier, Fence, Watcher

from .threads import Race, Site, worst_only

Clock = Any


class Listener(Watcher):
    """The launch as a list of steps, each of one lane, barriers apart."""

    def __init__(self) -> None:
        self.steps: list[tuple[Any, ...]] = []

    def start(self, launch: Any) -> None:
        self.launch, self.steps = launch, []

    def begin_batch(self, batch: Any) -> None:
        self.batch = batch

    def _lanes(self, mask: Any) -> list[tuple[int, int, int]]:
        whole = np.broadcast_to(mask, self.batch.shape)
        return [tuple(at) for at in np.argwhere(whole).tolist()]

    def _thread(self, at: tuple[int, int, int]) -> int:
        block, warp, lane = at
        return ((self.batch.first + block) * self.launch.warps + warp) * 32 + lane

    def access(self, event: Access) -> None:
        shape = self.batch.shape
        offset = np.broadcast_to(event.offset, shape)
        value = None
        if event.kind == "store":
            value = np.broadcast_to(event.value, shape)
        kind = "atomic" if event.kind.startswith("atomic") else event.kind
        site = (event.site.line, event.site.column, kind)
        for at in self._lanes(event.active):
            where = event.array.name, -1 if event.array.space == "global" else at[0]
            bits = b"" if value is None else value[at].tobytes()
            cell = (*where, int(offset[at]))
            self.steps.append(("access", self._thread(at), site, cell, bits))

    def fence(self, event: Fence) -> None:
        for at in self._lanes(event.active):
            self.steps.append(("fence", self._thread(at), event.scope))

    def barrier(self, event: Barrier) -> None:
        arrived = set(self._lanes(event.arrived))
        live = set(self._lanes(event.live))
        if event.members is not None:
            arrived &= set(self._lanes(event.members))
        groups: dict[Any, list[tuple[int, int, int]]] = defaultdict(list)
        for at in sorted(arrived):
            groups[at[:2] if event.scope == "warp" else at[0]].append(at)
        for key, group in groups.items():
            missing = [at for at in live - arrived if at[0] == key]
            if event.scope == "warp" or not missing:
                step = "warp" if event.scope == "warp" else "block"
                self.steps.append((step, [self._thread(at) for at in group]))


class _Life:
    """A thread: what it knows, what it has fenced, what it has been handed by signals."""

    def __init__(self, number: int, threads: int) -> None:
        self.number = number
        self.clock = np.zeros(threads, np.int64)
        self.fenced = {"block": self.clock.copy(), "grid": self.clock.copy()}
        self.handed = self.clock.copy()
        self.changes: frozenset[int] = frozenset()  # of signals, that it knows
        self.seen = self.clock.copy(), self.changes  # by plain loads, until a fence or barrier
        self.clock[number] = 1

    def step(self) -> None:
        self.clock = self.clock.copy()
        self.clock[self.number] += 1

    def take(self, clock: Clock, changes: frozenset[int]) -> None:
        self.clock = np.maximum(self.clock, clock)
        self.handed = np.maximum(self.handed, clock)
        self.changes |= changes

    def see(self, clock: Clock, changes: frozenset[int]) -> None:
        self.seen = np.maximum(self.seen[0], clock), self.seen[1] | changes

    def take_seen(self) -> None:
        self.take(*self.seen)
        self.seen = np.zeros_like(self.clock), frozenset()


class _Court:
    """Goes through the steps, then compares all pairs of accesses to each cell."""

    def __init__(self, listener: Listener) -> None:
        launch = listener.launch
        self.lanes = launch.warps * 32
        threads = launch.blocks * self.lanes
        self.lives = [_Life(number, threads) for number in range(threads)]
        self.interval: dict[int, int] = defaultdict(int)
        self.log: dict[Any, list[Any]] = defaultdict(list)
        self.left: dict[Any, Clock] = {}
        self.fences: dict[int, list[tuple[int, str]]] = defaultdict(list)
        self.signals = self._useful(listener) & {
            step[3] for step in listener.steps if step[0] == "access" and step[2][2] == "atomic"
        }
        self.nothing = np.zeros(threads, np.int64)
        for place, step in enumerate(listener.steps):
            getattr(self, f"_{step[0]}")(place, *step[1:])

    def _block(self, place: int, group: list[int]) -> None:
        for number in group:
            self.lives[number].take_seen()
        self._meet(group)
        self.interval[group[0] // self.lanes] += 1

    def _warp(self, place: int, group: list[int]) -> None:
        self._meet(group)

    def _meet(self, group: list[int]) -> None:
        lives = [self.lives[number] for number in group]
        clock = np.maximum.reduce([life.clock for life in lives])
        handed = np.maximum.reduce([life.handed for life in lives])
        fenced = {
            scope: np.maximum.reduce([life.fenced[scope] for life in lives])
            for scope in ("block", "grid")
        }
        changes = frozenset().union(*(life.changes for life in lives))
        for life in lives:
            life.clock, life.handed, life.fenced = clock, handed, dict(fenced)
            life.changes = changes
            life.step()

    def _fence(self, place: int, number: int, scope: str) -> None:
        life = self.lives[number]
        life.take_seen()
        self.fences[number].append((place, scope))
        for reach in ("block",) if scope == "block" else ("block", "grid"):
            life.fenced[reach] = np.maximum(life.fenced[reach], life.clock)
        life.step()

    def _access(self, place: int, number: int, site: Site, cell: Any, bits: bytes) -> None:
        life, block = self.lives[number], number // self.lanes
        entry = (number, site, bits, life.clock, life.changes, self.interval[block], place)
        self.log[cell].append(entry)
        if cell not in self.signals:
            return
        reaches = (("grid", (cell, -1)), ("block", (cell, block)))
        if site[2] != "store":
            there = [self.left.get(key, (self.nothing, frozenset())) for _, key in reaches]
            what = np.maximum(there[0][0], there[1][0]), there[0][1] | there[1][1]
            if site[2] == "load":
                life.see(*what)
            else:
                life.take(*what)
        if site[2] != "load":
            for scope, key in reaches:
                clock, changes = self.left.get(key, (self.nothing, frozenset()))
                clock = np.maximum.reduce([clock, life.fenced[scope], life.handed])
                self.left[key] = clock, changes | life.changes | {place}
        life.step()

    def _useful(self, listener: Listener) -> set[Any]:
        """Cells of atomics that some thread changes in or after an interval with a fence."""
        interval: dict[int, int] = defaultdict(int)
        fenced: dict[int, int] = {}
        changed = []
        for kind, *step in listener.steps:
            if kind == "block":
                interval[step[0][0] // self.lanes] += 1
            elif kind == "fence":
                block = step[0] // self.lanes
                fenced.setdefault(block, interval[block])
            elif kind == "access" and step[1][2] != "load":
                block = step[0] // self.lanes
                changed.append((step[2], block, interval[block]))
        never = len(listener.steps)
        return {cell for cell, block, at in changed if fenced.get(block, never) <= at}

    def races(self) -> set[Race]:
        found: set[Race] = set()
        ends = self._release_ends()
        for cell, accesses in self.log.items():
            for at, first in enumerate(accesses):
                for second in accesses[at + 1 :]:
                    race = self._race(cell, accesses, first, second, ends)
                    if race is not None:
                        found.add(race)
        return found

    def _race(self, cell: Any, accesses: Any, a: Any, b: Any, ends: Any) -> Race | None:
        kinds = {a[1][2], b[1][2]}
        if a[0] == b[0] or kinds == {"load"} or kinds == {"atomic"}:
            return None
        if b[3][a[0]] >= a[3][a[0]] or a[6] in b[4]:
            return None
        blocks = {a[0] // self.lanes, b[0] // self.lanes}
        far = len(blocks) > 1
        kind = "race" if a[0] // 32 != b[0] // 32 else "race_in_warp"
        kind = "race_between_blocks" if far else kind
        if "atomic" in kinds:
            seen = {ends[one[1], "far" if far else "near"] for one in (a, b)}
            kind = "race_flag" if seen == {"gives", "takes"} else "race_atomic"
        elif kinds == {"store"}:
            here = (a[0] // self.lanes, a[5])
            near = [
                c for c in accesses
                if c[1][2] != "load" and (far or (c[0] // self.lanes, c[5]) == here)
            ]  # fmt: skip
            if all(c[1][2] == "store" and c[2] == a[2] for c in near):
                kind = "race_same_value"
        where = (-1, -1) if far else (a[0] // self.lanes, a[5])
        return Race(kind, far, frozenset((a[1], b[1])), cell[0], *where, cell[1:])

    def _release_ends(self) -> dict[tuple[Site, str], str]:
        """Which lines give (an atomic behind a fence) or take (a load before one), and how far.

        Of cells that several threads touch, one of them writing and one without an atomic.
        """
        ends: dict[tuple[Site, str], str] = defaultdict(str)
        for accesses in self.log.values():
            written = {c[0] for c in accesses if c[1][2] != "load"}
            threads = {c[0] for c in accesses}
            plain = any(c[1][2] != "atomic" for c in accesses)
            if not written or len(threads) < 2 or not plain:
                continue
            for number, site, *_, place in accesses:
                for at, scope in self.fences[number]:
                    end = {"atomic": "gives" * (at < place), "load": "takes" * (at > place)}
                    if end.get(site[2]):
                        ends[site, "near"] = end[site[2]]
                        if scope != "block":
                            ends[site, "far"] = end[site[2]]
        return ends


def races(listener: Listener) -> dict[tuple[str, frozenset[Site]], int]:
    """(kind, sites) -> cells, of the worst kind of each pair of sites only."""
    return worst_only(_Court(listener).races())
