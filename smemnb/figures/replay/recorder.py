"""A watcher that records what one block does, warp by warp and phase by phase.

The engine runs the warps of the block one after the other and reports at each barrier what they
did, with the turn of each access; here it is put back into the order in which it happened. Whose
store a shared load saw is kept byte by byte, so that arrays of different types over one memory are
right as well.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...lockstep.batch import DYNAMIC_BASE
from ...lockstep.lanes import spread
from ...lockstep.watch import Access, ArrayInfo, Barrier, CopyGroup, Fence, Watcher
from .record import MOST_ELEMENTS, NOBODY, PLACES, Array, Box, Event, Step, Tile

if TYPE_CHECKING:
    from ...lockstep.batch import Batch, Launch

__all__ = ["SPACES", "Full", "Recorder", "box_of", "element_numbers", "is_plain", "tile_of"]

SPACES = ("shared", "global")
PIECE = 16  # bytes that an access touches at once, at most
PLAIN = "biuf"  # kinds of dtypes whose values are kept


class Full(Exception):
    """The record is full: what comes now is not recorded, and the run need not go on."""


class _Put(NamedTuple):
    """One warp's part of an event, put aside until its phase ends; `event` None: a mark."""

    turn: int
    order: int
    warp: int
    event: Access | CopyGroup | None
    lanes: Array


class _Sent(NamedTuple):
    """A copy of a warp that is under way: its event, and the group of each of its lanes."""

    number: int
    warp: int
    lanes: Array
    group: Array
    lands: Callable[[], None]


