"""What the blocks of a launch move, as the engine runs them: the counts that a bound needs.

Wavefronts and sectors are those of `smemnb.trace`. A trace does not tell passes of L1, distinct
bytes, and which loads could be merged, so this is a watcher of its own.

ptxas merges loads of neighbouring words by one thread: four loads of 4 bytes, of which each takes a
wavefront, become one of 16 bytes, which takes two at least, and a quarter of what the four took at
least. So where every lane of a request also loads the neighbour, its wavefronts count as those of a
merged one in `merged_wavefronts`; that is the least whatever the compiler does.

**Limits**: a compiler may also keep what it has loaded before. Requests to global memory are taken
as they stand in the source; their alignment is not known when a kernel is compiled.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...hardware import SECTOR_BYTES, WARP_LANES
from ...lockstep.watch import Access, Watcher
from ...rules import bank, sector
from ...rules.roofline import TAGS_PER_CYCLE
from ...simulator import launch as launches
from ...tracing.sample import Blocks, segments

if TYPE_CHECKING:
    from ...lockstep.batch import Batch, Launch

Ints = np.ndarray[Any, np.dtype[np.int64]]
_BLOCK = 1 << 40  # above any sector's number: block and sector in one int
WIDEST = 16  # bytes that a lane can load at once
_MOST_LANES = 1 << 23  # beyond, every load counts as one that may be merged


@dataclass(frozen=True)
class Counts:
    """Totals of a launch; requests are warps' instructions that touch memory.

    Attributes:
        blocks: of the grid; watched: how many of them were looked at.
        loads: requests that load from shared memory, `load_wavefronts` their wavefronts, and
            `merged_loads`, `merged_wavefronts` the fewest if the compiler merges what it can.
        stores: requests that store to it, and atomics, with their wavefronts.
        global_loads, global_stores: requests to global memory, and `passes` of both through L1.
        store_sectors: of all global stores.
        loaded_bytes, stored_bytes: in distinct sectors, of the watched blocks.
        block_loads: bytes in distinct sectors that one block loads, of the one that loads least.
        shared_bytes: of a block, static and dynamic.
    """

    blocks: int = 0
    watched: int = 0
    loads: int = 0
    load_wavefronts: int = 0
    merged_loads: int = 0
    merged_wavefronts: int = 0
    stores: int = 0
    store_wavefronts: int = 0
    global_loads: int = 0
    global_stores: int = 0
    passes: int = 0
    store_sectors: int = 0
    loaded_bytes: int = 0
    stored_bytes: int = 0
    block_loads: int = 0
    shared_bytes: int = 0

    @property
    def requests(self) -> int:
        """All of them, merged where that is possible."""
        return self.merged_loads + self.stores + self.global_loads + self.global_stores


def counts(
    kernel: Any,
    launch: tuple[Any, ...],
    args: tuple[Any, ...],
    blocks: Blocks = "all",
) -> Counts:
    """The counts of a launch, run in the engine, which writes the arguments as a launch does.

    With some `blocks` only, these alone run; requests are then scaled to the grid.

    Raises:
        SmemnbError: what a launch is refused for, or stopped by.
    """
    grid, block, stream, shared_bytes = (*launch, 0, 0)[:4]
    seen = _Moved()
    launches.run(
        kernel,
        grid,
        block,
        stream,
        shared_bytes,
        args,
        watchers=(seen,),
        segments=lambda grid: segments(grid, blocks, "skip"),
    )
    return seen.counts()


@dataclass
class _Moved(Watcher):
    """Adds up requests; keeps which sectors were touched, and what lanes load from shared."""

    sums: dict[str, int] = field(default_factory=dict)
    loaded: list[Ints] = field(default_factory=list)
    stored: list[Ints] = field(default_factory=list)
    watched: int = 0

    def start(self, launch: Launch) -> None:
        """Keeps the launch, which learns of its shared memory while it runs."""
        self.launch = launch

    def begin_batch(self, batch: Batch) -> None:
        """Keeps the blocks in flight."""
        self.batch = batch
        self.watched += batch.count
        self.mergeable: dict[int, list[_Loads]] = {}

    def end_batch(self) -> None:
        """Settles which loads of these blocks could be merged."""
        for width, loads in self.mergeable.items():
            requests, wavefronts = _merged(loads, width)
            self._add("merged_loads", self.batch.weight * requests)
            self._add("merged_wavefronts", self.batch.weight * wavefronts)

    def access(self, event: Access) -> None:
        """Counts the requests of an access."""
        address, active, warp = _requests(event, self.batch)
        if not len(address):
            return
        if event.array.space == "shared":
            self._add_shared(event, address, active, warp)
        else:
            self._add_global(event, address, active, warp // self.launch.warps)

    def counts(self) -> Counts:
        """The totals."""
        loaded, stored = _distinct(self.loaded), _distinct(self.stored)
        blocks, per_block = np.unique(loaded // _BLOCK, return_counts=True)
        least = int(per_block.min()) if 0 < len(blocks) == self.watched else 0
        return Counts(
            blocks=self.launch.blocks,
            watched=self.watched,
            loaded_bytes=len(np.unique(loaded % _BLOCK)) * SECTOR_BYTES,
            stored_bytes=len(np.unique(stored % _BLOCK)) * SECTOR_BYTES,
            block_loads=least * SECTOR_BYTES,
            shared_bytes=self.launch.static_shared_bytes + self.launch.shared_bytes,
            **self.sums,
        )

    def _add(self, name: str, value: int) -> None:
        self.sums[name] = self.sums.get(name, 0) + int(value)

    def _add_shared(self, event: Access, address: Ints, active: Any, warp: Ints) -> None:
        which = "load" if event.kind == "load" else "store"
        self._add(f"{which}s", self.batch.weight * len(address))
        if event.kind == "atomic_retry":  # a loop of tries has no fixed count
            return
        found = bank.measure(address, width=event.width, active=active, kind=event.rule)
        self._add(f"{which}_wavefronts", self.batch.weight * found.wavefronts.sum())
        if event.rule == "load":
            loads = _Loads(address, active, warp, found.wavefronts)
            self.mergeable.setdefault(event.width, []).append(loads)

    def _add_global(self, event: Access, address: Ints, active: Any, block: Ints) -> None:
        load, weight = event.kind == "load", self.batch.weight
        self._add("global_loads" if load else "global_stores", weight * len(address))
        lines = sector.lines(address, width=event.width, active=active)
        at_once = -(-lines // TAGS_PER_CYCLE)
        if event.kind in ("load", "store") and event.width in (1, 2, 4, 8, 16):
            found = bank.measure(address, width=event.width, active=active, kind=event.kind)
            at_once = np.maximum(at_once, found.wavefronts)
        self._add("passes", weight * at_once.sum())
        if not load:
            touched = sector.measure(address, width=event.width, active=active).sectors
            self._add("store_sectors", weight * touched.sum())
        (self.loaded if load else self.stored).append(_sectors_of_blocks(address, active, block))


class _Loads(NamedTuple):
    """Requests: addresses and active lanes (requests, 32), number of the warp, wavefronts."""

    address: Ints
    active: Any
    warp: Ints
    wavefronts: Ints


def _requests(event: Access, batch: Batch) -> tuple[Ints, Any, Ints]:
    """Addresses and active lanes (requests, 32) of warps with any, and each warp's number."""
    lanes = batch.shape[2]
    address = np.broadcast_to(event.address, batch.shape).reshape(-1, lanes).astype(np.int64)
    active = np.broadcast_to(event.active, batch.shape).reshape(-1, lanes)
    some = np.flatnonzero(active.any(axis=1))
    return address[some], active[some], some + batch.first * batch.shape[1]


