"""With how many copies of the counters a block counts, and how many blocks there are."""

from __future__ import annotations

from typing import NamedTuple

THREADS = 1024
LANES_SHIFT = 5
"""32 copies: one per lane. More would part no lanes."""
WORD = 4


class Counters(NamedTuple):
    """The counters of a block in shared memory: `bins << shift` words.

    Attributes:
        shift: there are 2^shift copies of a counter.
        resident: blocks on a multiprocessor, for which the kernel is compiled.
        shared_bytes: of all copies.
        groups: into which the bins are divided, one for a block.
    """

    shift: int
    resident: int
    shared_bytes: int
    groups: int = 1


TWO_BLOCKS = 64 * 1024
"""Bytes of counters up to which two blocks share a multiprocessor."""
MOST = 224 * 1024
"""Bytes of counters that a block has at most."""
MOST_GROUPS = 12
"""Groups of bins up to which it is faster to read all elements once for each than to count in
global memory."""


def counters_of(bins: int, most: int = MOST, groups: int = MOST_GROUPS) -> Counters | None:
    """The counters for so many bins; None where shared memory has too few for so many groups.

    >>> counters_of(1024), counters_of(1_000_000)
    (Counters(shift=4, resident=2, shared_bytes=65536, groups=1), None)
    >>> counters_of(100_000)
    Counters(shift=0, resident=1, shared_bytes=200000, groups=2)
    """
    for resident, room in ((2, min(TWO_BLOCKS, most)), (1, most)):
        copies = room // (WORD * max(1, bins))
        if copies:
            shift = min(LANES_SHIFT, copies.bit_length() - 1)
            return Counters(shift, resident, WORD * (bins << shift))
    parts = -(-WORD * bins // most)
    if parts > groups:
        return None
    return Counters(0, 1, WORD * -(-bins // parts), parts)


def blocks_of(elements: int, itemsize: int, processors: int, counters: Counters) -> int:
    """Blocks for so many elements: a chunk of 16 bytes per thread, at most what a GPU holds."""
    chunks = -(-elements * itemsize // 16)
    slices = max(1, processors * counters.resident // counters.groups)
    return counters.groups * max(1, min(-(-chunks // THREADS), slices))
