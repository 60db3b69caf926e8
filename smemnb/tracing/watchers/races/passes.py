"""In which passes of a loop the accesses of a racing pair meet: in one, or in two.

Of two sites of one function, A comes first in the source (of a statement, what it loads comes
before what it stores). They may race

- "within" a pass: A and then B, by two threads;
- with B in a "later" pass than A;
- going "back": B first, and A in a later pass.

A barrier between A and B orders the first two, one at the end of the loop body the last two.

A pass ends where A runs after B: all warps run an event together, so the times of events say it,
in whatever order the warps of a launch take turns.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ....lockstep.watch import Site
from .pairs import LANES, Pair
from .touch import Touch

Array = np.ndarray[Any, np.dtype[Any]]
WITHIN, LATER, BACK = "within", "later", "back"


def in_source_order(site: Site, other: Site) -> bool | None:
    """Whether `site` comes before `other`; None where the source does not tell."""
    if site is other or (site.file, site.function) != (other.file, other.function):
        return None
    return _place(site) < _place(other)


def _place(site: Site) -> tuple[int, bool, int]:
    return site.line, site.kind != "load", site.column


def with_passes(pairs: list[Pair], touches: list[Touch]) -> list[Pair]:
    """The pairs, with the passes in which they race among these touches."""
    return [replace(pair, passes=_passes(pair, touches)) for pair in pairs]


def _passes(pair: Pair, touches: list[Touch]) -> frozenset[str]:
    forward = in_source_order(pair.site, pair.other)
    if forward is None:
        return frozenset()
    sites = (pair.site, pair.other) if forward else (pair.other, pair.site)
    sides = [[touch for touch in touches if touch.site is site] for site in sites]
    passes = _numbered(*({touch.time for touch in side} for side in sides))
    columns = [
        (touch.cell, touch.epoch + 0 * touch.cell, touch.thread, passes[touch.time], number)
        for number, side in enumerate(sides)
        for touch in side
    ]
    cell, epoch, thread = (
        np.concatenate([column[at] for column in columns]).astype(np.int64) for at in range(3)
    )
    number = [len(column[0]) for column in columns]
    turn, side = (np.repeat([column[at] for column in columns], number) for at in (3, 4))
    warp = thread // 32
    keep = np.isin(cell, pair.cells)
    inside = pair.scope == LANES
    group = [cell, epoch, warp] if inside else [cell]
    unit = thread % 32 if inside else warp
    return _met([one[keep] for one in group], unit[keep], turn[keep], side[keep] == 1)


def _numbered(first: set[int], then: set[int]) -> dict[int, int]:
    """Per time the number of its pass: a new one begins where A runs after B."""
    numbers, number, after = {}, 0, False
    for time in sorted(first | then):
        if time in first and after:
            number += 1
        after = time in then
        numbers[time] = number
    return numbers


def _met(group: list[Array], unit: Array, turn: Array, second: Array) -> frozenset[str]:
    """How rows of A and of B (`second`) with different units meet in their groups."""
    order = np.lexsort((second, turn, *group))
    group = [one[order] for one in group]
    unit, turn, second = unit[order], turn[order], second[order]
    new = np.zeros(len(order), bool)
    for one in group:
        new[1:] |= one[1:] != one[:-1]
    same_turn = new.copy()
    same_turn[1:] |= turn[1:] != turn[:-1]
    found = set()
    if (~second & _others(second, new, unit)).any():
        found.add(BACK)
    within = second & _others(~second, same_turn, unit)
    if within.any():
        found.add(WITHIN)
    if (second & _others(~second, new, unit) & ~within).any():
        found.add(LATER)
    return frozenset(found)


def _others(wanted: Array, new: Array, unit: Array) -> Array:
    """Per row, whether a wanted row before it in its group (`new` begins one) has another unit."""
    most = int(unit.max(initial=0)) + 2
    base = np.cumsum(new) * most
    highest = np.maximum.accumulate(np.where(wanted, unit + 1, 0) + base) - base - 1
    lowest = (
        most - 2 - (np.maximum.accumulate(np.where(wanted, most - 1 - unit, 0) + base) - base - 1)
    )
    known = highest >= 0
    return np.asarray(known & ((highest != unit) | (lowest != unit)))


def met(site: Site, other: Site, time: Array, other_time: Array) -> frozenset[str]:
    """The same of rows that are known to race, one by one."""
    forward = in_source_order(site, other)
    if forward is None:
        return frozenset()
    first, then = (time, other_time) if forward else (other_time, time)
    passes = _numbered(set(first.tolist()), set(then.tolist()))
    one, two = (np.array([passes[at] for at in side.tolist()]) for side in (first, then))
    ways = {WITHIN: one == two, LATER: one < two, BACK: one > two}
    return frozenset(name for name, there in ways.items() if there.any())
