"""Indices past the end of an axis.

The engine has already dropped these accesses (a GPU would read or write foreign memory); the
watcher keeps, per expression and axis, the first thread and how many follow.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...lockstep.watch import OutOfRange, Watcher
from ..model import Observation

if TYPE_CHECKING:
    from ...lockstep.batch import Batch, Launch


class Bounds(Watcher):
    """Finds indices out of range; `observations()` lists them per expression and axis."""

    def __init__(self) -> None:
        self._found: dict[Any, Observation] = {}

    def start(self, launch: Launch) -> None:
        """Remember the launch."""
        self._launch = launch

    def begin_batch(self, batch: Batch) -> None:
        """Remember the blocks in flight."""
        self._batch = batch

    def out_of_range(self, event: OutOfRange) -> None:
        """Keep the first lane; count all."""
        shape = self._batch.shape
        lost = np.broadcast_to(event.lanes, shape)
        key = (event.site, event.array.name, event.axis)
        seen = self._found.get(key)
        if seen is not None:
            self._found[key] = replace(seen, count=seen.count + int(lost.sum()))
            return
        block, warp, lane = (int(n) for n in np.argwhere(lost)[0])

        def here(at: Any) -> int:
            return int(np.broadcast_to(at, shape)[block, warp, lane])

        self._found[key] = Observation(
            kind="out_of_range",
            site=event.site,
            array=event.array,
            block=self._launch.block_of(self._batch.first + block),
            thread=self._launch.thread_of(warp, lane),
            warp=warp,
            index=tuple(here(at) for at in event.indices),
            axis=event.axis,
            count=int(lost.sum()),
            detail={"index": here(event.index), "size": event.size},
        )

    def observations(self) -> list[Observation]:
        """One observation per expression and axis."""
        return list(self._found.values())
