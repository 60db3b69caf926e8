"""What of a block's global accesses L1 has, and which share of the rest comes from DRAM.

L1 is followed line by line: 128 bytes in four sectors, sets of 16 lines, the line longest unused
goes. It has what the shared memory of the resident blocks leaves, divided among them. Stores and
atomics pass through.

What misses L1 is in L2 unless it is touched for the first time in the launch: of an array, as many
sectors come from DRAM as the launch can touch at most, that is, all of it, or what its blocks touch
if that is less. The rest finds them in L2.

**Limits**: L2 is taken to hold what the blocks at work share; data that is read again after more
than the size of L2 went by is counted as if it were still there.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from ...compiled.warps.execution import Execution
from ...hardware import LINE_BYTES, SECTOR_BYTES

__all__ = ["far_share", "missed", "partly_stored"]

WAYS = 16


def missed(done: Execution, l1_bytes: int) -> Any:
    """Sectors of each access that L1 has not, int32."""
    asked = done.requests
    sets = max(1, l1_bytes // (LINE_BYTES * WAYS))
    through = asked.store | (asked.space != 1)
    return _missed(asked.first, asked.sectors, through, sets)


@njit(cache=True)  # type: ignore[untyped-decorator]
def _missed(first: Any, sectors: Any, through: Any, sets: int) -> Any:
    tags = np.full((sets, WAYS), -1, np.int64)
    valid = np.zeros((sets, WAYS), np.int64)
    used = np.zeros((sets, WAYS), np.int64)
    out = np.zeros(len(first) - 1, np.int32)
    now = 0
    for request in range(len(first) - 1):
        for at in range(first[request], first[request + 1]):
            if through[request]:
                out[request] += 1
                continue
            line, part = sectors[at] // 4, 1 << (sectors[at] % 4)
            here = (line ^ (line >> 7)) % sets
            now += 1
            way = -1
            for one in range(WAYS):
                if tags[here, one] == line:
                    way = one
                    break
            if way < 0:
                way = 0
                for one in range(1, WAYS):
                    if used[here, one] < used[here, way]:
                        way = one
                tags[here, way], valid[here, way] = line, 0
            used[here, way] = now
            if not valid[here, way] & part:
                valid[here, way] |= part
                out[request] += 1
    return out


def partly_stored(done: Execution, gone: Any) -> float:
    """The share of the sectors that leave L1 of stores that fill less than half of their sectors.

    A request of 32 lanes has as many whole sectors as bytes per lane.
    """
    asked = done.requests
    touched = np.diff(asked.first)
    partly = asked.store & (asked.space == 1) & (touched > 2 * asked.width)
    return float(gone[partly].sum()) / max(1.0, float(gone.sum()))


def far_share(done: Execution, gone: Any, blocks: float, arrays: list[tuple[int, int]]) -> Any:
    """The share of an access's missing sectors that comes from DRAM, float32.

    Args:
        done: a block that stands for all.
        gone: its sectors that L1 has not.
        blocks: of the launch.
        arrays: first byte and bytes of each allocation.
    """
    asked = done.requests
    found = np.zeros(len(gone), np.float32)
    if not len(asked.sectors):
        return found
    begins = np.array([start // SECTOR_BYTES for start, _ in arrays] or [0], np.int64)
    order = np.argsort(begins)
    sizes = np.array([-(-size // SECTOR_BYTES) for _, size in arrays] or [0], np.int64)[order]
    leading = asked.sectors[np.minimum(asked.first[:-1], len(asked.sectors) - 1)]
    owner = np.clip(np.searchsorted(begins[order], leading, side="right") - 1, 0, len(sizes) - 1)
    each = np.repeat(owner, np.diff(asked.first))
    for array, size in enumerate(sizes.tolist()):
        mine = (owner == array) & (np.diff(asked.first) > 0)
        total = float(gone[mine].sum()) * blocks
        touched = len(np.unique(asked.sectors[each == array])) * blocks
        if total > 0:
            found[mine] = min(1.0, min(touched, size) / total)
    return found