class Recorder(Watcher):
    """Records the block that it is shown; `mark` is the line where a barrier was left out.

    Its methods raise `Full` once `most` elements are recorded.
    """

    def __init__(self, mark: int | None = None, most: int = MOST_ELEMENTS) -> None:
        self._mark, self._most = mark, most

    def start(self, launch: Launch) -> None:
        """Nothing has happened yet."""
        self.launch = launch
        self.events: list[Event] = []
        self.steps: list[Step] = []
        self.barriers: list[int | None] = []
        self.tiles: list[Tile] = []
        self.warp_barriers: set[int] = set()
        self.full = False
        self.arrivals: dict[int, int] = {}
        self._sent: list[_Sent] = []
        self._groups: dict[int, Array] = {}  # by warp: groups that each lane has closed
        self._numbers: dict[int, tuple[ArrayInfo, int]] = {}  # by id, which the array keeps
        self._put: list[_Put] = []
        self._elements, self._phase, self._order, self._waiting = 0, 0, 0, 0
        self._stores: dict[bool, tuple[Array, Array, Array]] = {}

    def begin_batch(self, batch: Batch) -> None:
        """Remember the block."""
        self._shape = (1, *batch.shape[1:])

    def access(self, event: Access) -> None:
        """Put an access aside, warp by warp."""
        if event.array.space in SPACES:
            event = event.by_receiver()
            self._put_aside(event, event.active, event.turn)

    def fence(self, event: Fence) -> None:
        """Note that warps pass the place of the barrier that was left out."""
        if event.site.line == self._mark:
            self._put_aside(None, event.active, event.turn)

    def copy_group(self, event: CopyGroup) -> None:
        """Put a commit or a wait aside, to see when copies have arrived."""
        self._put_aside(event, event.active, event.turn)

    def barrier(self, event: Barrier) -> None:
        """Settle the phase that ends here; a barrier of a warp is only noted."""
        if event.scope != "warp":
            self._settle(event.site.line)
        else:
            self.warp_barriers.add(self._phase)

    def finish(self) -> None:
        """Settle the last phase."""
        self._settle(None)

    def _put_aside(self, event: Access | CopyGroup | None, active: Array, turn: Any) -> None:
        self._order += 1
        mask = spread(active & self.launch.live, self._shape)[0]
        turns = spread(np.int64(self._order) if turn is None else turn, self._shape)[0]
        for warp in np.flatnonzero(mask.any(axis=1)).tolist():
            lanes = np.flatnonzero(mask[warp])
            when = turns[warp, lanes]
            for one in [when[0]] if (when == when[0]).all() else np.unique(when):
                here = lanes[when == one]
                self._put.append(_Put(int(one), self._order, warp, event, here))
                self._waiting += here.size
        if turn is None and self._elements + self._waiting > self._most:
            self._settle(None)

    def _settle(self, line: int | None) -> None:
        """Record what was put aside since the last barrier, in its order.

        Raises:
            Full: there was no room for all of it.
        """
        put, self._put, self._waiting = self._put, [], 0
        ahead = dict[int, int]()
        for one in sorted(put, key=lambda one: (one.turn, one.order, one.warp)):
            if one.event is None:
                ahead[one.warp] = ahead.get(one.warp, 0) + 1
                continue
            if isinstance(one.event, CopyGroup):
                self._step_of_copies(one.warp, one.event, one.lanes)
                continue
            size = one.lanes.size * one.event.elements
            if self._elements + size > self._most:
                self.full = True  # what comes later would leave gaps
                break
            self._elements += size
            self._record(one.warp, ahead.get(one.warp, 0), one.event, one.lanes)
        self.barriers.append(line)
        self._phase += 1
        if self.full:
            raise Full

    def _step_of_copies(self, warp: int, event: CopyGroup, lanes: Array) -> None:
        """Lanes close a group, or know that some have arrived; an mbarrier knows at once."""
        closed = self._groups.setdefault(warp, np.zeros(32, np.int64))
        if event.step == "commit":
            closed[lanes] += 1
        if event.step not in ("wait", "attach"):
            return
        arrived = np.zeros(32, np.int64)
        arrived[lanes] = closed[lanes] + (1 if event.step == "attach" else -event.pending)
        left = []
        for sent in self._sent:
            keep = sent.group >= arrived[sent.lanes] if sent.warp == warp else sent.group >= 0
            if keep.any():
                left.append(sent._replace(lanes=sent.lanes[keep], group=sent.group[keep]))
            else:
                self.arrivals[sent.number] = len(self.events)
                sent.lands()
        self._sent = left

    def _record(self, warp: int, ahead: int, access: Access, lanes: Array) -> None:
        """One event of a warp, and the step that it belongs to."""
        number = len(self.events)
        head = (self._phase, warp, ahead)
        if not self.steps or self.steps[-1][:3] != head:
            self.steps.append(Step(*head, number, number))
        pieces = list(access.cells())
        offset = np.concatenate([_of_warp(one.offset, self._shape, warp, lanes) for one in pieces])
        values = sources = updates = None
        if access.array.space == "shared":
            octets = offset * access.unit + access.array.base
            if access.kind == "load":
                values, sources, updates = self._loaded(access, octets)
            else:
                values = self._moved(access, pieces, warp, lanes)
                lands = partial(self._stored, number, access, octets, values)
                late = access.copy and self.launch.lands_late
                if access.copy:
                    groups = self._groups.setdefault(warp, np.zeros(32, np.int64))[lanes]
                    then = lands if late else _nothing_more
                    self._sent.append(_Sent(number, warp, lanes, groups.copy(), then))
                if not late:
                    lands()
        site = access.site
        event = Event(
            step=len(self.steps) - 1,
            line=site.line,
            function=site.function,
            text=site.text,
            kind=access.kind,
            tile=self._tile(access.array),
            warp=warp,
            lanes=np.tile(lanes, len(pieces)),
            elements=element_numbers(access.array, offset, access.unit),
            values=values,
            sources=sources,
            updates=updates,
            copy=access.copy,
        )
        self.events.append(event)
        self.steps[-1] = self.steps[-1]._replace(end=number + 1)

    def _loaded(self, access: Access, octets: Array) -> tuple[Array | None, Array, Array]:
        """Values of a shared load, the stores that they come from, and the atomics since."""
        stores, values, updates = self._memory(access.array, octets)
        each = octets[:, None] % DYNAMIC_BASE + np.arange(access.unit)
        seen = stores[each]
        sources = np.where((seen == NOBODY).any(axis=1), NOBODY, seen.max(axis=1))
        times = updates[each].max(axis=1)
        moved = None
        if is_plain(access) and not times.any():
            moved = np.ascontiguousarray(values[each]).view(access.array.dtype)[:, 0]
        return moved, sources, times

    def _moved(self, access: Access, pieces: list[Access], warp: int, lanes: Array) -> Array | None:
        """Values of a shared store, None of an atomic and of what is no plain number."""
        if access.kind != "store" or not is_plain(access):
            return None
        given = [_of_warp(one.value, self._shape, warp, lanes) for one in pieces]
        return np.concatenate(given).astype(access.array.dtype)

    def _stored(self, number: int, access: Access, octets: Array, moved: Array | None) -> None:
        """Make a shared store or atomic the source of what follows."""
        stores, values, updates = self._memory(access.array, octets)
        each = octets[:, None] % DYNAMIC_BASE + np.arange(access.unit)
        stores[each] = (number * PLACES + np.arange(octets.size))[:, None]
        if access.kind != "store":
            np.add.at(updates, each, 1)
            return
        updates[each] = 0
        if moved is not None:
            values[each] = moved[:, None].view(np.uint8)

    def _memory(self, array: ArrayInfo, octets: Array) -> tuple[Array, Array, Array]:
        """Per byte of static or dynamic shared memory: last store, value, atomics since."""
        dynamic = array.base >= DYNAMIC_BASE
        known = self._stores.get(dynamic, _nothing(0))
        size = int(octets.max()) % DYNAMIC_BASE + PIECE
        if known[0].size < size:
            more = _nothing(size - known[0].size)
            stores, values, updates = (
                np.concatenate(parts) for parts in zip(known, more, strict=True)
            )
            known = self._stores[dynamic] = stores, values, updates
        return known

    def _tile(self, array: ArrayInfo) -> int:
        known = self._numbers.get(id(array))
        if known is not None:
            return known[1]
        tile = tile_of(array)
        if tile not in self.tiles:
            self.tiles.append(tile)
        self._numbers[id(array)] = array, self.tiles.index(tile)
        return self._numbers[id(array)][1]


