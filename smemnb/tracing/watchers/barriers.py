"""Barriers that not every thread of a block reaches.

`syncthreads` is for all threads of a block or for none. Per barrier and block the watcher compares
the lanes that arrive with those still alive (the others are elsewhere: the block hangs, or meets
the wrong barrier) and with those that began (the rest has returned). From compute capability 7.0 on
a barrier waits for the threads that have not returned, so that what they did before is ordered
before what follows; a syncwarp does so for the lanes that it names.

The barrier of a grid is different: each block counts there, through its first thread, whether it
has returned or not.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...lockstep.watch import Barrier, Exchange, Site, Watcher
from ..model import Observation

if TYPE_CHECKING:
    from ...lockstep.batch import Batch, Launch

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass
class _GridBarrier:
    """A barrier of the grid: its site, a block and a thread that came, all blocks that came."""

    site: Site
    block: int
    thread: int
    blocks: set[int] = field(default_factory=set)


class Barriers(Watcher):
    """Finds barriers reached by some threads only; `observations()` lists them per barrier."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, Site], Observation] = {}
        self._of_grid: list[_GridBarrier] = []  # of the n-th barrier of the grid

    def start(self, launch: Launch) -> None:
        """Remember the launch."""
        self._launch = launch
        self._begun: list[Array] = []  # the numbers of the blocks that are watched

    def begin_batch(self, batch: Batch) -> None:
        """Remember the blocks in flight."""
        self._batch, self._passed = batch, np.zeros(batch.count, np.int64)
        self._begun.append(np.arange(batch.first, batch.first + batch.count))
        self._awaited: dict[Site, tuple[Array, Array]] = {}  # who came, and who is waited for

    def barrier(self, event: Barrier) -> None:
        """Compare who arrived with who should."""
        if event.scope == "warp":
            self._warp(event)
            return
        self._come(event)
        if event.scope == "grid":
            self._count_grid(event)
        if event.arrived is event.live and event.live is self._launch.live:
            return
        shape = (self._batch.count, -1)
        arrived, live, began = (
            np.broadcast_to(lanes, self._batch.shape).reshape(shape)
            for lanes in (event.arrived, event.live, self._launch.live)
        )
        here = arrived.any(axis=1, keepdims=True)
        self._note("divergent_barrier", event.site, arrived, live & ~arrived & here)
        exited = began & ~live & here
        if event.scope == "grid":
            self._note("exited_before_grid_barrier", event.site, arrived, exited)
        else:
            self._note("exited_before_barrier", event.site, arrived, exited)

    def _count_grid(self, event: Barrier) -> None:
        """Note which blocks come to this barrier of the grid, each by how many it has passed."""
        arrived = np.broadcast_to(event.arrived, self._batch.shape).reshape(self._batch.count, -1)
        here = arrived.any(axis=1)
        for number in np.unique(self._passed[here]).tolist():
            blocks = np.flatnonzero(here & (self._passed == number))
            if number == len(self._of_grid):
                first = int(blocks[0])
                thread = int(arrived[first].argmax())
                self._of_grid.append(_GridBarrier(event.site, self._batch.first + first, thread))
            self._of_grid[number].blocks.update((self._batch.first + blocks).tolist())
        self._passed += here

    def finish(self) -> None:
        """Compare the blocks that came to each barrier of the grid with all that began."""
        began = np.concatenate([np.zeros(0, np.int64), *self._begun]).tolist()
        for barrier in self._of_grid:
            absent = sorted(set(began) - barrier.blocks)
            if absent:
                self._note_blocks(barrier, absent)

    def _note_blocks(self, barrier: _GridBarrier, absent: list[int]) -> None:
        """Keep blocks that have returned as a whole; all their threads count."""
        launch, key = self._launch, ("exited_before_grid_barrier", barrier.site)
        count = len(absent) * launch.threads
        seen = self._found.get(key)
        if seen is not None and "blocks" in seen.detail:
            self._found[key] = replace(seen, count=seen.count + count)
            return
        self._found[key] = Observation(
            kind="exited_before_grid_barrier",
            site=barrier.site,
            block=launch.block_of(barrier.block),
            thread=launch.thread_of(*divmod(barrier.thread, 32)),
            warp=barrier.thread // 32,
            other_block=launch.block_of(absent[0]),
            count=count + (0 if seen is None else seen.count),
            detail={"blocks": len(absent)},
        )

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
