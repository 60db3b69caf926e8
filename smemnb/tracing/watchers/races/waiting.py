"""Touches of blocks that have not arrived at a barrier: those of unequal work come later."""

from __future__ import annotations

from typing import Any

import numpy as np

from .touch import Touch

Array = np.ndarray[Any, np.dtype[Any]]


class Waiting:
    """Touches put aside until their blocks come to a barrier.

    Blocks that passed their last barrier together are kept together, under its time (`passed` says
    it per block). A group is gone through when only some of it arrives, and where that happens
    again its touches are kept block by block: each is handled a few times at most, however many
    barriers the other blocks pass.
    """

    def __init__(self) -> None:
        self._together: dict[int, list[Touch]] = {}
        self._single: dict[int, list[Touch]] = {}
        self._parted: set[int] = set()

    def __bool__(self) -> bool:
        """Whether anything waits."""
        return bool(self._together or self._single)

    def groups(self) -> list[list[Touch]]:
        """The touches, as they are kept."""
        return [*self._together.values(), *self._single.values()]

    def all(self) -> list[Touch]:
        """Everything that waits."""
        return [touch for group in self.groups() for touch in group]

    def put(self, touch: Touch, passed: Array, size: int) -> None:
        """Put a touch aside; a block has `size` cells."""
        since = passed[touch.cell // size]
        times = np.unique(since).tolist()
        for time in times:
            part = touch if len(times) == 1 else touch.only(since == time)
            self._together.setdefault(time, []).append(part)

    def take(self, arrived: Array, passed: Array, size: int) -> list[Touch]:
        """The touches of the blocks that arrived, which wait no longer."""
        found: list[Touch] = []
        for time in np.unique(passed[arrived]).tolist():
            group = self._together.pop(time, [])
            if arrived[passed == time].all():
                found += group
            elif time in self._parted:
                found += self._taken_singly(group, arrived, size)
            elif group:
                self._parted.add(time)
                parts = [touch.parted(arrived[touch.cell // size]) for touch in group]
                found += [touch for here, _ in parts for touch in here]
                if left := [touch for _, others in parts for touch in others]:
                    self._together[time] = left
        for block in np.flatnonzero(arrived).tolist() if self._single else ():
            found += self._single.pop(block, [])
        return found

    def _taken_singly(self, group: list[Touch], arrived: Array, size: int) -> list[Touch]:
        found: list[Touch] = []
        for touch in group:
            for block, part in touch.of_blocks(size):
                place = found if arrived[block] else self._single.setdefault(block, [])
                place.append(part)
        return found