def _merged(loads: list[_Loads], width: int) -> tuple[int, int]:
    """Fewest requests and wavefronts of loads of this width, if neighbours are merged."""
    taken = np.concatenate([one.wavefronts for one in loads])
    together = WIDEST // width
    if together < 2:
        return len(taken), int(taken.sum())
    some = _beside(loads, width)
    merged = np.minimum(taken, np.maximum(taken / together, 2 / together))
    requests = int(np.ceil(len(taken) - some.sum() * (1 - 1 / together)))
    return requests, int(np.ceil(np.where(some, merged, taken).sum()))


def _beside(loads: list[_Loads], width: int) -> Any:
    """Whether all lanes of a request also load the neighbour, one bool per request."""
    address = np.concatenate([one.address for one in loads])
    active = np.concatenate([one.active for one in loads])
    if address.size > _MOST_LANES:
        return np.ones(len(address), bool)
    warp = np.concatenate([one.warp for one in loads])
    place = ((warp[:, None] * WARP_LANES + np.arange(WARP_LANES)) << 24) + address
    known = np.unique(place[active])
    wanted = place ^ width
    at = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
    return ((known[at] == wanted) | ~active).all(axis=1)


def _sectors_of_blocks(address: Ints, active: Any, block: Ints) -> Ints:
    """Distinct numbers of (block, sector); what a lane moves at once lies in one sector."""
    place = block[:, None] * _BLOCK + address // SECTOR_BYTES
    return np.unique(place[active])


def _distinct(parts: list[Ints]) -> Ints:
    return np.unique(np.concatenate(parts)) if parts else np.zeros(0, np.int64)
