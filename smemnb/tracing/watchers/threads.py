"""Threads that an exception ends, and threads that read a variable they never assigned.

Numba says nothing of either: without debug=True a thread that raises ends silently, and a variable
without a value has whatever the register holds. The watcher keeps, per place in the source, the
first thread and how many there are.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ...lockstep.watch import Ended, Lanes, Site, Unassigned, Watcher
from ..model import Observation

if TYPE_CHECKING:
    from ...lockstep.batch import Batch, Launch


class Threads(Watcher):
    """Finds ended threads and unassigned variables; `observations()` lists them per place."""

    def __init__(self) -> None:
        self._found: dict[Site, Observation] = {}

    def start(self, launch: Launch) -> None:
        """Remember the launch."""
        self._launch = launch

    def begin_batch(self, batch: Batch) -> None:
        """Remember the blocks in flight."""
        self._batch = batch

    def ended(self, event: Ended) -> None:
        """Keep the first lane that a `raise` or an `assert` ends; count all."""
        said = {"exception": event.exception, "said": event.said}
        self._note("ended_by_exception", event.site, event.lanes, said)

    def unassigned(self, event: Unassigned) -> None:
        """Keep the first lane that reads the variable too early; count all."""
        self._note("unassigned", event.site, event.lanes, {"name": event.name})

    def _note(self, kind: str, site: Site, lanes: Lanes, detail: dict[str, str]) -> None:
        here = np.broadcast_to(lanes & self._launch.live, self._batch.shape)
        count = int(here.sum())
        if not count:
            return
        seen = self._found.get(site)
        if seen is not None:
            self._found[site] = replace(seen, count=seen.count + count)
            return
        block, warp, lane = (int(n) for n in np.argwhere(here)[0])
        self._found[site] = Observation(
            kind=kind,
            site=site,
            block=self._launch.block_of(self._batch.first + block),
            thread=self._launch.thread_of(warp, lane),
            warp=warp,
            count=count,
            detail=detail,
        )

    def observations(self) -> list[Observation]:
        """One observation per place."""
        return list(self._found.values())
