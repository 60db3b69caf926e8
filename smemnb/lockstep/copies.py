"""Asynchronous copies that land late: values on their way until their thread waits for them.

A GPU lets a copy land at any moment between its issue and the wait that names its group. Lockstep
order takes the first of these moments, which hides a read that comes too early; a launch with
`order="late"` takes the last one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .lanes import LaneValue, Mask, spread

if TYPE_CHECKING:
    from .batch import Batch
    from .memory.stores import Store

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(eq=False)
class _Copy:
    """What a request of copies will have stored; `left` are the lanes whose copies are under way.

    `places` and `values` have an entry for each element of a lane; `group` is the number of the
    group of each lane, counted from 0.
    """

    store: Store
    places: list[LaneValue]
    values: list[LaneValue]
    left: Array
    group: Array


class UnderWay:
    """The copies of a batch that have not landed, and how many groups each lane has committed."""

    def __init__(self, batch: Batch) -> None:
        self._committed = np.zeros(batch.shape, np.int64)
        self._copies: list[_Copy] = []

    def issue(
        self, store: Store, places: list[LaneValue], values: list[LaneValue], active: Mask
    ) -> None:
        """Send values on their way, into the open group of each lane."""
        left = np.array(spread(active, self._committed.shape))
        self._copies.append(_Copy(store, places, values, left, self._committed.copy()))

    def commit(self, active: Mask) -> None:
        """Make what each lane has issued since its last commit a group."""
        self._committed = self._committed + active

    def land(self, batch: Batch, active: Mask, pending: int) -> None:
        """Let all groups of the active lanes land but the last `pending` ones."""
        arrived = np.where(active, self._committed - pending, 0)
        for copy in self._copies:
            landing = copy.left & (copy.group < arrived)
            if landing.any():
                batch.writes += 1
                for place, value in zip(copy.places, copy.values, strict=True):
                    copy.store.write(batch, place, landing, value)
                copy.left &= ~landing
        self._copies = [copy for copy in self._copies if copy.left.any()]
