"""A fiber: some lanes of a block group's blocks in a thread of their own, used as a coroutine.

The scheduler lets one fiber run at a time. It runs until a barrier of the block or the grid, until
a loop waits for what others store, or to its end. What the kernel's closures see of it is its
`FiberBatch`: the group's batch, narrowed to one warp, and in it to one lane if need be.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..batch import Batch, Implementation, Xyz
from ..lanes import EVERY_LANE, WARP, LaneValue, Mask, spread
from ..watch import Site

if TYPE_CHECKING:
    from .block_group import BlockGroup
    from .scheduler import Scheduler

LOOKS_BETWEEN_PAUSES = 1024  # rounds of a busy loop between two pauses
QUIET_LOOKS_BETWEEN_PAUSES = 64  # the same where only others can end it

Array = np.ndarray[Any, np.dtype[Any]]


class Abandoned(BaseException):
    """The launch has ended; the fiber unwinds."""


class Call(NamedTuple):
    """Something that the lanes of a warp do together, as one of them asks for it."""

    implementation: Implementation
    mask: Mask
    site: Site
    arguments: tuple[Any, ...]

    def named(self, lane: int) -> int:
        """The bits of the lanes that take part: the first argument, where there is one."""
        members = self.arguments[0] if self.arguments else None
        if members is None:
            return 0xFFFFFFFF
        return int(spread(members, (1, 1, WARP))[0, 0, lane]) & 0xFFFFFFFF


class Fiber:
    """Lanes that run together, and where they are.

    `state` is "ready", "running", "barrier", "grid", "warp", "waiting" (in a loop in which nothing
    changes), "busy" (in a long loop) or "ended"; `writes_seen` is how many stores the launch had
    done when it paused; `doing` is what it waits in, `inside` how many of its threads do.
    """

    def __init__(
        self, scheduler: Scheduler, group: BlockGroup, warp: int, lane: int | None
    ) -> None:
        self.scheduler, self.group, self.warp, self.lane = scheduler, group, warp, lane
        self.state, self.writes_seen, self.doing, self.inside = "ready", 0, "", 0
        self.place = (
            slice(None),
            slice(warp, warp + 1),
            slice(None) if lane is None else slice(lane, lane + 1),
        )
        self.batch = FiberBatch(self, group.batch, _own_lanes(group.batch.launch.live, warp, lane))
        self.first_lane = int(np.argmax(spread(self.batch.live, self.batch.shape)[0, 0]))
        self._go = threading.Lock()
        self._go.acquire()
        self._thread: threading.Thread | None = None

    @property
    def in_flight(self) -> bool:
        """Whether it has begun and not ended."""
        return self._thread is not None and self.state != "ended"

    def resume(self) -> None:
        """Let it run until it pauses or ends."""
        self.state = "running"
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, daemon=True)
            self._thread.start()
        else:
            self._go.release()
        self.scheduler.paused.acquire()

    def let_go(self) -> None:
        """Let a fiber that was abandoned unwind."""
        self._go.release()
        self.scheduler.paused.acquire()

    def pause(self, state: str) -> None:
        """Let the scheduler go on, and wait to be resumed."""
        self.state, self.writes_seen = state, self.scheduler.writes
        self.scheduler.paused.release()
        self._go.acquire()
        if self.scheduler.abandoned:
            raise Abandoned

    def _run(self) -> None:
        scheduler = self.scheduler
        try:
            with np.errstate(all="ignore"):
                scheduler.program.run(self.batch, self.batch.live, scheduler.arguments, kernel=True)
        except Abandoned:
            pass
        except BaseException as error:
            scheduler.error = error
        self.state = "ended"
        scheduler.paused.release()


def _own_lanes(live: Mask, warp: int, lane: int | None) -> Mask:
    """The lanes of a block that belong to a fiber, as its own batch counts them."""
    if lane is not None:
        one: Mask = np.arange(WARP).reshape(1, 1, WARP) == lane
        return one
    own: Mask = live if live is EVERY_LANE else live[:, warp : warp + 1]
    return EVERY_LANE if own.all() else own


def _of_the_group(name: str) -> Any:
    """A field that is read and written where the group's batch has it."""
    return property(
        lambda self: getattr(self.parent, name),
        lambda self, value: setattr(self.parent, name, value),
    )


