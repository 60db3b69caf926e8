"""A launch and the blocks in flight: what the implementation of an intrinsic can ask for.

`Launch` is what holds for all blocks (grid, block, threads), `Batch` one group of blocks that run
together (their numbers, their shared memory, the lanes still alive).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..errors import KernelStopped, LaunchRefused
from .clock import Clock
from .copies import UnderWay
from .lanes import EVERY_LANE, WARP, LaneValue, Mask, narrowed, spread
from .memory import KernelArray, SharedStore
from .memory.views import in_bytes
from .watch import (
    Access,
    Arrival,
    Barrier,
    Bulk,
    BulkGroup,
    CopyGroup,
    Ended,
    Fence,
    OutOfRange,
    Overflow,
    Site,
    Unassigned,
    Unwritten,
    Watcher,
)

Array = np.ndarray[Any, np.dtype[Any]]
Dim3 = tuple[int, int, int]
Implementation = Callable[..., Any]
Residents = Callable[[int], int]
"""How many blocks a device holds at once, by their bytes of shared memory."""


class Xyz(NamedTuple):
    """A coordinate of a thread or block: three lane values."""

    x: LaneValue
    y: LaneValue
    z: LaneValue


class Segment(NamedTuple):
    """Blocks that follow each other in the grid, and how many blocks each of them stands for.

    `weight` 1 is the block itself; 0 runs the blocks without watchers.
    """

    first: int
    blocks: int
    weight: int = 1


class ReadTooEarly(NamedTuple):
    """A variable, and the block and thread that read it and had assigned nothing to it."""

    name: str
    block: Dim3
    thread: Dim3


class Stuck(KernelStopped):
    """What waits can never go on in this order of running; another order may get further."""


ROUNDS_BETWEEN_LOOKS = 16  # of any loop, between two looks at the clock: they cost nothing
LOOK_EVERY = 1024  # rounds of a while loop between two looks for progress
LOOK_EVERY_WAITING = 32  # the same of a loop that may wait for what others store
LONG_WAIT = 1 << 15  # rounds without a store, after which another order is tried
DYNAMIC_BASE = 1 << 20  # virtual address of dynamic shared memory, past any static array


class Launch:
    """What is the same for all blocks of a launch.

    `grid` and `block` are (x, y, z); `warps` is per block; `arguments` are lane values and
    `KernelArray`s in the order of the parameters.
    """

    def __init__(
        self,
        function: Any,
        grid: Dim3,
        block: Dim3,
        *,
        shared_bytes: int = 0,
        shared_limit: int | None = None,
        watchers: Sequence[Watcher] = (),
        patience_s: float | None = None,
        slow_after_s: float | None = None,
        residents: Residents | None = None,
        unheeded: int | None = None,
    ) -> None:
        self.function, self.grid, self.block = function, grid, block
        self.clock = Clock(function.__name__, grid, block, patience_s, slow_after_s)
        self._rounds, self._next_look = 0, ROUNDS_BETWEEN_LOOKS
        self.shared_bytes, self.shared_limit = shared_bytes, shared_limit
        self.static_shared_bytes = 0
        self.arguments: Sequence[Any] = ()
        self.lands_late = False  # whether copies land when their thread waits for them, not before
        self.flushes = False  # whether float32 arithmetic flushes subnormal numbers
        self.types: Any = None  # what Numba's inference said, where it was asked
        self.last_loop = ""  # the loop that went round last, as messages name it
        self.may_begin_anew = False  # in another order, if this one gets stuck
        self.printed: list[str] = []  # lines that wait until it is known that it did not
        self.unassigned: dict[Site, ReadTooEarly] = {}  # the first of each, if nobody watches
        self.shown = True  # whether those lines are printed at all
        self.residents = residents
        self.unheeded = unheeded  # the line of barriers that nobody waits at
        self.watchers = tuple(watchers)
        self.threads = math.prod(block)
        self.warps = -(-self.threads // WARP)
        self.blocks = math.prod(grid)
        self.block_dim = Xyz(*(np.int32(n) for n in block))
        self.grid_dim = Xyz(*(np.int32(n) for n in grid))
        number = np.arange(self.warps * WARP, dtype=np.int32).reshape(1, self.warps, WARP)
        x, y, _ = block
        self.thread_index = Xyz(
            *(narrowed(n) for n in (number % x, number // x % y, number // (x * y)))
        )
        self.live: Mask = EVERY_LANE if self.threads % WARP == 0 else number < self.threads

    def pass_round(self, where: str, count: int = 1) -> None:
        """Note that a loop goes round `count` times more.

        Raises:
            KernelStopped: the launch has taken longer than `patience_s` seconds.
        """
        self._rounds += count
        self.last_loop = where
        if self._rounds >= self._next_look:
            self._next_look = self._rounds + ROUNDS_BETWEEN_LOOKS
            self.clock.look(where, self._rounds)

    def note_unassigned(self, event: Unassigned, batch: Batch) -> None:
        """Keep the first thread that reads a variable to which it has assigned nothing."""
        if event.site not in self.unassigned:
            number = int(np.flatnonzero(spread(event.lanes, batch.shape))[0])
            block, thread = (
                (
                    _at(index.x, batch, number),
                    _at(index.y, batch, number),
                    _at(index.z, batch, number),
                )
                for index in (batch.block_index, batch.thread_index)
            )
            self.unassigned[event.site] = ReadTooEarly(event.name, block, thread)

    def resident_blocks(self) -> int:
        """How many blocks of this launch are in flight at once; all where no limit was given."""
        if self.residents is None:
            return self.blocks
        return max(1, self.residents(self.static_shared_bytes + self.shared_bytes))

    def check_resident(self, site: Site) -> None:
        """Raise LaunchRefused unless all blocks are in flight at once.

        Otherwise a barrier of the whole grid could never be passed.
        """
        most = self.resident_blocks()
        if self.blocks > most:
            raise LaunchRefused(
                f"{site.text} in line {site.line} of {self.function.__name__} waits for all "
                f"{self.blocks:,} blocks of the grid; this device holds {most:,} of them at once. "
                f"Launch at most {most:,} blocks and let each go over several pieces of the data."
            )

    def thread_of(self, warp: int, lane: int) -> Dim3:
        """threadIdx of a lane."""
        number, (x, y, _) = warp * WARP + lane, self.block
        return number % x, number // x % y, number // (x * y)

    def block_of(self, number: int) -> Dim3:
        """blockIdx of the block with this linear number."""
        x, y, _ = self.grid
        return number % x, number // x % y, number // (x * y)


def _at(value: LaneValue, batch: Batch, number: int) -> int:
    """What the lane of this number has."""
    return int(spread(value, batch.shape).flat[number])


class Batch:
    """A group of blocks in flight.

    `shape` is (blocks, warps, 32); `live` are the lanes that have not returned from the kernel;
    `writes` counts stores, so that a loop can tell whether anything still happens; under
    `scrutiny`, in a long loop, only those that change what they find; `weight` is how many blocks
    of the launch each of these stands for, 0 if nobody watches them; `look_every` is how many
    rounds a while loop makes between two calls of `look`; `under_way` are the asynchronous copies
    that have not landed, where they land late; `warpgroups` what its tensor cores have under way;
    `barriers` those of parts of a block, `arriving` bulk copies that have not landed.

    `__slots__` names every field, so that a part of a batch, as a fiber has it (`FiberBatch`),
    cannot miss one.
    """

    __slots__ = (
        "arriving",
        "barriers",
        "block_axis",
        "block_index",
        "count",
        "dynamic",
        "first",
        "launch",
        "listeners",
        "live",
        "scrutiny",
        "shape",
        "shared",
        "shared_top",
        "thread_index",
        "under_way",
        "warpgroups",
        "watched",
        "watchers",
        "weight",
        "writes",
    )
    look_every = LOOK_EVERY
    apart = False  # whether lanes of one warp run one after the other

    def __init__(self, launch: Launch, first: int, count: int, weight: int = 1) -> None:
        self.launch, self.first, self.count = launch, first, count
        self.shape = (count, launch.warps, WARP)
        self.live: Mask = launch.live
        self.thread_index = launch.thread_index
        self.weight, self.watched = weight, bool(launch.watchers) and weight > 0
        self.watchers: Sequence[Watcher] = launch.watchers
        # most watchers wait for other things than accesses
        self.listeners: Sequence[Watcher] = [
            w for w in self.watchers if type(w).access is not Watcher.access
        ]
        self.writes, self.scrutiny = 0, False
        self.block_axis = np.arange(count, dtype=np.int64).reshape(count, 1, 1)
        number = first + self.block_axis  # a grid may have 2**63 blocks; each index fits in 32 bits
        x, y, _ = launch.grid
        places = (number % x, number // x % y, number // (x * y))
        self.block_index = Xyz(*(narrowed(n.astype(np.int32)) for n in places))
        self.shared: dict[Any, KernelArray] = {}
        self.shared_top = 0
        self.dynamic: KernelArray | None = None
        self.under_way: UnderWay | None = None
        self.warpgroups: Any = None
        self.barriers: Any = None
        self.arriving: dict[Any, list[Callable[[], None]]] = {}

    @property
    def lane_number(self) -> np.ndarray[Any, np.dtype[np.int64]]:
        """A number of its own for each lane of the batch."""
        return np.arange(math.prod(self.shape), dtype=np.int64).reshape(self.shape)

    def pass_round(self, where: str, count: int = 1) -> None:
        """Note that a loop goes round, as `Launch.pass_round` does."""
        self.launch.pass_round(where, count)

    def share(
        self, key: Any, name: str, shape: tuple[int, ...], dtype: np.dtype[Any], alignment: int
    ) -> KernelArray:
        """The block's shared array declared at one place of the source."""
        array = self.shared.get(key)
        if array is None:
            base = -(-self.shared_top // alignment) * alignment
            size = math.prod(shape)
            self._reserve(base + size * dtype.itemsize, name)
            store = SharedStore.poisoned(self.count, size, dtype)
            array = KernelArray(name, "shared", store, shape, dtype, base=base)
            self.shared[key] = array
        return array

    def share_dynamic(self, name: str, dtype: np.dtype[Any]) -> KernelArray:
        """The launch's dynamic shared memory as elements of this dtype; all of them alias."""
        array = self.shared.get(dtype)
        if array is None:
            if self.dynamic is None:
                size, octet = self.launch.shared_bytes, np.dtype(np.uint8)
                store = SharedStore.poisoned(self.count, size, octet)
                self.dynamic = KernelArray(name, "shared", store, (size,), octet, base=DYNAMIC_BASE)
            array = in_bytes(
                self.dynamic,
                dtype,
                (self.launch.shared_bytes // dtype.itemsize,),
                (dtype.itemsize,),
                0,
            ).as_root(name)
            self.shared[dtype] = array
        return array

    def takes_rounds(self) -> bool:
        """Whether rounds of a loop may be run at once: one block, and who listens knows of it."""
        return (
            self.count == 1
            and not self.scrutiny
            and not (self.watched and any(not one.takes_rounds for one in self.listeners))
        )

    def _reserve(self, top: int, name: str) -> None:
        launch = self.launch
        self.shared_top = top
        launch.static_shared_bytes = max(launch.static_shared_bytes, top)
        total = top + launch.shared_bytes
        if launch.shared_limit is not None and total > launch.shared_limit:
            raise LaunchRefused(
                f"{launch.function.__name__} asks for {total:,} bytes of shared memory per block "
                f"(the array {name!r} goes past the end); this device gives a block at most "
                f"{launch.shared_limit:,}. Make the tile smaller."
            )

    def look(self, where: str, inside: Mask, count: int, *, still: bool, quiet: bool) -> None:
        """Note what a while loop left behind since the last look.

        Args:
            where: the loop, as messages name it.
            inside: the lanes that go round in it.
            count: its rounds so far.
            still: no variable and no memory has changed.
            quiet: its end depends on memory, and no memory has changed.

        Raises:
            Stuck: it can never end while the other lanes wait for these.
        """
        waiting = int(spread(inside, self.shape).sum())
        if still:
            raise Stuck(
                f"{where} never ends: {waiting} threads go round and nothing changes any more. "
                "Either no statement in the loop changes the condition, or threads wait for a "
                "value that only other waiting threads would write."
            )
        if quiet and count >= LONG_WAIT and self.launch.may_begin_anew:
            everyone = int(spread(self.live, self.shape).sum())
            if waiting < everyone or self.count < self.launch.blocks:
                raise Stuck(f"{where} waits for threads that wait for it.")

    def meet(
        self, mask: Mask, site: Site, predicate: LaneValue = None
    ) -> tuple[Array, Array] | None:
        """The barrier of a block; (predicate, arrived) as (blocks, threads) if one is given."""
        if self.watched:
            self.report_barrier(Barrier(site, "block", mask, self.live))
        if predicate is None:
            return None
        true = spread(np.not_equal(predicate, 0), self.shape)
        arrived = spread(mask, self.shape)
        return true.reshape(self.count, -1), arrived.reshape(self.count, -1)

    def gather(
        self, implementation: Implementation, mask: Mask, site: Site, arguments: Sequence[Any]
    ) -> LaneValue:
        """The result of an implementation that needs the lanes of a warp together."""
        return implementation(self, mask, site, *arguments)

    def sync_grid(self, mask: Mask, site: Site) -> None:
        """The barrier of all blocks of the grid.

        Raises:
            LaunchRefused: the grid has more blocks than the device holds at once.
            Stuck: the grid has blocks outside this batch.
        """
        self.launch.check_resident(site)
        if self.count < self.launch.blocks:
            raise Stuck(f"{site.text} in line {site.line} waits for blocks that wait for it.")
        if self.watched:
            self.report_barrier(Barrier(site, "grid", mask, self.live))

    def report_access(self, event: Access) -> None:
        """Hand an access to the watchers."""
        if not isinstance(event.offset, np.ndarray):
            event.offset = np.full((1, 1, 1), event.offset, np.int64)
        if event.active is EVERY_LANE or event.active.any():
            for watcher in self.listeners:
                watcher.access(event)

    def report_barrier(self, event: Barrier) -> None:
        """Hand a barrier to the watchers."""
        for watcher in self.watchers:
            watcher.barrier(event)

    def report_fence(self, event: Fence) -> None:
        """Hand a fence to the watchers."""
        for watcher in self.watchers:
            watcher.fence(event)

    def report_bulk(self, event: Bulk) -> None:
        """Hand an access of a whole region to the watchers."""
        for watcher in self.watchers:
            watcher.bulk(event)

    def report_bulk_group(self, event: BulkGroup) -> None:
        """Hand a step of such accesses to the watchers."""
        for watcher in self.watchers:
            watcher.bulk_group(event)

    def report_arrival(self, event: Arrival) -> None:
        """Hand an arrival at an mbarrier to the watchers."""
        for watcher in self.watchers:
            watcher.arrival(event)

    def report_copy_group(self, event: CopyGroup) -> None:
        """Hand a commit of copies, or a wait for them, to the watchers."""
        for watcher in self.watchers:
            watcher.copy_group(event)

    def report_out_of_range(self, event: OutOfRange) -> None:
        """Hand lost and wrapped accesses to the watchers."""
        for watcher in self.watchers:
            watcher.out_of_range(event)

    def report_overflow(self, event: Overflow) -> None:
        """Hand index arithmetic that wraps to the watchers."""
        for watcher in self.watchers:
            watcher.overflow(event)

    def report_unassigned(self, event: Unassigned) -> None:
        """Hand reads of variables that have no value to the watchers; the launch notes the first.

        Blocks that nobody watches, of a launch that is watched, are not heard.
        """
        if self.watched:
            for watcher in self.watchers:
                watcher.unassigned(event)
        elif not self.launch.watchers:
            self.launch.note_unassigned(event, self)

    def report_unwritten(self, event: Unwritten) -> None:
        """Hand loads of local elements without a value to the watchers."""
        for watcher in self.watchers:
            watcher.unwritten(event)

    def report_ended(self, event: Ended) -> None:
        """Hand lanes that an exception ends to the watchers."""
        for watcher in self.watchers:
            watcher.ended(event)
