"""The three memories that a kernel can reach.

Global memory is one row of bytes at a virtual address, in which every allocation begins on a
multiple of 256; shared memory is a row per block, local memory a row per thread. A generic access
goes where its address lies, as on the hardware.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .operands import Array, Unknown
from .state import LANES, Group

GLOBAL = 7 << 32
SHARED_WINDOW, LOCAL_WINDOW = 2, 3
"""Upper halves of the generic addresses of shared and local memory."""

POISON = 0xAA


class BadAddress(Exception):
    """An access outside of all memory that the launch has, or not on a multiple of its width."""


class Memory:
    """The bytes that a batch of blocks can reach; global memory outlives the batch."""

    def __init__(self, octets: Array, blocks: int, block_warps: int, shared: int, local: int):
        self.global_ = octets
        self.block_warps = block_warps
        row = -(-max(shared, 16) // 16) * 16
        self.shared = np.full((blocks, row), POISON, np.uint8)
        deep = -(-max(local, 16) // 16) * 16
        self.local = np.full((blocks * block_warps * LANES, deep), POISON, np.uint8)

    def cells(self, space: str, group: Group, address: Array, kind: Any) -> tuple[Array, Array]:
        """A flat array of the type and the place in it for each lane; idle lanes get place 0.

        Raises:
            BadAddress: an active lane points outside, or beside the grid of the type.
        """
        octets = {"global": self.global_, "shared": self.shared, "local": self.local}[space]
        length = octets.size if space == "global" else octets.shape[1]
        within = np.where(group.mask, address - (GLOBAL if space == "global" else 0), 0)
        size = np.dtype(kind).itemsize
        if within.min() < 0 or within.max() + size > length:
            raise BadAddress(f"{space} address outside of what the launch has")
        if (within & (size - 1)).any():
            raise BadAddress(f"{space} address that is no multiple of {size}")
        if space == "shared":
            within = within + (group.rows // self.block_warps * length)[:, None]
        elif space == "local":
            within = within + (group.rows[:, None] * LANES + np.arange(LANES)) * length
        return octets.reshape(-1).view(kind), within // size


def space_of(group: Group, address: Array) -> tuple[str, Array]:
    """Which memory generic addresses mean, and the addresses in it.

    Raises:
        Unknown: the lanes of one access do not agree.
    """
    upper = np.unique((address >> 32)[group.mask])
    if len(upper) == 1 and upper[0] in (SHARED_WINDOW, LOCAL_WINDOW):
        return ("shared" if upper[0] == SHARED_WINDOW else "local"), address & 0xFFFFFFFF
    if set(upper.tolist()) & {SHARED_WINDOW, LOCAL_WINDOW}:
        raise Unknown("a generic access of lanes to different memories")
    return "global", address
