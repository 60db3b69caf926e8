"""Cells through which threads signal each other, and what a plain load of such a cell is worth.

Signals are atomics, plain accesses to the cells of atomics, and flags: integer cells that a thread
stores after a fence and another one loads before a fence.

A plain load beside another thread's atomic: the PTX memory model gives it no order and the compiler
may keep an older value in a register; the hardware gives some value the cell had. So

- a look before a `compare_and_swap`, `max` or `min` on the same cell by the same thread is no
  finding: that atomic decides, whatever the look saw;
- a poll is "race_flag", a warning: it works if the compiler loads again each time;
- any other is "race_atomic", an error, as every plain store beside an atomic is.

What makes a poll is the pattern that the memory model orders by, but for the load, which would have
to be relaxed or volatile: the writer runs a fence and then the atomic (a release), and the reader
loads and then runs a fence (an acquire), both fences reaching the other thread (`threadfence_block`
within a block only). A fence of the reader alone orders nothing: counters to which others add
without a fence before it may be half of what they will be, whatever fence comes behind the look.

Source: PTX ISA, memory consistency model, release and acquire patterns.

**Limits**: that a fence of the writer came before its atomic is asked of the line, not of each
element, and what stands between the two is not looked at: in a loop, the fence of the round before
is enough.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .order import Nodes, neighbours
from .pairs import ATOMIC, BLOCKS, FLAG, Pair
from .touch import Record, Touch, flat
from .trail import FenceRecord, Trail, trail_of, trail_of_fences

Array = np.ndarray[Any, np.dtype[Any]]
MOST_LANES = 1 << 22
DECIDES = {"max", "min", "nanmax", "nanmin", "cas", "compare_and_swap"}


@dataclass
class SignalLog:
    """All fences of a launch, and its atomics since the first fence.

    `lost` holds when there were too many to keep, `crowded` when accesses were taken for ordered
    because too many signals stood around them.
    """

    fences: list[FenceRecord] = field(default_factory=list)
    atomics: list[Record] = field(default_factory=list)
    lanes: int = 0
    lost: bool = False
    crowded: bool = False

    def fence(self, record: FenceRecord) -> None:
        """Keep a fence."""
        self._count(record.event.active.size)
        if not self.lost:
            self.fences.append(record)

    def atomic(self, record: Record) -> None:
        """Keep an atomic, if it may release or acquire anything."""
        if (self.fences or record.event.turn is not None) and not self.lost:
            self._count(record.event.offset.size)
            self.atomics.append(record)

    def _count(self, lanes: int) -> None:
        self.lanes += lanes + 64
        if self.lanes > MOST_LANES:
            self.lost = True
            self.atomics = []

    def since(self, time: int) -> SignalLog:
        """What was kept from some time on."""
        if not self.fences:
            return self
        fences = [one for one in self.fences if one.time > time]
        return SignalLog(fences, [one for one in self.atomics if one.time > time], 0, self.lost)

    @property
    def partial(self) -> bool:
        """Whether lanes of a warp have met without the others."""
        return any(one.moment.partial for one in self.fences) or any(
            one.moment.partial for one in self.atomics
        )


@dataclass
class Signals:
    """What may order threads besides the barriers of all lanes: nodes and fences."""

    log: SignalLog
    nodes: Nodes
    partial: bool


def signals_of(
    log: SignalLog, touches: list[Touch], address: list[Array], lanes: int
) -> Signals | None:
    """The signals around these touches, whose addresses are given; None if there cannot be any."""
    partial = log.partial or any(touch.moment.partial for touch in touches)
    phases = len({touch.moment.phase for touch in touches}) > 1
    if not (log.fences or partial or phases):
        return None
    return Signals(log, nodes_of(log, touches, address, lanes, partial=partial), partial)


def nodes_of(
    log: SignalLog, touches: list[Touch], address: list[Array], lanes: int, *, partial: bool
) -> Nodes:
    """The signals among the logged atomics and these touches, whose addresses are given."""
    parts, keys = [], []
    for one in log.atomics:
        base, unit = one.event.array.base, one.event.unit
        parts.append(flat(one, unit, base, 0, one.moment.shape[0]))
        keys.append(addresses(parts[-1], base, unit, 0, lanes))
    here = [where for touch, where in zip(touches, address, strict=True) if touch.atomic]
    of_atomics = np.unique(np.concatenate([np.zeros(0, np.int64), *keys, *here]))
    of_flags = _flags(log.fences, touches, address, lanes)
    for touch, where in zip(touches, address, strict=True):
        if not touch.atomic:
            chosen = np.isin(where, of_atomics) | np.isin(where, of_flags)
            if chosen.any():
                parts.append(touch.only(chosen))
                keys.append(where[chosen])
    trail = trail_of(parts, keys, lanes, partial=partial)
    write = np.array([touch.write for touch in parts], bool)[trail.source]
    atomic = np.array([touch.atomic for touch in parts], bool)[trail.source]
    return Nodes(trail, write, atomic | ~write, ~atomic, [touch.site for touch in parts])


def addresses(touch: Touch, start: int, unit: int, size: int, lanes: int) -> Array:
    """A number for each touched cell: its address, below 0 in shared memory, with the block."""
    if touch.array.space != "shared":
        return touch.cell.astype(np.int64) * unit + start
    inside = (touch.cell % size if size else touch.cell) * unit + start
    block = touch.thread.astype(np.int64) // lanes
    named: Array = -1 - ((block << 22) + inside)
    return named


def _flags(
    fences: list[FenceRecord], touches: list[Touch], address: list[Array], lanes: int
) -> Array:
    """Addresses of integers that are stored after a fence and loaded before one."""
    found: dict[bool, list[Array]] = {True: [], False: []}
    for touch, where in zip(touches, address, strict=True):
        if not touch.atomic and touch.array.dtype.kind in "iub":
            beside = _beside_a_fence(fences, touch, lanes, after=not touch.write)
            found[touch.write].append(where[beside])
    empty = np.zeros(0, np.int64)
    stored, loaded = (np.concatenate([empty, *found[write]]) for write in (True, False))
    return np.intersect1d(stored, loaded)


def _beside_a_fence(fences: list[FenceRecord], touch: Touch, lanes: int, *, after: bool) -> Array:
    """Whether the thread of each touch has run a fence before it, or runs one after it."""
    trail = trail_of([touch], [touch.cell], lanes, partial=False)
    wanted = np.unique(trail.thread)
    return (
        neighbours(trail_of_fences(fences, lanes, wanted, partial=False), trail, after=after) >= 0
    )


def judged(
    pairs: list[Pair], touches: list[Touch], fences: list[FenceRecord], lanes: int
) -> list[Pair]:
    """The pairs, with plain loads beside atomics, and flags, as what they are worth."""
    kept = []
    for pair in pairs:
        loads = [t for t in touches if t.site in (pair.site, pair.other) and not t.write]
        stores = [t for t in touches if t.site in (pair.site, pair.other) and t.write]
        if pair.kind == ATOMIC and loads:
            atomics = [t for t in touches if t.atomic and _operation(t) in DECIDES]
            if _decided(loads, atomics, lanes):
                continue
            atomics = [t for t in stores if t.atomic]
            if _handed_over(pair, atomics, loads, fences, lanes):
                pair = replace(pair, kind=FLAG)
        elif loads and stores and fences and pair.array.dtype.kind in "iub":
            address = [touch.cell for touch in touches]
            flags = _flags(fences, touches, address, lanes)
            if pair.kind in (pair.scope, ATOMIC) and len(flags) and _touch_only(loads, flags):
                pair = replace(pair, kind=FLAG)
        kept.append(pair)
    return kept


def _handed_over(
    pair: Pair, atomics: list[Touch], loads: list[Touch], fences: list[FenceRecord], lanes: int
) -> bool:
    """Whether atomics follow a fence, and loads are followed by one, that reach the other side."""
    reaching = [one for one in fences if pair.scope != BLOCKS or one.event.scope != "block"]
    return bool(reaching) and all(
        any(_beside_a_fence(reaching, touch, lanes, after=after).any() for touch in side)
        for side, after in ((atomics, False), (loads, True))
    )


def _touch_only(loads: list[Touch], cells: Array) -> bool:
    return all(bool(np.isin(touch.cell, cells).all()) for touch in loads)


def _operation(touch: Touch) -> str:
    named = re.search(r"(\w+)\(", touch.site.text)
    return named[1] if named else ""


def _decided(loads: list[Touch], atomics: list[Touch], lanes: int) -> bool:
    """Whether some thread runs such an atomic on the cell after it has looked at it."""
    if not atomics:
        return False
    looks, acts = (
        trail_of(part, [touch.cell for touch in part], lanes, partial=False)
        for part in (loads, atomics)
    )
    first = _earliest(looks)
    return any(
        first.get((cell, thread), order) < order
        for cell, thread, order in zip(
            acts.cell.tolist(), acts.thread.tolist(), acts.order.tolist(), strict=True
        )
    )


def _earliest(looks: Trail) -> dict[tuple[int, int], int]:
    rows = np.argsort(-looks.order)
    return {
        (int(looks.cell[at]), int(looks.thread[at])): int(looks.order[at]) for at in rows.tolist()
    }
