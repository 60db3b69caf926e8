"""Races: two threads touch one cell, one of them writes, nothing orders them.

Lockstep order never shows a race in a result, so races are found from the accesses themselves, in
shared and in global memory. Cells are bytes at virtual addresses: two arrays over the same memory,
of whatever width, meet there. Local arrays and constants belong to one thread or are never written.

What orders two accesses of different threads:

- between blocks: a barrier of a cooperative grid, or a release by one and an acquire by the other;
- inside a block: `syncthreads` reached by all its live threads, or release and acquire;
- inside a warp: `syncwarp` of lanes that both are in. A shuffle or vote orders nothing.

Release and acquire (`order`): a thread runs a fence, then an atomic; another thread's later atomic
on that cell sees all that the first did before its fence. `threadfence_block` does so inside a
block, between blocks it takes `threadfence`. Without the fence the atomic orders nothing. Atomics
never race with each other; with a plain access they do (`signals` says how a load is judged).

Kinds: "race" (two warps of a block), "race_in_warp", "race_between_blocks", "race_atomic" (one side
an atomic), "race_flag" (a plain load polls what others signal), "race_same_value" (all stores wrote
the same bits), "lost_update" (lanes of one request update one element, see `lost`). Of a pair of
lines only the worst is reported, and of a statement that loses updates nothing else inside a warp.

**Limits**: what is ordered is judged by the order in which this launch ran: a race that hides
behind a lock taken in one order may show in another. Of very many accesses only the extremes are
kept (`in_global`), of very many atomics after fences none: then nothing is reported between
threads, and `limits` says so.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ....lockstep.watch import Access, Barrier, Fence, Site, Watcher
from ...model import HeardBy, Observation
from .clocks import Clocks
from .in_global import GlobalRaces
from .in_shared import SharedRaces
from .lost import LostUpdates
from .order import Heard
from .pairs import BLOCKS, LANES, SAME, WARPS, Pair
from .passes import BACK, in_source_order
from .signals import SignalLog
from .touch import Record, index_of
from .trail import FenceRecord

if TYPE_CHECKING:
    from ....lockstep.batch import Batch, Launch

__all__ = ["Races"]

Key = tuple[str, bool, Site, Site]


class Races(Watcher):
    """Finds races; `observations()` lists them, one per pair of sites and kind."""

    takes_rounds = True  # between two signals of a thread the order of its accesses is all one

    def __init__(self) -> None:
        self._found: dict[Key, Observation] = {}

    def start(self, launch: Launch) -> None:
        """Nothing is known of this launch yet."""
        self._launch, self._lanes = launch, launch.warps * 32
        self._found = {}
        self._clocks, self._log = Clocks(), SignalLog()
        self._shared = SharedRaces(self._log, self._note)
        self._global = GlobalRaces(launch, self._log, self._note)
        self._lost = LostUpdates(launch)

    def begin_batch(self, batch: Batch) -> None:
        """Blocks that have passed no barrier, with fresh shared memory."""
        self._clocks.begin(batch)
        self._shared.begin(batch)
        self._lost.begin(batch)

    def access(self, event: Access) -> None:
        """Put the access aside until it can be compared with others."""
        space = event.array.space
        if space not in ("shared", "global"):
            return
        if event.copy and space == "shared":  # it stores at no time of its own: `watchers.copies`
            return
        if event.site.update:
            self._lost.access(event)
        record = Record(event, self._clocks.now, self._clocks.tick())
        if event.relaxed or event.kind.startswith("atomic"):
            for one in event.cells():
                self._log.atomic(Record(one, record.moment, record.time))
        if space == "shared":
            self._shared.access(record)
        else:
            self._global.access(record)

    def fence(self, event: Fence) -> None:
        """Keep the fence: atomics after it may release what came before."""
        self._log.fence(FenceRecord(event, self._clocks.now, self._clocks.tick()))

    def barrier(self, event: Barrier) -> None:
        """End the interval of the blocks that arrived whole, or move a warp's clocks on."""
        if event.scope == "warp":
            self._clocks.pass_warp(event)
            return
        blocks = self._clocks.pass_block(event)
        if blocks is None or blocks.any():
            self._shared.end_interval(blocks, self._clocks.tick())

    def end_batch(self) -> None:
        """The end of the blocks ends their intervals."""
        self._shared.end_interval(None, self._clocks.tick())
        self._global.end_batch()

    def finish(self) -> None:
        """All accesses to global memory are known."""
        self._global.examine()

    def limits(self) -> list[str]:
        """What was not examined, because there was too much of it."""
        said = []
        if self._log.lost:
            said.append(
                "races between threads that fences and atomics may order: the launch runs too many"
                " fences and atomics. Trace a smaller launch, or some of its blocks"
            )
        elif self._log.crowded:
            said.append(
                "some pairs of accesses with very many atomics around them count as ordered."
                " Trace a smaller launch"
            )
        return said

    def observations(self) -> list[Observation]:
        """One observation per kind and pair of sites; the worst kind of a pair only."""
        found = [seen for key, seen in self._found.items() if self._is_worst(key)]
        lost = self._lost.observations()
        losing = {_statement(one.site) for one in lost}
        worse = {
            _statement(one.site)
            for one in found
            if one.kind in (BLOCKS, WARPS) and _of_one_statement(one)
        }
        said = [
            one
            for one in found
            if one.kind not in (LANES, SAME)
            or not _of_one_statement(one)
            or _statement(one.site) not in losing - worse
        ]
        said = [_as_it_happened(one) for one in said]
        return said + [one for one in lost if _statement(one.site) not in worse]

    def _is_worst(self, key: Key) -> bool:
        """Whether no worse race of the same pair of sites is known."""
        known, (kind, far, *pair) = self._found, key
        if not far and (kind, True, *pair) in known:
            return False
        for worse in ((BLOCKS, True), (WARPS, False)):
            if (*worse, *pair) in known:
                return kind == worse[0]
        return True

    def _note(self, region: Any, pair: Pair, weight: int) -> None:
        """Keep the first example of a pair of sites, and count the cells."""
        key = (pair.kind, pair.scope == BLOCKS, pair.site, pair.other)
        array, size = pair.array, region.size
        offset = pair.cells % size * region.unit + region.start - array.base
        first = int(offset[0]) // array.unit
        cells = pair.cells // size * size + offset // array.itemsize
        count = len(np.unique(cells)) * weight
        seen = self._found.get(key)
        if seen is not None:
            passes = pair.passes.union(str(seen.detail.get("passes", "")).split())
            heard = seen.heard if pair.heard is not None else None
            self._found[key] = replace(
                seen, count=seen.count + count, detail={**seen.detail, **_said(passes)}, heard=heard
            )
            return
        launch, far = self._launch, pair.scope == BLOCKS
        block, thread = divmod(pair.thread, self._lanes)
        other_block, other_thread = divmod(pair.other_thread, self._lanes)
        self._found[key] = Observation(
            kind=pair.kind,
            site=pair.site,
            other=pair.other,
            array=array,
            block=launch.block_of(block),
            thread=launch.thread_of(*divmod(thread, 32)),
            other_thread=launch.thread_of(*divmod(other_thread, 32)),
            warp=thread // 32,
            other_warp=other_thread // 32,
            other_block=launch.block_of(other_block) if far else None,
            index=index_of(array, first),
            count=count,
            detail=_said(pair.passes) | ({"fences": 1} if far and self._log.fences else {}),
            heard=None if pair.heard is None else self._heard(pair.heard),
        )

    def _heard(self, heard: Heard) -> HeardBy:
        block, thread = divmod(heard.thread, self._lanes)
        launch, at = self._launch, divmod(thread, 32)
        return HeardBy(heard.site, launch.block_of(block), launch.thread_of(*at), at[0])


def _said(passes: frozenset[str]) -> dict[str, int | str]:
    return {"passes": " ".join(sorted(passes))} if passes else {}


def _as_it_happened(seen: Observation) -> Observation:
    """The sides of a race in the order in which they met."""
    passes = str(seen.detail.get("passes", "")).split()
    if not passes or seen.other is None or seen.other_thread is None or seen.other_warp is None:
        return seen
    if in_source_order(seen.site, seen.other) == (passes != [BACK]):
        return seen
    return replace(
        seen,
        site=seen.other,
        other=seen.site,
        thread=seen.other_thread,
        other_thread=seen.thread,
        warp=seen.other_warp,
        other_warp=seen.warp,
        block=seen.block if seen.other_block is None else seen.other_block,
        other_block=None if seen.other_block is None else seen.block,
    )


def _statement(site: Site) -> tuple[str, str, int, str]:
    """What the load and the store of `x[i] += v` have in common."""
    return site.file, site.function, site.line, site.text


def _of_one_statement(seen: Observation) -> bool:
    """Whether both sides of a race are one statement's load and store of one element."""
    return seen.other is None or _statement(seen.other) == _statement(seen.site)
