"""Which pairs of source lines race, given the cells that look suspicious.

For one cell, two groups of threads (those of one site and those of another) race between warps
unless all of them belong to one warp, and inside a warp unless all of them are one thread. Lowest
and highest thread of each group are all that this needs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...lockstep.watch import Site
from .touch import Touch

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True)
class Pair:
    """Two sites that race: on how many cells, and one of them with a thread of each site."""

    kind: str
    site: Site
    other: Site
    cells: int
    cell: int
    thread: int
    other_thread: int


@dataclass
class _Group:
    """The threads of one site (and one epoch, inside a warp) per cell, cells ascending."""

    site: Site
    write: bool
    atomic: bool
    cell: Array
    lowest: Array
    highest: Array


def pairs(touches: list[Touch]) -> list[Pair]:
    """The racing pairs of sites among these touches, each with its worst kind first."""
    touches = [touch for touch in touches if len(touch.cell)]
    if not touches:
        return []
    agreed = _agreed(touches)
    found: list[Pair] = []
    groups = _groups(touches)
    for number, first in enumerate(groups):
        for second in groups[number:]:
            found += _between_warps(first, second, agreed)
    for epoch in sorted(_epochs(touches)):
        now = [touch for touch in (_at(touch, epoch) for touch in touches) if len(touch.cell)]
        groups = _groups(now)
        for number, first in enumerate(groups):
            for second in groups[number:]:
                found += _inside_warp(first, second, agreed)
    return found


def _epochs(touches: list[Touch]) -> set[int]:
    values: set[int] = set()
    for touch in touches:
        values |= set(np.unique(touch.epoch).tolist())
    return values


def _at(touch: Touch, epoch: int) -> Touch:
    """The touches of one epoch."""
    if isinstance(touch.epoch, np.ndarray):
        return touch.only(touch.epoch == epoch)
    return touch if touch.epoch == epoch else touch.only(np.zeros(len(touch.cell), bool))


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
        groups.append(
            _Group(site, write, members[0].atomic, cell[first], thread[first], thread[last])
        )
    return groups


def _agreed(touches: list[Touch]) -> Array:
    """The cells, ascending, to which all stores wrote the same bits."""
    stores = [touch for touch in touches if touch.write]
    if any(touch.value is None for touch in stores) or not stores:
        return np.zeros(0, np.int64)
    cell = np.concatenate([touch.cell for touch in stores])
    value = np.concatenate([_bits(touch.value) for touch in stores])
    order = np.argsort(cell, kind="stable")
    cell, value = cell[order], value[order]
    starts = np.flatnonzero(np.r_[True, cell[1:] != cell[:-1]])
    differs = value != np.repeat(value[starts], np.diff(np.r_[starts, len(cell)]))
    return np.asarray(cell[starts][~np.logical_or.reduceat(differs, starts)])


def _bits(value: Array | None) -> Array:
    """Values as integers that are equal when the bits are."""
    assert value is not None
    if value.dtype.itemsize > 8:
        halves = np.ascontiguousarray(value).view(np.uint64).reshape(len(value), -1)
        return np.unique(halves, axis=0, return_inverse=True)[1].astype(np.uint64)
    return np.ascontiguousarray(value).view(f"u{value.dtype.itemsize}").astype(np.uint64)


def _common(first: _Group, second: _Group) -> tuple[Array, Array] | None:
    """Places of the cells that both groups touch, None if the pair cannot race."""
    if not (first.write or second.write) or (first.atomic and second.atomic):
        return None
    if first is second:
        everything = np.arange(len(first.cell))
        return everything, everything
    _, a, b = np.intersect1d(first.cell, second.cell, assume_unique=True, return_indices=True)
    return (a, b) if len(a) else None


def _between_warps(first: _Group, second: _Group, agreed: Array) -> list[Pair]:
    common = _common(first, second)
    if common is None:
        return []
    a, b = common
    lowest = np.minimum(first.lowest[a], second.lowest[b]) // 32
    highest = np.maximum(first.highest[a], second.highest[b]) // 32
    return _told("race", first, second, a, b, lowest != highest, 32, agreed)


def _inside_warp(first: _Group, second: _Group, agreed: Array) -> list[Pair]:
    common = _common(first, second)
    if common is None:
        return []
    a, b = common
    lowest = np.minimum(first.lowest[a], second.lowest[b])
    highest = np.maximum(first.highest[a], second.highest[b])
    racing = (lowest // 32 == highest // 32) & (lowest != highest)
    return _told("race_in_warp", first, second, a, b, racing, 1, agreed)


def _told(
    kind: str,
    first: _Group,
    second: _Group,
    a: Array,
    b: Array,
    racing: Array,
    unit: int,
    agreed: Array,
) -> list[Pair]:
    """The pair with its first racing cell; stores of one and the same value apart."""
    if not racing.any():
        return []
    a, b = a[racing], b[racing]
    harmless = (
        np.isin(first.cell[a], agreed) if first.write and second.write else (np.zeros(len(a), bool))
    )
    told = []
    for named, chosen in ((kind, ~harmless), ("race_same_value", harmless)):
        if chosen.any():
            at = int(chosen.argmax())
            i, j = a[at], b[at]
            thread, other = _two_threads(first, second, i, j, unit)
            told.append(
                Pair(
                    named,
                    first.site,
                    second.site,
                    int(chosen.sum()),
                    int(first.cell[i]),
                    thread,
                    other,
                )
            )
    return told


def _two_threads(first: _Group, second: _Group, i: int, j: int, unit: int) -> tuple[int, int]:
    """A thread of each group, in different warps (unit 32) or merely different (unit 1)."""
    for a in (int(first.lowest[i]), int(first.highest[i])):
        for b in (int(second.highest[j]), int(second.lowest[j])):
            if a // unit != b // unit:
                return a, b
    raise AssertionError("a racing pair has two threads")
