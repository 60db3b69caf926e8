"""Global accesses whose lanes move more sectors than their bytes need.

Judged per expression over the whole launch, from the counts of `watchers/counting.py`: at least
`FACTOR` times the fewest sectors and `EXTRA` sectors too many in each request. How lanes walk is
read off the worst request: by one constant step ("uncoalesced", or "interleaved" where
others take all that lies between), from place to place as the data
say ("scattered"), or element by element but off the sectors' edges ("misaligned": by where the work
begins, not by the length of the rows). Lanes that sit out count as steps that nobody takes.

What lies between is taken by other expressions, field by field, or by the next executions of the
same load, as in a loop over three channels: L1 keeps the sectors from one to the next, so the note
does not depend on whether a loop is written out. A store in such a loop stays "uncoalesced":
L1 merges no stores, each of them moves its sectors to L2.

**Limits**: sectors are counted whether or not a cache keeps them, as a GPU's counters of requests
and sectors do; whether L1 did keep them is not modelled.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import compress
from typing import Any

import numpy as np

from ...hardware import SECTOR_BYTES, WARP_LANES
from ..model import Observation, SiteCounts

FACTOR = 2
EXTRA = 4
MANY = 32  # requests, before a sector too many in each is worth a note


def inefficient_accesses(counts: Iterable[SiteCounts]) -> Iterator[Observation]:
    """One observation per expression that moves far more than it needs, or lies off the edges."""
    counts = [one for one in counts if one.array.space == "global" and one.worst is not None]
    if all(one.sectors == one.ideal_sectors for one in counts):
        return
    walks = [(one, *_walk(one)) for one in counts]
    in_step = {one.array.name for one in counts if one.sectors == one.ideal_sectors}
    for one, step, walk in walks:
        extra = one.sectors - one.ideal_sectors
        if walk == "contiguous":
            often = one.requests >= MANY and extra * 2 >= one.requests
            if often and one.array.name not in in_step and _rows_begin_sectors(one):
                yield _seen(one, "misaligned", step)
        elif walk == "sparse":
            continue  # the others of its warp would have shared the sectors
        elif one.sectors >= FACTOR * one.ideal_sectors and extra >= EXTRA * _full_requests(one):
            kind = "uncoalesced" if walk == "strided" else "scattered"
            if kind == "uncoalesced" and (_in_turn(one) or _shared_out(one, step, walks)):
                kind, step = "interleaved", _in_turn(one) or step
            yield _seen(one, kind, _apart(one, step) if kind == "uncoalesced" else step)


def _full_requests(one: SiteCounts) -> float:
    """Requests; of parts of complex numbers, as many as their lanes would fill.

    Such a part moves `EXTRA` sectors too many only in a request without idle lanes.
    """
    return one.lanes / WARP_LANES if one.array.dtype.kind == "c" else one.requests


def _shared_out(one: SiteCounts, step: int, walks: Iterable[tuple[SiteCounts, int, str]]) -> bool:
    """Whether accesses of one kind to an array take a whole step between them, field by field.

    A complex number is one element, though its parts are requests of their own.
    """
    taken = one.width if one.array.dtype.names else max(one.width, one.array.itemsize)
    places = set()
    for other, its_step, _ in walks:
        if other.array.name == one.array.name and (its_step, other.kind) == (step, one.kind):
            assert other.worst is not None
            first = other.worst.active.index(True)
            place = other.worst.address[first] % abs(step)
            places.add(place if one.array.dtype.names else place // taken)
    return step != 0 and len(places) * taken >= abs(step)


def _in_turn(one: SiteCounts) -> int:
    """Bytes between what lanes load, where the next executions take the rest of them; else 0.

    Lanes in any order: a product's lanes may go down in pairs and then across.
    """
    if not one.in_turn:
        return 0
    step = _gap(one.in_turn[0])
    steps = step // one.width
    if not 2 <= steps <= len(one.in_turn):
        return 0
    together = [address for request in one.in_turn[:steps] for address in request]
    elements = len({address // one.width for address in together})
    sectors = len({address // SECTOR_BYTES for address in together})
    return step if sectors * SECTOR_BYTES < FACTOR * elements * one.width else 0


def _gap(addresses: Sequence[int]) -> int:
    """Bytes from one address to the next higher one, as they mostly are; 0 if all are the same."""
    return _most(np.diff(np.unique(addresses)))[0]


def _apart(one: SiteCounts, step: int) -> int:
    """The step of a walk as it is reported: that of lanes in order of their addresses.

    Lanes that go down in pairs and then across are as far apart as their neighbours in a row.
    """
    assert one.worst is not None
    active = compress(one.worst.address, one.worst.active)
    gap = _gap(list(active))
    return gap if one.width < gap < abs(step) else step


def _rows_begin_sectors(one: SiteCounts) -> bool:
    """Whether all rows of the array begin at a sector's edge if the first one does."""
    item = one.array.itemsize
    return all(abs(stride) in (0, 1) or stride * item % 32 == 0 for stride in one.array.strides)


def _walk(one: SiteCounts) -> tuple[int, str]:
    """Bytes from lane to lane in the worst request, and what kind of walk that is."""
    assert one.worst is not None
    lanes = np.flatnonzero(np.array(one.worst.active))
    steps, gaps = np.diff(np.array(one.worst.address)[lanes]), np.diff(lanes)
    moved = steps != 0  # the others share an element
    steps, gaps = steps[moved], gaps[moved]
    if not len(steps):
        return 0, "contiguous"
    step, often = _most(steps)
    if (np.abs(steps) <= one.width).sum() * 2 > len(steps):
        return step, "contiguous"
    whole = steps % gaps == 0
    even, so_often = _most(steps[whole] // gaps[whole])  # from lane to lane, some of them idle
    if so_often * 2 > len(steps):
        step, often = even, so_often
    if abs(step) <= one.width:
        return step, "sparse"
    return step, "strided" if often * 2 > len(steps) else "scattered"


def _most(steps: np.ndarray[Any, np.dtype[np.int64]]) -> tuple[int, int]:
    """The step that comes most often, and how often it comes."""
    if not len(steps):
        return 0, 0
    values, often = np.unique(steps, return_counts=True)
    return int(values[often.argmax()]), int(often.max())


def _seen(one: SiteCounts, kind: str, step: int) -> Observation:
    assert one.worst is not None
    return Observation(
        kind=kind,
        site=one.site,
        block=one.worst.block,
        thread=(0, 0, 0),
        warp=one.worst.warp,
        count=one.sectors - one.ideal_sectors,
        array=one.array,
        axis=_axis(one, step),
        detail={
            "sectors": one.sectors,
            "least": one.ideal_sectors,
            "requests": one.requests,
            "step": step,
            **_rows(one),
        },
    )


def _rows(one: SiteCounts) -> dict[str, int]:
    """Runs of neighbouring elements that the worst request takes, and the bytes of the longest."""
    assert one.worst is not None
    elements = np.unique(list(compress(one.worst.address, one.worst.active)))
    ends = np.flatnonzero(np.diff(elements) != one.width)
    runs = np.diff(np.r_[-1, ends, len(elements) - 1])
    return {"rows": len(runs), "row": int(runs.max()) * one.width}


def _axis(one: SiteCounts, step: int) -> int | None:
    """The axis along which lanes walk, None if it is no step of one axis."""
    for axis, stride in enumerate(one.array.strides):
        apart = abs(stride) * one.array.unit
        if apart == abs(step) and one.array.shape[axis] > 1 and apart > one.array.itemsize:
            return axis
    return None
