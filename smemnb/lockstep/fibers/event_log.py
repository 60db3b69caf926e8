"""The events of a block group's fibers, put together for watchers that expect whole blocks.

An event of a fiber is about one warp or one thread. Where fibers ran through the same code
between two barriers, their events about one expression become one event again, as in lockstep, so
that counts and findings do not depend on the order in which fibers ran. `turn` keeps the true
order. Where warps wait for each other in loops, events stay apart and in their true order.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import fields, replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..lanes import EVERY_LANE, spread
from ..watch import Barrier

if TYPE_CHECKING:
    from ..batch import Batch
    from .fiber import Fiber

Array = np.ndarray[Any, np.dtype[Any]]


class Tally:
    """Counts the events of a launch, which gives each its turn."""

    turn = 0


class _Entry(NamedTuple):
    """One event of a fiber, the method of the watchers it goes to, and when it happened."""

    fiber: Fiber | None
    method: str
    event: Any
    turn: int
    splits: bool = False  # what comes before it is reported first


class EventLog:
    """Events of a block group's fibers until the watchers have seen them.

    Block groups that run one after the other (`sequential`) report at every barrier. Where several
    are in flight, each reports everything at its end, so that the watchers see one batch at a time.
    `together` joins events of several fibers.
    """

    def __init__(self, batch: Batch, tally: Tally, *, sequential: bool, together: bool) -> None:
        self.batch, self.tally = batch, tally
        self.sequential, self.together = sequential, together
        self.fibers: dict[Fiber, None] = {}
        self.entries: list[_Entry] = []

    def recorder(self, fiber: Fiber) -> Any:
        """The watcher that a fiber reports to."""
        return _Recorder(partial(self._note, fiber))

    def _note(self, fiber: Fiber, method: str, event: Any) -> None:
        self.tally.turn += 1
        of_warp = fiber not in self.fibers  # what its lanes did together
        self.entries.append(_Entry(fiber, method, event, self.tally.turn, splits=of_warp))

    def open(self, fibers: Sequence[Fiber]) -> None:
        """Before the first fiber runs."""
        self.fibers = dict.fromkeys(fibers)
        if self.sequential:
            self._to_all("begin_batch", self.batch)

    def barrier(self, event: Barrier) -> None:
        """A barrier of the whole block."""
        self.tally.turn += 1
        self.entries.append(_Entry(None, "barrier", event, self.tally.turn, splits=True))
        if self.sequential:
            self._report()

    def settle(self) -> None:
        """Report what was noted, where the kernel stops in the middle."""
        if self.sequential:
            self._report()
        else:
            self.close()

    def close(self) -> None:
        """After the last fiber has ended."""
        if not self.sequential:
            self._to_all("begin_batch", self.batch)
        self._report()
        self._to_all("end_batch")

    def _to_all(self, method: str, *event: Any) -> None:
        if self.batch.watched:
            for watcher in self.batch.watchers:
                getattr(watcher, method)(*event)

    def _report(self) -> None:
        """Report what has been noted, interval by interval."""
        entries, self.entries = self.entries, []
        interval: list[_Entry] = []
        for entry in entries:
            if not entry.splits:
                interval.append(entry)
                continue
            self._report_interval(interval)
            interval = []
            event = entry.event if entry.fiber is None else self._whole([entry])
            self._to_all(entry.method, event)
        self._report_interval(interval)

    def _report_interval(self, interval: list[_Entry]) -> None:
        groups = _alike(interval, self.fibers) if self.together else ([one] for one in interval)
        for group in groups:
            self._to_all(group[0].method, self._whole(group))

    def _whole(self, group: list[_Entry]) -> Any:
        """One event of the whole batch out of events of fibers about one expression."""
        event = group[0].event
        lanes, _ = _sorted_fields(event)
        whole = {
            name: self._joined([(one.fiber, getattr(one.event, name)) for one in group])
            for name in lanes
        }
        if hasattr(event, "turn"):
            whole["turn"] = self._joined([(one.fiber, np.int64(one.turn)) for one in group])
        if isinstance(event, Barrier) and np.array_equal(whole["arrived"], whole["live"]):
            whole["arrived"] = whole["live"]
        return replace(event, **whole)

    def _joined(self, parts: list[Any]) -> Any:
        first = parts[0][1]
        if isinstance(first, tuple):
            return tuple(
                self._joined([(fiber, value[at]) for fiber, value in parts])
                for at in range(len(first))
            )
        return joined(parts, self.fibers, self.batch.shape)


class _Recorder:
    """A watcher that puts every event aside, whatever its kind."""

    def __init__(self, note: Callable[[str, Any], None]) -> None:
        self._note = note

    def __getattr__(self, method: str) -> Callable[[Any], None]:
        return partial(self._note, method)


def joined(
    parts: list[tuple[Fiber, Any]], fibers: Collection[Fiber], shape: tuple[int, int, int]
) -> Any:
    """Values of fibers as one lane value of the whole batch; 0 where a fiber gave none."""
    first = parts[0][1]
    is_mask = isinstance(first, np.ndarray) and first.dtype == bool
    complete = len(parts) == len(fibers)
    if all(value is first for _, value in parts) and (complete or not is_mask):
        if np.ndim(first) != 3 or first.shape[1:] == (1, 1):
            return first
    blocks = max(value.shape[0] if np.ndim(value) == 3 else 1 for _, value in parts)
    dtypes = {value.dtype for _, value in parts}
    dtype = dtypes.pop() if len(dtypes) == 1 else np.result_type(*dtypes)
    whole = np.zeros((blocks, *shape[1:]), dtype)
    for fiber, value in parts:
        whole[fiber.place] = spread(value, (blocks, 1, 32))[..., fiber.place[2]]
    return EVERY_LANE if is_mask and whole.all() else whole


def _is_lanes(value: Any) -> bool:
    if isinstance(value, tuple):
        return bool(value) and all(map(_is_lanes, value))
    return isinstance(value, (np.ndarray, np.generic))


@cache
def _field_names(kind: type) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind))


def _sorted_fields(event: Any) -> tuple[list[str], tuple[Any, ...]]:
    """The names of an event's fields that hold lane values, and the values of the others."""
    kind: type = type(event)
    names = _field_names(kind)
    lanes = [name for name in names if _is_lanes(getattr(event, name))]
    return lanes, tuple(getattr(event, name) for name in names if name not in lanes)


