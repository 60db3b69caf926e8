"""What the warps of some blocks execute, laid out for the scheduler.

A few blocks of the launch stand for all of it, spread over the grid. Each is run by
`compiled.warps`, so branches, addresses and predicates are those of the launch.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...compiled.control_bits import controls
from ...compiled.image import read_image
from ...compiled.lines import Build
from ...compiled.warps.execution import Execution, execution
from ...compiled.warps.run import CodeLaunch
from .caches import far_share, missed, partly_stored
from .instructions import table
from .machine import WHOLE, Machine, Use
from .scheduler import REASONS, simulate

__all__ = ["Ran", "Streams", "sampled", "streams"]

MOST_STEPS = 300_000
STEPS_OF_ALL = 60_000
MOST_SAMPLES = 6


@dataclass(frozen=True)
class Streams:
    """The blocks that stand for a launch.

    Attributes:
        table: a row per machine instruction, as `instructions.table` makes it.
        place, active, taken, request, begins: instructions of all warps, one warp after the other.
        space, wavefronts, missed, far, lines: of each access; lines of stores alone.
        warps: of a block.
        samples: blocks that were run.
        partly: share of the sectors that leave L1 of stores that fill less than half of them.
    """

    table: Any
    place: Any
    active: Any
    taken: Any
    request: Any
    begins: Any
    space: Any
    wavefronts: Any
    missed: Any
    far: Any
    lines: Any
    warps: int
    samples: int
    partly: float = 0.0

    @property
    def instructions(self) -> float:
        """Instructions of all warps of a block, on average."""
        return len(self.place) / self.samples

    @property
    def stored(self) -> float:
        """The share of stores in the sectors that come from DRAM or go there."""
        moved = self.missed * self.far
        return float(moved[self.lines > 0].sum()) / max(1.0, float(moved.sum()))

    @property
    def sectors_from_dram(self) -> float:
        """Sectors of a block that come from DRAM or go there, on average."""
        return float((self.missed * self.far).sum()) / self.samples

    def run(self, machine: Machine, resident: int, blocks: int, busy: int, use: Use = WHOLE) -> Ran:
        """So many blocks on one multiprocessor, `resident` at a time, `busy` of them at work."""
        order = np.arange(blocks) % self.samples
        plan = (order[:, None] * self.warps + np.arange(self.warps)).astype(np.int32)
        waits = np.zeros((len(self.table), len(REASONS)), np.int64)
        nothing = np.zeros((0, 0), np.int8)
        row = machine.row(busy, self.stored, use)
        cycles, issued, path, loads, stores, dram = simulate(
            *self._arrays, plan, resident, row, waits, nothing
        )
        return Ran(cycles, issued, path, loads, stores, dram, waits)

    def timeline(self, machine: Machine, resident: int, blocks: int, busy: int, cycles: int) -> Any:
        """What each warp does in each of the first cycles: place in `REASONS`, -1 for no warp."""
        order = np.arange(blocks) % self.samples
        plan = (order[:, None] * self.warps + np.arange(self.warps)).astype(np.int32)
        waits = np.zeros((len(self.table), len(REASONS)), np.int64)
        drawn = np.full((resident * self.warps, cycles), -1, np.int8)
        simulate(*self._arrays, plan, resident, machine.row(busy, self.stored), waits, drawn)
        return drawn

    @property
    def _arrays(self) -> tuple[Any, ...]:
        return (
            self.table,
            self.place,
            self.active,
            self.taken,
            self.request,
            self.begins,
            self.space,
            self.wavefronts,
            self.missed,
            self.far,
            self.lines,
        )


@dataclass(frozen=True)
class Ran:
    """What came of blocks on one multiprocessor.

    Attributes:
        cycles: until the last of them had ended.
        issued: instructions.
        path: cycles in which an access was under way to shared memory or L1.
        loads, stores, dram: cycles in which L2 and DRAM served, at this multiprocessor's share.
        waits: cycles of warps, by instruction and by reason.
    """

    cycles: float
    issued: float
    path: float
    loads: float
    stores: float
    dram: float
    waits: Any

    @property
    def use(self) -> Use:
        """Shares of its time in which L2 and DRAM served."""
        return Use(*(min(1.0, each / self.cycles) for each in (self.loads, self.stores, self.dram)))

    def less(self, other: Ran) -> Ran:
        """What this one has beyond a shorter run of the same."""
        return replace(
            self,
            cycles=self.cycles - other.cycles,
            issued=self.issued - other.issued,
            path=self.path - other.path,
            loads=self.loads - other.loads,
            stores=self.stores - other.stores,
            dram=self.dram - other.dram,
            waits=self.waits - other.waits,
        )


def sampled(blocks: int) -> list[int]:
    """Blocks that may stand for all, in the order in which they are run.

    >>> sampled(2), sampled(1000)
    ([1, 0], [500, 333, 707, 166, 874, 77])
    """
    shares = (0.5, 0.3335, 0.7072, 0.1668, 0.8745, 0.0777)
    return list(dict.fromkeys(min(blocks - 1, int(blocks * one)) for one in shares))[:MOST_SAMPLES]


def streams(
    build: Build,
    launch: CodeLaunch,
    l1_bytes: int,
    *,
    chosen: Sequence[int] | None = None,
    times: float | None = None,
    arrays: list[tuple[int, int]] | None = None,
) -> Streams:
    """The blocks that stand for a launch, executed.

    Args:
        build: the machine code.
        launch: its grid, block and arguments.
        l1_bytes: of L1, for one block.
        chosen: which blocks; None for `sampled`, until there are enough instructions.
        times: how many times a block's accesses make those of the launch; None for its blocks.
        arrays: begin and bytes of each allocation; None for those of the arguments.

    Raises:
        SmemnbError: an instruction that is not modelled, or a block that cannot be run here.
    """
    image = read_image(launch.elf)
    rows = table(build.code, controls(build.elf, build.cc))
    blocks = math.prod(launch.grid)
    known = launch.args.extents() if arrays is None else arrays
    done: list[Execution] = []
    steps = 0
    for block in chosen if chosen is not None else sampled(blocks):
        one = execution(launch, build.code, block, image, MOST_STEPS)
        done.append(one)
        steps += max(len(warp.place) for warp in one.warps)
        if chosen is None and steps > STEPS_OF_ALL:
            break
    gone = [missed(one, l1_bytes) for one in done]
    far = [
        far_share(one, each, blocks if times is None else times, known)
        for one, each in zip(done, gone, strict=True)
    ]
    starts = np.cumsum([0, *(len(one.requests.space) for one in done)])
    warps = [(warp, start) for one, start in zip(done, starts, strict=False) for warp in one.warps]
    place = np.concatenate([warp.place for warp, _ in warps]).astype(np.int32)
    begins = np.cumsum([0, *(len(warp.place) for warp, _ in warps)])
    taken = np.concatenate([place[1:] != place[:-1] + 1, [False]])
    taken[begins[1:] - 1] = False
    request = [np.where(warp.request < 0, -1, warp.request + start) for warp, start in warps]
    return Streams(
        rows,
        place,
        np.concatenate([warp.active for warp, _ in warps]),
        taken,
        np.concatenate(request).astype(np.int32),
        begins.astype(np.int64),
        np.concatenate([one.requests.space for one in done]).astype(np.int8),
        np.concatenate([one.requests.wavefronts for one in done]).astype(np.int32),
        np.concatenate(gone).astype(np.int32),
        np.concatenate(far).astype(np.float32),
        np.concatenate(
            [np.where(one.requests.store, one.requests.lines, 0) for one in done]
        ).astype(np.int32),
        len(done[0].warps),
        len(done),
        max(partly_stored(one, each) for one, each in zip(done, gone, strict=True)),
    )
