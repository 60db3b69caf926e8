"""What a replay keeps of one run: the accesses of one block in the order in which they happened.

A run goes from barrier to barrier in phases. In a phase the engine runs the warps one after the
other; a step is what one warp did without a break. Of each access the record holds who made it, of
which line, and the elements; of a shared access also the values, and of a load whose store it saw.

Elements are counted from 0 in row-major order of their array. A store's place is a number: the
event times `PLACES` and the position in it; `NOBODY` stands where no thread of the block had stored
the element.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final, Literal, NamedTuple

import numpy as np

from ...tracing.model import Dim3

__all__ = [
    "MOST_ELEMENTS",
    "MOST_STALE",
    "NOBODY",
    "PLACES",
    "Event",
    "Run",
    "Stale",
    "StaleKind",
    "Step",
    "Store",
    "Tile",
]

Array = np.ndarray[Any, np.dtype[Any]]
Box = tuple[tuple[int, int], ...]
"""First index and the one after the last, for each axis of an array."""
StaleKind = Literal["not written", "older", "newer"]

MOST_ELEMENTS: Final = 1 << 17
"""Elements touched by lanes that a run records; it stops where there is no room for more."""
MOST_STALE: Final = 1 << 12
"""Stale reads that a run lists; the others are only counted."""
PLACES: Final = 1 << 16
NOBODY: Final = -1


@dataclass(frozen=True)
class Tile:
    """An array that the block touched: name, space, shape, dtype, its first byte's address."""

    name: str
    space: str
    shape: tuple[int, ...]
    dtype: str
    base: int

    def index(self, element: int) -> tuple[int, ...]:
        """The index of an element.

        >>> Tile("tile", "shared", (4, 8), "float32", 0).index(9)
        (1, 1)
        """
        return tuple(int(one) for one in np.unravel_index(element, self.shape))


@dataclass(frozen=True, eq=False)
class Event:
    """One access by the active lanes of one warp.

    Attributes:
        step: which step it belongs to.
        line, function, text: the expression in the source.
        kind: "load", "store", or an atomic's.
        tile: which of the run's arrays it touches.
        warp: the warp in the block.
        lanes: the lanes, those of a vector access once for each of its elements.
        elements: the element that each of them touches.
        values: what a shared load or store moved, without a meaning where nobody had stored; None
            of and after atomics, of global memory and of numbers that are not plain.
        sources: of a shared load, the store that each lane saw, or `NOBODY`.
        updates: of a shared load, how many atomics had changed the element since it was stored.
        copy: whether it is a side of an asynchronous copy, when it was issued.
    """

    step: int
    line: int
    function: str
    text: str
    kind: str
    tile: int
    warp: int
    lanes: Array
    elements: Array
    values: Array | None = None
    sources: Array | None = None
    updates: Array | None = None
    copy: bool = False

    @property
    def reads(self) -> bool:
        """Whether it is a plain load."""
        return self.kind == "load"


class Step(NamedTuple):
    """What one warp did without a break.

    Attributes:
        phase: barriers that the block has passed.
        warp: which warp.
        ahead: barriers left out that the warp has passed in this phase, where others would wait.
        first, end: its events are `events[first:end]`.
    """

    phase: int
    warp: int
    ahead: int
    first: int
    end: int


class Store(NamedTuple):
    """Who stored an element: source line, thread, and how often its warp had come to the line."""

    line: int
    thread: Dim3
    times: int


@dataclass(frozen=True)
class Stale:
    """A load that saw another store than with all barriers in lockstep.

    Attributes:
        kind: "not written" (no thread of the block had stored the element yet), "older" (a store
            from before the one it should have seen) or "newer" (a store that came too early).
        step, event, position: where in the run.
        line, thread: of the load.
        array, index: the element.
        seen: the store whose value it got; None where nobody had stored.
        wanted: the store that it sees with all barriers; None where there is none, ever.
    """

    kind: StaleKind
    step: int
    event: int
    position: int
    line: int
    thread: Dim3
    array: str
    index: tuple[int, ...]
    seen: Store | None
    wanted: Store | None


@dataclass(frozen=True, eq=False)
class Run:
    """One recorded run of a block.

    Attributes:
        kernel: its name.
        without: line of the barrier that was left out; None where all stand.
        order, seed: of the warps between two barriers.
        grid, block: of the launch, and which block was recorded.
        place: the block that was recorded.
        warps: of the block.
        tiles: the arrays that it touched, shared ones first.
        events, steps: what happened, in order.
        barriers: the line of the barrier at the end of each phase, None at the end of the kernel.
        full: whether the record was full before the block ended.
        stale: the stale reads, at most `MOST_STALE`.
        stale_count: how many there are.
        stale_at: of each event with stale reads, their positions.
        unmatched: shared loads of which nothing is known to compare them with.
        warp_barriers: phases in which a warp came to a barrier of its own.
        bare: whether the kernel has no barriers of the block.
        arrivals: of copies to shared memory that were waited for, by number of their event: how
            many events came before all its lanes knew that theirs had arrived.
    """

    kernel: str
    without: int | None
    order: str
    seed: int
    grid: Dim3
    block: Dim3
    place: Dim3
    warps: int
    tiles: tuple[Tile, ...]
    events: tuple[Event, ...]
    steps: tuple[Step, ...]
    barriers: tuple[int | None, ...]
    full: bool = False
    stale: tuple[Stale, ...] = ()
    stale_count: int = 0
    stale_at: dict[int, Array] = field(default_factory=dict)
    unmatched: int = 0
    warp_barriers: frozenset[int] = frozenset()
    bare: bool = False
    arrivals: dict[int, int] = field(default_factory=dict)

    @property
    def phases(self) -> int:
        """Phases of which something is recorded."""
        return self.steps[-1].phase + 1 if self.steps else 0

    def thread(self, warp: int, lane: int) -> Dim3:
        """threadIdx of a lane."""
        number, (x, y, _) = warp * 32 + lane, self.block
        return number % x, number // x % y, number // (x * y)

    def under_way(self, step: int) -> Array:
        """The numbers of the copies that are issued and not known to be there, after a step."""
        end = self.steps[step].end if step >= 0 else 0
        sent = (
            number
            for number in range(end)
            if self.events[number].copy and not self.events[number].reads
        )
        return np.array([one for one in sent if self.arrivals.get(one, end + 1) > end], np.int64)

    def last_stores(self, tile: int, step: int) -> Array:
        """Per element of a shared array, the last store up to the end of a step."""
        last = np.full(int(np.prod(self.tiles[tile].shape)), NOBODY, np.int64)
        if step < 0:
            return last
        for number in range(self.steps[step].end):
            event = self.events[number]
            if event.tile == tile and not event.reads:
                last[event.elements] = number * PLACES + np.arange(event.elements.size)
        return last
