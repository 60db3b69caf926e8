"""The watchers of one launch, and what they leave behind, also when the kernel stopped early."""

from __future__ import annotations

import contextlib
from collections.abc import Collection
from typing import TYPE_CHECKING

import numpy as np

from ..lockstep.watch import Barrier, Site, Watcher
from .model import Observation, SiteCounts
from .prices import Prices
from .watchers.barriers import Barriers
from .watchers.bounds import Bounds
from .watchers.bulk import Tiles
from .watchers.copies import Copies
from .watchers.counting import Counting
from .watchers.initialisation import Initialisation
from .watchers.orders import Orders
from .watchers.races import Races
from .watchers.threads import Threads

if TYPE_CHECKING:
    from ..lockstep.batch import Batch, Launch


_INSIDE = ("race", "race_in_warp", "race_same_value")  # kinds of races inside a block


def _pair(one: Observation) -> frozenset[Site | None]:
    return frozenset((one.site, one.other))


class Watched(Watcher):
    """What the engine was asked to launch, after all defaults were filled in, and its watchers.

    `fresh` are the names of the arguments whose device memory nobody has written.
    """

    launch: Launch
    watched_blocks = 0
    barriers = 0

    def __init__(self, *, counts: bool, checks: bool, fresh: Collection[str] = ()) -> None:
        self._prices, self._written = Prices(), Initialisation(fresh)
        self._barriers: set[Site] = set()
        self._counting = [Counting()] if counts else []
        self._checking: list[
            Races | Copies | Initialisation | Barriers | Bounds | Orders | Threads | Tiles
        ] = []
        if checks:
            self._checking = [Races(), Copies(), self._written, Barriers(), Bounds()]
            self._checking += [Orders(), Threads(), Tiles()]

    @property
    def all(self) -> tuple[Watcher, ...]:
        """Every watcher, in the order in which they are called."""
        return (self, *self._counting, *self._checking, self._prices)

    def start(self, launch: Launch) -> None:
        """Keeps the launch, which goes on to learn its shared memory."""
        self.launch = launch

    def begin_batch(self, batch: Batch) -> None:
        """Counts the blocks that are watched."""
        self.watched_blocks += batch.count
        self._passed = np.zeros(batch.count, np.int64)

    def barrier(self, event: Barrier) -> None:
        """Counts what each block passes; `barriers` are those of the block with the most."""
        self._barriers.add(event.site)
        if event.scope == "block":
            self._passed += event.arrived.any(axis=(1, 2))
            self.barriers = max(self.barriers, int(self._passed.max(initial=0)))

    def stopped(self) -> None:
        """Let every watcher settle what it put aside: the kernel stopped in the middle."""
        for watcher in self.all:
            with contextlib.suppress(AttributeError):  # stopped before its first batch
                watcher.end_batch()
                watcher.finish()

    def counts(self) -> list[SiteCounts] | None:
        """The counts per access expression, None if nobody counted."""
        if not self._counting:
            return None
        return [one for watcher in self._counting for one in watcher.counts()]

    def sites(self) -> list[Site]:
        """The barriers that were passed and the shared arrays that were declared."""
        return [*self._barriers, *self._prices.declared]

    def limits(self) -> tuple[str, ...]:
        """What the watchers did not examine, in words."""
        return tuple(
            said
            for one in self._checking
            if isinstance(one, Races | Copies | Tiles)
            for said in one.limits()
        )

    def observations(self, counts: list[SiteCounts] | None) -> list[Observation] | None:
        """What went wrong and what is paid for nothing, None if nobody looked."""
        if not self._checking:
            return None
        seen = [one for watcher in self._checking for one in watcher.observations()]
        # a copy reads later than the race check, which sees its issue, takes it to
        later = {_pair(one) for one in seen if one.kind == "overwritten_source"}
        seen = [one for one in seen if one.kind not in _INSIDE or _pair(one) not in later]
        return seen + self._prices.observations(counts or [], self._written)
