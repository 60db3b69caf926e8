"""Requests, wavefronts and sectors per access expression: the watcher that counts.

Every event becomes rows of 32 addresses, one per request, put aside until enough have come
together for the vectorised rules. A row that stands for many blocks or warps (their addresses are
the same) is measured once and weighted. Per expression the worst request is kept, to be drawn.
An asynchronous copy is two events, what it reads and then what it stores; each side is measured
with the other beside it (`rules.async_copy`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import takewhile
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...lockstep.lanes import spread
from ...lockstep.watch import Access, ArrayInfo, Site, Watcher
from ...rules import async_copy, bank, sector
from ..model import SiteCounts, WorstRequest

if TYPE_CHECKING:
    from ...lockstep.batch import Batch, Launch

ROWS_BEFORE_MEASURING = 4096
IN_TURN = 8  # requests of one warp that are kept, to see whether they share sectors
UNMODELLED = "atomic_retry"  # a compare-and-swap loop has no fixed number of wavefronts

Array = np.ndarray[Any, np.dtype[Any]]


class _Rows(NamedTuple):
    """Requests put aside: addresses and active lanes (rows, 32), and where they come from.

    `kept` are the places of these rows among all rows of the event, None if all were kept. With
    `one_block` rows are rounds of one block, else those of block after block. `beside` is the other
    side of asynchronous copies: addresses and active lanes of the same rows.
    """

    address: Array
    active: Array | None
    weight: int
    block: int  # linear number of the first row's block
    warps: int  # rows per block
    kept: Array | None = None
    one_block: bool = False
    beside: tuple[Array, Array] | None = None


@dataclass
class _Tally:
    """Sums of one expression on one array."""

    site: Site
    array: ArrayInfo
    kind: str
    width: int
    matrices: int = 0
    rows: list[_Rows] = field(default_factory=list)
    waiting: int = 0
    sums: dict[str, int] = field(default_factory=dict)
    most: int = -1
    worst: tuple[Array, Array | None, int, int] | None = None
    in_turn: list[tuple[int, Array]] = field(default_factory=list)
    copy: bool = False
    past_l1: bool = False

    def add(self, name: str, value: Any) -> None:
        self.sums[name] = self.sums.get(name, 0) + int(value)


class Counting(Watcher):
    """Counts every access of a launch; `counts()` afterwards gives a `SiteCounts` per expression.

    Order: by first execution.
    """

    takes_rounds = True

    def __init__(self) -> None:
        self._tallies: dict[Any, _Tally] = {}
        self._launch: Launch | None = None
        self._batch: Batch | None = None
        self._masks = _Masks()
        self._sources: dict[Site, _Source] = {}  # of copies whose store has not come

    def start(self, launch: Launch) -> None:
        """Remember the launch."""
        self._launch = launch

    def begin_batch(self, batch: Batch) -> None:
        """Remember the blocks in flight."""
        self._batch = batch
        self._sources.clear()

    def access(self, event: Access) -> None:
        """Put the event's requests aside."""
        array, batch = event.array, self._batch
        assert batch is not None
        if event.relaxed and array.space == "shared":  # an mbarrier: no request of shared memory
            return
        tally = self._tally(event)
        if not event.copy:
            self._put_aside(tally, _rows_of(event, batch, self._masks))
        elif event.kind == "load":
            self._sources[event.site] = _Source(
                tally, event.address, event.active, self._sources.get(event.site)
            )
        else:
            source = self._sources.pop(event.site, _NOTHING_READ)
            read, stored, left = _rows_of_copy(source, event, batch)
            self._put_aside(tally, stored)
            if source.tally is not None:
                self._put_aside(source.tally, read)
            if left.active.any():
                self._sources[event.site] = left

    def _tally(self, event: Access) -> _Tally:
        """The sums that an event belongs to."""
        array = event.array
        key = (event.site, array.name, array.space, event.kind, event.width)
        tally = self._tallies.get(key)
        if tally is None:
            tally = self._tallies[key] = _Tally(
                *(event.site, array, event.kind, event.width, event.matrices),
                copy=event.copy,
                past_l1=event.past_l1,
            )
        return tally

    def _put_aside(self, tally: _Tally, rows: _Rows) -> None:
        """Keep rows until there are enough to be measured."""
        if not len(rows.address):
            return
        if len(tally.in_turn) < IN_TURN and (tally.kind, tally.array.space) == ("load", "global"):
            tally.in_turn += _first_requests(rows, IN_TURN - len(tally.in_turn))
        tally.rows.append(rows)
        tally.waiting += len(rows.address)
        if tally.waiting >= ROWS_BEFORE_MEASURING:
            _measure(tally)

    def end_batch(self) -> None:
        """Measure what waits."""
        for tally in self._tallies.values():
            if tally.rows:
                _measure(tally)

    def counts(self) -> list[SiteCounts]:
        """The totals per access expression and array."""
        return [self._total(tally) for tally in self._tallies.values()]

    def _total(self, tally: _Tally) -> SiteCounts:
        return SiteCounts(
            site=tally.site,
            array=tally.array,
            kind=tally.kind,
            width=tally.width,
            matrices=tally.matrices,
            worst=self._worst(tally),
            in_turn=_of_one_warp(tally.in_turn),
            copy=tally.copy,
            **{"requests": 0, "lanes": 0, **tally.sums},
        )

    def _worst(self, tally: _Tally) -> WorstRequest | None:
        if tally.worst is None or self._launch is None:
            return None
        address, active, block, warp = tally.worst
        lanes = np.ones(32, bool) if active is None else active
        return WorstRequest(
            tuple(np.where(lanes, address, 0).tolist()),
            tuple(lanes.tolist()),
            self._launch.block_of(block),
            warp,
        )


