"""Reads of shared memory that no thread of the block has written, and of other unwritten memory.

A GPU gives a block whatever the last block on that multiprocessor left behind, so such a read
often looks right. A cell that an earlier block of the launch wrote is reported as "stale", the rest
as "uninitialised". A table per array remembers which cells were written, one row for all blocks as
long as they all do the same. Local arrays and device memory: `unwritten`.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import TYPE_CHECKING, Any

import numpy as np

from ...hardware import WORD_BYTES
from ...lockstep.lanes import spread
from ...lockstep.watch import Access, ArrayInfo, Bulk, Site, Unwritten, Watcher
from ..model import Observation
from .cells import cell_count
from .unwritten import UnwrittenReads

if TYPE_CHECKING:
    from ...lockstep.batch import Batch, Launch

Array = np.ndarray[Any, np.dtype[Any]]
NOBODY = np.iinfo(np.int64).max
NOTHING = np.zeros((0, 0), np.int64)


class _Written:
    """Which cells of one array have been written, as (1 or blocks, cells)."""

    def __init__(self, array: ArrayInfo, grain: int) -> None:
        self.grain, self.cells = grain, cell_count(array, grain)
        self.table = np.zeros((1, self.cells), bool)
        self.complete = False

    def narrow(self, array: ArrayInfo, grain: int) -> None:
        """Cut the cells to `grain` bytes each."""
        self.table = np.repeat(self.table, self.grain // grain, axis=1)
        self.grain, self.cells = grain, cell_count(array, grain)
        self.table = self.table[:, : self.cells]


Read = tuple[int, int, int]
"""A read that came too early: its block, thread and cell."""


class _Early:
    """What is known of one site that reads too early.

    `first` is such a read of the lowest block. Per cell, `latest` is the highest block that read it
    too early (-1: none) and `thread` a thread of it. `flying` is of the blocks in flight: (blocks,
    cells), a thread that read the cell too early or -1.
    """

    def __init__(self, site: Site, array: ArrayInfo, first: Read) -> None:
        self.site, self.array, self.first = site, array, first
        self.lanes, self.flying, self._stale = 0, NOTHING, list[Read]()
        self.latest = np.full(math.prod(array.shape), -1, np.int64)
        self.thread = self.latest.copy()

    def add(self, batch: Batch, row: Array, thread: Array, cell: Array) -> None:
        """Reads of blocks in flight, in ascending order of their rows."""
        block = batch.first + row
        self.lanes += len(cell)
        self.first = min(self.first, _read(block, thread, cell), key=_block)
        if not len(self.flying):
            self.flying = np.full((batch.count, len(self.latest)), -1, np.int16)
        self.flying[row, cell] = thread
        new = block >= self.latest[cell]  # ascending: the highest block stays
        self.latest[cell[new]], self.thread[cell[new]] = block[new], thread[new]

    def settle(self, first_block: int, writer: Array) -> None:
        """Look which reads of the blocks in flight are stale; `writer`: first block per cell."""
        block = first_block + np.arange(len(self.flying))[:, None]
        stale = np.argwhere((self.flying >= 0) & (writer < block)) if len(block) else block
        if len(stale):
            row, cell = stale[0].tolist()
            self._stale.append((first_block + row, int(self.flying[row, cell]), cell))
        self.flying = NOTHING

    def stale(self, writer: Array) -> Read | None:
        """The read of the lowest block that found what an earlier one had left, None if none did.

        Where blocks run in an order of their own it may be that of a higher block.
        """
        cells = np.flatnonzero(writer < self.latest)
        late = [_read(self.latest[cells], self.thread[cells], cells)] if len(cells) else []
        return min(self._stale + late, key=_block, default=None)


def _read(block: Array, thread: Array, cell: Array) -> Read:
    return int(block[0]), int(thread[0]), int(cell[0])


def _block(read: Read) -> int:
    return read[0]


def _place(array: ArrayInfo) -> tuple[str, int, tuple[int, ...]]:
    """What an array of one block has in common with its twin in another."""
    return array.name, array.base, array.shape


def _earlier(new: tuple[int, Array], known: tuple[int, Array] | None) -> tuple[int, Array]:
    """The first block per cell of two tables, at the finer of their grains."""
    if known is None:
        return new
    grain = math.gcd(new[0], known[0])
    fine = [np.repeat(block, own // grain) for own, block in (new, known)]
    cells = min(len(block) for block in fine)
    return grain, np.minimum(fine[0][:cells], fine[1][:cells])


class Initialisation(Watcher):
    """Finds reads of memory before any write; `observations()` lists them per site.

    `fresh` are the names of the arguments whose memory nobody has written before the launch.
    """

    takes_rounds = True  # whose accesses are never to shared memory

    def __init__(self, fresh: Collection[str] = ()) -> None:
        self._elsewhere = UnwrittenReads(fresh)
        self._fresh = self._elsewhere.fresh
        self._early: dict[tuple[Site, str], _Early] = {}
        self._writer: dict[Any, tuple[int, Array]] = {}  # grain; per cell the first block

    def start(self, launch: Launch) -> None:
        """Remember the launch."""
        self._launch = launch
        self._elsewhere.start(launch)

    def begin_batch(self, batch: Batch) -> None:
        """Fresh shared memory."""
        self._elsewhere.begin_batch(batch)
        self._batch: Batch = batch
        self._written: dict[int, tuple[_Written, ArrayInfo]] = {}

    def access(self, event: Access) -> None:
        """Mark what a store writes; look up what a load or an atomic reads."""
        array = event.array
        if array.space != "shared":
            if self._fresh and array.space == "global" and array.name in self._fresh:
                self._elsewhere.access(event)
            return
        entry = self._written.get(id(array.memory))
        if entry is None:
            entry = (_Written(array, event.unit), array)
            self._written[id(array.memory)] = entry
        written = entry[0]
        if written.complete:
            return
        if event.unit % written.grain:
            written.narrow(array, math.gcd(written.grain, event.unit))
        for cell in event.cells(written.grain):
            if event.kind != "store":
                self._look(written, cell)
            if event.kind != "load":
                self._mark(written, cell)

    def bulk(self, event: Bulk) -> None:
        """Mark what a bulk load brings."""
        if event.kind != "store":
            return
        array, block = event.array, int(np.argwhere(spread(event.active, self._batch.shape))[0, 0])
        if id(array.memory) not in self._written:
            self._written[id(array.memory)] = (_Written(array.memory, WORD_BYTES), array)
        written = self._written[id(array.memory)][0]
        if len(written.table) == 1 and self._batch.count > 1:
            written.table = np.repeat(written.table, self._batch.count, axis=0)
        written.table[block, np.unique(event.region.octets // written.grain)] = True
        written.complete = bool(written.table.all())

    def end_batch(self) -> None:
        """Remember which cells these blocks leave behind, and the first block of each."""
        for written, array in self._written.values():
            block = self._batch.first + written.table.argmax(axis=0)
            block = np.where(written.table.any(axis=0), block, NOBODY)
            known = self._writer.get(_place(array.memory))
            self._writer[_place(array.memory)] = _earlier((written.grain, block), known)
        for early in self._early.values():
            writer = self._writer_of(early.array)
            if writer is not None:
                early.settle(self._batch.first, writer)

    def observations(self) -> list[Observation]:
        """One observation per site that reads too early."""
        shared = [self._observed(early) for early in self._early.values()]
        return shared + self._elsewhere.observations()

    def unwritten(self, event: Unwritten) -> None:
        """Keep loads of local elements without a value."""
        self._elsewhere.local(event)

    def stored(self, array: ArrayInfo) -> Array | None:
        """Per cell, whether some block stored it; None if no block touched the array."""
        writer = self._writer_of(array)
        return None if writer is None else writer != NOBODY

    def _writer_of(self, array: ArrayInfo) -> Array | None:
        """Per element, the first block that wrote any of it; None if no block touched the array."""
        known = self._writer.get(_place(array.memory))
        if known is None:
            return None
        count = math.prod(array.shape)
        grain, block = known
        if grain > array.itemsize:
            return np.repeat(block, grain // array.itemsize)[:count]
        per = array.itemsize // grain
        whole = np.full(count * per, NOBODY)
        part = block[: count * per]
        whole[: len(part)] = part
        first: Array = whole.reshape(count, per).min(axis=1, initial=NOBODY)
        return first

    def _cells(self, written: _Written, event: Access) -> tuple[Array, Array | None]:
        """Cells touched as (blocks or 1, lanes), and the active lanes (None: all)."""
        offset, active = event.offset, event.active
        blocks = max(offset.shape[0], active.shape[0])
        if active.size == 1:
            return offset.reshape(blocks, -1), None
        shape = np.broadcast_shapes(offset.shape, active.shape)
        mask = np.broadcast_to(active, shape).reshape(blocks, -1)
        return np.broadcast_to(offset, shape).reshape(blocks, -1), mask

    def _mark(self, written: _Written, event: Access) -> None:
        cells, mask = self._cells(written, event)
        if len(cells) > 1 and len(written.table) == 1:
            written.table = np.repeat(written.table, self._batch.count, axis=0)
        if len(cells) == 1:
            here = cells[0] if mask is None else cells[0][mask[0]]
            written.table[:, here] = True
        else:
            rows = np.broadcast_to(np.arange(len(cells))[:, None], cells.shape)
            keep: Any = ... if mask is None else mask
            written.table[rows[keep], cells[keep]] = True
        written.complete = bool(written.table.all())

    def _look(self, written: _Written, event: Access) -> None:
        cells, mask = self._cells(written, event)
        if len(cells) == 1 and len(written.table) == 1:
            known: Any = written.table[0].take(cells)
        else:
            rows = np.arange(len(written.table))[:, None]
            known = written.table[rows, cells]
        if not (known if mask is None else known | ~mask).all():
            self._note(written, event)

    def _note(self, written: _Written, event: Access) -> None:
        """Keep which lanes read too early, block by block."""
        shape = self._batch.shape
        cells = np.broadcast_to(event.offset, shape).reshape(shape[0], -1)
        active = np.broadcast_to(event.active, shape).reshape(shape[0], -1)
        table = np.broadcast_to(written.table, (shape[0], written.cells))
        early = ~np.take_along_axis(table, cells, axis=1) & active
        places = np.argwhere(early)
        block, thread = places[:, 0] + self._batch.first, places[:, 1]
        cell = cells[early] * event.unit // event.array.itemsize
        key = (event.site, event.array.name)
        known = self._early.get(key)
        if known is None:
            known = _Early(event.site, event.array, _read(block, thread, cell))
            self._early[key] = known
        known.add(self._batch, places[:, 0], thread, cell)

    def _observed(self, early: _Early) -> Observation:
        writer = self._writer_of(early.array)
        stale = None if writer is None else early.stale(writer)
        block, thread, cell = stale or early.first
        return Observation(
            kind="stale" if stale else "uninitialised",
            site=early.site,
            array=early.array,
            block=self._launch.block_of(block),
            thread=self._launch.thread_of(*divmod(thread, 32)),
            warp=thread // 32,
            index=tuple(int(i) for i in np.unravel_index(cell, early.array.shape)),
            count=early.lanes,
            detail={"cells": int((early.latest >= 0).sum())},
        )
