"""Matrices of ldmatrix and stmatrix whose rows lie in the same banks.

A matrix is 8 rows of 16 bytes. Rows of a tile that begin a multiple of 32, 64 or 128 bytes apart
share their four banks 2, 4 or 8 at a time. An xor of the 16-byte chunk with the row spreads them
without a byte more: of rows whose pitch is p chunks, g = gcd(p, 8) at a time meet, and chunk c of
row r goes to chunk c ^ (r // (8 // g) % g). Whether that mends the worst request is tried.

**Limits**: looks at the first worst request of an expression; a pitch is known where rows of its
first matrix follow each other at one distance.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

import numpy as np

from ...rules import bank
from ..model import Observation, SiteCounts

ROWS, ROW_BYTES = 8, 16
CHUNKS = 128 // ROW_BYTES  # in one wavefront


def conflicting_rows(counts: Iterable[SiteCounts]) -> Iterator[Observation]:
    """Told of each expression that moves matrices in more wavefronts than matrices."""
    for one in counts:
        if not one.matrices or not one.extra or one.worst is None:
            continue
        pitch = _pitch(one)
        every, fold = swizzle(pitch) if pitch else (0, 0)
        if fold and not _mends(one, pitch, every, fold):
            every, fold = 0, 0
        yield Observation(
            kind="matrix_conflict",
            site=one.site,
            block=one.worst.block,
            thread=(0, 0, 0),
            warp=one.worst.warp,
            count=one.extra,
            array=one.array,
            detail={
                "matrices": one.matrices,
                "ways": one.ways,
                "wavefronts": one.wavefronts,
                "least": one.ideal,
                "pitch": pitch,
                "every": every,
                "fold": fold,
                "instruction": f"{one.rule} x{one.matrices}",
            },
        )


def swizzle(pitch: int) -> tuple[int, int]:
    """(every, fold) of the swizzle of rows this many bytes apart: c ^ (r // every % fold).

    fold 1 is no swizzle: such rows do not meet.

    >>> swizzle(128), swizzle(64), swizzle(192), swizzle(144)
    ((1, 8), (2, 4), (2, 4), (8, 1))
    """
    fold = math.gcd(pitch // ROW_BYTES, CHUNKS)
    return CHUNKS // fold, fold


def _pitch(one: SiteCounts) -> int:
    """Bytes from row to row of the first matrix of the worst request; 0 if they differ."""
    assert one.worst is not None
    steps = np.diff(np.array(one.worst.address[:ROWS]))
    same = all(one.worst.active[:ROWS]) and len(set(steps.tolist())) == 1
    return int(steps[0]) if same and steps[0] > 0 and steps[0] % ROW_BYTES == 0 else 0


def _mends(one: SiteCounts, pitch: int, every: int, fold: int) -> bool:
    """Whether the worst request takes no extra wavefront with this swizzle."""
    assert one.worst is not None
    active = np.array(one.worst.active)
    offset = np.where(active, np.array(one.worst.address) - one.array.base, 0)
    row, within = np.divmod(offset, pitch)
    chunk = within // ROW_BYTES ^ (row // every % fold)
    moved = row * pitch + chunk * ROW_BYTES + one.array.base
    return not bank.extra(moved, width=ROW_BYTES, active=active, kind=one.rule)