def _rows_of(event: Access, batch: Batch, masks: _Masks) -> _Rows:
    """The event as one row per request, without repeating rows that blocks or warps share."""
    offset, active = event.offset, event.active
    count, warps, lanes = batch.shape
    one_block = event.rounds > 1
    count = event.rounds if one_block else count
    blocks = max(offset.shape[0], active.shape[0])
    rows = max(offset.shape[1], active.shape[1])
    shape = (blocks, rows, lanes)
    address = spread(event.address, shape)
    weight = (count // blocks) * (warps // rows) * batch.weight
    address = address.reshape(-1, lanes)
    if active.size == 1:  # one mask for all lanes: EVERY_LANE
        return _Rows(address, None, weight, batch.first, rows, None, one_block)
    mask, kept = masks.of(active, shape)
    if kept is None:
        return _Rows(address, mask, weight, batch.first, rows, None, one_block)
    return _Rows(address[kept], mask, weight, batch.first, rows, kept, one_block)


@dataclass(frozen=True)
class _Source:
    """What lanes read by a copy whose store has not come yet; `before` of other lanes."""

    tally: _Tally | None
    address: Any
    active: Array
    before: _Source | None = None

    def spread(self, shape: tuple[int, ...]) -> tuple[Array, Array]:
        """The addresses and the lanes that read, of all together."""
        address, active = spread(self.address, shape), spread(self.active, shape)
        if self.before is None:
            return address, active
        others, there = self.before.spread(shape)
        return np.where(active, address, others), active | there


_NOTHING_READ = _Source(None, np.zeros((1, 1, 1), np.int64), np.zeros((1, 1, 1), np.bool_))


def _rows_of_copy(source: _Source, store: Access, batch: Batch) -> tuple[_Rows, _Rows, _Source]:
    """Both sides of an asynchronous copy, row beside row, and what is left of its source.

    Rows are those in which some lane copies. Of fibers, loads of several may come before stores.
    """
    count, warps, lanes = batch.shape
    one_block = store.rounds > 1
    count = store.rounds if one_block else count
    given = [store.offset, store.active]
    part: _Source | None = source
    while part is not None:
        given += [part.address, part.active]
        part = part.before
    blocks, rows = (max(one.shape[axis] for one in given) for axis in (0, 1))
    shape = (blocks, rows, lanes)
    address, reading = source.spread(shape)
    copying = spread(store.active, shape)
    sides = (address, reading & copying, spread(store.address, shape), copying)
    flat = [one.reshape(-1, lanes) for one in sides]
    kept = np.flatnonzero(flat[3].any(axis=1))
    at, reads, to, copies = (one[kept] for one in flat)
    weight = (count // blocks) * (warps // rows) * batch.weight
    whence = (weight, batch.first, rows, kept, one_block)
    some = reads.any(axis=1)
    of_some = (weight, batch.first, rows, kept[some], one_block)
    return (
        _Rows(at[some], reads[some], *of_some, beside=(to[some], copies[some])),
        _Rows(to, copies, *whence, beside=(at, reads)),
        _Source(source.tally, address, reading & ~copying),
    )


def _first_requests(rows: _Rows, most: int) -> list[tuple[int, Array]]:
    """The addresses of the first row's active lanes, and which row of the event it is.

    Of several rounds at once the first `most` of them have one each.
    """
    if not rows.one_block:
        active: Any = ... if rows.active is None else rows.active[0]
        return [(0 if rows.kept is None else int(rows.kept[0]), rows.address[0][active])]
    places = np.arange(len(rows.address)) if rows.kept is None else rows.kept
    lanes = np.ones((len(places), 32), bool) if rows.active is None else rows.active
    found, number = [], places // rows.warps
    for one in np.unique(number[lanes.any(axis=1)])[:most].tolist():
        here = np.flatnonzero((number == one) & lanes.any(axis=1))
        if 2 * len(here) > rows.warps:  # as a single round is kept whole
            here = np.flatnonzero(places == one * rows.warps)
        first = int(here[0]) if len(here) else -1
        address = rows.address[first][lanes[first]] if len(here) else rows.address[0][:0]
        found.append((int(places[first]) % rows.warps if len(here) else 0, address))
    return found


def _of_one_warp(requests: list[tuple[int, Array]]) -> tuple[tuple[int, ...], ...]:
    """The requests up to where another warp's come."""
    same = takewhile(lambda one: one[0] == requests[0][0], requests)
    return tuple(tuple(address.tolist()) for _, address in same)


class _Masks:
    """The rows of the mask last seen: most accesses have the mask of the one before."""

    def __init__(self) -> None:
        self._active: Array | None = None
        self._shape: tuple[int, ...] = ()

    def of(self, active: Array, shape: tuple[int, ...]) -> tuple[Array, Array | None]:
        """Active lanes of the rows that have some, and the places of these rows (None: all).

        In late rounds of a divergent loop most warps have left it; as long as half are there, all
        rows are kept.
        """
        if active is not self._active or shape != self._shape:
            mask = spread(active, shape).reshape(-1, shape[-1])
            kept = np.flatnonzero(np.packbits(mask).view(np.uint32))
            self._rows = (mask, None) if 2 * len(kept) > len(mask) else (mask[kept], kept)
            self._active, self._shape = active, shape
        return self._rows


_MANY = 1 << 40
"""A sum goes over a few thousand requests of at most 64 sectors each."""


def _measure(tally: _Tally) -> None:
    """Measure the rows put aside and add them to the sums."""
    parts, tally.rows, tally.waiting = tally.rows, [], 0
    address = (
        np.concatenate([part.address for part in parts]) if len(parts) > 1 else (parts[0].address)
    )
    active = _joined_masks(parts)
    each = [part.weight for part in parts]
    # Python's own numbers where a block stands for so many that sums would pass 64 bits
    kind = np.int64 if max(each) < _MANY else object
    weight = np.repeat(np.array(each, kind), [len(part.address) for part in parts])
    if active is None:
        tally.add("requests", weight.sum())
        tally.add("lanes", weight.sum() * 32)
    else:
        lanes = np.bitwise_count(np.packbits(active).view(np.uint32))
        tally.add("requests", weight[lanes > 0].sum())
        tally.add("lanes", lanes @ weight)
    if parts[0].beside is not None:
        order = _add_copy(tally, parts, address, weight)
    elif tally.array.space == "shared":
        order = _add_shared(tally, address, active, weight)
    else:
        order = _add_global(tally, address, active, weight)
    _keep_worst(tally, parts, address, active, order)


def _keep_worst(
    tally: _Tally, parts: list[_Rows], address: Array, active: Array | None, order: Array
) -> None:
    """Keep the worst request: of several alike the first of the lowest block and warp."""
    most = int(order.max())
    if most < tally.most:
        return
    known = tally.worst[2:] if tally.worst is not None and most == tally.most else None
    if known is not None and known <= (min(part.block for part in parts), 0):
        return
    at, *origin = _first_origin(parts, np.flatnonzero(order == most))
    if known is None or tuple(origin) < known:
        tally.most = most
        tally.worst = (address[at], None if active is None else active[at], *origin)


def _joined_masks(parts: list[_Rows]) -> Array | None:
    if all(part.active is None for part in parts):
        return None
    return np.concatenate(
        [
            np.ones(part.address.shape, bool) if part.active is None else part.active
            for part in parts
        ]
    )


def _first_origin(parts: list[_Rows], rows: Array) -> tuple[int, int, int]:
    """Which of these rows comes first: the row, its block and its warp."""
    if len(parts) == 1 and parts[0].kept is None and not parts[0].one_block:
        block, warp = divmod(int(rows[0]), parts[0].warps)
        return int(rows[0]), block + parts[0].block, warp
    blocks, warps = _origins(parts, rows)
    first = int(np.lexsort((warps, blocks))[0])
    return int(rows[first]), int(blocks[first]), int(warps[first])


def _origins(parts: list[_Rows], rows: Array) -> tuple[Array, Array]:
    """Linear block numbers and warps of rows."""
    ends = np.cumsum([len(part.address) for part in parts])
    number = np.searchsorted(ends, rows, side="right")
    block, warps, length = (
        np.array(column)[number]
        for column in zip(*((p.block, p.warps, len(p.address)) for p in parts), strict=True)
    )
    at = rows - (ends[number] - length)
    for which, part in enumerate(parts):
        if part.kept is not None:
            at[number == which] = part.kept[at[number == which]]
    one_block = np.array([part.one_block for part in parts])[number]
    return block + np.where(one_block, 0, at // warps), at % warps


def _add_shared(tally: _Tally, address: Array, active: Array | None, weight: Array) -> Array:
    """Add wavefronts and what belongs to them; return the n-way of each row."""
    if tally.kind == UNMODELLED:
        return np.zeros(len(address), np.int64)
    kind = bank.request_kind(tally.kind, tally.matrices)
    found = bank.measure(address, width=tally.width, active=active, kind=kind)
    wavefronts, least = int(found.wavefronts @ weight), int(found.ideal @ weight)
    tally.add("wavefronts", wavefronts)
    tally.add("ideal", least)
    tally.add("extra", wavefronts - least)
    tally.add("multicast", found.multicast @ weight)
    tally.sums["ways"] = max(tally.sums.get("ways", 0), int(found.ways.max(initial=0)))
    return found.ways


def _add_copy(tally: _Tally, parts: list[_Rows], address: Array, weight: Array) -> Array:
    """Add what one side of copies takes; return the n-way or the sectors of each row."""
    active = np.concatenate([part.active for part in parts if part.active is not None])
    others = [part.beside for part in parts if part.beside is not None]
    other, there = (np.concatenate(column) for column in zip(*others, strict=True))
    stores = tally.array.space == "shared"
    sides = (address, other, active, there) if stores else (other, address, there, active)
    found = async_copy.measure(*sides, width=tally.width, past_l1=tally.past_l1)
    if not stores:
        tally.add("sectors", found.sectors @ weight)
        tally.add("ideal_sectors", found.ideal_sectors @ weight)
        return found.sectors
    wavefronts, least = int(found.wavefronts @ weight), int(found.ideal @ weight)
    tally.add("wavefronts", wavefronts)
    tally.add("ideal", least)
    tally.add("extra", wavefronts - least)
    tally.sums["ways"] = max(tally.sums.get("ways", 0), int(found.ways.max(initial=0)))
    return found.ways


def _add_global(tally: _Tally, address: Array, active: Array | None, weight: Array) -> Array:
    """Add sectors; return those of each row."""
    found = sector.measure(address, width=tally.width, active=active)
    tally.add("sectors", found.sectors @ weight)
    tally.add("ideal_sectors", found.ideal @ weight)
    return found.sectors
