"""How the requests of an access lie: the few patterns that all of them are.

Thousands of requests of a launch differ by the place where they begin, and by little else. To say
why an access costs what it costs the launch runs once more (`again`), and requests are put together
whose lanes lie alike: the same distances between the lanes, the same lanes active, and the same
distance from the boundary that counts, which is that of a word or of the lane's width in shared
memory and that of a sector in global memory. Requests of one pattern take the same wavefronts or
sectors.

**Limits**: an access that takes another course when it runs again has no patterns; neither has one
of a trace that cannot run again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..hardware import SECTOR_BYTES, WORD_BYTES
from ..lockstep.lanes import spread
from ..lockstep.watch import Access, Watcher
from ..rules import bank, sector
from .again import AccessKey, run_again
from .model import AccessRow

if TYPE_CHECKING:
    from ..lockstep.batch import Batch
    from .trace import Trace

__all__ = ["AccessPatterns", "Pattern", "patterns_of"]

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True)
class Pattern:
    """Requests whose lanes lie alike: `times` of them, each of `each` wavefronts or sectors.

    `address` are the 32 byte addresses of the first of them (0 where the lane is inactive).
    """

    address: tuple[int, ...]
    active: tuple[bool, ...]
    times: int
    each: int


@dataclass(frozen=True)
class AccessPatterns:
    """The patterns of one row of a trace, those of the most requests first.

    `warps` are the warps of the launch, in all blocks; `made` how many requests each of those made
    that made some, in ascending order.
    """

    row: AccessRow
    patterns: tuple[Pattern, ...]
    warps: int
    made: tuple[int, ...]


def patterns_of(trace: Trace, rows: Sequence[AccessRow]) -> list[AccessPatterns | None]:
    """The patterns of some rows of a trace, None for a row whose patterns are not known.

    Args:
        trace: a watched launch.
        rows: some of `trace.lines`, of shared or global memory.
    """
    listening = _Listener(trace, rows)
    if run_again(trace, listening):
        return [None] * len(rows)
    return [listening.found(row, AccessKey.of(row, trace)) for row in rows]


class _Listener(Watcher):
    """Listens to a launch and puts the requests of some accesses together by their patterns."""

    def __init__(self, trace: Trace, rows: Sequence[AccessRow]) -> None:
        warps = -(-trace.launch.threads_per_block // 32)
        self._made = {
            AccessKey.of(row, trace): np.zeros((trace.launch.blocks, warps), np.int64)
            for row in rows
        }
        self._kept: dict[AccessKey, dict[bytes, list[Any]]] = {key: {} for key in self._made}

    def begin_batch(self, batch: Batch) -> None:
        """Remember the blocks in flight."""
        self._batch = batch

    def access(self, event: Access) -> None:
        """Count the requests of an event by their patterns."""
        key = AccessKey.of_event(event)
        if key not in self._kept:
            return
        batch = self._batch
        count, warps, lanes = batch.shape
        blocks = max(event.offset.shape[0], event.active.shape[0])
        rows = max(event.offset.shape[1], event.active.shape[1])
        active = spread(event.active, (blocks, rows, lanes))
        some = active.any(axis=2)
        self._made[key][batch.first : batch.first + count] += np.broadcast_to(some, (count, warps))
        active = active[some]
        if not len(active):
            return
        address = spread(event.address, (blocks, rows, lanes))[some].astype(np.int64)
        unit = max(event.width, WORD_BYTES) if event.array.space == "shared" else SECTOR_BYTES
        least = np.where(active, address, np.iinfo(np.int64).max).min(axis=1, keepdims=True)
        alike = np.where(active, address - least // unit * unit, -1)
        weight = (count // blocks) * (warps // rows)
        _, first, times = np.unique(alike, axis=0, return_index=True, return_counts=True)
        kept = self._kept[key]
        for at, often in zip(first.tolist(), times.tolist(), strict=True):
            begun = kept.setdefault(alike[at].tobytes(), [address[at], active[at], 0])
            begun[2] += often * weight

    def found(self, row: AccessRow, key: AccessKey) -> AccessPatterns | None:
        """The patterns of a row, None if their sums are not those of the row."""
        patterns = tuple(
            Pattern(
                tuple(np.where(active, address, 0).tolist()),
                tuple(active.tolist()),
                times,
                _each(row, address, active),
            )
            for address, active, times in self._kept[key].values()
        )
        counted = row.wavefronts if row.space == "shared" else row.sectors
        sums = sum(one.times for one in patterns), sum(one.times * one.each for one in patterns)
        if sums != (row.requests, counted):
            return None
        made = self._made[key]
        return AccessPatterns(
            row,
            tuple(sorted(patterns, key=lambda one: -one.times)),
            made.size,
            tuple(sorted(made[made > 0].tolist())),
        )


def _each(row: AccessRow, address: Array, active: Array) -> int:
    """Wavefronts or sectors of one request; 0 where the model counts none."""
    if row.space != "shared":
        return int(sector.sectors(address, width=row.width, active=active))
    if not row.modelled:
        return 0
    counts = bank.measure(address, width=row.width, active=active, kind=row.rule)
    return int(counts.wavefronts)