def _alike(interval: list[_Entry], fibers: Collection[Fiber]) -> Iterator[list[_Entry]]:
    """Events of one expression by several fibers, in an order that is each fiber's own.

    Of the events that come next, one is taken that no other fiber has still before it.
    """
    queues: dict[Fiber, deque[tuple[Any, _Entry]]] = {fiber: deque() for fiber in fibers}
    for entry in interval:
        lanes, rest = _sorted_fields(entry.event)
        assert entry.fiber is not None
        queues[entry.fiber].append(((entry.method, *lanes, *rest), entry))
    left = {fiber: Counter(key for key, _ in queue) for fiber, queue in queues.items()}
    waiting = {fiber: queue for fiber, queue in queues.items() if queue}
    while waiting:
        heads: dict[Any, list[Fiber]] = {}
        for fiber, queue in waiting.items():
            heads.setdefault(queue[0][0], []).append(fiber)
        key = _next_key(heads, left) if len(heads) > 1 else next(iter(heads))
        group = []
        for fiber in heads[key]:
            group.append(waiting[fiber].popleft()[1])
            left[fiber][key] -= 1
            if not waiting[fiber]:
                del waiting[fiber]
        yield group


def _next_key(heads: dict[Any, list[Fiber]], left: dict[Fiber, Counter[Any]]) -> Any:
    """Of the kinds of event that come next, the one whose turn it is in lockstep."""
    for key in heads:
        others = (fiber for other, who in heads.items() if other != key for fiber in who)
        if not any(left[fiber][key] for fiber in others):
            return key
    return max(heads, key=lambda key: len(heads[key]))
