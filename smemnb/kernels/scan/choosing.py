"""Which kernel scans which array, and its launch.

An array is `outer x length x inner` elements without gaps; the scan goes along `length`. In the
order in which they are asked:

    columns       inner > 1: a thread down each column, where these are many or short
    cut_columns   inner > 1: columns cut into tiles that look back
    short         many rows of up to 64 elements, or slabs of short columns
    alone         rows of one tile: a warp or a block for each
    twice         longer rows of few elements, cut into tiles, in two launches
    single_pass   longer rows, cut into tiles that look back
    waiting       the same, where there are many elements of the type of the sums
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..step import Launch, New, scratch, signals
from .combining import Combining, combining
from .lookback import words_needed
from .variants import columns, short_rows
from .variants.single_pass import Cut, run_of, scan_alone_of, scan_of
from .variants.twice import scan_after_of, tile_sums_of
from .variants.waiting import scan_waiting_of

__all__ = ["Combining", "combining", "launches"]

LIKE_H200 = 132
"""Multiprocessors for which a launch is made where nobody says how many there are."""
SHORT_COLUMNS = 64
"""Elements of a column, up to which a thread goes down it."""
THREADS_EACH = 1024
"""Columns for each multiprocessor, from which a thread goes down each."""
SMALL, LARGE = 1 << 20, 1 << 22
"""Elements from which tiles are twice as large, and from which they are as large as it gets."""
WAITING = 256, 11, 5
"""Threads, chunks and blocks of tiles that wait in shared memory: 44 KB each, 220 KB in all."""
FEW = 128
"""Rows from which on neighbouring blocks have tiles of different rows, and hardly wait."""
TWICE = 1 << 21
"""Elements up to which rows of several tiles are read twice, in two launches."""
SLAB = 2048
"""Elements of few short columns that lie together, up to which a block has them in its tile."""
SHARES = 24
"""Blocks of short rows for each multiprocessor, where there are so many."""
SHORT, ROWS_EACH = 8, 256
"""Elements up to which rows always have a thread each, and rows for each multiprocessor, from which
longer ones have, too."""
FEW_ROWS = 4
"""Rows for each multiprocessor, below which all threads of one help with a row."""


def launches(
    of: Combining,
    new: New,
    out: Any,
    inp: Any,
    lie: tuple[int, int, int],
    *,
    exclusive: bool = False,
    beyond: int = 0,
    processors: int = LIKE_H200,
) -> list[Launch]:
    """The launches that scan `inp` into `out`, both flat.

    Args:
        of: what is combined, in which types.
        new: makes the signals, or the sums, of tiles.
        out: as long as `inp`.
        inp: outer x length x inner elements, none of them 0.
        lie: these three.
        exclusive: whether an element takes no part in its own result.
        beyond: bytes of the first element from a multiple of 16.
        processors: multiprocessors of the device.
    """
    outer, length, inner = lie
    if 1 < inner < columns.WIDEST and length * inner <= SLAB and outer > 1 and length > 1:
        return [_short(of, out, inp, lie, processors, exclusive)]
    if inner > 1:
        if length <= SHORT_COLUMNS or outer * inner >= processors * THREADS_EACH:
            return [_columns(of, out, inp, lie, exclusive)]
        return [_cut_columns(of, new, out, inp, lie, exclusive)]
    if _by_threads(outer, length, processors):
        return [_short(of, out, inp, lie, processors, exclusive)]
    run, size = run_of(of.dtype, of.acc), of.dtype.bitwidth // 8
    even = (outer == 1 or length % run == 0) and beyond % min(16, run * size) == 0
    reach = length if even else length + run - 1
    cut = cut_alone(of, outer, reach, processors)
    if cut is not None:
        return [_alone(of, cut, out, inp, outer, length, exclusive)]
    if outer * length <= TWICE:
        return _twice(of, new, out, inp, outer, length, reach, exclusive)
    return [_cut_rows(of, new, out, inp, outer, length, reach, exclusive)]


def _by_threads(rows: int, length: int, processors: int) -> bool:
    """Whether a thread goes along each row: few of them leave the others idle meanwhile."""
    if rows < processors * FEW_ROWS or length > short_rows.LONGEST:
        return False
    return length <= SHORT or rows >= processors * ROWS_EACH


def cut_alone(of: Combining, rows: int, reach: int, processors: int) -> Cut | None:
    """How a row is a tile of its own, for places up to `reach`; None if it is too long."""
    run = run_of(of.dtype, of.acc)
    deep = _deep(of)
    lanes = -(-reach // run)
    if rows >= processors * FEW_ROWS:
        for chunks in (1, 2, deep // 2):
            if lanes <= 32 * chunks:
                return Cut(32, chunks)
        sides = [(128, 2), (256, 2), (256, deep // 2), (256, deep), (512, deep)]
    else:
        sides = [(64, 1), (256, 1), (1024, 1), (1024, deep // 2)]
    for threads, chunks in sides:
        if lanes <= threads * chunks:
            return Cut(threads, chunks)
    return None


def cut_of(of: Combining, elements: int, rows: int = 1) -> Cut:
    """How rows of several tiles are cut, by the elements of all rows."""
    deep = _deep(of)
    if elements < SMALL:
        return Cut(256, deep // 2)
    if elements < LARGE:
        return Cut(256, deep, 3)
    if of.name == "sum" and of.dtype == of.acc and rows < FEW:
        return Cut(*WAITING, waits=True)
    return Cut(256, 2 * deep, 2)


def _deep(of: Combining) -> int:
    """Chunks that are 32 registers of a thread."""
    return 128 // (run_of(of.dtype, of.acc) * int(of.acc.bitwidth) // 8)


def _words(*numbers: int) -> tuple[Any, ...]:
    return tuple(np.uint32(number) for number in numbers)


def _columns(
    of: Combining, out: Any, inp: Any, lie: tuple[int, int, int], exclusive: bool
) -> Launch:
    outer, length, inner = lie
    kernel = columns.scan_columns_of(of, exclusive)
    grid = -(-outer * inner // columns.THREADS)
    return Launch(kernel, grid, columns.THREADS, (out, inp, *_words(outer * inner, length, inner)))


def _cut_columns(
    of: Combining, new: New, out: Any, inp: Any, lie: tuple[int, int, int], exclusive: bool
) -> Launch:
    outer, length, inner = lie
    wide = columns.columns_wide(inner)
    tiles = -(-length // columns.tile_rows(wide))
    words = signals(new, (words_needed(outer * inner, tiles),), np.uint64)
    kernel = columns.scan_cut_columns_of(of, exclusive)
    grid = outer * -(-inner // wide) * tiles
    numbers = _words(outer, length, inner, wide, tiles)
    return Launch(kernel, grid, columns.THREADS, (out, inp, words, *numbers))


def _short(
    of: Combining,
    out: Any,
    inp: Any,
    lie: tuple[int, int, int],
    processors: int,
    exclusive: bool,
) -> Launch:
    outer, length, inner = lie
    held = short_rows.slabs_held(of.acc.bitwidth // 8, length * inner)
    fair = -(-outer // (processors * SHARES))
    taken = max(1, min(held, max(fair, -(-short_rows.THREADS // inner))))
    kernel = short_rows.scan_short_of(of, exclusive)
    numbers = _words(outer, length, inner, taken)
    return Launch(kernel, -(-outer // taken), short_rows.THREADS, (out, inp, *numbers))


def _alone(
    of: Combining, cut: Cut, out: Any, inp: Any, rows: int, length: int, exclusive: bool
) -> Launch:
    by_warp = cut.threads == 32
    kernel = scan_alone_of(of, cut, exclusive)
    grid, threads = (-(-rows // 8), 256) if by_warp else (rows, cut.threads)
    return Launch(kernel, grid, threads, (out, inp, *_words(rows, length)))


def _cut_rows(
    of: Combining,
    new: New,
    out: Any,
    inp: Any,
    rows: int,
    length: int,
    reach: int,
    exclusive: bool,
) -> Launch:
    cut = cut_of(of, rows * length, rows)
    tiles = -(-reach // cut.tile(of))
    words = signals(new, (words_needed(rows, tiles),), np.uint64)
    numbers = _words(rows, tiles, length)
    kernel = (scan_waiting_of if cut.waits else scan_of)(of, cut, exclusive)
    return Launch(kernel, rows * tiles, cut.threads, (out, inp, words, *numbers))


def _twice(
    of: Combining,
    new: New,
    out: Any,
    inp: Any,
    rows: int,
    length: int,
    reach: int,
    exclusive: bool,
) -> list[Launch]:
    cut = cut_of(of, rows * length, rows)
    tiles = -(-reach // cut.tile(of))
    sums = scratch(new, (rows * tiles,), np.dtype(str(of.carry)))
    numbers = _words(rows, tiles, length)
    grid = rows * tiles
    return [
        Launch(tile_sums_of(of, cut), grid, cut.threads, (sums, inp, *numbers)),
        Launch(scan_after_of(of, cut, exclusive), grid, cut.threads, (out, inp, sums, *numbers)),
    ]
