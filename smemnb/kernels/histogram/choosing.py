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
    """

    shift: int
    resident: int
    shared_bytes: int


TWO_BLOCKS = 64 * 1024
"""Bytes of counters up to which two blocks share a multiprocessor."""
MOST = 192 * 1024
"""Bytes of counters that a block has at most."""


def counters_of(bins: int, most: int = MOST) -> Counters | None:
    """The counters for so many bins; None where shared memory has too few.

    >>> counters_of(1024), counters_of(100_000)
    (Counters(shift=4, resident=2, shared_bytes=65536), None)
    """
    for resident, room in ((2, min(TWO_BLOCKS, most)), (1, most)):
        copies = room // (WORD * max(1, bins))
        if copies:
            shift = min(LANES_SHIFT, copies.bit_length() - 1)
            return Counters(shift, resident, WORD * (bins << shift))
    return None


def blocks_of(elements: int, itemsize: int, processors: int, resident: int) -> int:
    """Blocks for so many elements: a chunk of 16 bytes per thread, at most what a GPU holds."""
    chunks = -(-elements * itemsize // 16)
    return max(1, min(-(-chunks // THREADS), max(1, processors) * resident))
