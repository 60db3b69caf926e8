"""Where each block and warp stands: how many barriers it has passed.

A barrier that every live thread of a block reaches ends an *interval* of the block: what is done
in different intervals is ordered. A barrier that some threads do not reach orders nothing. A
barrier of the grid ends a phase of all blocks.

Inside a warp, `syncwarp` orders its lanes. As long as all live lanes of a warp take part, a number
per warp says it (the warp's *epoch*). After a syncwarp of some lanes each lane keeps a clock:
how many syncwarps of each other lane it knows to be over.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ....lockstep.watch import Barrier

if TYPE_CHECKING:
    from ....lockstep.batch import Batch

Array = np.ndarray[Any, np.dtype[Any]]
LANES = np.arange(32)


@dataclass(eq=False)
class Moment:
    """The blocks of a batch between two barriers of any kind.

    `shape` is (blocks, warps, 32), `first` the number of the first block. `interval` is a number or
    one per block; `warp` a number, an array (.., .., 1) with one per warp, or (.., .., 32, 32)
    with what each lane knows of each other.
    """

    shape: tuple[int, int, int]
    first: int
    interval: int | Array
    phase: int
    warp: int | Array
    _threads: Array | None = None

    def threads(self, count: int) -> Array:
        """The number of each lane in the launch, of the first `count` blocks."""
        if self._threads is None:
            lanes = self.shape[1] * 32
            dtype = np.int32 if (self.first + self.shape[0]) * lanes < 1 << 31 else np.int64
            begin, end = self.first * lanes, (self.first + self.shape[0]) * lanes
            self._threads = np.arange(begin, end, dtype=dtype).reshape(self.shape)
        return self._threads[:count]

    def epochs(self, shape: tuple[int, ...], keep: Any) -> Array | int:
        """The epoch of each kept lane: that of its warp, or how often it was at a syncwarp.

        `shape` is that of the first blocks, or of rounds of the only one.
        """
        if not isinstance(self.warp, np.ndarray):
            return self.warp
        epoch = self.warp if self.warp.ndim == 3 else self.warp[..., LANES, LANES]
        several = len(epoch) > shape[0]
        kept: Array = np.broadcast_to(epoch[: shape[0]] if several else epoch, shape)[keep]
        kept = kept.reshape(-1)
        return kept

    @property
    def partial(self) -> bool:
        """Whether some lanes of a warp have met without the others."""
        return isinstance(self.warp, np.ndarray) and self.warp.ndim == 4

    def own(self, thread: Array) -> Array:
        """How many syncwarps each thread has behind it."""
        if not isinstance(self.warp, np.ndarray):
            return np.full(len(thread), self.warp, np.int64)
        block, warp, lane = self.place(thread)
        block, warp = block * (self.warp.shape[0] > 1), warp * (self.warp.shape[1] > 1)
        lanes = self.warp[block, warp]
        counts: Array = lanes[:, 0] if lanes.ndim == 2 else lanes[np.arange(len(lane)), lane, lane]
        return counts

    def known(self, thread: Array) -> Array:
        """Per thread, what it knows of each lane of its warp: how many syncwarps are over."""
        if not isinstance(self.warp, np.ndarray):
            return np.full((len(thread), 32), self.warp, np.int32)
        block, warp, lane = self.place(thread)
        block, warp = block * (self.warp.shape[0] > 1), warp * (self.warp.shape[1] > 1)
        if self.warp.ndim == 3:
            return np.repeat(self.warp[block, warp, 0][:, None], 32, axis=1)
        rows: Array = self.warp[block, warp, lane]
        return rows

    def place(self, thread: Array) -> tuple[Array, Array, Array]:
        """Block in the batch, warp and lane of threads."""
        inside = thread - self.first * self.shape[1] * 32
        return inside // (self.shape[1] * 32), inside // 32 % self.shape[1], inside % 32

    def intervals(self, thread: Array) -> Array:
        """The interval of the block of each thread."""
        if not isinstance(self.interval, np.ndarray):
            return np.full(len(thread), self.interval, np.int64)
        at: Array = self.interval[self.place(thread)[0]]
        return at


class Clocks:
    """Follows the barriers of the blocks in flight."""

    def __init__(self) -> None:
        self.time = 0

    def begin(self, batch: Batch) -> None:
        """Blocks that have passed no barrier yet."""
        self._first, self._shape = batch.first, batch.shape
        self.now = Moment(batch.shape, batch.first, 0, 0, 0)

    def tick(self) -> int:
        """A number for the next event."""
        self.time += 1
        return self.time

    def pass_block(self, event: Barrier) -> Array | None:
        """The blocks whose interval ends, as a mask; None if all do."""
        now, blocks = self.now, self._complete(event)
        phase = now.phase + (event.scope == "grid" and blocks is None)
        if blocks is None:
            self._move(now.interval + 1, phase, 0)
        elif blocks.any():
            before = np.broadcast_to(np.asarray(now.interval), blocks.shape)
            self._move(before + blocks, phase, now.warp)
        return blocks

    def pass_warp(self, event: Barrier) -> None:
        """Move the clocks of the lanes that meet in a syncwarp on."""
        now = self.now
        whole = event.members is None or bool(event.members.all())
        if whole and event.arrived is event.live and not now.partial:
            self._move(now.interval, now.phase, now.warp + 1)
            return
        meeting = event.arrived if event.members is None else event.arrived & event.members
        meeting = np.broadcast_to(meeting, (*meeting.shape[:2], 32))
        everyone = (meeting | ~event.live).all(axis=2, keepdims=True)
        nobody = ~meeting.any(axis=2, keepdims=True)
        if not now.partial and bool((everyone | nobody).all()):
            epoch: Array = np.asarray(now.warp) + (everyone & ~nobody).astype(np.int32)
            self._move(now.interval, now.phase, epoch)
        else:
            self._move(now.interval, now.phase, _met(_lane_clocks(now.warp), meeting))

    def _move(self, interval: int | Array, phase: int, warp: int | Array) -> None:
        threads = self.now._threads
        self.now = Moment(self._shape, self._first, interval, phase, warp, threads)

    def _complete(self, event: Barrier) -> Array | None:
        """Per block, whether all its live threads arrived; None if so in every block."""
        if event.arrived is event.live:
            return None
        blocks = ((event.arrived | ~event.live).all(axis=(1, 2))) & event.arrived.any(axis=(1, 2))
        return None if blocks.all() else np.broadcast_to(blocks, self._shape[:1])


def _lane_clocks(warp: int | Array) -> Array:
    """What each lane knows of each other, from an epoch that all lanes of a warp share."""
    if isinstance(warp, np.ndarray) and warp.ndim == 4:
        return warp
    epoch = np.asarray(warp, np.int32).reshape(getattr(warp, "shape", (1, 1, 1)))
    return np.broadcast_to(epoch[..., None], (*epoch.shape[:2], 32, 32))


def _met(clock: Array, meeting: Array) -> Array:
    """The clocks after the lanes of `meeting` have met, each with those of its warp."""
    shape = np.broadcast_shapes(clock.shape[:2], meeting.shape[:2])
    clock = np.broadcast_to(clock, (*shape, 32, 32))
    meeting = np.broadcast_to(meeting, (*shape, 32))
    own = clock[..., LANES, LANES] + 1
    joined = np.where(meeting[..., None], clock, -1).max(axis=2)
    joined = np.where(meeting, own, joined)
    after: Array = np.where(meeting[..., None], joined[..., None, :], clock)
    return after
