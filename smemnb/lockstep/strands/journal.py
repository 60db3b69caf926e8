"""What the strands of a crew tell, put together for watchers that expect whole blocks.

An event of a strand is about one warp or one thread. Where strands ran through the same code
between two barriers, their events about one expression become one event again, as in lockstep, so
that counts and findings do not depend on the order in which strands ran. `turn` keeps the true
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
    from .strand import Strand

Array = np.ndarray[Any, np.dtype[Any]]


class Tally:
    """Counts the events of a launch, which gives each its turn."""

    turn = 0


class _Entry(NamedTuple):
    """One event of a strand, the method of the watchers it goes to, and when it happened."""

    strand: Strand | None
    method: str
    event: Any
    turn: int
    splits: bool = False  # what comes before it is told before it


class Journal:
    """Events of a crew's strands until the watchers have been told.

    Crews that run one after the other (`sequential`) tell at every barrier; where several are in
    flight, each tells all at its end, so that the watchers see one batch at a time. `together`
    joins events of several strands.
    """

    def __init__(self, batch: Batch, tally: Tally, sequential: bool, together: bool) -> None:
        self.batch, self.tally = batch, tally
        self.sequential, self.together = sequential, together
        self.strands: dict[Strand, None] = {}
        self.entries: list[_Entry] = []

    def scribe(self, strand: Strand) -> Any:
        """What a strand takes for a watcher."""
        return _Scribe(partial(self._note, strand))

    def _note(self, strand: Strand, method: str, event: Any) -> None:
        self.tally.turn += 1
        of_warp = strand not in self.strands  # what its lanes did together
        self.entries.append(_Entry(strand, method, event, self.tally.turn, of_warp))

    def open(self, strands: Sequence[Strand]) -> None:
        """Before the first strand runs."""
        self.strands = dict.fromkeys(strands)
        if self.sequential:
            self._to_all("begin_batch", self.batch)

    def barrier(self, event: Barrier) -> None:
        """A barrier of the whole block."""
        self.tally.turn += 1
        self.entries.append(_Entry(None, "barrier", event, self.tally.turn, True))
        if self.sequential:
            self._tell()

    def settle(self) -> None:
        """Tell what was noted, where the kernel stops in the middle."""
        if self.sequential:
            self._tell()
        else:
            self.close()

    def close(self) -> None:
        """After the last strand has ended."""
        if not self.sequential:
            self._to_all("begin_batch", self.batch)
        self._tell()
        self._to_all("end_batch")

    def _to_all(self, method: str, *event: Any) -> None:
        if self.batch.watched:
            for watcher in self.batch.watchers:
                getattr(watcher, method)(*event)

    def _tell(self) -> None:
        """Tell what has been noted, interval by interval."""
        entries, self.entries = self.entries, []
        interval: list[_Entry] = []
        for entry in entries:
            if not entry.splits:
                interval.append(entry)
                continue
            self._tell_interval(interval)
            interval = []
            event = entry.event if entry.strand is None else self._whole([entry])
            self._to_all(entry.method, event)
        self._tell_interval(interval)

    def _tell_interval(self, interval: list[_Entry]) -> None:
        groups = _alike(interval, self.strands) if self.together else ([one] for one in interval)
        for group in groups:
            self._to_all(group[0].method, self._whole(group))

    def _whole(self, group: list[_Entry]) -> Any:
        """One event of the whole batch out of events of strands about one expression."""
        event = group[0].event
        lanes, _ = _sorted_fields(event)
        whole = {
            name: self._joined([(one.strand, getattr(one.event, name)) for one in group])
            for name in lanes
        }
        if hasattr(event, "turn"):
            whole["turn"] = self._joined([(one.strand, np.int64(one.turn)) for one in group])
        if isinstance(event, Barrier) and np.array_equal(whole["arrived"], whole["live"]):
            whole["arrived"] = whole["live"]
        return replace(event, **whole)

    def _joined(self, parts: list[Any]) -> Any:
        first = parts[0][1]
        if isinstance(first, tuple):
            return tuple(
                self._joined([(strand, value[at]) for strand, value in parts])
                for at in range(len(first))
            )
        return joined(parts, self.strands, self.batch.shape)


class _Scribe:
    """A watcher that puts every event aside, whatever its kind."""

    def __init__(self, note: Callable[[str, Any], None]) -> None:
        self._note = note

    def __getattr__(self, method: str) -> Callable[[Any], None]:
        return partial(self._note, method)


def joined(
    parts: list[tuple[Strand, Any]], strands: Collection[Strand], shape: tuple[int, int, int]
) -> Any:
    """Values of strands as one lane value of the whole batch; 0 where a strand gave none."""
    first = parts[0][1]
    is_mask = isinstance(first, np.ndarray) and first.dtype == bool
    complete = len(parts) == len(strands)
    if all(value is first for _, value in parts) and (complete or not is_mask):
        if np.ndim(first) != 3 or first.shape[1:] == (1, 1):
            return first
    blocks = max(value.shape[0] if np.ndim(value) == 3 else 1 for _, value in parts)
    dtypes = {value.dtype for _, value in parts}
    dtype = dtypes.pop() if len(dtypes) == 1 else np.result_type(*dtypes)
    whole = np.zeros((blocks, *shape[1:]), dtype)
    for strand, value in parts:
        whole[strand.place] = spread(value, (blocks, 1, 32))[..., strand.place[2]]
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


def _alike(interval: list[_Entry], strands: Collection[Strand]) -> Iterator[list[_Entry]]:
    """Events of one expression by several strands, in an order that is each strand's own.

    Of the events that come next, one is taken that no other strand has still before it.
    """
    queues: dict[Strand, deque[tuple[Any, _Entry]]] = {strand: deque() for strand in strands}
    for entry in interval:
        lanes, rest = _sorted_fields(entry.event)
        assert entry.strand is not None
        queues[entry.strand].append(((entry.method, *lanes, *rest), entry))
    left = {strand: Counter(key for key, _ in queue) for strand, queue in queues.items()}
    waiting = {strand: queue for strand, queue in queues.items() if queue}
    while waiting:
        heads: dict[Any, list[Strand]] = {}
        for strand, queue in waiting.items():
            heads.setdefault(queue[0][0], []).append(strand)
        key = _next_key(heads, left) if len(heads) > 1 else next(iter(heads))
        group = []
        for strand in heads[key]:
            group.append(waiting[strand].popleft()[1])
            left[strand][key] -= 1
            if not waiting[strand]:
                del waiting[strand]
        yield group


def _next_key(heads: dict[Any, list[Strand]], left: dict[Strand, Counter[Any]]) -> Any:
    """Of the kinds of event that come next, the one whose turn it is in lockstep."""
    for key in heads:
        others = (strand for other, who in heads.items() if other != key for strand in who)
        if not any(left[strand][key] for strand in others):
            return key
    return max(heads, key=lambda key: len(heads[key]))
