"""Counts of every executed memory instruction, by the rules of `smemnb.rules`.

`executed` counts warps with at least one active lane, `idle` those that met the instruction with
its predicate off in all lanes: such an instruction is issued and moves nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from ...hardware import WORD_BYTES
from ...rules import async_copy, bank, local_memory, sector
from ..listing import Located
from .operands import Array
from .state import Group

UNMODELLED = "atomic_retry"
_ROWS = 4096


Seen = Callable[["Site", Array, Array, str, Array], None]
"""What is told of each execution: its rows, their active lanes, the memory, the addresses."""


@dataclass
class Site:
    """One memory instruction of the machine code: what it is, and its counts in each memory.

    `asked` stands for all of its requests, whatever their order, and of lanes that swap addresses
    where that changes no count: two runs in which it is equal have asked for the same. `seen` is
    called with each execution, where somebody wants to see them all.
    """

    located: Located
    kind: str
    width: int
    matrices: int = 0
    counts: dict[str, dict[str, int]] = field(default_factory=dict)
    asked: int = 0
    seen: Seen | None = None
    past_l1: bool = False
    _waiting: dict[str, list[tuple[Array, ...]]] = field(default_factory=dict)

    def add(
        self,
        group: Group,
        space: str,
        address: Array,
        lanes: Array | None = None,
        beside: tuple[Array, Array] | None = None,
    ) -> None:
        """Count one execution by the rows of a group; of some of its lanes where they are given.

        `beside` is the other side of an asynchronous copy: its addresses and its lanes.
        """
        active = group.mask if lanes is None else lanes
        if self.seen is not None:
            self.seen(self, group.rows, active, space, address)
        some: Array = np.logical_or.reduce(active, axis=1)
        executed = int(some.sum())
        counts = self.counts.setdefault(space, {})
        _plus(counts, "executed", executed)
        _plus(counts, "idle", len(some) - executed)
        if not executed:
            return
        _plus(counts, "lanes", int(active.sum()))
        rows: tuple[Array, ...] = (address, active, *(beside or ()))
        if executed < len(some):
            rows = tuple(one[some] for one in rows)
        waiting = self._waiting.setdefault(space, [])
        waiting.append(rows)
        if sum(len(one[0]) for one in waiting) >= _ROWS:
            self._measure(space)

    def settle(self) -> None:
        """Measure what was put aside."""
        for space in list(self._waiting):
            self._measure(space)

    def _measure(self, space: str) -> None:
        waiting = self._waiting.pop(space, [])
        if not waiting:
            return
        address, mask, *beside = (
            np.concatenate([np.asarray(one) for one in column])
            for column in zip(*waiting, strict=True)
        )
        counts = self.counts[space]
        self.asked = (self.asked + _digest(address, mask, self.width)) % 2**64
        if beside:
            self._measure_copy(space, (address, mask), (beside[0], beside[1]))
        elif space in ("global", "local"):
            rule = sector if space == "global" else local_memory
            found = rule.measure(address, width=self.width, active=mask)
            _plus(counts, "sectors", int(found.sectors.sum()))
            _plus(counts, "ideal_sectors", int(found.ideal.sum()))
        elif space == "shared" and self.kind not in (UNMODELLED, "reduction"):
            kind = bank.request_kind(self.kind, self.matrices)
            passes = bank.measure(address, width=self.width, active=mask, kind=kind)
            _plus(counts, "wavefronts", int(passes.wavefronts.sum()))
            _plus(counts, "ideal", int(passes.ideal.sum()))
            counts["ways"] = max(counts.get("ways", 0), int(passes.ways.max(initial=0)))

    def _measure_copy(
        self, space: str, here: tuple[Array, Array], there: tuple[Array, Array]
    ) -> None:
        """Count one side of copies."""
        (to, copying), (source, reading) = (here, there) if space == "shared" else (there, here)
        found = async_copy.measure(
            *(to.astype(np.int64), source.astype(np.int64), copying, reading),
            width=self.width,
            past_l1=self.past_l1,
        )
        counts = self.counts[space]
        if space == "shared":
            _plus(counts, "wavefronts", int(found.wavefronts.sum()))
            _plus(counts, "ideal", int(found.ideal.sum()))
            counts["ways"] = max(counts.get("ways", 0), int(found.ways.max(initial=0)))
        else:
            _plus(counts, "sectors", int(found.sectors.sum()))
            _plus(counts, "ideal_sectors", int(found.ideal_sectors.sum()))


def _digest(address: Array, mask: Array, width: int) -> int:
    """A number for a set of requests."""
    lanes = np.arange(mask.shape[1], dtype=np.uint64) if width > WORD_BYTES else np.uint64(0)
    cells = _mixed(address.astype(np.uint64) * np.uint64(64) + lanes)
    rows = np.where(mask, cells, np.uint64(0)).sum(axis=1, dtype=np.uint64)
    return int(_mixed(rows).sum(dtype=np.uint64))


def _mixed(value: Array) -> Array:
    """Each number scattered over 64 bits (the finishing steps of splitmix64)."""
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        value = (value ^ (value >> np.uint64(shift))) * np.uint64(factor)
    found: Array = value ^ (value >> np.uint64(31))
    return found


def _plus(counts: dict[str, int], name: str, value: int) -> None:
    counts[name] = counts.get(name, 0) + value


class Tally:
    """All memory instructions of a kernel."""

    def __init__(self, seen: Seen | None = None) -> None:
        self._sites: dict[tuple[int, str], Site] = {}
        self._seen = seen

    def site(self, located: Located, kind: str, width: int, matrices: int = 0) -> Site:
        """The record of an instruction; the same one in every batch of blocks.

        A copy from one memory to another has two, a load and a store.
        """
        key = located.address, kind
        if key not in self._sites:
            self._sites[key] = Site(located, kind, width, matrices, seen=self._seen)
        return self._sites[key]

    def sites(self) -> list[Site]:
        """All of them, by address, measured."""
        for site in self._sites.values():
            site.settle()
        return [self._sites[key] for key in sorted(self._sites)]
