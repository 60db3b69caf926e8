"""Which pairs of source lines race, where nothing but barriers orders threads.

For one cell, two groups of threads (those of one site and those of another) race between blocks
unless all of them belong to one block, between warps unless all of them belong to one warp, and
inside a warp unless all of them are one thread. Lowest and highest thread of each group are all
that this needs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ....lockstep.watch import ArrayInfo, Site
from .order import Heard
from .touch import Touch, bits

Array = np.ndarray[Any, np.dtype[Any]]
BLOCKS, WARPS, LANES = "race_between_blocks", "race", "race_in_warp"
SAME, ATOMIC, FLAG = "race_same_value", "race_atomic", "race_flag"
NOTHING = np.zeros(0, np.int64)


@dataclass(frozen=True)
class Pair:
    """Two sites that race: in which cells, and in the first of them a thread of each site.

    `scope` is the kind the race would have if neither were an atomic: it says how far apart the
    threads are. `passes` says in which passes of a loop they meet (`passes`). `heard` is of two
    blocks: of which thread the later one's block knows that the earlier access is over, though the
    thread that races does not.
    """

    kind: str
    scope: str
    site: Site
    other: Site
    array: ArrayInfo
    cells: Array
    thread: int
    other_thread: int
    passes: frozenset[str] = frozenset()
    heard: Heard | None = None


@dataclass
class _Group:
    """The threads of one site (and one epoch, inside a warp) per cell, cells ascending."""

    site: Site
    array: ArrayInfo
    write: bool
    atomic: bool
    cell: Array
    lowest: Array
    highest: Array


@dataclass
class _Meeting:
    """Two groups in the cells where they race, with a thread of each."""

    cell: Array
    thread: Array
    other: Array


def pairs_in_blocks(touches: list[Touch]) -> list[Pair]:
    """The racing pairs of sites; a cell belongs to one block and one interval."""
    touches = [touch for touch in touches if len(touch.cell)]
    agreed = agreed_cells(touches)
    groups = _groups(touches)
    in_epoch, cells, epochs = _by_epoch(touches)
    at_once = {(one.site, one.write): one for one in _groups(in_epoch)}
    found: list[Pair] = []
    for number, first in enumerate(groups):
        for second in groups[number:]:
            if can_race(first, second):
                apart = _meeting(first, second, 32)
                found += reported_pairs(WARPS, first, second, apart, agreed)
                mine, other = (at_once[one.site, one.write] for one in (first, second))
                inside = _once(_meeting(mine, other, 1, 32), cells, epochs)
                found += reported_pairs(LANES, first, second, _without(inside, apart), agreed)
    return found


def pairs_between_blocks(touches: list[Touch], lanes: int) -> list[Pair]:
    """The racing pairs of sites whose threads are in different blocks of `lanes` lanes."""
    touches = [touch for touch in touches if len(touch.cell)]
    agreed = agreed_cells(touches)
    groups = _groups(touches)
    found: list[Pair] = []
    for number, first in enumerate(groups):
        for second in groups[number:]:
            if can_race(first, second):
                found += reported_pairs(
                    BLOCKS, first, second, _meeting(first, second, lanes), agreed
                )
    return found


def can_race(first: Any, second: Any) -> bool:
    """Whether accesses of two sites may race at all."""
    return (first.write or second.write) and not (first.atomic and second.atomic)


def _by_epoch(touches: list[Touch]) -> tuple[list[Touch], Array, int]:
    """The touches in cells of their own per epoch; the cells, and how many epochs there are.

    Such a cell has the number: place of the cell * epochs + place of the epoch.
    """
    cells = np.unique(np.concatenate([NOTHING, *(touch.cell for touch in touches)]))
    several = [np.unique(touch.epoch) for touch in touches]
    epochs = np.unique(np.concatenate([NOTHING, *several]))
    parted = [
        touch.moved(
            np.searchsorted(cells, touch.cell) * len(epochs) + np.searchsorted(epochs, touch.epoch)
        )
        for touch in touches
    ]
    return parted, cells, len(epochs)


def _groups(touches: list[Touch]) -> list[_Group]:
    """Touches gathered by site, in order of first appearance."""
    by_site: dict[tuple[Site, bool], list[Touch]] = {}
    for touch in touches:
        by_site.setdefault((touch.site, touch.write), []).append(touch)
    groups = []
    for (site, write), members in by_site.items():
        cell = np.concatenate([touch.cell for touch in members])
        thread = np.concatenate([touch.thread for touch in members])
        sort = np.lexsort((thread, cell))
        cell, thread = cell[sort], thread[sort]
        first = np.r_[True, cell[1:] != cell[:-1]]
        last = np.r_[first[1:], True]
        one = members[0]
        groups.append(
            _Group(site, one.array, write, one.atomic, cell[first], thread[first], thread[last])
        )
    return groups


def agreed_cells(touches: list[Touch]) -> Array:
    """The cells, ascending, to which all stores wrote the same bits."""
    stores = [touch for touch in touches if touch.value is not None]
    if not stores:
        return NOTHING
    cell = np.concatenate([touch.cell for touch in stores])
    value = np.concatenate([bits(touch.value) for touch in stores])
    order = np.argsort(cell, kind="stable")
    cell, value = cell[order], value[order]
    starts = np.flatnonzero(np.r_[True, cell[1:] != cell[:-1]])
    differs = value != np.repeat(value[starts], np.diff(np.r_[starts, len(cell)]))
    agreed = cell[starts][~np.logical_or.reduceat(differs, starts)]
    unknown = [touch.cell for touch in touches if touch.write and touch.value is None]
    return np.setdiff1d(agreed, np.concatenate(unknown)) if unknown else np.asarray(agreed)


def _common(first: _Group, second: _Group) -> tuple[Array, Array]:
    """Places of the cells that both groups touch."""
    if first is second:
        everything = np.arange(len(first.cell))
        return everything, everything
    _, a, b = np.intersect1d(first.cell, second.cell, assume_unique=True, return_indices=True)
    return a, b


def _meeting(first: _Group, second: _Group, unit: int, within: int = 0) -> _Meeting:
    """Where threads of both groups are apart by `unit` lanes, but not by `within` (0: any)."""
    a, b = _common(first, second)
    lowest = np.minimum(first.lowest[a], second.lowest[b])
    highest = np.maximum(first.highest[a], second.highest[b])
    racing = lowest // unit != highest // unit
    if within:
        racing &= lowest // within == highest // within
    a, b = a[racing], b[racing]
    straight = first.lowest[a] // unit != second.highest[b] // unit
    thread = np.where(straight, first.lowest[a], first.highest[a])
    other = np.where(straight, second.highest[b], second.lowest[b])
    return _Meeting(first.cell[a], thread, other)


def _once(meeting: _Meeting, cells: Array, epochs: int) -> _Meeting:
    """A meeting in cells of their own per epoch as one in the cells, at the first such epoch."""
    place, first = np.unique(meeting.cell // max(epochs, 1), return_index=True)
    return _Meeting(cells[place], meeting.thread[first], meeting.other[first])


def _without(meeting: _Meeting, apart: _Meeting) -> _Meeting:
    """A meeting without the cells of another one that is worse."""
    keep = ~np.isin(meeting.cell, apart.cell)
    return _Meeting(meeting.cell[keep], meeting.thread[keep], meeting.other[keep])


def reported_pairs(
    scope: str, first: Any, second: Any, meeting: _Meeting, agreed: Array
) -> list[Pair]:
    """The pair with its racing cells; stores of one and the same value apart."""
    if not len(meeting.cell):
        return []
    harmless = np.zeros(len(meeting.cell), bool)
    if first.write and second.write:
        harmless = np.isin(meeting.cell, agreed)
    kind = ATOMIC if first.atomic or second.atomic else scope
    return [
        Pair(
            named,
            scope,
            first.site,
            second.site,
            first.array,
            meeting.cell[chosen],
            int(meeting.thread[chosen][0]),
            int(meeting.other[chosen][0]),
        )
        for named, chosen in ((kind, ~harmless), (SAME, harmless))
        if chosen.any()
    ]
