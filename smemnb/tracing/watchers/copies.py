"""Asynchronous copies between their issue and their arrival: who reads, stores or copies too early.

A copy belongs to the open group of the thread that issues it. `commit` closes that group, and a
`wait` of the thread says that all its groups but the last `pending` have arrived. So for every word
of shared memory it is known which copy will have stored it last, whose it is, in which group, and
whether its thread has waited for that group; and if so, after which barrier others know of it.

    read_before_arrival   a load while the copy is under way: its thread has not waited, or has, and
                          no barrier tells the thread that loads
    missing_commit        a load after a wait that could not mean the copy, as no commit had closed
                          its group; or a copy in a group that is open when the kernel ends
    wrong_group           a load after a wait that leaves the copy's group pending
    overwritten_stage     a copy into words that another thread has loaded since the last barrier
    store_under_way       a store, or a second copy, into words whose copy is under way, also by
                          another lane of one request; of copies that bring the same bits it is
                          "race_same_value"
    overwritten_source    a store to what a copy still reads (`copy_sources`)

Lockstep order lets every copy land at once, so values look right; the findings come from what the
events say. A launch whose source names no copy is not looked at.

An mbarrier tells the threads that found its phase over of the copies that were attached to it.

**Limits**: in launches with mbarriers nobody looks for overwritten stages, as an mbarrier may say
that they have been read; `limits` says so. A `syncwarp` of some lanes of a warp counts as one of
them all.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...hardware import WORD_BYTES
from ...lockstep.fibers.waiting import starts_copies
from ...lockstep.lanes import WARP, spread
from ...lockstep.watch import Access, ArrayInfo, Barrier, CopyGroup, Fence, Site, Watcher
from ..model import Observation
from .copy_sources import Met, Sources
from .races.clocks import Clocks
from .races.touch import index_of

if TYPE_CHECKING:
    from ...lockstep.batch import Batch, Launch

Array = np.ndarray[Any, np.dtype[Any]]
NOBODY = np.iinfo(np.int32).max


class Requested(NamedTuple):
    """An access laid flat, a row per lane: `words` are its words, numbered through all blocks."""

    event: Access
    row: Array
    thread: Array
    words: Array
    place: Array  # the lane's first byte in the memory of its block
    interval: Array
    epoch: Array


@dataclass(eq=False)
class Issued:
    """A request of copies; `left` are the lanes whose copies have not arrived."""

    number: int
    table: Table
    event: Access
    time: int
    row: Array
    thread: Array
    words: Array
    group: Array
    left: Array
    attached: Array  # lanes whose copies an mbarrier waits for


class LastTouch:
    """Per word, who touched it in the latest interval: the lowest and the highest thread."""

    def __init__(self, words: int) -> None:
        self.interval = np.full(words, -1, np.int32)
        self.epoch = np.zeros(words, np.int32)
        self.low, self.high = np.full(words, NOBODY, np.int32), np.full(words, -1, np.int32)
        self.low_site, self.high_site = np.zeros((2, words), np.int32)

    def note(self, made: Requested, site: int) -> None:
        """Lanes touch words."""
        count = made.words.shape[1]
        words, thread = made.words.reshape(-1), np.repeat(made.thread, count).astype(np.int32)
        interval, epoch = np.repeat(made.interval, count), np.repeat(made.epoch, count)
        warp = thread // WARP
        of_warp = (self.low[words] // WARP == warp) & (self.high[words] // WARP == warp)
        over = (self.interval[words] != interval) | (of_warp & (self.epoch[words] < epoch))
        self.low[words[over]], self.high[words[over]] = NOBODY, -1
        np.minimum.at(self.low, words, thread)
        np.maximum.at(self.high, words, thread)
        self.low_site[words[self.low[words] == thread]] = site
        self.high_site[words[self.high[words] == thread]] = site
        self.interval[words], self.epoch[words] = interval, epoch

    def unordered(self, made: Requested) -> tuple[Array, Array, Array]:
        """Where another thread touched a word with no barrier since: mask, its thread and site."""
        words, own = made.words, made.thread[:, None]
        low, high = self.low[words], self.high[words]
        warp = own // WARP
        met = (low // WARP == warp) & (high // WARP == warp)
        met &= self.epoch[words] < made.epoch[:, None]
        now = self.interval[words] == made.interval[:, None]
        far = high != own
        other = np.where(far, high, low)
        site = np.where(far, self.high_site[words], self.low_site[words])
        return now & (other != own) & ~met, other, site

    def repeated(self, count: int) -> None:
        """From here on each of `count` blocks has words of its own."""
        for name, values in vars(self).items():
            setattr(self, name, np.tile(values, count))


class Table:
    """The words of one shared memory, of each block its own row; `size` words in a row."""

    def __init__(self, array: ArrayInfo, rows: int) -> None:
        self.memory = array.memory
        memory = self.memory
        self.size = max(1, -(-math.prod(memory.shape) * memory.itemsize // WORD_BYTES))
        words = self.size * rows
        self.copy = np.full(words, -1, np.int32)
        self.thread, self.group = np.zeros((2, words), np.int32)
        self.landed = np.zeros(words, bool)
        self.interval, self.epoch = np.zeros((2, words), np.int32)
        self.barrier, self.phase = np.full((2, words), -1, np.int64)
        self.loads, self.stores = LastTouch(words), LastTouch(words)

    def under_way(self, made: Requested) -> Array:
        """Which words of a request wait for a copy, as the lane that makes it knows."""
        words, own = made.words, made.thread[:, None]
        there: Array = self.copy[words] >= 0
        thread = self.thread[words]
        if not there.any():
            return there
        known = self.interval[words] < made.interval[:, None]
        same_warp = thread // WARP == own // WARP
        known |= same_warp & (self.epoch[words] < made.epoch[:, None])
        early: Array = there & ~(self.landed[words] & ((thread == own) | known))
        return early

    def repeated(self, count: int) -> None:
        """From here on each of `count` blocks has words of its own."""
        self.loads.repeated(count)
        self.stores.repeated(count)
        for name, values in vars(self).items():
            if isinstance(values, np.ndarray):
                setattr(self, name, np.tile(values, count))


@dataclass(eq=False)
class _Threads:
    """Per block and thread: groups committed and arrived, and its last wait.

    `wait` is the number of a site, -1 before the first wait; `when` its time, `closed` how many
    groups were committed then, `pending` how many it left.
    """

    committed: Array
    arrived: Array
    wait: Array
    when: Array
    closed: Array
    pending: Array

    @classmethod
    def fresh(cls, lanes: int) -> _Threads:
        """Threads that have done nothing, of one block."""
        counts = [np.zeros((1, lanes), np.int64) for _ in range(6)]
        counts[2] -= 1
        counts[3] -= 1
        return cls(*counts)

    def repeated(self, count: int) -> None:
        """From here on each of `count` blocks has threads of its own."""
        for name, values in vars(self).items():
            setattr(self, name, np.repeat(values, count, axis=0))


@dataclass(eq=False)
class _Found:
    """A finding as it grows: its first example, and the elements it concerns.

    `same` holds as long as all that was copied into an element were the same bits.
    """

    first: Observation
    same: bool = False
    elements: Array = field(default_factory=lambda: np.zeros(0, np.int64))


class Copies(Watcher):
    """Finds accesses to words whose copies are under way; `observations()` lists them."""

    takes_rounds = True  # these touch no shared memory

    def __init__(self) -> None:
        self._found: dict[tuple[str, Site, Site | None], _Found] = {}
        self._watching = False

    def start(self, launch: Launch) -> None:
        """Look whether the kernel has copies at all."""
        self._launch, self._found = launch, {}
        self._watching = starts_copies(launch.function)
        self._mbarriers = False
        self._clocks, self._sites, self._numbers = Clocks(), list[Site](), dict[Site, int]()

    def begin_batch(self, batch: Batch) -> None:
        """Blocks without copies, with fresh shared memory."""
        self._batch, self._rows = batch, 1
        self._clocks.begin(batch)
        self._tables = dict[int, Table]()
        self._issued, self._left = list[Issued](), list[Issued]()
        self._threads = _Threads.fresh(batch.shape[1] * WARP)
        self._passed = dict[int, Array]()  # address of an mbarrier -> phases that a thread knows of
        self._sources = Sources()

    def barrier(self, event: Barrier) -> None:
        """What was done before it is ordered before what follows."""
        if event.scope == "warp":
            self._clocks.pass_warp(event)
        elif self._clocks.pass_block(event) is None:
            self._sources.barrier(self._shape)

    def fence(self, event: Fence) -> None:
        """Behind it an atomic may tell others what a thread has waited for."""
        self._sources.fenced = True

    def access(self, event: Access) -> None:
        """Compare an access with the copies under way."""
        if event.array.space == "global":
            for one in event.each_round():
                self._in_global(one)
            return
        if event.array.space != "shared":
            return
        self._watching |= event.copy
        if not self._watching:
            return
        table = self._table(event.array)
        if event.copy:
            self._copied(self._requested(event, table), table)
            return
        # rows of matrices belong to the lanes that get or give them, not to those that name them
        for one in event.cells() if event.touched else (event,):
            self._touched(one, table)

    def _in_global(self, event: Access) -> None:
        """Keep what a copy reads, and compare what is stored with it."""
        if not event.copy and (event.kind == "load" or not self._sources):
            return
        if any(np.ndim(one) and one.shape[0] > 1 for one in (event.offset, event.active)):
            self._part()
        if event.copy:
            self._sources.issued(event, self._threads.committed)
            return
        for met in self._sources.met_by(event, self._clocks, self._shape, self._passed):
            self._note_source(event, met)

    @property
    def _shape(self) -> tuple[int, int, int]:
        return (self._rows, *self._batch.shape[1:])

    def _touched(self, event: Access, table: Table) -> None:
        """Compare what lanes load or store with the copies under way."""
        made = self._requested(event, table)
        early = self._under_way(made, table)
        if early.any():
            self._note_early(made, table, early)
        if event.kind != "store":
            table.loads.note(made, self._number(event.site))
        if event.kind != "load":
            table.stores.note(made, self._number(event.site))
            table.copy[made.words] = -1

    def copy_group(self, event: CopyGroup) -> None:
        """A group is closed, or groups have arrived."""
        if event.active.shape[0] > 1:
            self._part()
        shape = (self._rows, *self._batch.shape[1:])
        active = spread(event.active, shape).reshape(self._rows, -1)
        threads = self._threads
        if event.step == "commit":
            threads.committed = threads.committed + active
            return
        if event.step in ("attach", "passed"):
            self._of_mbarrier(event)
            return
        until = np.where(active, threads.committed - event.pending, 0)
        threads.arrived = np.maximum(threads.arrived, until)
        threads.wait = np.where(active, self._number(event.site), threads.wait)
        threads.when = np.where(active, self._clocks.tick(), threads.when)
        threads.closed = np.where(active, threads.committed, threads.closed)
        threads.pending = np.where(active, event.pending, threads.pending)
        self._sources.waited(self._clocks.now, threads.arrived)
        self._land()

    def end_batch(self) -> None:
        """Copies in a group that nobody has closed."""
        for one in self._left:
            lost = (
                one.left
                & ~one.attached
                & (one.group >= self._threads.committed[one.row, one.thread])
            )
            if lost.any():
                made = self._requested(one.event, one.table)
                at = int(np.flatnonzero(lost)[0])
                self._note("missing_commit", made, lost[:, None] & (made.words >= 0), at, one)

    def observations(self) -> list[Observation]:
        """One observation per kind and pair of sites."""
        met = {site for _, site, other in self._found if other}  # told in better words
        return [
            replace(
                found.first,
                kind="race_same_value" if found.same else kind,
                count=len(found.elements),
            )
            for (kind, site, other), found in self._found.items()
            if other is not None or site not in met
        ]

    def _number(self, site: Site) -> int:
        if site not in self._numbers:
            self._numbers[site] = len(self._sites)
            self._sites.append(site)
        return self._numbers[site]

    def _table(self, array: ArrayInfo) -> Table:
        key = id(array.memory)
        if key not in self._tables:
            self._tables[key] = Table(array, self._rows)
        return self._tables[key]

    def _part(self) -> None:
        """From here on no block stands for the others."""
        count = self._batch.count
        if self._rows == count:
            return
        self._rows = count
        for table in self._tables.values():
            table.repeated(count)
        self._threads.repeated(count)
        self._passed = {
            address: np.repeat(known, count, axis=0) for address, known in self._passed.items()
        }
        for one in self._issued:
            lanes = len(one.thread)
            one.row = np.repeat(np.arange(count), lanes)
            block = np.repeat(np.arange(count) * one.table.size, lanes)
            one.words = np.tile(one.words, (count, 1)) + block[:, None]
            for name in ("thread", "group", "left", "attached"):
                setattr(one, name, np.tile(getattr(one, name), count))

    def _requested(self, event: Access, table: Table) -> Requested:
        """An access laid flat."""
        now = self._clocks.now
        parts = [event.offset, event.active, now.interval, now.warp]
        if any(isinstance(one, np.ndarray) and one.shape[0] > 1 for one in parts):
            self._part()
        shape = (self._rows, *self._batch.shape[1:])
        active = spread(event.active, shape)
        row, warp, lane = np.nonzero(active)
        place = spread(event.offset, shape)[active] * event.unit
        place = place + (event.array.base - table.memory.base)
        count = int((place % WORD_BYTES).max(initial=0) + event.width + WORD_BYTES - 1)
        words = place[:, None] // WORD_BYTES + np.arange(count // WORD_BYTES)
        words = np.minimum(words, table.size - 1) + row[:, None] * table.size
        thread = warp * WARP + lane
        interval = np.asarray(now.interval).reshape(-1)
        interval = interval[row] if len(interval) > 1 else np.full(len(row), interval[0])
        epoch = np.broadcast_to(np.asarray(now.epochs(shape, active)), row.shape)
        return Requested(event, row, thread, words, place, interval, epoch)

    def _copied(self, made: Requested, table: Table) -> None:
        """A request of copies is issued."""
        early = self._under_way(made, table)
        if early.any():
            self._note_early(made, table, early)
        for touch, kind in ((table.loads, "overwritten_stage"), (table.stores, "store_under_way")):
            mask, other, site = touch.unordered(made)
            mask &= ~early & (not self._mbarriers)
            for number in np.unique(site[mask]).tolist():
                self._note_after(kind, made, mask & (site == number), other, self._sites[number])
        group = self._threads.committed[made.row, made.thread]
        number, every = len(self._issued), np.ones(len(made.row), bool)
        one = Issued(
            number, table, made.event, self._clocks.tick(), made.row, made.thread, made.words,
            group, every, ~every,
        )  # fmt: skip
        self._issued.append(one)
        self._left.append(one)
        table.copy[made.words], table.landed[made.words] = number, False
        table.barrier[made.words] = -1
        table.thread[made.words] = made.thread[:, None]
        table.group[made.words] = group[:, None]
        beside = table.thread[made.words] != made.thread[:, None]  # where a later lane copies, too
        if beside.any():
            self._note_beside(made, table, beside, one)

    def _of_mbarrier(self, event: CopyGroup) -> None:
        """Copies are attached to an mbarrier, or a thread knows that its phase is over."""
        self._mbarriers = True
        if any(np.ndim(one) and one.shape[0] > 1 for one in (event.barrier, event.phase)):
            self._part()
        shape = (self._rows, *self._batch.shape[1:])
        active, barrier, phase = (
            spread(one, shape).reshape(self._rows, -1)
            for one in (event.active, event.barrier, event.phase)
        )
        if event.step == "attach":
            self._sources.attached(event, shape, self._passed)
        else:
            for address in np.unique(barrier[active]).tolist():
                known = self._passed.setdefault(address, np.zeros(active.shape, np.int64))
                known[:] = np.maximum(known, np.where(active & (barrier == address), phase, 0))
            return
        for one in self._left:
            lanes = one.left & active[one.row, one.thread]
            row, thread = one.row[lanes][:, None], one.thread[lanes][:, None]
            words, table = one.words[lanes], one.table
            mine = (table.copy[words] == one.number) & (table.thread[words] == thread)
            mine &= table.barrier[words] < 0
            for name, values in (("barrier", barrier), ("phase", phase)):
                getattr(table, name)[words[mine]] = np.broadcast_to(
                    values[row, thread], words.shape
                )[mine]
            one.attached |= lanes

    def _under_way(self, made: Requested, table: Table) -> Array:
        """Which words of a request wait for a copy, as the lane that makes it knows."""
        early = table.under_way(made)
        for address, phases in self._passed.items() if early.any() else ():
            known = phases[made.row, made.thread][:, None] > table.phase[made.words]
            early = early & ~((table.barrier[made.words] == address) & known)
        return early

    def limits(self) -> list[str]:
        """What was not examined."""
        if not self._mbarriers or not self._watching:
            return []
        return ["whether stages are overwritten while they are read: the launch has mbarriers"]

    def _land(self) -> None:
        """Copies of groups that have arrived are there."""
        now = self._clocks.now
        shape = (self._rows, *self._batch.shape[1:])
        interval = np.broadcast_to(np.asarray(now.interval).reshape(-1), (self._rows,))
        every = np.ones(shape, bool)
        epoch = np.broadcast_to(np.asarray(now.epochs(shape, every)).reshape(-1), (every.size,))
        epoch = epoch.reshape(self._rows, -1)
        for one in self._left:
            landing = one.left & (one.group < self._threads.arrived[one.row, one.thread])
            if not landing.any():
                continue
            words, table = one.words[landing], one.table
            row, thread = one.row[landing][:, None], one.thread[landing][:, None]
            mine = (table.copy[words] == one.number) & (table.thread[words] == thread)
            where = words[mine]
            table.landed[where] = True
            table.interval[where] = np.broadcast_to(interval[row], words.shape)[mine]
            table.epoch[where] = np.broadcast_to(epoch[row, thread], words.shape)[mine]
            one.left = one.left & ~landing
        self._left = [one for one in self._left if one.left.any()]

    def _note_early(self, made: Requested, table: Table, early: Array) -> None:
        """Lanes touch words whose copies are under way."""
        copies, row = table.copy[made.words], made.row[:, None]
        owner, landed = table.thread[made.words], table.landed[made.words]
        threads = self._threads
        for number in np.unique(copies[early]).tolist():
            copy = self._issued[number]
            of_copy = early & (copies == number)
            waited = ~landed & (threads.when[row, owner] > copy.time)
            unclosed = waited & (table.group[made.words] >= threads.closed[row, owner])
            reads = made.event.kind == "load"
            for kind, mask in (
                ("missing_commit" if reads else "store_under_way", of_copy & unclosed),
                ("wrong_group" if reads else "store_under_way", of_copy & waited & ~unclosed),
                ("read_before_arrival" if reads else "store_under_way", of_copy & ~waited),
            ):
                if mask.any():
                    at = int(np.flatnonzero(mask.any(axis=1))[0])
                    word = int(np.flatnonzero(mask[at])[0])
                    by, block = int(owner[at, word]), int(made.row[at])
                    detail: dict[str, int | str] = {"landed": int(landed[at, word])}
                    if threads.wait[block, by] >= 0 and (waited | landed)[at, word]:
                        wait = self._sites[int(threads.wait[block, by])]
                        detail |= {"wait": wait.line, "wait_text": wait.text}
                        detail |= {"pending": int(threads.pending[block, by])}
                    same = made.event.copy and self._same_bits(made, mask, copy, owner)
                    self._note(kind, made, mask, at, copy, by, detail, same=same)

    def _note_beside(self, made: Requested, table: Table, beside: Array, copy: Issued) -> None:
        """Several lanes of one request copy into one word."""
        owner = table.thread[made.words]
        at = int(np.flatnonzero(beside.any(axis=1))[0])
        other = int(owner[at, int(np.flatnonzero(beside[at])[0])])
        site, same = made.event.site, self._same_bits(made, beside, copy, owner)
        self._keep(("store_under_way", site, site), made, beside, at, int(made.thread[at]), other,
                   {"beside": 1}, same=same)  # fmt: skip

    def _same_bits(self, made: Requested, mask: Array, copy: Issued, owner: Array) -> bool:
        """Whether copies bring what the copies of `owner` under way bring, word by word."""
        lane, place = np.nonzero(mask)
        row, thread, other = made.row[lane], made.thread[lane], owner[lane, place]
        numbers = np.zeros((self._rows, self._batch.shape[1] * WARP), np.int64)
        numbers[copy.row, copy.thread] = np.arange(len(copy.row))
        its_place = made.words[lane, place] - copy.words[numbers[row, other], 0]
        mine, theirs = _words(made.event, self._shape), _words(copy.event, self._shape)
        if self._rows == 1:  # of all blocks
            return bool((mine[:, thread, place] == theirs[:, other, its_place]).all())
        of_mine, of_its = row * (len(mine) > 1), row * (len(theirs) > 1)
        found = mine[of_mine, thread, place] == theirs[of_its, other, its_place]
        return bool(found.all())

    def _note_source(self, event: Access, met: Met) -> None:
        """A lane stores to what a copy still reads."""
        launch, array, site = self._launch, event.array, met.copy.site
        key = ("overwritten_source", site, event.site)
        if key not in self._found:
            row, thread, other = int(met.row[0]), int(met.thread[0]), int(met.other[0])
            detail: dict[str, int | str] = {"landed": int(met.landed[0])}
            if met.landed[0]:
                wait = self._sites[int(self._threads.wait[row, thread])]
                detail |= {"wait": wait.line, "wait_text": wait.text}
            self._found[key] = _Found(
                Observation(
                    kind=key[0],
                    site=site,
                    other=event.site,
                    array=array,
                    block=launch.block_of(self._batch.first + row),
                    thread=launch.thread_of(*divmod(thread, WARP)),
                    warp=thread // WARP,
                    other_thread=launch.thread_of(*divmod(other, WARP)),
                    other_warp=other // WARP,
                    index=index_of(array, (int(met.address[0]) - array.base) // array.unit),
                    count=0,
                    detail=detail,
                )
            )
        found = self._found[key]
        element = (met.address - array.base) // array.itemsize
        found.elements = np.union1d(found.elements, element)

    def _note(
        self,
        kind: str,
        made: Requested,
        mask: Array,
        at: int,
        copy: Issued,
        by: int | None = None,
        detail: Mapping[str, int | str] | None = None,
        *,
        same: bool = False,
    ) -> None:
        """Keep what a lane does with words of a copy; without `by` it is the copy's own lane."""
        site, other = copy.event.site, None if by is None else made.event.site
        thread = int(made.thread[at])
        self._keep((kind, site, other), made, mask, at, thread if by is None else by,
                   None if by is None else thread, detail or {}, same=same)  # fmt: skip

    def _note_after(
        self, kind: str, made: Requested, mask: Array, other: Array, site: Site
    ) -> None:
        """Keep copies into words that another thread has touched since the last barrier."""
        at = int(np.flatnonzero(mask.any(axis=1))[0])
        before = int(other[at, int(np.flatnonzero(mask[at])[0])])
        self._keep(
            (kind, site, made.event.site),
            made,
            mask,
            at,
            before,
            int(made.thread[at]),
            {"after": 1},
        )

    def _keep(
        self,
        key: tuple[str, Site, Site | None],
        made: Requested,
        mask: Array,
        at: int,
        thread: int,
        other_thread: int | None,
        detail: Mapping[str, int | str],
        *,
        same: bool = False,
    ) -> None:
        launch, batch, array = self._launch, self._batch, made.event.array
        first = made.place[:, None] // WORD_BYTES * WORD_BYTES
        place = first + np.arange(mask.shape[1]) * WORD_BYTES
        if made.event.width < WORD_BYTES:
            place = np.broadcast_to(made.place[:, None], mask.shape)
        inside = np.arange(0, WORD_BYTES, array.itemsize)  # elements of one word
        if made.event.width < WORD_BYTES or array.itemsize >= WORD_BYTES:
            inside = np.zeros(1, np.int64)
        element = ((place[mask][:, None] + inside) // array.itemsize).reshape(-1)
        row = np.repeat(np.broadcast_to(made.row[:, None], mask.shape)[mask], len(inside))
        blocks = batch.first + row
        if self._rows == 1 and batch.count > 1:
            blocks = np.repeat(batch.first + np.arange(batch.count), len(element))
            element = np.tile(element, batch.count)
        if key not in self._found:
            word = int(np.flatnonzero(mask[at])[0])
            offset = int(place[at, word]) + made.event.array.memory.base - array.base
            self._found[key] = _Found(
                Observation(
                    kind=key[0],
                    site=key[1],
                    other=key[2],
                    array=array,
                    block=launch.block_of(batch.first + int(made.row[at])),
                    thread=launch.thread_of(*divmod(thread, WARP)),
                    warp=thread // WARP,
                    other_thread=None
                    if other_thread is None
                    else launch.thread_of(*divmod(other_thread, WARP)),
                    other_warp=None if other_thread is None else other_thread // WARP,
                    index=index_of(array, offset // array.unit),
                    count=0,
                    detail=detail,
                ),
                same,
            )
        found = self._found[key]
        if found.same and not same:
            found.same = False
        cells = blocks.astype(np.int64) << 32 | element
        found.elements = np.union1d(found.elements, cells)


def _words(event: Access, shape: tuple[int, int, int]) -> Array:
    """What a request of copies brings: words by block (or for all), thread and place."""
    values = event.value if isinstance(event.value, tuple) else (event.value,)
    blocks = max(len(one) if np.ndim(one) == 3 else 1 for one in values)
    lanes = [spread(one, (blocks, *shape[1:])).reshape(blocks, -1) for one in values]
    return np.stack(lanes, axis=2).view(np.uint32)
