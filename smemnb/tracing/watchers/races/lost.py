"""Updates that a warp loses: several lanes of one request do `x[i] += v` on one element.

All lanes of a request load before one of them stores, so that of their additions one is kept.
No order of warps and no barrier mends that. Whether a store belongs to such a statement, its site
says (`Site.update`).

**Limits**: of `|=`, `&=`, max and min an update counts as lost where neighbouring lanes of an
element store different results. Lanes that ran one after the other (behind a lock) lose nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ....lockstep.lanes import spread
from ....lockstep.watch import Access, Site
from ...model import Observation
from .touch import index_of

if TYPE_CHECKING:
    from ....lockstep.batch import Batch, Launch

Array = np.ndarray[Any, np.dtype[Any]]
UNITING = ("|", "&", "max", "min")
"""Updates that lose nothing where all lanes bring the same."""


@dataclass(frozen=True)
class _Example:
    """The first element in which a request lost updates: who stores it, and where it lies."""

    event: Access
    block: int
    lanes: tuple[int, ...]
    offset: int


class LostUpdates:
    """Looks at one store after the other; `observations()` lists them, one per statement."""

    def __init__(self, launch: Launch) -> None:
        self._launch = launch
        self._found: dict[Site, tuple[_Example, int]] = {}

    def begin(self, batch: Batch) -> None:
        """Other blocks run from here on."""
        self._batch: Batch = batch

    def access(self, event: Access) -> None:
        """Look at a store that updates what its own statement has loaded."""
        if _ascending(event.offset) or _is_second_half(event):
            return
        shape = np.broadcast_shapes(event.offset.shape, event.active.shape, (1, 1, 32))
        if event.turn is not None:
            shape = np.broadcast_shapes(shape, event.turn.shape)
        lane = np.arange(32)
        cell = np.where(spread(event.active, shape), spread(event.offset, shape), -1 - lane)
        order = np.argsort(cell, axis=-1, kind="stable")
        cell = np.take_along_axis(cell, order, -1)
        again = cell[..., 1:] == cell[..., :-1]
        if not again.any():
            return
        if event.turn is not None:
            again &= _repeated(spread(event.turn, shape), order)
        if event.site.update in UNITING:
            again &= ~_repeated(spread(event.value, shape), order)
        count = int(np.count_nonzero(again)) * self._alike(event, shape)
        if count:
            self._note(event, order, cell, again, count)

    def observations(self) -> list[Observation]:
        """One observation per statement that lost updates."""
        return [self._observed(*one) for one in self._found.values()]

    def _alike(self, event: Access, shape: tuple[int, ...]) -> int:
        """How many warps of the batch each warp of an event stands for."""
        blocks, warps, _ = self._batch.shape
        alike = warps // shape[1]
        return alike if event.rounds > 1 else alike * (blocks // shape[0])

    def _note(self, event: Access, order: Array, cell: Array, again: Array, count: int) -> None:
        known = self._found.get(event.site)
        if known is not None:
            self._found[event.site] = known[0], known[1] + count
            return
        block, warp, place = (int(at[0]) for at in np.nonzero(again))
        offset = cell[block, warp, place]
        lanes = order[block, warp][cell[block, warp] == offset]
        first = self._batch.first + (0 if event.rounds > 1 else block)
        threads = tuple(int(warp * 32 + lane) for lane in np.sort(lanes))
        example = _Example(replace(event, value=None), first, threads, int(offset))
        self._found[event.site] = example, count

    def _observed(self, example: _Example, count: int) -> Observation:
        event, array = example.event, example.event.array
        first, second = example.lanes[:2]
        return Observation(
            kind="lost_update",
            site=event.site,
            array=array,
            block=self._launch.block_of(example.block),
            thread=self._launch.thread_of(*divmod(first, 32)),
            other_thread=self._launch.thread_of(*divmod(second, 32)),
            warp=first // 32,
            other_warp=second // 32,
            index=index_of(array, example.offset * event.unit // array.unit),
            count=count,
            detail={"lanes": len(example.lanes), "update": event.site.update},
        )


def _ascending(offset: Any) -> bool:
    """Whether each lane has an element of its own, as in most requests."""
    return bool(offset.shape[-1] == 32 and (offset[..., 1:] > offset[..., :-1]).all())


def _is_second_half(event: Access) -> bool:
    """Whether this is the imaginary part, which follows the real one in a request of its own."""
    array = event.array
    half = array.dtype.kind == "c" and 2 * event.width == array.itemsize
    return half and bool(event.offset.reshape(-1)[0] % 2)


def _repeated(values: Array, order: Array) -> Array:
    """Whether each lane in this order has the value of the lane before."""
    values = np.take_along_axis(values, order, -1)
    same: Array = values[..., 1:] == values[..., :-1]
    return same
