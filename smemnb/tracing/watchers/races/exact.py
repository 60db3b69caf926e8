"""Which pairs of accesses race where atomics, fences or parts of a warp order threads.

All pairs of accesses to a cell are looked at, but of accesses farther apart than `FARTHEST` in the
order of events to that cell (a lock that hundreds of threads take one after the other), and of
those after the first few million pairs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .order import Heard, Nodes, Order
from .pairs import ATOMIC, BLOCKS, LANES, SAME, WARPS, Pair, agreed_cells
from .passes import met
from .signals import Signals
from .touch import Touch
from .trail import FenceRecord, Trail, before, trail_of

Array = np.ndarray[Any, np.dtype[Any]]
SCOPES = (BLOCKS, WARPS, LANES)
FARTHEST = 256
MOST_PAIRS = 1 << 22
MOST_LOOKED_AT = 1 << 12  # pairs of two lines, to know whether a block has heard of them


def pairs_of(
    touches: list[Touch],
    signals: Signals | None,
    lanes: int,
    cell_in_block: Array | None = None,
) -> list[Pair] | None:
    """The racing pairs of sites; None where nothing but barriers of all lanes orders threads.

    `lanes` are those of a block, `cell_in_block` is as for `exact_pairs`.
    """
    if signals is None or not touches:
        return None
    if signals.log.lost:
        return []
    phases = len({touch.moment.phase for touch in touches}) > 1
    if not (signals.partial or phases or len(signals.nodes.trail)):
        return None
    points = trail_of(touches, [touch.cell for touch in touches], lanes, partial=signals.partial)
    inside = points.cell if cell_in_block is None else cell_in_block
    log = signals.log

    def crowded() -> None:
        log.crowded = True

    return exact_pairs(touches, points, signals.nodes, log.fences, inside, crowded)


def exact_pairs(
    touches: list[Touch],
    points: Trail,
    nodes: Nodes,
    fences: list[FenceRecord],
    cell_in_block: Array,
    crowded: Callable[[], None] = lambda: None,
) -> list[Pair]:
    """The racing pairs of sites.

    Args:
        touches: the accesses.
        points: the same as a table; its cells are the same for all blocks.
        nodes: accesses to cells that signal.
        fences: all fences.
        crowded: called where too many signals stand around accesses to tell their order.
        cell_in_block: per point, a number of the cell in its block and interval.
    """
    a, b = _conflicts(touches, points)
    one_block = points.block[a] == points.block[b]
    wide = [fence for fence in fences if fence.event.scope != "block"]
    found: list[Pair] = []
    for chosen, known, cell in (
        (one_block, fences, cell_in_block),
        (~one_block, wide, points.cell),
    ):
        x, y = a[chosen], b[chosen]
        open_pairs = ~before(points, x, points, y)
        x, y = x[open_pairs], y[open_pairs]
        if len(x):
            used, place = np.unique(np.r_[x, y], return_inverse=True)
            order = Order(points.take(used), nodes, known)
            if order.unknown:
                crowded()
            first, then = place.reshape(-1)[: len(x)], place.reshape(-1)[len(x) :]
            racing = np.flatnonzero(~order.before(first, then))
            pairs = _reported(touches, points, x[racing], y[racing], cell)
            for pair, rows in pairs:
                some = racing[rows[:MOST_LOOKED_AT]]
                ends = zip(first[some].tolist(), then[some].tolist(), strict=True)
                if pair.scope == BLOCKS:
                    pair = replace(pair, heard=_heard_in_all(order, list(ends)))
                _add(found, pair)
    return found


def _heard_in_all(order: Order, rows: Sequence[tuple[int, int]]) -> Heard | None:
    """Who has heard of the first access, if in each of these pairs some thread has."""
    first = None
    for number, (a, b) in enumerate(rows):
        heard = order.heard(a, b)
        if heard is None:
            return None
        first = heard if number == 0 else first
    return first


def _conflicts(touches: list[Touch], points: Trail) -> tuple[Array, Array]:
    """Rows of pairs of accesses to one cell by two threads, one writes, not both atomic."""
    write = np.array([touch.write for touch in touches])[points.source]
    atomic = np.array([touch.atomic for touch in touches])[points.source]
    sort = np.lexsort((points.order, points.cell))
    cell = points.cell[sort]
    first, second, number = [], [], 0
    for apart in range(1, min(len(sort), FARTHEST)):
        near = np.flatnonzero(cell[apart:] == cell[:-apart])
        if not len(near) or number > MOST_PAIRS:
            break
        number += len(near)
        a, b = sort[near], sort[near + apart]
        keep = (write[a] | write[b]) & ~(atomic[a] & atomic[b])
        keep &= points.thread[a] != points.thread[b]
        first.append(a[keep])
        second.append(b[keep])
    empty = np.zeros(0, np.int64)
    return np.concatenate([empty, *first]), np.concatenate([empty, *second])


def _reported(
    touches: list[Touch], points: Trail, a: Array, b: Array, cell: Array
) -> list[tuple[Pair, Array]]:
    """The pairs of sites of racing rows, in order of their first appearance in the touches.

    Each comes with the places of its rows, that of the example first.
    """
    rank = _site_ranks(touches)[points.source]
    swap = rank[a] > rank[b]
    a, b = np.where(swap, b, a), np.where(swap, a, b)
    scope = np.where(
        points.block[a] != points.block[b],
        0,
        np.where(points.thread[a] // 32 != points.thread[b] // 32, 1, 2),
    )
    write = np.array([touch.write for touch in touches])[points.source]
    agreed = agreed_cells(_with_cells(touches, points, cell))
    same = write[a] & write[b] & np.isin(cell[a], agreed)
    time = np.array([touch.time for touch in touches])[points.source]
    found: list[tuple[Pair, Array]] = []
    keys = np.stack([rank[a], rank[b], same, scope], 1)
    kinds, group = np.unique(keys, axis=0, return_inverse=True)
    for number, (_, _, harmless, far) in enumerate(kinds.tolist()):
        members = np.flatnonzero(group.reshape(-1) == number)
        i, j = a[members], b[members]
        cells, first = np.unique(cell[i], return_index=True)
        one, other = touches[points.source[i[0]]], touches[points.source[j[0]]]
        pair = Pair(
            _kind(one, other, far, harmless=bool(harmless)),
            SCOPES[far],
            one.site,
            other.site,
            one.array,
            cells,
            int(points.thread[i[first[0]]]),
            int(points.thread[j[first[0]]]),
            met(one.site, other.site, time[i], time[j]),
        )
        rest = np.delete(members, first[0])
        found.append((pair, np.r_[members[first[0]], rest]))
    return found


def _site_ranks(touches: list[Touch]) -> Array:
    """Per touch the number of its site, in order of first appearance."""
    ranks: dict[tuple[int, bool], int] = {}
    return np.array([ranks.setdefault((id(t.site), t.write), len(ranks)) for t in touches])


def _kind(one: Touch, other: Touch, far: int, *, harmless: bool) -> str:
    if harmless:
        return SAME
    return ATOMIC if one.atomic or other.atomic else SCOPES[far]


def _add(found: list[Pair], pair: Pair) -> None:
    """Add a pair, inside a warp without the cells where it races between warps."""
    if pair.scope == LANES:
        for worse in found:
            if (worse.kind == ATOMIC or worse.scope == WARPS) and (worse.site, worse.other) == (
                pair.site,
                pair.other,
            ):
                cells = pair.cells[~np.isin(pair.cells, worse.cells)]
                pair = replace(pair, cells=cells)
    if len(pair.cells):
        found.append(pair)


def _with_cells(touches: list[Touch], points: Trail, cell: Array) -> list[Touch]:
    """The touches with other numbers for their cells, one per row of the table."""
    ends = np.cumsum([len(touch.cell) for touch in touches])
    parts = np.split(cell, ends[:-1])
    return [touch.moved(part) for touch, part in zip(touches, parts, strict=True)]
