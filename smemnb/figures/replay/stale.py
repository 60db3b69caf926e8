"""Which loads of a run are stale: they see another store than with all barriers in lockstep.

Both runs execute the same accesses: the n-th time that a warp comes to an expression is the same
access in both. So each load of the run has its twin in the reference, and each store too; a load is
stale where the twin of the store that it saw is not the store that its own twin saw.

A load after atomics may see the last of them in any order, if it sees as many of them, and a load
after several equal stores of one line any of them: these are not stale. What atomics return is not
looked at.

**Limits**: a load whose twin is not recorded, because a stale number sent the threads another way
or because a record was full, is not judged; `unmatched` counts these.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .record import MOST_STALE, NOBODY, PLACES, Array, Event, Run, Stale, StaleKind, Store

__all__ = ["compared", "lanes_meet"]

Key = tuple[tuple[Any, ...], int]
_LANES = 32
UNKNOWN = -2  # a store without a twin


def compared(run: Run, reference: Run) -> Run:
    """The run with its stale reads, found beside the reference."""
    keys, known = _keys(run), _keys(reference)
    twins = _twins(run, reference, keys, known)
    listed: list[Stale] = []
    at: dict[int, Array] = {}
    count = unmatched = 0
    for number, event in enumerate(run.events):
        if event.sources is None:
            continue
        twin = int(twins[number])
        if twin == NOBODY:
            unmatched += event.sources.size
            continue
        other = reference.events[twin]
        wanted = other.sources
        assert wanted is not None  # loads of shared memory, both
        assert event.updates is not None and other.updates is not None
        more = event.updates - other.updates  # atomics since the last store
        seen = _translated(event.sources, twins)
        wrong = (seen != wanted) | (event.sources == NOBODY) | (more != 0)
        positions = [
            one
            for one in np.flatnonzero(wrong).tolist()
            if more[one] or not _as_good(run, reference, int(event.sources[one]), int(wanted[one]))
        ]
        if positions:
            at[number] = np.array(positions)
            count += len(positions)
        for one in positions[: MOST_STALE - len(listed)]:
            source = int(event.sources[one])
            stores = _store(run, keys, source), _store(reference, known, int(wanted[one]))
            kind = _kind(source, int(seen[one]), int(wanted[one]), int(more[one]))
            listed.append(_stale(run, number, one, kind, *stores))
    return replace(run, stale=tuple(listed), stale_count=count, stale_at=at, unmatched=unmatched)


def _twins(run: Run, reference: Run, keys: Sequence[Key], known: Sequence[Key]) -> Array:
    """The number of each event in the reference, `NOBODY` where it has none."""
    numbers = {key: number for number, key in enumerate(known)}
    twins = np.full(len(keys), NOBODY, np.int64)
    for number, (event, key) in enumerate(zip(run.events, keys, strict=True)):
        twin = numbers.get(key)
        if twin is not None:
            other = reference.events[twin]
            same = np.array_equal(event.lanes, other.lanes)
            if same and (event.sources is None) == (other.sources is None):
                twins[number] = twin
    return twins


def _keys(run: Run) -> list[Key]:
    """What names an event in every run: its expression, warp, and how often it came before."""
    times: Counter[Any] = Counter()
    keys: list[Key] = []
    for event in run.events:
        tile = run.tiles[event.tile]
        key = (event.function, event.line, event.text, event.kind, tile.name, event.warp)
        times[key] += 1
        keys.append((key, times[key]))
    return keys


def _translated(sources: Array, twins: Array) -> Array:
    """Stores of the run as stores of the reference."""
    twin = twins[np.maximum(sources, 0) // PLACES]
    found = np.where(twin == NOBODY, UNKNOWN, twin * PLACES + sources % PLACES)
    return np.where(sources == NOBODY, NOBODY, found)


def _as_good(run: Run, reference: Run, source: int, wanted: int) -> bool:
    """Whether two stores are the same to a load: atomics, or equal stores of one line."""
    if NOBODY in (source, wanted):
        return False
    one, other = run.events[source // PLACES], reference.events[wanted // PLACES]
    if one.kind != "store" or other.kind != "store":
        return one.kind != "store" and other.kind != "store"
    if (one.function, one.line, one.text) != (other.function, other.line, other.text):
        return False
    threads = _thread(one, source), _thread(other, wanted)
    if threads[0] == threads[1] or one.values is None or other.values is None:
        return False
    values = one.values[source % PLACES], other.values[wanted % PLACES]
    return bool(values[0].tobytes() == values[1].tobytes())


def _thread(event: Event, source: int) -> tuple[int, int]:
    return event.warp, int(event.lanes[source % PLACES])


def _kind(source: int, seen: int, wanted: int, more: int) -> StaleKind:
    """What is wrong with a load; of atomics `more` or fewer decide, of stores which was first."""
    if source == NOBODY:
        return "not written"
    if more:
        return "older" if more < 0 else "newer"
    return "older" if 0 <= seen < wanted else "newer"


def _store(run: Run, keys: Sequence[Key], source: int) -> Store | None:
    """Who made a store, None for `NOBODY`."""
    if source == NOBODY:
        return None
    number, position = divmod(source, PLACES)
    event = run.events[number]
    thread = run.thread(event.warp, int(event.lanes[position]))
    return Store(event.line, thread, keys[number][1])


def _stale(
    run: Run,
    number: int,
    position: int,
    kind: StaleKind,
    seen: Store | None,
    wanted: Store | None,
) -> Stale:
    event = run.events[number]
    tile = run.tiles[event.tile]
    return Stale(
        kind=kind,
        step=event.step,
        event=number,
        position=position,
        line=event.line,
        thread=run.thread(event.warp, int(event.lanes[position])),
        array=tile.name,
        index=tile.index(int(event.elements[position])),
        seen=seen,
        wanted=wanted,
    )


def lanes_meet(run: Run) -> bool:
    """Whether a lane touches an element that another lane of its warp stores in the same step.

    Loads and stores of shared arrays alone. **Limits**: a phase with a barrier of a warp is passed
    over.
    """
    stored: dict[int, Array] = {}
    loaded: dict[int, Array] = {}
    for event in run.events:
        tile = run.tiles[event.tile]
        if tile.space != "shared" or event.kind not in ("load", "store"):
            continue
        if run.steps[event.step].phase in run.warp_barriers:
            continue
        for seen in (stored, loaded):
            if event.tile not in seen:
                seen[event.tile] = np.full(int(np.prod(tile.shape)), NOBODY, np.int64)
        for seen in (stored,) if event.reads else (stored, loaded):
            step, lane = np.divmod(seen[event.tile][event.elements], _LANES)
            if ((step == event.step) & (lane != event.lanes)).any():
                return True
        (loaded if event.reads else stored)[event.tile][event.elements] = (
            event.step * _LANES + event.lanes
        )
    return False
