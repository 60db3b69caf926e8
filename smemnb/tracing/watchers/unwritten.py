"""Reads of local arrays, and of device memory, that nobody has written.

The engine tells which lanes load an element of a local array that their thread has not stored. Of
arrays that come from `cuda.device_array` and that nobody has written before the launch (the plug
knows, by the names of the parameters), a table remembers which elements the launch has stored.

**Limits**: local arrays of records, or seen as another dtype, are not followed; nor is device
memory that is passed twice, in parts, or while only some blocks are watched.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...lockstep.lanes import spread
from ...lockstep.watch import Access, ArrayInfo, Site, Unwritten
from ..model import Observation

if TYPE_CHECKING:
    from ...lockstep.batch import Batch, Launch

Array = np.ndarray[Any, np.dtype[Any]]


class UnwrittenReads:
    """Keeps the first such read of each place in the source, and how many there are.

    `fresh` are the names of the arguments whose memory nobody has written.
    """

    def __init__(self, fresh: Collection[str] = ()) -> None:
        self.fresh = frozenset(fresh)
        self._tables: dict[int, tuple[ArrayInfo, Array]] = {}
        self._found: dict[tuple[Site, str], Observation] = {}

    def start(self, launch: Launch) -> None:
        """Remember the launch."""
        self._launch = launch

    def begin_batch(self, batch: Batch) -> None:
        """Remember the blocks in flight."""
        self._batch = batch

    def local(self, event: Unwritten) -> None:
        """Keep lanes that load what they have not stored in a local array."""
        self._note(event.site, event.array, event.offset, event.lanes)

    def access(self, event: Access) -> None:
        """Mark what is stored in fresh memory; look up what a load or an atomic reads."""
        array = event.array
        if id(array) not in self._tables:
            octets = np.zeros(math.prod(array.shape) * array.itemsize, bool)
            self._tables[id(array)] = array, octets
        octets = self._tables[id(array)][1]
        shape = np.broadcast_shapes(event.offset.shape, event.active.shape, self._batch.shape)
        first = spread(event.offset, shape) * event.unit
        active = spread(event.active, shape)
        width = np.arange(event.width)
        if event.kind != "store":
            known = octets[(first[..., None] + width) % max(len(octets), 1)].all(axis=-1)
            early = active & ~known
            if early.any():
                element = spread(event.offset, shape) * event.unit // array.itemsize
                self._note(event.site, array, element, early)
        if event.kind != "load":
            octets[(first[active][:, None] + width).reshape(-1)] = True

    def _note(self, site: Site, array: ArrayInfo, element: Any, lanes: Array) -> None:
        shape = np.broadcast_shapes(lanes.shape, self._batch.shape)
        here = spread(lanes, shape)
        count = int(np.count_nonzero(here))
        seen = self._found.get((site, array.name))
        if seen is not None:
            self._found[site, array.name] = replace(seen, count=seen.count + count)
            return
        block, warp, lane = (int(n) for n in np.argwhere(here)[0])
        first = int(spread(np.asarray(element), shape)[block, warp, lane])
        if len(here) > self._batch.count:
            block = 0  # rounds of a loop that one block runs at once
        self._found[site, array.name] = Observation(
            kind="uninitialised",
            site=site,
            array=array,
            block=self._launch.block_of(self._batch.first + block),
            thread=self._launch.thread_of(warp, lane),
            warp=warp,
            index=tuple(int(i) for i in np.unravel_index(first, array.shape)),
            count=count,
        )

    def observations(self) -> list[Observation]:
        """One observation per place in the source."""
        return list(self._found.values())
