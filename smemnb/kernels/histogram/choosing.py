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


COPIES = 32 * 1024
"""Bytes of counters up to which there are copies of them: an element of 4 bytes leaves time for the
wavefronts of a single copy, and what is set to 0 and added up costs small arrays more."""
TWO_BLOCKS = 96 * 1024
"""Bytes of counters up to which two blocks share a multiprocessor."""
MOST = 224 * 1024
"""Bytes of counters that a block has at most."""
MOST_GROUPS = 12
"""Groups of bins up to which it is faster to read all elements once for each than to count in
global memory."""


def counters_of(
    bins: int, elements: int = 1 << 30, most: int = MOST, groups: int = MOST_GROUPS
) -> Counters | None:
    """The counters for so many bins; None where shared memory has too few for so many groups.

    Args:
        bins: of the histogram, 1 or more.
        elements: that a block counts, about: it has no more counters than elements, but for bins.
        most: bytes of shared memory that a block may have.
        groups: into which the bins may be divided.

    >>> counters_of(1024).shift, counters_of(1024, 3000).shift, counters_of(1_000_000)
    (3, 1, None)
    >>> counters_of(100_000)
    Counters(shift=0, resident=1, shared_bytes=200000, groups=2)
    """
    one = WORD * bins
    if one <= min(TWO_BLOCKS, most):
        copies = max(1, min(COPIES // one, elements // bins))
        shift = min(LANES_SHIFT, copies.bit_length() - 1)
        return Counters(shift, 2, one << shift)
    parts = -(-one // most)
    if parts > groups:
        return None
    return Counters(0, 1, WORD * -(-bins // parts), parts)


def blocks_of(elements: int, itemsize: int, processors: int, counters: Counters) -> int:
    """Blocks for so many elements: a chunk of 16 bytes per thread, at most what a GPU holds."""
    chunks = -(-elements * itemsize // 16)
    slices = max(1, processors * counters.resident // counters.groups)
    return counters.groups * max(1, min(-(-chunks // THREADS), slices))
