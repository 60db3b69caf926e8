"""Fewer touches that race with later ones as all of them did, once they have been examined.

Only where no fence has been run: then nothing that comes later can tell the touches of one line
between two barriers apart by their time.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from .pairs import agreed_cells
from .touch import Touch, folded


def merged(touches: list[Touch]) -> list[Touch]:
    """Touches with at most two threads per line, cell and epoch, whatever their number was."""
    groups: dict[Any, list[Touch]] = {}
    for touch in touches:
        key = (touch.site, touch.write, touch.array.dtype, id(touch.moment), _values(touch))
        groups.setdefault(key, []).append(touch)
    kept: list[Touch] = []
    for members in groups.values():
        if members[0].turn is not None:
            kept += folded(members)  # what came first is not told by the order of events
        else:
            kept += [_alone(part) for part in folded(_by_value(_joined(members)))]
    return kept


def _values(touch: Touch) -> Any:
    return touch.turn is None, None if touch.value is None else touch.value.dtype


def _joined(members: list[Touch]) -> Touch:
    """Touches of one line and moment as one."""
    first, rest = members[0], members[1:]
    if not rest:
        return first

    def together(name: str) -> Any:
        return np.concatenate([getattr(touch, name) for touch in members])

    return replace(
        first,
        cell=together("cell"),
        thread=together("thread"),
        epoch=together("epoch") if isinstance(first.epoch, np.ndarray) else first.epoch,
        value=None if first.value is None else together("value"),
    )


def _by_value(touch: Touch) -> list[Touch]:
    """The touches of cells that took one value, and those of cells that took several, without."""
    if touch.value is None:
        return [touch]
    agreed, several = touch.parted(np.isin(touch.cell, agreed_cells([touch])))
    return agreed + [replace(part, value=None) for part in several]


def _alone(touch: Touch) -> Touch:
    """Sorted touches, each thread of a cell and an epoch once."""
    keep = np.ones(len(touch.cell), bool)
    keep[1:] = (touch.cell[1:] != touch.cell[:-1]) | (touch.thread[1:] != touch.thread[:-1])
    if isinstance(touch.epoch, np.ndarray):
        keep[1:] |= touch.epoch[1:] != touch.epoch[:-1]
    return touch if keep.all() else touch.only(keep)
