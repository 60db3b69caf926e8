"""What one block touches, access by access and for all warps at once, in the engine's lockstep.

A watcher that keeps little, so that a film may be longer than a record: which elements each access
touched, and of a store to shared memory the numbers. It ends with the phase that has room.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from ...lockstep.lanes import spread
from ...lockstep.watch import Access, ArrayInfo, Barrier, Watcher
from .record import Array, Tile
from .recorder import SPACES, Full, element_numbers, is_plain, tile_of

if TYPE_CHECKING:
    from ...lockstep.batch import Batch, Launch

__all__ = ["MOST_FILMED", "MOST_PHASES", "Camera", "Shot", "same"]

MOST_FILMED: Final = 1 << 21
"""Elements touched by lanes that a film looks at."""
MOST_PHASES: Final = 256


class Shot(NamedTuple):
    """One access by all lanes that are active in it.

    Attributes:
        phase: barriers that the block has passed.
        function, line: the expression in the source.
        kind: "load", "store", or an atomic's.
        tile: which array.
        elements: which elements, one per lane and element of a vector.
        values: the numbers that a store to shared memory brought; None of all else.
    """

    phase: int
    function: str
    line: int
    kind: str
    tile: int
    elements: Array
    values: Array | None = None


class Camera(Watcher):
    """Films the block that it is shown. Its methods raise `Full` where the film ends."""

    def __init__(self, most: int = MOST_FILMED, phases: int = MOST_PHASES) -> None:
        self._most, self._phases = most, phases

    def start(self, launch: Launch) -> None:
        """Nothing has happened yet."""
        self._live = launch
        self.shots: list[Shot] = []
        self.tiles: list[Tile] = []
        self.barriers: list[int | None] = []
        self.full = False
        self._elements = 0
        self._numbers: dict[int, tuple[ArrayInfo, int]] = {}  # by id, which the array keeps

    def begin_batch(self, batch: Batch) -> None:
        """Remember the block."""
        self._shape = (1, *batch.shape[1:])

    def access(self, event: Access) -> None:
        """Keep which elements were touched."""
        if event.array.space not in SPACES:
            return
        event = event.by_receiver()
        mask = spread(event.active & self._live.live, self._shape)
        count = int(mask.sum()) * event.elements
        if not count:
            return
        if self._elements + count > self._most:
            self._end()
        self._elements += count
        site, pieces = event.site, list(event.cells())
        elements = [
            element_numbers(event.array, spread(one.offset, self._shape)[mask], one.unit)
            for one in pieces
        ]
        values = None
        if event.kind == "store" and event.array.space == "shared" and is_plain(event):
            values = np.concatenate([spread(one.value, self._shape)[mask] for one in pieces])
        phase, tile = len(self.barriers), self._tile(event.array)
        self.shots.append(
            Shot(
                phase,
                site.function,
                site.line,
                event.kind,
                tile,
                np.concatenate(elements),
                None if values is None else values.astype(event.array.dtype),
            )
        )

    def barrier(self, event: Barrier) -> None:
        """A phase ends."""
        if event.scope != "warp":
            self.barriers.append(event.site.line)
            if len(self.barriers) >= self._phases:
                self._end()

    def finish(self) -> None:
        """The last phase ends, with the kernel."""
        self.barriers.append(None)

    def cut(self) -> None:
        """Leave out the phase that has no end, and what follows it."""
        self.full = True
        self.shots = [shot for shot in self.shots if shot.phase < len(self.barriers)]

    def _end(self) -> None:
        """Leave out the phase that has no room.

        Raises:
            Full: always.
        """
        self.cut()
        raise Full

    def _tile(self, array: ArrayInfo) -> int:
        known = self._numbers.get(id(array))
        if known is None:
            tile = tile_of(array)
            if tile not in self.tiles:
                self.tiles.append(tile)
            known = self._numbers[id(array)] = array, self.tiles.index(tile)
        return known[1]


def same(shots: list[Shot], others: list[Shot]) -> bool:
    """Whether two films show the same accesses, whatever the numbers were."""
    return len(shots) == len(others) and all(
        one[:5] == other[:5] and np.array_equal(one.elements, other.elements)
        for one, other in zip(shots, others, strict=True)
    )
