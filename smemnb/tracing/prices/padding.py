"""Padding of shared arrays that does not do what it is for.

Three forms. The pad stands on the wrong axis: the last rows of a (33, 32) tile are never stored and
columns still conflict. The array is flat, as large as with a pad, and indexed without it: the
elements that a pad would have used up are left over at the end; so are they where a launch gives
room for a pad in dynamic shared memory, and nobody uses it. The pad stands right but nothing gains
by it: the worst request of every expression takes as many wavefronts with the pad as without, or
more. The last has words of its own, and is reported of the access that the pad makes worse.

In all three the array's requests must have extra wavefronts: a pad that frees them is none of this,
nor is a halo, whose elements are stored. **Limits**: a pad that no access needs, but that costs
nothing except its bytes, is not reported. Of requests without extra wavefronts the first is kept,
and that it gains nothing does not say that none does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ...lockstep.watch import ArrayInfo
from ...rules import bank
from ..model import Observation, SiteCounts

MOST_PAD = 8
Elements = np.ndarray[Any, np.dtype[np.bool_]]


def phantom_padding(
    array: ArrayInfo, counts: Sequence[SiteCounts], stored: Elements
) -> Iterator[Observation]:
    """What is wrong with the pad of an array, if it has one; `stored` marks the elements in use.

    `counts` are those of this array alone.
    """
    asked = [one for one in counts if one.kind in ("load", "store") and not one.copy]
    conflicting = [one for one in asked if one.extra]
    if not conflicting:
        return
    form = _form(array, counts, stored.reshape(array.shape))
    if form is None:
        return
    why, pad, used = form
    reported, now, then = conflicting, 0, 0
    if why == "useless":  # first of accesses that the pad makes worse, if there are any
        reported = [one for one in conflicting if _worse(array, one, used)] or conflicting
    worst = max(reported, key=lambda one: (one.extra, one.ways))
    if why == "useless":
        now, then = _wavefronts(array, worst, used)
    yield Observation(
        kind="phantom_padding",
        site=worst.site,
        block=(0, 0, 0) if worst.worst is None else worst.worst.block,
        thread=(0, 0, 0),
        warp=0 if worst.worst is None else worst.worst.warp,
        count=sum(one.extra for one in conflicting),
        array=array,
        detail={
            "why": why,
            "pad": pad,
            "used": used,
            "ways": worst.ways,
            "now": now,
            "then": then,
        },
    )


def _form(
    array: ArrayInfo, counts: Sequence[SiteCounts], stored: Elements
) -> tuple[str, int, int] | None:
    """Which form of phantom padding it is, the pad, and the extent that is in use."""
    if stored.all():
        return None
    if stored.ndim == 1:
        return _flat(stored)
    for axis in range(stored.ndim - 1):
        rows: Elements = np.any(
            stored, axis=tuple(other for other in range(stored.ndim) if other != axis)
        )
        used = _used(rows)
        pad = len(rows) - used
        if 0 < pad <= MOST_PAD and used >= 8 and used & (used - 1) == 0 and stored[..., -1].any():
            return "axis", pad, used
    columns: Elements = np.any(stored, axis=tuple(range(stored.ndim - 1)))
    used = _used(columns)
    pad = len(columns) - used
    power = used >= 8 and used & (used - 1) == 0
    if 0 < pad <= MOST_PAD and power and not _gains(array, counts, used):
        return "useless", pad, used
    return None


def _used(stored: Elements) -> int:
    """How many entries there are up to the last one that is in use."""
    return int(np.flatnonzero(stored)[-1]) + 1 if stored.any() else 0


def _flat(stored: Elements) -> tuple[str, int, int] | None:
    """Rows times (pitch + pad) elements, of which only rows times pitch are used."""
    used = _used(stored)
    left = len(stored) - used
    for pad in (1, 2, 4, 8):
        rows, rest = divmod(left, pad)
        if not rest and rows >= 8 and used % rows == 0:
            pitch = used // rows
            if pitch >= 8 and pitch & (pitch - 1) == 0:
                return "flat", pad, pitch
    return None


def _gains(array: ArrayInfo, counts: Sequence[SiteCounts], pitch: int) -> bool:
    """Whether the worst request of some expression takes fewer wavefronts thanks to the pad."""
    return any(now < then for now, then in (_wavefronts(array, one, pitch) for one in counts))


def _worse(array: ArrayInfo, one: SiteCounts, pitch: int) -> bool:
    """Whether the worst request of the expression takes more wavefronts because of the pad."""
    now, then = _wavefronts(array, one, pitch)
    return now > then


def _wavefronts(array: ArrayInfo, one: SiteCounts, pitch: int) -> tuple[int, int]:
    """Wavefronts of the worst request as it is, and with rows of `pitch`; (0, 0) if not known."""
    if one.worst is None or one.copy or one.kind not in ("load", "store"):
        return 0, 0
    active = np.array(one.worst.active)
    address = np.where(active, np.array(one.worst.address), array.base)
    element = (address - array.base) // array.itemsize
    row, column = np.divmod(element, array.shape[-1])
    without = (row * pitch + column) * array.itemsize + array.base
    now, then = (
        int(bank.wavefronts(at, width=one.width, active=active, kind=one.rule))
        for at in (address, without)
    )
    return now, then