def _nothing_more() -> None:
    """A copy that was there at once."""


def _nothing(size: int) -> tuple[Array, Array, Array]:
    """Shared memory that nobody has touched: stores, values, atomics of each byte."""
    stores = np.full(size, NOBODY, np.int64)
    return stores, np.zeros(size, np.uint8), np.zeros(size, np.int64)


def tile_of(array: ArrayInfo) -> Tile:
    """An array as a record names it."""
    shape = tuple(int(extent) for extent in array.shape)
    return Tile(array.name, array.space, shape, str(array.dtype), int(array.base))


def is_plain(access: Access) -> bool:
    """Whether whole numbers are moved, whose values are kept."""
    array = access.array
    return access.unit == array.itemsize and array.dtype.kind in PLAIN


def _of_warp(value: Any, shape: tuple[int, ...], warp: int, lanes: Array) -> Array:
    """What some lanes of a warp have of a lane value."""
    return np.asarray(spread(value, shape)[0, warp, lanes])


def element_numbers(array: ArrayInfo, offset: Array, unit: int) -> Array:
    """Row-major numbers of the elements at these offsets, which count pieces of `unit` bytes."""
    strides = [int(stride) for stride in array.strides]
    if unit == array.unit == array.itemsize and strides == _row_major(array):
        return offset.astype(np.int64)
    rest = offset * unit // array.unit
    whole = np.zeros_like(rest)
    for axis in sorted(range(len(strides)), key=lambda axis: -strides[axis]):
        if array.shape[axis] > 1 and strides[axis]:
            index = rest // strides[axis]
            rest = rest - index * strides[axis]
            whole = whole + index * math.prod(int(one) for one in array.shape[axis + 1 :])
    return whole.astype(np.int64)


def _row_major(array: ArrayInfo) -> list[int]:
    extents = [int(extent) for extent in array.shape]
    return [math.prod(extents[axis + 1 :]) for axis in range(len(extents))]


def box_of(elements: Array, shape: tuple[int, ...]) -> Box:
    """The smallest box that holds elements.

    >>> box_of(np.array([9, 10, 17]), (4, 8))
    ((1, 3), (1, 3))
    """
    if not shape:
        return ()
    index = np.unravel_index(elements, shape)
    return tuple((int(one.min()), int(one.max()) + 1) for one in index)
