"""The rungs of the running sum in order, each with the launches that it takes for an array.

Those up to `scan_wide` take a matrix and scan each of its rows by a block; the others take an array
of one axis, of any length.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from ..fill import filling
from ..step import Launch, New, Step, scratch, signals
from .rungs import scan_broad as broad
from .rungs import scan_deep as deep
from .rungs import scan_early as early
from .rungs import scan_grouped as grouped
from .rungs import scan_lookback as chained
from .rungs import scan_three_launches as three
from .rungs import scan_waiting as waiting
from .rungs.scan_blelloch import HALF, scan_blelloch
from .rungs.scan_blelloch_padded import scan_blelloch_padded
from .rungs.scan_hillis_steele import SIZE, scan_hillis_steele
from .rungs.scan_shuffled import scan_shuffled
from .rungs.scan_wide import CHUNK, THREADS, scan_wide


def _rows(kernel: Any, threads: int, new: New, out: Any, inp: Any) -> Sequence[Launch]:
    return [Launch(kernel, inp.shape[0], threads, (out, inp))]


def _three(new: New, out: Any, inp: Any) -> Sequence[Launch]:
    tiles = -(-inp.size // three.TILE)
    totals = scratch(new, (tiles,), np.float32)
    found = [Launch(three.scan_tiles, tiles, three.THREADS, (out, totals, inp))]
    if tiles > 1:
        found.append(Launch(three.scan_sums, 1, three.SUMS, (totals,)))
        found.append(Launch(three.add_before, tiles - 1, three.THREADS, (out, totals)))
    return found


def _chained(module: Any, kernel: Any, new: New, out: Any, inp: Any) -> Sequence[Launch]:
    tiles = -(-inp.size // module.TILE)
    words = scratch(new, (1 + tiles,), np.uint64)
    cleared = filling(words, np.uint64(0))
    return [cleared, Launch(kernel, tiles, module.THREADS, (out, inp, words))]


def _grouped(module: Any, kernel: Any, new: New, out: Any, inp: Any) -> Sequence[Launch]:
    tiles = -(-inp.size // module.TILE)
    pairs = 1 + tiles + -(-tiles // module.GROUP)
    words = signals(new, (2 * pairs,), np.uint64)
    return [Launch(kernel, tiles, module.THREADS, (out, inp, words, np.uint32(tiles)))]


def _fits_rows(longest: int, multiple: int, out: Any, inp: Any) -> bool:
    """Rows of float32, one element behind the other, of at most so many."""
    if inp.dtype != np.float32 or len(inp.shape) != 2 or not 0 < inp.shape[1] <= longest:
        return False
    return bool(inp.shape[1] % multiple == 0)


def _fits_whole(out: Any, inp: Any) -> bool:
    """Elements of float32, one behind the other."""
    return bool(inp.dtype == np.float32 and len(inp.shape) == 1 and inp.size > 0)


def _of_rows(kernel: Any, changed: str, threads: int, multiple: int = 1) -> Step:
    fits = partial(_fits_rows, SIZE, multiple)
    return Step(kernel.__name__, changed, (kernel,), partial(_rows, kernel, threads), fits)


def _whole(kernel: Any, changed: str, launches: Any, *more: Any) -> Step:
    return Step(kernel.__name__, changed, (kernel, *more), launches, _fits_whole)


LADDER = (
    _of_rows(scan_hillis_steele, "all add what lies 1, 2, 4 ... before", SIZE),
    _of_rows(scan_blelloch, "a tree of sums, and back", HALF),
    _of_rows(scan_blelloch_padded, "a pad word after each 32", HALF),
    _of_rows(scan_shuffled, "lanes of a warp scan by shuffles", SIZE),
    _of_rows(scan_wide, "four elements per lane, 16 bytes per access", THREADS, CHUNK),
    Step(
        "scan_three_launches",
        "whole arrays: tiles, their sums, both together",
        (three.scan_tiles, three.scan_sums, three.add_before),
        _three,
        _fits_whole,
    ),
    _whole(
        chained.scan_lookback,
        "one launch: tiles wait for those before them",
        partial(_chained, chained, chained.scan_lookback),
    ),
    _whole(
        deep.scan_deep,
        "32 elements per lane",
        partial(_chained, deep, deep.scan_deep),
    ),
    _whole(
        grouped.scan_grouped,
        "looks back in two levels, in float64",
        partial(_grouped, grouped, grouped.scan_grouped),
    ),
    _whole(
        early.scan_early,
        "says the sum of a tile before it is scanned",
        partial(_grouped, early, early.scan_early),
    ),
    _whole(
        broad.scan_broad,
        "64 elements per lane",
        partial(_grouped, broad, broad.scan_broad),
    ),
    _whole(
        waiting.scan_waiting,
        "tiles wait in shared memory, not in registers",
        partial(_grouped, waiting, waiting.scan_waiting),
    ),
)
