"""Which kernel reduces which array, and its launch.

An array is `outer x length x inner` elements; `out` has a line for each (outer, inner). In the
order in which they are asked:

    rows       lines of neighbours, up to what a warp takes; of a few elements one by one
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
from .variants import columns, finish, lines, narrow, rows
from .variants.moves import MOVES

LIKE_H200 = 132
"""Multiprocessors for which a launch is made where nobody says how many there are."""
SINGLE, SINGLE_BYTES = 8, 32
"""Elements of a line, and bytes, up to which a thread takes it one by one: they come from L1."""
NARROW = 64
"""Columns below which lanes would be idle if each took one."""
MANY = 1 << 14
"""Lines that are enough for a GPU with a thread each."""
RUN = 512
"""Elements of a run of narrow rows from which on a block takes it."""
PART_BYTES, NARROW_BYTES = 1 << 15, 3 << 15
"""Of a part at least, where it takes a ticket; of narrow rows, which a block reads faster."""
TWICE_BYTES = 1 << 26
"""Of an array, up to which parts of lines are put together by a second launch, without tickets."""
WHOLE_BYTES = 1 << 17
"""Of a line up to which a block takes all of it, where there is one for each multiprocessor."""
FLAT = 64
"""Rows below which a thread takes all of its columns."""
WARP_MOVES = 512
"""Moves of a line from which on a block takes it."""
ONE_BLOCK = 2 * 4 * 1024
"""Moves that one block of 1024 threads makes sooner than several that wait for each other."""
THREADS = 512
"""Of a block that takes a long line."""
EVEN = 0.97
"""Share of a round of blocks that has to be full where there is only one round."""
FINE = 12
"""Blocks for each multiprocessor where rounds cannot be full."""


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
    of: Combining,
    new: New,
    out: Any,
    inp: Any,
    lie: Lie,
    processors: int = LIKE_H200,
    *,
    tickets: bool = True,
) -> Launch:
    """The launch that reduces `inp`, flat memory, to the lines of `out`; no line is empty.

    Without `tickets`, parts of a long line are left to a second launch.
    """
    many, per = lie.outer * lie.inner, 16 // of.dtype.itemsize
    if lie.length == 1 and many > 1 and _is_run(lie):  # a copy
        return _columns(of, new, out, inp, Lie(1, 1, many, 0, 0, 1, lie.beyond), processors)
    if lie.length_step == 1 or lie.length == 1:
        count = lie.length // per
        if count <= WARP_MOVES and (many * 32 >= processors * 256 or count <= 64):
            size = lie.length * of.dtype.itemsize
            if lie.length <= SINGLE and size <= SINGLE_BYTES:
                return _rows(of, out, inp, lie, wide=False, lanes=1)
            return _rows(of, out, inp, lie, wide=True)
        return _lines(of, new, out, inp, lie, processors, wide=True, tickets=tickets)
    if lie.inner_step == 1 and lie.inner > 1:
        run = lie.length_step == lie.inner
        if lie.inner < NARROW and run and lie.length * lie.inner >= RUN:
            return _narrow(of, new, out, inp, lie, processors)
        if lie.inner >= 16:
            return _columns(of, new, out, inp, lie, processors)
    if lie.length >= 1 << 14 and many < processors * 8:
        return _lines(of, new, out, inp, lie, processors, wide=False, tickets=tickets)
    return _rows(of, out, inp, lie, wide=False)


def _is_run(lie: Lie) -> bool:
    """Whether lines of one element follow each other without gaps."""
    within = lie.inner == 1 or lie.inner_step == 1
    return within and (lie.outer == 1 or lie.outer_step == lie.inner)


def _words(*numbers: int) -> tuple[Any, ...]:
    return tuple(np.uint32(number) for number in numbers)


def _rows(
    of: Combining, out: Any, inp: Any, lie: Lie, *, wide: bool, lanes: int | None = None
) -> Launch:
    many = lie.outer * lie.inner
    if lanes is None:
        moves = lie.length // (16 // of.dtype.itemsize) if wide else lie.length
        lanes, each = 1, 3 if wide else MOVES  # moves of a lane, about
        while lanes < 32 and lanes * each < moves:
            lanes *= 2
        if not wide and 1 < lie.inner and lie.inner_step < lie.length_step and many >= MANY:
            lanes = 1  # neighbouring lanes take neighbouring lines
    kernel = rows.rows_of(of, lanes, wide=wide)
    grid = -(-many * lanes // rows.THREADS)
    numbers = (many, lie.length, lie.length_step, lie.inner, lie.outer_step, lie.inner_step)
    return Launch(kernel, grid, rows.THREADS, (out, inp, *_words(*numbers)))


def _parts(work: int, groups: int, processors: int, resident: int) -> int:
    """Parts of each group, of at most `work`: one round of `resident` blocks, or many small ones.

    >>> _parts(1000, 1, 132, 3), _parts(1000, 7, 132, 3), _parts(1000, 50, 132, 3)
    (396, 56, 31)
    """
    if groups >= processors * FINE:
        return 1
    parts = max(1, resident * processors // groups)
    blocks = parts * groups
    rounds = -(-blocks // processors)
    if blocks < EVEN * rounds * processors:
        parts = FINE * processors // groups
    return max(1, min(work, parts))


def _own(
    of: Combining, new: New, parts: int, each: int, groups: int, *, tickets: bool = True
) -> tuple[Any, ...]:
    """Accumulators, places and tickets; of no element where a launch has no parts."""
    count = groups * parts * each if parts > 1 else 0
    some = scratch(new, (count,), of.partial)
    places = scratch(new, (count if of.places else 0,), np.uint32)
    return some, places, flags(new, (groups if parts > 1 and tickets else 0,), np.uint32)


def _lines(
    of: Combining,
    new: New,
    out: Any,
    inp: Any,
    lie: Lie,
    processors: int,
    *,
    wide: bool,
    tickets: bool,
) -> Launch:
    many, per = lie.outer * lie.inner, 16 // of.dtype.itemsize if wide else 1
    count = lie.length // per
    if count <= ONE_BLOCK and many < processors:
        form, parts = lines.Form(1024 if count > THREADS * MOVES else THREADS // 2, wide), 1
    else:
        form = lines.Form(THREADS if count >= THREADS * MOVES else THREADS // 2, wide)
        parts = _parts(-(-count // (form.threads * MOVES)), many, processors, 3)
        if many >= processors and lie.length * of.dtype.itemsize <= WHOLE_BYTES:
            parts = 1
    own = _own(of, new, parts, 1, many, tickets=tickets)
    numbers = (lie.length, lie.length_step, lie.inner, lie.outer_step, lie.inner_step, parts)
    kernel = lines.lines_of(of, form)
    return Launch(kernel, many * parts, form.threads, (out, inp, *own, *_words(*numbers)))


def _columns(of: Combining, new: New, out: Any, inp: Any, lie: Lie, processors: int) -> Launch:
    per = 16 // of.dtype.itemsize
    wide = lie.beyond == 0 and not any(
        number % per for number in (lie.inner, lie.length_step, lie.outer_step)
    )
    threads = lie.inner * lie.outer // (per if wide else 1)
    flat = lie.length < 16 or (lie.length < FLAT and threads >= 512 * processors)
    across = 256 if threads >= 512 * processors else 64
    form = columns.Form(across if flat else 32, 1 if flat else 8, wide=wide)
    tile = form.across * (per if wide else 1)
    tiles = -(-lie.inner // tile)
    groups = tiles * lie.outer
    chunks = -(-lie.length // (form.down * MOVES))
    size = lie.length * min(tile, lie.inner) * of.dtype.itemsize
    parts = _parts(min(chunks, -(-size // PART_BYTES)), groups, processors, 4)
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
    form = narrow.Form(512 if lie.length * lie.inner >= 1 << 13 else 128, wide=wide)
    moved = per if wide else 1
    period = lie.inner // gcd(lie.inner, moved)
    threads = form.threads // period * period
    size = lie.length * lie.inner * of.dtype.itemsize
    parts = _parts(-(-size // NARROW_BYTES), lie.outer, processors, 2)
    blocks = lie.outer * parts
    own = _own(of, new, parts, lie.inner, lie.outer)
    numbers = (lie.length, lie.inner, lie.outer_step, threads, parts)
    kernel = narrow.narrow_of(of, form)
    return Launch(kernel, blocks, form.threads, (out, inp, *own, *_words(*numbers)))


def launches(
    of: Combining, new: New, out: Any, inp: Any, lie: Lie, processors: int = LIKE_H200
) -> Sequence[Launch]:
    """`launch`, and a second one for the parts of long lines of a small array."""
    small = lie.outer * lie.length * lie.inner * of.dtype.itemsize <= TWICE_BYTES
    one = launch(of, new, out, inp, lie, processors, tickets=not small)
    if not small or one.kernel.__name__ != f"{of.name}_lines" or one.args[-1] == 1:
        return [one]
    _, _, values, places = one.args[:4]
    many, numbers = lie.outer * lie.inner, _words(lie.length, int(one.args[-1]))
    second = Launch(finish.finish_of(of), many, finish.THREADS, (out, values, places, *numbers))
    return [one, second]
