"""Which kernel reduces which array, and its launch.

An array is `outer x length x inner` elements; `out` has a line for each (outer, inner). In the
order in which they are asked:

    short      lines of a few elements, one behind the other, that are no whole moves
    rows       lines of neighbours, up to what a warp takes
    lines      longer ones, cut in parts where they are few
    narrow     few columns, rows one behind the other
    columns    neighbouring lines
    rows       element by element: everything else
"""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd
from typing import Any, NamedTuple

import numpy as np

from ..step import Launch, New, flags, scratch
from .combining import Combining
from .variants import columns, lines, narrow, rows, short
from .variants.moves import MOVES

LIKE_H200 = 132
"""Multiprocessors for which a launch is made where nobody says how many there are."""
SHORT = (8, 16, 32)
WARP_MOVES = 512
"""Moves of a line up to which a warp takes it."""
RESIDENT = 8
"""Blocks of 256 threads for each multiprocessor."""


class Lie(NamedTuple):
    """Where the elements are: counts, steps in elements, bytes from a multiple of 16."""

    outer: int
    length: int
    inner: int
    outer_step: int
    length_step: int
    inner_step: int
    beyond: int = 0


def launch(
    of: Combining, new: New, out: Any, inp: Any, lie: Lie, processors: int = LIKE_H200
) -> Launch:
    """The launch that reduces `inp`, flat memory, to the lines of `out`; no line is empty."""
    many, per = lie.outer * lie.inner, 16 // of.dtype.itemsize
    if lie.length_step == 1 or lie.length == 1:
        joined = lie.inner == 1 and (lie.outer_step == lie.length or lie.outer == 1)
        whole = lie.beyond == 0 and lie.length % per == 0
        if many > 1 and joined and lie.beyond == 0 and lie.length <= SHORT[-1] and not whole:
            return _short(of, out, inp, lie)
        count = lie.length // per
        if count <= WARP_MOVES and (many * 32 >= processors * 256 or count <= 64):
            return _rows(of, out, inp, lie, wide=lie.length >= 2 * per)
        return _lines(of, new, out, inp, lie, processors, wide=True)
    if lie.inner_step == 1 and lie.inner > 1:
        run = lie.length_step == lie.inner
        if lie.inner < 64 and run and lie.length * lie.inner >= 1 << 14:
            return _narrow(of, new, out, inp, lie, processors)
        if lie.inner >= 16:
            return _columns(of, new, out, inp, lie, processors)
    if lie.length >= 1 << 14 and many < processors * 8:
        return _lines(of, new, out, inp, lie, processors, wide=False)
    return _rows(of, out, inp, lie, wide=False)


def _words(*numbers: int) -> tuple[Any, ...]:
    return tuple(np.uint32(number) for number in numbers)


def _short(of: Combining, out: Any, inp: Any, lie: Lie) -> Launch:
    most = next(one for one in SHORT if lie.length <= one)
    kernel = short.short_of(of, most)
    grid = -(-lie.outer // short.THREADS)
    return Launch(kernel, grid, short.THREADS, (out, inp, *_words(lie.outer, lie.length)))


def _rows(of: Combining, out: Any, inp: Any, lie: Lie, *, wide: bool) -> Launch:
    moves = lie.length // (16 // of.dtype.itemsize) if wide else lie.length
    lanes = 1
    while lanes < 32 and lanes * MOVES < moves:
        lanes *= 2
    if not wide and lie.inner_step < lie.length_step and lie.inner > 1:
        lanes = 1  # neighbouring lanes take neighbouring lines
    kernel = rows.rows_of(of, lanes, wide=wide)
    many = lie.outer * lie.inner
    grid = -(-many * lanes // rows.THREADS)
    numbers = (many, lie.length, lie.length_step, lie.inner, lie.outer_step, lie.inner_step)
    return Launch(kernel, grid, rows.THREADS, (out, inp, *_words(*numbers)))


def _parts(work: int, lines_: int, wanted: int) -> int:
    """Parts of a line: what `wanted` blocks leave for each, none of them empty."""
    return max(1, min(work, wanted // max(1, lines_)))


def _own(of: Combining, new: New, parts: int, each: int, groups: int) -> tuple[Any, ...]:
    """Accumulators, places and tickets; of no element where a launch has no parts."""
    count = groups * parts * each if parts > 1 else 0
    some = scratch(new, (count,), of.partial)
    places = scratch(new, (count if of.places else 0,), np.uint32)
    return some, places, flags(new, (groups if parts > 1 else 0,), np.uint32)


def _lines(
    of: Combining, new: New, out: Any, inp: Any, lie: Lie, processors: int, *, wide: bool
) -> Launch:
    form = lines.Form(wide=wide)
    many, per = lie.outer * lie.inner, 16 // of.dtype.itemsize if wide else 1
    chunks = -(-(lie.length // per) // (form.threads * MOVES))
    parts = _parts(chunks, many, processors * RESIDENT)
    own = _own(of, new, parts, 1, many)
    numbers = (lie.length, lie.length_step, lie.inner, lie.outer_step, lie.inner_step, parts)
    kernel = lines.lines_of(of, form)
    return Launch(kernel, many * parts, form.threads, (out, inp, *own, *_words(*numbers)))


def _columns(of: Combining, new: New, out: Any, inp: Any, lie: Lie, processors: int) -> Launch:
    per = 16 // of.dtype.itemsize
    wide = lie.beyond == 0 and not any(
        number % per for number in (lie.inner, lie.length_step, lie.outer_step)
    )
    tall = lie.length >= 64
    form = columns.Form(32 if tall else 256, 8 if tall else 1, wide=wide)
    tile = form.across * (per if wide else 1)
    tiles = -(-lie.inner // tile)
    groups = tiles * lie.outer
    chunks = -(-lie.length // (form.down * MOVES))
    parts = _parts(chunks, groups, processors * RESIDENT)
    own = _own(of, new, parts, tile, groups)
    numbers = (
        lie.length,
        lie.inner,
        lie.outer_step,
        lie.length_step,
        lie.inner_step,
        tiles,
        parts,
    )
    kernel = columns.columns_of(of, form)
    block = (form.across, form.down)
    return Launch(kernel, groups * parts, block, (out, inp, *own, *_words(*numbers)))


def _narrow(of: Combining, new: New, out: Any, inp: Any, lie: Lie, processors: int) -> Launch:
    per = 16 // of.dtype.itemsize
    wide = lie.beyond == 0 and (lie.outer == 1 or lie.outer_step % per == 0)
    form = narrow.Form(wide=wide)
    moved = per if wide else 1
    period = lie.inner // gcd(lie.inner, moved)
    threads = form.threads // period * period
    sweeps = -(-lie.length * lie.inner // (threads * moved))
    parts = _parts(-(-sweeps // MOVES), lie.outer, processors * RESIDENT)
    blocks = lie.outer * parts
    own = _own(of, new, parts, lie.inner, lie.outer)
    numbers = (lie.length, lie.inner, lie.outer_step, threads, parts)
    kernel = narrow.narrow_of(of, form)
    return Launch(kernel, blocks, form.threads, (out, inp, *own, *_words(*numbers)))


def launches(*args: Any, **named: Any) -> Sequence[Launch]:
    """`launch`, as the only one of a list."""
    return [launch(*args, **named)]
