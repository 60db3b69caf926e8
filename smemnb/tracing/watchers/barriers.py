"""Barriers that not every thread of a block reaches.

`syncthreads` is for all threads of a block or for none. Per barrier and block the watcher compares
the lanes that arrive with those still alive (the others are elsewhere: the block hangs, or meets
the wrong barrier) and with those that began (the rest has returned).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...lockstep.watch import Barrier, Exchange, Site, Watcher
from ..model import Observation

if TYPE_CHECKING:
    from ...lockstep.batch import Batch, Launch

Array = np.ndarray[Any, np.dtype[Any]]


class Barriers(Watcher):
    """Finds barriers reached by some threads only; `observations()` lists them per barrier."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, Site], Observation] = {}

    def start(self, launch: Launch) -> None:
        """Remember the launch."""
        self._launch = launch

    def begin_batch(self, batch: Batch) -> None:
        """Remember the blocks in flight."""
        self._batch = batch
        self._awaited: dict[Site, tuple[Array, Array]] = {}  # who came, and who is waited for

    def barrier(self, event: Barrier) -> None:
        """Compare who arrived with who should."""
        if event.scope == "warp":
            self._warp(event)
            return
        self._come(event)
        if event.arrived is event.live and event.live is self._launch.live:
            return
        shape = (self._batch.count, -1)
        arrived, live, began = (
            np.broadcast_to(lanes, self._batch.shape).reshape(shape)
            for lanes in (event.arrived, event.live, self._launch.live)
        )
        here = arrived.any(axis=1, keepdims=True)
        self._note("divergent_barrier", event.site, arrived, live & ~arrived & here)
        self._note("exited_before_barrier", event.site, arrived, began & ~live & here)

    def exchange(self, event: Exchange) -> None:
        """Keep lanes of a shuffle, vote or match that do not fit together."""
        shape = (self._batch.count * self._launch.warps, 32)
        for kind, lanes in (
            ("stray_shuffle", event.strays),
            ("unnamed_lane", event.unnamed),
            ("missing_lane", event.missing),
        ):
            found = np.broadcast_to(lanes & self._launch.live, self._batch.shape)
            if not found.any():
                continue
            source = found
            if kind == "stray_shuffle":
                source = np.broadcast_to(event.source, self._batch.shape)
            self._note_lanes(kind, event.site, found.reshape(shape), source.reshape(shape))

    def _note_lanes(self, kind: str, site: Site, lanes: Array, source: Array) -> None:
        """Keep the first of these lanes, and the lane that it reads; count all."""
        count = int(lanes.sum())
        seen = self._found.get((kind, site))
        if seen is not None:
            self._found[kind, site] = replace(seen, count=seen.count + count)
            return
        row, lane = (int(n) for n in np.argwhere(lanes)[0])
        block, warp = divmod(row, self._launch.warps)
        self._found[kind, site] = Observation(
            kind=kind,
            site=site,
            block=self._launch.block_of(self._batch.first + block),
            thread=self._launch.thread_of(warp, lane),
            warp=warp,
            count=count,
            detail={"lane": lane, "source": int(source[row, lane])},
        )

    def _warp(self, event: Barrier) -> None:
        """Lanes that a syncwarp waits for, have not returned, and are elsewhere."""
        self._come(event)
        if event.arrived is event.live:
            return
        shape = (self._batch.count * self._launch.warps, 32)
        arrived, live, named = (
            np.broadcast_to(lanes, self._batch.shape).reshape(shape)
            for lanes in (
                event.arrived,
                event.live & self._launch.live,
                True if event.members is None else event.members,
            )
        )
        missing = live & named & ~arrived & arrived.any(axis=1, keepdims=True)
        if missing.any():
            self._awaited[event.site] = arrived, self._awaited_at(event.site, shape) | missing

    def _awaited_at(self, site: Site, shape: tuple[int, int]) -> Array:
        return self._awaited[site][1] if site in self._awaited else np.zeros(shape, bool)

    def _come(self, event: Barrier) -> None:
        """Note lanes that a syncwarp waits for and that come to a barrier all the same.

        Those that only run to the end of the kernel are not waited for once they are there.
        """
        for site, (arrived, missing) in self._awaited.items():
            here = np.broadcast_to(event.arrived, self._batch.shape).reshape(missing.shape)
            come = missing & here
            if come.any():
                self._note("divergent_syncwarp", site, arrived, come)
                self._awaited[site] = arrived, missing & ~come

    def observations(self) -> list[Observation]:
        """One observation per barrier and kind."""
        return list(self._found.values())

    def _note(self, kind: str, site: Site, arrived: Array, missing: Array) -> None:
        count = int(missing.sum())
        if not count:
            return
        seen = self._found.get((kind, site))
        if seen is not None:
            self._found[kind, site] = replace(seen, count=seen.count + count)
            return
        row, absent = (int(n) for n in np.argwhere(missing)[0])
        present = int(arrived[row].argmax())
        of_warps = kind == "divergent_syncwarp"  # a row is a warp there, else a block
        block, warp = divmod(row, self._launch.warps) if of_warps else (row, 0)
        here, absent = (int(arrived[row].sum()), int(missing[row].sum())), warp * 32 + absent
        present += warp * 32
        self._found[kind, site] = Observation(
            kind=kind,
            site=site,
            block=self._launch.block_of(self._batch.first + block),
            thread=self._launch.thread_of(*divmod(present, 32)),
            other_thread=self._launch.thread_of(*divmod(absent, 32)),
            warp=present // 32,
            other_warp=absent // 32,
            count=count,
            detail={
                "arrived": here[0],
                "missing": here[1],
                "threads": self._launch.threads,
            },
        )
