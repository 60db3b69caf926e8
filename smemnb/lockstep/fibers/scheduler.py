"""Who runs: one fiber at a time, until it waits; blocks begin when nobody else can go on.

A barrier opens when all fibers of its block are there or have ended. A fiber in a loop in which
nothing changes sleeps until somebody stores something. When every fiber sleeps or waits at a
barrier and nothing was stored since, none of them can ever go on: that is a deadlock, and the error
says who waits where.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ...errors import KernelStopped, LaunchRefused
from ..batch import Launch, Segment, Stuck
from ..language.program import Program
from .block_group import BlockGroup
from .event_log import Tally
from .fiber import Fiber
from .plan import Plan

MAX_FIBERS = 2048  # threads of Python in flight
MAX_VAIN_TURNS = 20_000  # turns of busy loops without a store by anyone
VAIN_TURNS = 512  # the same where another order can be tried

_ASLEEP = ("waiting", "busy")


class Scheduler:
    """One run of a launch in fibers.

    `writes` counts the stores of all fibers; `paused` is released by the running
    fiber when it pauses or ends; `error` is what a fiber ended with; `abandoned` makes all unwind.
    """

    def __init__(
        self,
        launch: Launch,
        program: Program,
        arguments: list[Any],
        plan: Plan,
        segments: Iterable[Segment],
    ) -> None:
        self.launch, self.program, self.arguments, self.plan = launch, program, arguments, plan
        self.writes, self.tally, self.abandoned = 0, Tally(), False
        self.error: BaseException | None = None
        self.paused = threading.Lock()
        self.paused.acquire()
        self._rng = np.random.default_rng(plan.seed)
        pieces = [
            Segment(at, min(plan.blocks, first + count - at), weight)
            for first, count, weight in segments
            for at in range(first, first + count, plan.blocks)
        ]
        self._pieces = self._arranged(pieces)[::-1]  # taken from the end
        self._groups: list[BlockGroup] = []
        self._ready: list[Fiber] = []
        self._begun = 0  # block groups since sleepers were last woken
        self._vain, self._writes_before = 0, -1

    def run(self) -> None:
        """Run all blocks.

        Raises:
            Stuck: fibers wait for each other.
        """
        try:
            while self._ready or self._wake_or_begin():
                self._run_one(self._ready.pop(self._place()))
        except BaseException as error:
            self._abandon()
            begins_anew = isinstance(error, Stuck) and self.launch.may_begin_anew
            if isinstance(error, KernelStopped) and not begins_anew:
                for group in self._groups:
                    group.event_log.settle()
            raise

    def _place(self) -> int:
        """Which of the ready fibers runs next."""
        return int(self._rng.integers(len(self._ready))) if self.plan.order == "random" else 0

    def _arranged(self, items: Sequence[Any]) -> list[Any]:
        """Things in the order of the plan."""
        if self.plan.order in ("reversed", "late"):
            return list(items)[::-1]
        if self.plan.order == "random":
            return [items[at] for at in self._rng.permutation(len(items))]
        return list(items)

    def _run_one(self, fiber: Fiber) -> None:
        fiber.resume()
        if self.error is not None:
            raise self.error
        group = fiber.group
        if fiber.state == "warp":
            self._ready += self._arranged(group.warp_met(fiber))
        if fiber.state in ("barrier", "ended"):
            if group.at_barrier():
                self._ready += self._arranged(group.release("block"))
            elif group.ended:
                group.close()
                self._groups.remove(group)

    def _wake_or_begin(self) -> bool:
        """Make fibers ready; False once all blocks have run.

        Raises:
            Stuck: nobody can go on.
        """
        asleep = [s for group in self._groups for s in group.fibers if s.state in _ASLEEP]
        awake = [s for s in asleep if s.state == "busy" or s.writes_seen != self.writes]
        if awake and self._begun >= len(asleep):
            return self._wake(awake)
        if self._begin():
            return True
        if awake:
            return self._wake(awake)
        if not self._groups:
            return False
        if all(s.state in ("grid", "ended") for group in self._groups for s in group.fibers):
            return self._pass_grid()
        raise Stuck(self._explanation())

    def _wake(self, fibers: list[Fiber]) -> bool:
        if self.writes != self._writes_before:
            self._vain, self._writes_before = 0, self.writes
        self._vain += 1
        if self._vain > (VAIN_TURNS if self.launch.may_begin_anew else MAX_VAIN_TURNS):
            raise Stuck(self._explanation())
        self._begun = 0
        self._ready += self._arranged(fibers)
        return True

    def _begin(self) -> bool:
        """Begin the next blocks, if they can be in flight with the others."""
        if not self._pieces or (self._groups and (self.plan.sequential or self._full())):
            return False
        group = BlockGroup(self, self._pieces.pop(), self.plan)
        self._groups.append(group)
        self._ready += self._arranged(group.fibers)
        self._begun += 1
        return True

    def _full(self) -> bool:
        blocks = sum(group.batch.count for group in self._groups) + self._pieces[-1].blocks
        fibers = sum(len(group.fibers) for group in self._groups) + len(self._groups[0].fibers)
        return blocks > self.launch.resident_blocks() or fibers > MAX_FIBERS

    def _pass_grid(self) -> bool:
        if self._pieces:
            raise LaunchRefused(
                f"{self.launch.function.__name__} waits for all {self.launch.blocks:,} blocks of"
                f" the grid; the engine keeps {MAX_FIBERS:,} warps in flight. Launch fewer blocks"
            )
        for group in self._groups:
            if group.arrivals:
                self._ready += self._arranged(group.release("grid"))
        return True

    def _explanation(self) -> str:
        """Who waits for what, once nobody can go on."""
        fibers = [fiber for group in self._groups for fiber in group.fibers]
        loops: Counter[str] = Counter()
        for fiber in fibers:
            if fiber.state in _ASLEEP:
                loops[fiber.doing] += fiber.inside
        parts = [
            f"{where} never ends: {count} threads go round (one is {self._first(where, fibers)})"
            for where, count in loops.items()
        ]
        barriers: Counter[str] = Counter()
        for group in self._groups:
            for fiber, (site, mask, _) in group.arrivals.items():
                lanes = np.broadcast_to(mask & fiber.batch.live, fiber.batch.shape)
                barriers[f"{site.text} in line {site.line}"] += int(lanes.sum())
            for call in group.calls.values():
                barriers[f"{call.site.text} in line {call.site.line}"] += 1
        parts += [f"{count} threads wait at {where}" for where, count in barriers.items()]
        if self._pieces:
            blocks = sum(piece.blocks for piece in self._pieces)
            parts.append(f"{blocks} blocks have not begun, as no more are in flight at once")
        name = self.launch.function.__name__
        return (
            f"{'; '.join(parts)}. Nothing changes any more: no thread of {name} is left that could "
            "store what they wait for, or come to the barrier."
        )

    def _first(self, where: str, fibers: list[Fiber]) -> str:
        """The first thread that waits in a loop, in words."""
        fiber = next(s for s in fibers if s.state in _ASLEEP and s.doing == where)
        thread = self.launch.thread_of(fiber.warp, fiber.first_lane)
        block = self.launch.block_of(fiber.group.batch.first)
        return f"thread {thread} of block {block}"

    def _abandon(self) -> None:
        """Let every fiber in flight unwind."""
        self.abandoned = True
        for fiber in [fiber for group in self._groups for fiber in group.fibers]:
            if fiber.in_flight and fiber.state == "running":
                self.paused.acquire()
            if fiber.in_flight:
                fiber.let_go()
