"""A crew: some blocks in flight, the strands of their warps, and the barriers they meet at."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..batch import Batch, Segment
from ..lanes import WARP, LaneValue, Mask, spread
from ..watch import Barrier, Site
from .journal import Journal, joined
from .strand import Call, Strand

if TYPE_CHECKING:
    from .plan import Plan
    from .scheduler import Scheduler

Array = np.ndarray[Any, np.dtype[Any]]


class Crew:
    """Blocks of one segment, run by a strand per warp or per thread."""

    def __init__(self, scheduler: Scheduler, segment: Segment, plan: Plan) -> None:
        launch = scheduler.launch
        self.batch = Batch(launch, *segment)
        self.journal = Journal(self.batch, scheduler.tally, plan.sequential, plan.together)
        self.arrivals: dict[Strand, tuple[Site, Mask, LaneValue]] = {}
        self.votes: tuple[Array, Array] | None = None
        self.calls: dict[Strand, Call] = {}  # of lanes that wait for their warp
        self.given: dict[Strand, LaneValue] = {}
        live = spread(launch.live, (1, launch.warps, WARP))[0]
        places = (
            [(int(warp), int(lane)) for warp, lane in np.argwhere(live)]
            if plan.by_lane
            else [(warp, None) for warp in range(launch.warps)]
        )
        self.scheduler, self._warps = scheduler, dict[int, Strand]()
        self.strands = [Strand(scheduler, self, warp, lane) for warp, lane in places]
        self.journal.open(self.strands)

    @property
    def ended(self) -> bool:
        """Whether every strand has ended."""
        return all(strand.state == "ended" for strand in self.strands)

    def close(self) -> None:
        """Tell the watchers the rest, and let the memory of the blocks go."""
        self.journal.close()
        for strand in (*self.strands, *self._warps.values()):
            del strand.batch, strand.crew

    def at_barrier(self) -> list[Strand]:
        """The strands that wait at a barrier of the block, if no other can still come."""
        states = {strand.state for strand in self.strands}
        if states - {"barrier", "ended"}:
            return []
        return list(self.arrivals)

    def release(self, scope: str) -> Sequence[Strand]:
        """Let those go on who wait at a barrier; the watchers learn who arrived."""
        arrivals, self.arrivals = self.arrivals, {}
        shape = self.batch.shape
        live = joined([(strand, strand.batch.live) for strand in self.strands], self.strands, shape)
        if self.batch.watched:
            for site in dict.fromkeys(site for site, _, _ in arrivals.values()):
                here = [(s, mask) for s, (at, mask, _) in arrivals.items() if at is site]
                arrived = joined(here, self.strands, shape)
                same = arrived.shape == live.shape and bool((arrived == live).all())
                self.journal.barrier(Barrier(site, scope, live if same else arrived, live))
        voting = [(strand, mask, p) for strand, (_, mask, p) in arrivals.items() if p is not None]
        if voting:
            self.votes = self._votes(voting)
        waited = [strand for strand in self.strands if strand in arrivals]
        for strand in waited:
            strand.state = "ready"
        return waited

    def warp_met(self, strand: Strand) -> list[Strand]:
        """Lanes that may go on, as all that this one named have come to the same place."""
        call = self.calls[strand]
        named = call.named(strand.lane or 0)
        lanes = [
            one
            for one in self.strands
            if one.warp == strand.warp and named >> (one.lane or 0) & 1 and one.state != "ended"
        ]
        if any(one not in self.calls or self.calls[one].site is not call.site for one in lanes):
            return []
        if strand not in lanes:  # its own mask leaves it out
            lanes.append(strand)
        calls = [(one, self.calls.pop(one)) for one in lanes]
        result = call.meaning(
            self._warp(strand.warp),
            self._of_lanes([(one, one_call.mask) for one, one_call in calls]),
            call.site,
            *(
                self._of_lanes([(one, one_call.arguments[at]) for one, one_call in calls])
                for at in range(len(call.arguments))
            ),
        )
        for one in lanes:
            self.given[one], one.state = result, "ready"
        return lanes

    def _of_lanes(self, parts: list[tuple[Strand, Any]]) -> Any:
        """One lane value of a warp out of what each lane has."""
        if not isinstance(parts[0][1], (np.ndarray, np.generic)):
            return parts[0][1]
        whole = np.zeros((1, 1, WARP), parts[0][1].dtype)
        for strand, value in parts:
            whole[..., strand.place[2]] = spread(value, (1, 1, WARP))[..., strand.place[2]]
        return whole

    def _warp(self, warp: int) -> Batch:
        """A whole warp as a batch."""
        if warp not in self._warps:
            self._warps[warp] = Strand(self.scheduler, self, warp, None)
        batch = self._warps[warp].batch
        lanes = [strand for strand in self.strands if strand.warp == warp]
        batch.live = self._of_lanes([(s, s.batch.live & (s.state != "ended")) for s in lanes])
        return batch

    def _votes(self, voting: list[tuple[Strand, Mask, LaneValue]]) -> tuple[Array, Array]:
        """(predicate, arrived) of all threads, each as (blocks, threads)."""
        true, arrived = np.zeros((2, *self.batch.shape), bool)
        for strand, mask, predicate in voting:
            for whole, part in ((true, np.not_equal(predicate, 0)), (arrived, mask)):
                own = spread(part, strand.batch.shape)
                whole[strand.place] = own[..., strand.place[2]]
        return true.reshape(self.batch.count, -1), arrived.reshape(self.batch.count, -1)