class PartOfBatch(Batch):
    """A batch that is part of another one, and says of each field whose it is.

    The class statement names the fields in three lists: `own` are of the part alone and set by
    it; `copied` never change, and have the value that the whole batch has; `shared` are read and
    written in the whole batch.
    """

    __slots__ = ("parent",)
    _copied: tuple[str, ...] = ()

    def __init_subclass__(
        cls, *, own: Sequence[str], copied: Sequence[str], shared: Sequence[str]
    ) -> None:
        """Define the shared fields as properties.

        Raises:
            TypeError: a field of `Batch` is in none of the lists or in two of them, or a list
                names what is no field.
        """
        declared = Counter([*own, *copied, *shared])
        declared.subtract(Batch.__slots__)
        wrong = sorted(name for name, count in declared.items() if count)
        if wrong:
            raise TypeError(
                f"{cls.__name__} says of each field of Batch once whether it is own, copied or"
                f" shared; look at {', '.join(wrong)}"
            )
        cls._copied = tuple(copied)
        for name in shared:
            setattr(cls, name, _of_the_group(name))

    def __init__(self, parent: Batch) -> None:
        self.parent = parent
        for name in self._copied:
            setattr(self, name, getattr(parent, name))


class FiberBatch(
    PartOfBatch,
    own=(
        *("listeners", "live", "scrutiny", "shape", "thread_index", "under_way"),
        *("warpgroups", "watchers", "writes"),
    ),
    copied=("block_axis", "block_index", "count", "first", "launch", "watched", "weight"),
    shared=("arriving", "barriers", "dynamic", "shared", "shared_top"),
):
    """The batch as the closures of one fiber see it: one warp of each block, or one lane."""

    __slots__ = ("fiber",)
    look_every = 1

    def __init__(self, fiber: Fiber, parent: Batch, live: Mask) -> None:
        super().__init__(parent)
        self.fiber, self.live, self.scrutiny = fiber, live, False
        self.shape = (parent.count, 1, WARP)
        self.under_way, self.warpgroups = None, None
        warp = slice(fiber.warp, fiber.warp + 1)
        self.thread_index = Xyz(
            *(
                n[:, warp] if isinstance(n, np.ndarray) and n.shape[1] > 1 else n
                for n in parent.launch.thread_index
            )
        )
        self.watchers = self.listeners = (fiber.group.event_log.recorder(fiber),)

    @property
    def writes(self) -> int:
        """Stores of the whole launch, so that fibers see what others did."""
        return self.fiber.scheduler.writes

    @writes.setter
    def writes(self, value: int) -> None:
        self.fiber.scheduler.writes = value

    def pass_round(self, where: str, count: int = 1) -> None:
        """Note that a loop goes round once more; an interrupted launch ends here."""
        if self.fiber.scheduler.abandoned:
            raise Abandoned
        self.launch.pass_round(where, count)

    def look(self, where: str, inside: Mask, count: int, *, still: bool, quiet: bool) -> None:
        """Let others run: until they store something, if nothing changes here, else in turns."""
        fiber = self.fiber
        pauses = QUIET_LOOKS_BETWEEN_PAUSES if quiet else LOOKS_BETWEEN_PAUSES
        if not still and count % pauses:
            return
        fiber.doing = where
        fiber.inside = int((spread(inside, self.shape) & self.live).sum())
        fiber.pause("waiting" if still else "busy")

    def meet(
        self, mask: Mask, site: Site, predicate: LaneValue = None
    ) -> tuple[Array, Array] | None:
        """Wait for the other fibers of the block; (predicate, arrived) of them all."""
        group = self.fiber.group
        group.arrivals[self.fiber] = (site, mask, predicate)
        self.fiber.pause("barrier")
        return None if predicate is None else group.votes

    @property
    def apart(self) -> bool:  # type: ignore[override]
        """Whether this is one lane of a warp."""
        return self.fiber.lane is not None

    def gather(
        self, implementation: Implementation, mask: Mask, site: Site, arguments: Sequence[Any]
    ) -> LaneValue:
        """Wait for the lanes that are named; what the implementation gives them all."""
        group = self.fiber.group
        group.calls[self.fiber] = Call(implementation, mask, site, tuple(arguments))
        self.fiber.pause("warp")
        return group.results[self.fiber]

    def sync_grid(self, mask: Mask, site: Site) -> None:
        """Wait for all fibers of the grid."""
        self.launch.check_resident(site)
        self.fiber.group.arrivals[self.fiber] = (site, mask, None)
        self.fiber.pause("grid")
