"""A block group: blocks in flight, the fibers of their warps, the barriers they meet at."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..batch import Batch, Segment
from ..lanes import WARP, LaneValue, Mask, spread
from ..watch import Barrier, Site
from .event_log import EventLog, joined
from .fiber import Call, Fiber

if TYPE_CHECKING:
    from .plan import Plan
    from .scheduler import Scheduler

Array = np.ndarray[Any, np.dtype[Any]]


class BlockGroup:
    """Blocks of one segment, run by a fiber per warp or per thread."""

    def __init__(self, scheduler: Scheduler, segment: Segment, plan: Plan) -> None:
        launch = scheduler.launch
        self.batch = Batch(launch, *segment)
        self.event_log = EventLog(
            self.batch, scheduler.tally, sequential=plan.sequential, together=plan.together
        )
        self.arrivals: dict[Fiber, tuple[Site, Mask, LaneValue]] = {}
        self.votes: tuple[Array, Array] | None = None
        self.calls: dict[Fiber, Call] = {}  # of lanes that wait for their warp
        self.results: dict[Fiber, LaneValue] = {}
        live = spread(launch.live, (1, launch.warps, WARP))[0]
        places = (
            [(int(warp), int(lane)) for warp, lane in np.argwhere(live)]
            if plan.by_lane
            else [(warp, None) for warp in range(launch.warps)]
        )
        self.scheduler, self._warps = scheduler, dict[int, Fiber]()
        self.fibers = [Fiber(scheduler, self, warp, lane) for warp, lane in places]
        self.event_log.open(self.fibers)

    @property
    def ended(self) -> bool:
        """Whether every fiber has ended."""
        return all(fiber.state == "ended" for fiber in self.fibers)

    def close(self) -> None:
        """Report the remaining events, and let the memory of the blocks go."""
        self.event_log.close()
        for fiber in (*self.fibers, *self._warps.values()):
            del fiber.batch, fiber.group

    def at_barrier(self) -> list[Fiber]:
        """The fibers that wait at a barrier of the block, if no other can still come."""
        states = {fiber.state for fiber in self.fibers}
        if states - {"barrier", "ended"}:
            return []
        return list(self.arrivals)

    def release(self, scope: str) -> Sequence[Fiber]:
        """Make the fibers ready that wait at a barrier, and report who arrived."""
        arrivals, self.arrivals = self.arrivals, {}
        shape = self.batch.shape
        live = joined([(fiber, fiber.batch.live) for fiber in self.fibers], self.fibers, shape)
        if self.batch.watched:
            for site in dict.fromkeys(site for site, _, _ in arrivals.values()):
                here = [(s, mask) for s, (at, mask, _) in arrivals.items() if at is site]
                arrived = joined(here, self.fibers, shape)
                same = arrived.shape == live.shape and bool((arrived == live).all())
                self.event_log.barrier(Barrier(site, scope, live if same else arrived, live))
        voting = [(fiber, mask, p) for fiber, (_, mask, p) in arrivals.items() if p is not None]
        if voting:
            self.votes = self._votes(voting)
        waited = [fiber for fiber in self.fibers if fiber in arrivals]
        for fiber in waited:
            fiber.state = "ready"
        return waited

    def warp_met(self, fiber: Fiber) -> list[Fiber]:
        """Lanes that may go on, as all that this one named have come to the same place."""
        call = self.calls[fiber]
        named = call.named(fiber.lane or 0)
        lanes = [
            one
            for one in self.fibers
            if one.warp == fiber.warp and named >> (one.lane or 0) & 1 and one.state != "ended"
        ]
        if any(one not in self.calls or self.calls[one].site is not call.site for one in lanes):
            return []
        if fiber not in lanes:  # its own mask leaves it out
            lanes.append(fiber)
        calls = [(one, self.calls.pop(one)) for one in lanes]
        result = call.implementation(
            self._warp(fiber.warp),
            self._of_lanes([(one, one_call.mask) for one, one_call in calls]),
            call.site,
            *(
                self._of_lanes([(one, one_call.arguments[at]) for one, one_call in calls])
                for at in range(len(call.arguments))
            ),
        )
        for one in lanes:
            self.results[one], one.state = result, "ready"
        return lanes

    def _of_lanes(self, parts: list[tuple[Fiber, Any]]) -> Any:
        """One lane value of a warp out of what each lane has."""
        if not isinstance(parts[0][1], (np.ndarray, np.generic)):
            return parts[0][1]
        whole = np.zeros((1, 1, WARP), parts[0][1].dtype)
        for fiber, value in parts:
            whole[..., fiber.place[2]] = spread(value, (1, 1, WARP))[..., fiber.place[2]]
        return whole

    def _warp(self, warp: int) -> Batch:
        """A whole warp as a batch."""
        if warp not in self._warps:
            self._warps[warp] = Fiber(self.scheduler, self, warp, None)
        batch = self._warps[warp].batch
        lanes = [fiber for fiber in self.fibers if fiber.warp == warp]
        batch.live = self._of_lanes([(s, s.batch.live & (s.state != "ended")) for s in lanes])
        return batch

    def _votes(self, voting: list[tuple[Fiber, Mask, LaneValue]]) -> tuple[Array, Array]:
        """(predicate, arrived) of all threads, each as (blocks, threads)."""
        true, arrived = np.zeros((2, *self.batch.shape), bool)
        for fiber, mask, predicate in voting:
            for whole, part in ((true, np.not_equal(predicate, 0)), (arrived, mask)):
                own = spread(part, fiber.batch.shape)
                whole[fiber.place] = own[..., fiber.place[2]]
        return true.reshape(self.batch.count, -1), arrived.reshape(self.batch.count, -1)
