"""Tiles of the bulk engine and the tensor cores: who touches them too early, or without a fence.

A bulk load arrives before the phase of its mbarrier ends; who found that phase over, or heard of it
from one who did (through a barrier of the block or another mbarrier), may touch the tile. A product
of a warpgroup and a bulk store read until a wait says that they are done; only then, and after a
barrier that tells, may the tile change. Both go past the way that ordinary stores take: what a
thread stored they see after `fence_async()` of that thread.

    read_before_arrival   the tile is loaded, multiplied or stored away while its load is under way:
                          nobody waited, or for another phase or barrier
    store_under_way       a store or a second load into a tile whose load is under way
    overwritten_stage     a load, or a store, into a tile that a product, a bulk store or another
                          warp may still read
    missing_async_fence   the bulk engine or a product meets what a thread stored and did not fence
    wrong_swizzle         a product takes a tile in another swizzle than the one it was loaded with
    missing_commit        the kernel ends while a load, a product or a bulk store is under way, for
                          which nobody has waited (of stores: till they have read)

Per word of each block's shared memory: which load will have brought it, with which swizzle, who
stored it last and set no fence since, and when each warp read it last. What warps know of each
other is kept in vector clocks, which barriers and mbarriers join.

**Limits**: threads of one warp count as one: a lane that asks an mbarrier asks for all 32. Order
among ordinary loads and stores is left to `races`. Only launches whose source names bulk copies or
products of warpgroups are looked at.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...hardware import WORD_BYTES
from ...lockstep.fibers.waiting import has_tiles
from ...lockstep.lanes import spread
from ...lockstep.watch import (
    Access,
    ArrayInfo,
    Arrival,
    Barrier,
    Bulk,
    BulkGroup,
    CopyGroup,
    Site,
    Watcher,
)
from ..model import Observation
from .races.touch import index_of

if TYPE_CHECKING:
    from ...lockstep.batch import Batch, Launch

Array = np.ndarray[Any, np.dtype[Any]]
OPEN = np.iinfo(np.int64).max
"""The time of a read that is not done."""


@dataclass
class Clock:
    """What a warp knows: up to which time of each warp of its block, and phases that are over."""

    times: Array
    phases: dict[int, int] = field(default_factory=dict)

    def join(self, other: Clock) -> None:
        """Know what the other knows, too."""
        self.times = np.maximum(self.times, other.times)
        for barrier, phase in other.phases.items():
            self.phases[barrier] = max(phase, self.phases.get(barrier, 0))

    def copied(self) -> Clock:
        """As it is now."""
        return Clock(self.times.copy(), dict(self.phases))


class Words:
    """The words of one shared memory, of each block its own row."""

    def __init__(self, array: ArrayInfo, batch: Batch) -> None:
        memory = array.memory
        size = max(1, -(-math.prod(memory.shape) * memory.itemsize // WORD_BYTES))
        shape = (batch.count, size)
        self.array, self.size = array, size
        self.load = np.full(shape, -1, np.int32)
        self.span = np.full(shape, -1, np.int16)
        self.unfenced = np.full(shape, -1, np.int16)
        self.stored_at = np.zeros(shape, np.int32)
        self.reads = np.zeros((batch.count, batch.shape[1], size), np.int64)
        self.read_at = np.zeros((batch.count, batch.shape[1], size), np.int32)


@dataclass(eq=False)
class Load:
    """A bulk load: where it was asked for, by whom, and the phase before whose end it arrives.

    `words` and `where` are the tile's.
    """

    site: Site
    words: Words
    where: Array
    block: int
    warp: int
    lane: int
    barrier: int
    phase: int

    def known(self, clock: Clock) -> bool:
        """Whether a warp knows that it has arrived."""
        return clock.phases.get(self.barrier, 0) > self.phase


@dataclass(eq=False)
class Reading:
    """Reads of a unit by a warp that are not known to be done."""

    site: Site
    words: Words
    where: Array


@dataclass(eq=False)
class Found:
    """A finding as it grows: its first example, and the words it concerns."""

    first: Observation
    elements: set[tuple[int, int]] = field(default_factory=set)


class Tiles(Watcher):
    """Finds tiles that are touched too early or without a fence; `observations()` lists them."""

    takes_rounds = True  # these touch no shared memory

    def __init__(self) -> None:
        self._found: dict[tuple[str, Site, Site | None], Found] = {}
        self._watching = False

    def start(self, launch: Launch) -> None:
        """Look whether the kernel has bulk copies or products of warpgroups at all."""
        self._launch, self._found = launch, {}
        self._watching = has_tiles(launch.function)
        self._sites, self._numbers = list[Site](), dict[Site, int]()

    def begin_batch(self, batch: Batch) -> None:
        """Blocks whose warps know nothing of each other yet, with fresh shared memory."""
        if not self._watching:
            return
        self._batch = batch
        blocks, warps, _ = batch.shape
        self._clocks = [[self._new_clock(warp, warps) for warp in range(warps)]
                        for _ in range(blocks)]  # fmt: skip
        self._memories = dict[int, Words]()
        self._loads = list[Load]()
        self._ended = defaultdict[tuple[int, int], dict[int, Clock]](dict)
        self._open = defaultdict[tuple[int, int, str], list[list[Reading]]](lambda: [[]])

    @staticmethod
    def _new_clock(warp: int, warps: int) -> Clock:
        times = np.zeros(warps, np.int64)
        times[warp] = 1
        return Clock(times)

    # --- what orders ------------------------------------------------------------------------

    def barrier(self, event: Barrier) -> None:
        """Warps that meet know of each other what each has done."""
        if not self._watching or event.scope == "warp":
            return
        arrived: Array = np.any(spread(event.arrived, self._batch.shape), axis=2)
        for block, here in enumerate(arrived):
            warps = np.flatnonzero(here).tolist()
            whole = Clock(np.zeros(len(here), np.int64))
            for warp in warps:
                whole.join(self._clocks[block][warp])
            for warp in warps:
                self._clocks[block][warp] = self._after(whole.copied(), warp)

    @staticmethod
    def _after(clock: Clock, warp: int) -> Clock:
        """What a warp does from here on is later than what it has told."""
        clock.times[warp] += 1
        return clock

    def arrival(self, event: Arrival) -> None:
        """A warp tells those that will find the phase over."""
        if not self._watching:
            return
        for block, warp, _, barrier, phase in self._lanes(event.active, event.barrier, event.phase):
            clock = self._clocks[block][warp]
            told = self._ended[block, barrier].setdefault(phase, Clock(np.zeros_like(clock.times)))
            told.join(clock)
            self._after(clock, warp)

    def copy_group(self, event: CopyGroup) -> None:
        """A warp finds a phase over."""
        if not self._watching or event.step != "passed":
            return
        for block, warp, _, barrier, phase in self._lanes(event.active, event.barrier, event.phase):
            clock, told = self._clocks[block][warp], self._ended[block, barrier]
            if clock.phases.get(barrier, 0) >= phase:
                continue
            clock.phases[barrier] = phase
            over = [one for one in told if one < phase]
            for one in over:
                clock.join(told[one])
            for one in sorted(over)[:-1]:  # the last one says it all from now on
                told[max(over)].join(told.pop(one))

    def _lanes(self, active: Any, *values: Any) -> Iterator[tuple[int, ...]]:
        """Block, warp, lane and these values, of one lane of each warp and set of values."""
        shape, seen = self._batch.shape, set()
        whole = [spread(np.asarray(value), shape) for value in values]
        for block, warp, lane in np.argwhere(spread(active, shape)).tolist():
            said = tuple(int(value[block, warp, lane]) for value in whole)
            if (block, warp, said) not in seen:
                seen.add((block, warp, said))
                yield (block, warp, lane, *said)

    # --- what touches -----------------------------------------------------------------------

    def _words(self, array: ArrayInfo) -> Words:
        key = id(array.memory)
        if key not in self._memories:
            self._memories[key] = Words(array, self._batch)
        return self._memories[key]

    def access(self, event: Access) -> None:
        """A load or store of lanes."""
        if not self._watching or event.array.space != "shared" or event.relaxed:
            return
        for one in event.cells() if event.touched else (event,):
            self._touched(one)

    def _touched(self, event: Access) -> None:
        words, shape = self._words(event.array), self._batch.shape
        active = spread(event.active, shape)
        block, warp, lane = np.nonzero(active)
        first = spread(event.offset, shape)[active] * event.unit
        first = first + (event.array.base - event.array.memory.base)
        count = (int((first % WORD_BYTES).max(initial=0)) + event.width + 3) // WORD_BYTES
        where = np.minimum(first[:, None] // WORD_BYTES + np.arange(count), words.size - 1)
        rows = block[:, None]
        number = self._number(event.site)
        waits = words.load[rows, where]
        for at in np.unique(waits[waits >= 0]).tolist():
            for of_block, of_warp in sorted({*zip(block.tolist(), warp.tolist(), strict=True)}):
                mine = (block == of_block) & (warp == of_warp)
                early = mine[:, None] & (waits == at)
                if early.any() and not self._loads[at].known(self._clocks[of_block][of_warp]):
                    kind = "read_before_arrival" if event.kind == "load" else "store_under_way"
                    self._note_load(
                        kind, self._loads[at], event.site, words, of_block, where[early],
                        (of_warp, int(lane[early.any(axis=1)][0])),
                    )  # fmt: skip
        if event.kind != "store":
            times = np.array([[clock.times[w] for w, clock in enumerate(own)]
                              for own in self._clocks])  # fmt: skip
            keep = words.reads[rows, warp[:, None], where] != OPEN
            new = np.where(keep, times[block, warp][:, None], OPEN)
            words.reads[rows, warp[:, None], where] = new
            words.read_at[rows, warp[:, None], where] = number
        if event.kind != "load":
            for of_block in np.unique(block).tolist():
                mine = np.unique(where[block == of_block])
                still = words.reads[of_block][:, mine] == OPEN
                if still.any():
                    at_warp = int(warp[block == of_block][0]), int(lane[block == of_block][0])
                    self._note_reads(words, of_block, mine, still, event.site, at_warp)
            words.load[rows, where], words.span[rows, where] = -1, -1
            words.unfenced[rows, where] = warp[:, None]
            words.stored_at[rows, where] = number

    def bulk(self, event: Bulk) -> None:
        """The bulk engine or the tensor cores touch a tile."""
        if not self._watching:
            return
        block, warp, lane = np.argwhere(spread(event.active, self._batch.shape))[0].tolist()
        words, clock = self._words(event.array), self._clocks[block][warp]
        where = np.unique(event.region.octets // WORD_BYTES)
        waits = words.load[block, where]
        for at in np.unique(waits[waits >= 0]).tolist():
            if not self._loads[at].known(clock):
                kind = "read_before_arrival" if event.kind == "load" else "store_under_way"
                early = where[waits == at]
                self._note_load(
                    kind, self._loads[at], event.site, words, block, early, (warp, lane)
                )
        dirty = words.unfenced[block, where]
        if (dirty >= 0).any():
            self._note_unfenced(words, block, where[dirty >= 0], event, (warp, lane))
        if event.kind == "store":
            self._loaded(event, words, where, (block, warp, lane))
            return
        span = words.span[block, where]
        wrong = (span >= 0) & (span != event.region.span)
        if event.unit == "wgmma" and wrong.any():
            load = self._loads[int(waits[wrong][0])]
            detail = {"loaded": int(span[wrong][0]), "taken": int(event.region.span or 0)}
            self._note_load(
                "wrong_swizzle", load, event.site, words, block, where[wrong], (warp, lane), detail
            )
        words.reads[block, warp, where] = OPEN
        words.read_at[block, warp, where] = self._number(event.site)
        self._open[block, warp, event.unit][-1].append(Reading(event.site, words, where))

    def _loaded(self, event: Bulk, words: Words, where: Array, at: tuple[int, int, int]) -> None:
        """A bulk load is asked for."""
        block, warp, lane = at
        clock = self._clocks[block][warp]
        unread = words.reads[block][:, where]
        late = unread > clock.times[:, None]
        late[warp] &= unread[warp] == OPEN
        if late.any():
            self._note_reads(words, block, where, late, event.site, (warp, lane))
        (one,) = self._lanes(event.active, event.barrier, event.phase)
        words.load[block, where] = len(self._loads)
        words.span[block, where] = -1 if event.region.span is None else event.region.span
        words.unfenced[block, where] = -1
        words.reads[block][:, where] = 0
        self._loads.append(
            Load(event.site, words, where, block, warp, lane, barrier=one[3], phase=one[4])
        )

    def bulk_group(self, event: BulkGroup) -> None:
        """Reads become a group, or are done; stores become visible."""
        if not self._watching:
            return
        for block, warp, _ in self._lanes(event.active):
            if event.step == "fence":
                for words in self._memories.values():
                    mine = words.unfenced[block] == warp
                    words.unfenced[block][mine] = -1
                continue
            groups = self._open[block, warp, event.unit]
            if event.step == "commit":
                groups.append([])
                continue
            done = len(groups) - 1 - event.pending
            now = self._clocks[block][warp].times[warp]
            kept = [reading for group in groups[max(done, 0) :] for reading in group]
            for group in groups[: max(done, 0)]:
                for one in group:
                    one.words.reads[block, warp, one.where] = now
            for one in kept:  # what a later group reads, too, is not done
                one.words.reads[block, warp, one.where] = OPEN
            del groups[: max(done, 0)]

    def end_batch(self) -> None:
        """What nobody has waited for."""
        if not self._watching:
            return
        for load in self._loads:
            if not any(load.known(clock) for clock in self._clocks[load.block]):
                own = (load.warp, load.lane)
                key = ("missing_commit", load.site, None)
                self._keep(key, load.words, load.block, load.where, own, own, {})
        for (block, warp, _), groups in self._open.items():
            for one in (reading for group in groups for reading in group):
                key = ("missing_commit", one.site, None)
                self._keep(key, one.words, block, one.where, (warp, 0), (warp, 0), {})

    # --- what is told -----------------------------------------------------------------------

    def limits(self) -> list[str]:
        """What was not examined."""
        if not self._watching:
            return []
        return [
            "the traffic of bulk copies and of warpgroups' products, in shared or global memory"
        ]

    def observations(self) -> list[Observation]:
        """One observation per kind and pair of sites."""
        return [replace(one.first, count=len(one.elements)) for one in self._found.values()]

    def _number(self, site: Site) -> int:
        if site not in self._numbers:
            self._numbers[site] = len(self._sites)
            self._sites.append(site)
        return self._numbers[site]

    def _note_load(
        self,
        kind: str,
        load: Load,
        site: Site,
        words: Words,
        block: int,
        where: Array,
        by: tuple[int, int],
        detail: Mapping[str, int | str] | None = None,
    ) -> None:
        """A tile whose load may not have arrived, or not so, is touched."""
        own = (load.warp, load.lane)
        self._keep((kind, load.site, site), words, block, where, own, by, detail or {})

    def _note_reads(
        self, words: Words, block: int, where: Array, late: Array, site: Site, by: tuple[int, int]
    ) -> None:
        """A tile changes that warps may still read; `late` is (warps, words)."""
        reader = int(np.flatnonzero(late.any(axis=1))[0])
        changed = where[late[reader]]
        before = self._sites[int(words.read_at[block, reader, changed[0]])]
        still = bool((words.reads[block, reader, changed] == OPEN).any())
        self._keep(
            ("overwritten_stage", before, site), words, block, changed, (reader, 0), by,
            {"open": int(still)},
        )  # fmt: skip

    def _note_unfenced(
        self, words: Words, block: int, where: Array, event: Bulk, by: tuple[int, int]
    ) -> None:
        before = self._sites[int(words.stored_at[block, where[0]])]
        who = (int(words.unfenced[block, where[0]]), 0)
        self._keep(("missing_async_fence", before, event.site), words, block, where, who, by, {})

    def _keep(
        self,
        key: tuple[str, Site, Site | None],
        words: Words,
        block: int,
        where: Array,
        first: tuple[int, int],
        then: tuple[int, int],
        detail: Mapping[str, int | str],
    ) -> None:
        launch, array = self._launch, words.array
        number = self._batch.first + block
        if key not in self._found:
            offset = (int(where[0]) * WORD_BYTES + array.memory.base - array.base) // array.itemsize
            self._found[key] = Found(
                Observation(
                    kind=key[0],
                    site=key[1],
                    other=key[2],
                    array=array,
                    block=launch.block_of(number),
                    thread=launch.thread_of(*first),
                    warp=first[0],
                    other_thread=launch.thread_of(*then),
                    other_warp=then[0],
                    index=index_of(array, offset) if array.memory is array else (offset,),
                    count=0,
                    detail={"bulk": 1, **detail},
                )
            )
        self._found[key].elements.update((number, one) for one in where.tolist())
