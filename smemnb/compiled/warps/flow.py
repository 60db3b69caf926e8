"""Which warps run next: branches split them, convergence barriers join them again.

Warps at one address run together, the lowest address first. Lanes of a warp that have parted stay
apart until a BSYNC (of the lanes that met the BSSY), a WARPSYNC or the end: lanes at the same
address are not joined because they happen to be there. A block's barrier lets go of its lanes as
they came. (Counters of an H200 agree: loops whose lanes leave at different times ask once for each
part of a warp.)
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .operands import Array
from .state import Group, State, packed, unpacked

STEP = 16
"""Bytes of an instruction."""


class Stuck(Exception):
    """Nobody can go on: lanes wait for lanes that never come."""


class Flow:
    """The groups that are ready, and the lanes that wait, of a batch of blocks."""

    def __init__(self, state: State, block_warps: int) -> None:
        self.state = state
        self.ready: dict[int, list[tuple[Array, Array]]] = {}
        self._block_warps = block_warps
        self._joining = np.full(state.alive.shape, -1, np.int64)  # address a lane waits at
        self._needs = np.zeros(state.alive.shape, np.uint32)  # lanes it waits for
        self._at_barrier: list[tuple[Array, Array, int]] = []
        self._meeting: Callable[[Array], None] = lambda blocks: None

    def go(self, address: int, group: Group, lanes: Array | None = None) -> None:
        """The group's lanes, or some of them, run on at an address."""
        mask = group.mask if lanes is None else group.mask & lanes
        some: Array = np.logical_or.reduce(mask, axis=1)
        if some.all():
            self.ready.setdefault(address, []).append((group.rows, mask))
        elif some.any():
            self.ready.setdefault(address, []).append((group.rows[some], mask[some]))

    def next(self) -> tuple[int, Group] | None:
        """The group at the lowest address, None when all lanes have ended.

        Raises:
            Stuck: lanes are left, and all of them wait.
        """
        if not self.ready:
            if self._at_barrier or (self._joining >= 0).any():
                raise Stuck("lanes wait at a barrier for lanes that never come")
            return None
        address = min(self.ready)
        parts = self.ready.pop(address)
        if len(parts) == 1:
            return address, self._group(*parts[0])
        rows = np.concatenate([part[0] for part in parts])
        mask = np.concatenate([part[1] for part in parts])
        order = np.argsort(rows, kind="stable")
        rows, mask = rows[order], mask[order]
        again = _repeats(rows)
        if again.any():  # parts of one warp at one address: one after the other
            later, later_mask = rows[again], mask[again]
            rows, mask = rows[~again], mask[~again]
            self.ready[address] = []
            while len(later):
                again = _repeats(later)
                self.ready[address].append((later[~again], later_mask[~again]))
                later, later_mask = later[again], later_mask[again]
        return address, self._group(rows, mask)

    def _group(self, rows: Array, mask: Array) -> Group:
        return Group(self.state, None if len(rows) == self.state.warps else rows, mask)

    # --- convergence ------------------------------------------------------------------------

    def begin_join(self, number: int, group: Group) -> None:
        """BSSY: these lanes will meet again."""
        group.put(self.state.joins[number], group.bits[:, None])

    def leave_join(self, number: int, group: Group) -> None:
        """BREAK: these lanes will not come; who waits for them waits no more."""
        left = np.uint32(0xFFFFFFFF) ^ group.bits
        rows = group.rows
        self.state.joins[number][rows] &= left[:, None]
        waiting = self._joining[rows] >= 0
        needs = self._needs[rows]
        self._needs[rows] = np.where(waiting, needs & left[:, None], needs)
        self._release(rows)

    def join(self, number: int, address: int, group: Group) -> None:
        """BSYNC: wait for the lanes that met the BSSY."""
        self.wait_for(group.of(self.state.joins[number]), address, group)

    def wait_for(self, needed: Array, address: int, group: Group) -> None:
        """Wait until the needed lanes (32 bits, per lane) are at this address, then go on."""
        needed = (
            np.broadcast_to(needed, group.mask.shape) & packed(group.of(self.state.alive))[:, None]
        )
        here = group.bits[:, None]
        alone = (((needed & ~here) == 0) | ~group.mask).all(axis=1)
        if alone.all():
            self.go(address + STEP, group)
            return
        rows = group.rows
        self._joining[rows] = np.where(group.mask, address, self._joining[rows])
        self._needs[rows] = np.where(group.mask, needed, self._needs[rows])
        self._release(rows)

    def _release(self, rows: Array) -> None:
        """Let those go on whose lanes are all there."""
        at = self._joining[rows]
        for address in np.unique(at[at >= 0]).tolist():
            here = at == address
            bits = packed(here)[:, None]
            alive = packed(self.state.alive[rows])[:, None]
            met = here & ((self._needs[rows] & alive & ~bits) == 0)
            some: Array = np.logical_or.reduce(met, axis=1)
            if not some.any():
                continue
            self._joining[rows] = np.where(met, -1, self._joining[rows])
            for part in _by_need(met[some], self._needs[rows[some]]):
                kept: Array = np.logical_or.reduce(part, axis=1)
                self.ready.setdefault(address + STEP, []).append((rows[some][kept], part[kept]))

    # --- ends and barriers ------------------------------------------------------------------

    def end(self, group: Group) -> None:
        """EXIT: these lanes are no more."""
        rows = group.rows
        self.state.alive[rows] &= ~group.mask
        if (self._joining[rows] >= 0).any():
            self._release(rows)
        if self._at_barrier:
            self._open_barriers()

    def block_barrier(
        self, address: int, group: Group, meeting: Callable[[Array], None] | None = None
    ) -> None:
        """BAR: wait for all living lanes of the block; `meeting` gets who met there."""
        if meeting is not None:
            self._meeting = meeting
        self._at_barrier.append((group.rows, group.mask, address))
        self._open_barriers()

    def _open_barriers(self) -> None:
        arrived = np.zeros(self.state.alive.shape, np.bool_)
        for rows, mask, _ in self._at_barrier:
            arrived[rows] |= mask
        of_block = (-1, self._block_warps * 32)
        here: Array = (arrived | ~self.state.alive).reshape(of_block)
        came: Array = arrived.reshape(of_block)
        opened: Array = np.logical_and.reduce(here, axis=1) & np.logical_or.reduce(came, axis=1)
        if not opened.any():
            return
        self._meeting(opened)
        waiting, self._at_barrier = self._at_barrier, []
        for rows, mask, address in waiting:
            free = opened[rows // self._block_warps]
            if free.any():
                self.ready.setdefault(address + STEP, []).append((rows[free], mask[free]))
            if not free.all():
                self._at_barrier.append((rows[~free], mask[~free], address))


def _repeats(rows: Array) -> Array:
    """Which of these rising numbers are the same as the one before."""
    return np.concatenate([[False], rows[1:] == rows[:-1]])


def _by_need(met: Array, needs: Array) -> list[Array]:
    """The lanes of each row that go on together: those that waited for the same lanes."""
    parts: list[Array] = []
    left = met.copy()
    while left.any():
        first = left.argmax(axis=1)
        own = needs[np.arange(len(first)), first][:, None]
        together = left & ((needs == own) | ((unpacked(own[:, 0])) & left))
        parts.append(together)
        left &= ~together
    return parts
