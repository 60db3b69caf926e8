"""Counts of every executed memory instruction, by the rules of `smemnb.rules`.

`executed` counts warps with at least one active lane, `idle` those that met the instruction with
its predicate off in all lanes: such an instruction is issued and moves nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ...rules import bank, sector
from ..listing import Located
from .operands import Array
from .state import Group

UNMODELLED = "atomic_retry"
_ROWS = 4096


@dataclass
class Site:
    """One memory instruction of the machine code: what it is, and its counts in one memory."""

    located: Located
    kind: str
    width: int
    counts: dict[str, dict[str, int]] = field(default_factory=dict)
    _waiting: dict[str, list[tuple[Array, Array]]] = field(default_factory=dict)

    def add(self, group: Group, space: str, address: Array) -> None:
        """Count one execution by the rows of a group."""
        some: Array = np.logical_or.reduce(group.mask, axis=1)
        executed = int(some.sum())
        counts = self.counts.setdefault(space, {})
        _plus(counts, "executed", executed)
        _plus(counts, "idle", len(some) - executed)
        if not executed:
            return
        _plus(counts, "lanes", int(group.mask.sum()))
        if executed < len(some):
            address, mask = address[some], group.mask[some]
        else:
            mask = group.mask
        waiting = self._waiting.setdefault(space, [])
        waiting.append((address, mask))
        if sum(len(rows) for rows, _ in waiting) >= _ROWS:
            self._measure(space)

    def settle(self) -> None:
        """Measure what was put aside."""
        for space in list(self._waiting):
            self._measure(space)

    def _measure(self, space: str) -> None:
        waiting = self._waiting.pop(space, [])
        if not waiting:
            return
        address = np.concatenate([np.asarray(rows) for rows, _ in waiting])
        mask = np.concatenate([rows for _, rows in waiting])
        counts = self.counts[space]
        if space == "global":
            found = sector.measure(address, width=self.width, active=mask)
            _plus(counts, "sectors", int(found.sectors.sum()))
            _plus(counts, "ideal_sectors", int(found.ideal.sum()))
        elif space == "shared" and self.kind not in (UNMODELLED, "reduction"):
            passes = bank.measure(address, width=self.width, active=mask, kind=self.kind)
            _plus(counts, "wavefronts", int(passes.wavefronts.sum()))
            _plus(counts, "ideal", int(passes.ideal.sum()))
            counts["ways"] = max(counts.get("ways", 0), int(passes.ways.max(initial=0)))


def _plus(counts: dict[str, int], name: str, value: int) -> None:
    counts[name] = counts.get(name, 0) + value


class Tally:
    """All memory instructions of a kernel."""

    def __init__(self) -> None:
        self._sites: dict[int, Site] = {}

    def site(self, located: Located, kind: str, width: int) -> Site:
        """The record of an instruction; the same one in every batch of blocks."""
        if located.address not in self._sites:
            self._sites[located.address] = Site(located, kind, width)
        return self._sites[located.address]

    def sites(self) -> list[Site]:
        """All of them, by address, measured."""
        for site in self._sites.values():
            site.settle()
        return [self._sites[address] for address in sorted(self._sites)]
