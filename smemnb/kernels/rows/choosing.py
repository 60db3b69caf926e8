"""Which kernel an array of some shape gets; `TUNING.md` has the readings behind the numbers.

`row_launches` and `column_launches` say the launches outright, for arrays of any kind that a `Step`
takes: they look at `shape`, `strides` and `dtype`, and where an array begins.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import float32, float64

from ..step import Launch, New, flags, scratch
from .ladder import behind, quads
from .variants import single
from .variants.columns import columns_of, long_columns_of
from .variants.parts import trailing_parts_of
from .variants.pieces import WARP, Form, Shape
from .variants.registers import rows_of

TYPES = {"float32": float32, "float64": float64}

MOST_THREADS = 1024
SMALL_BLOCK = 128
"""Threads of a block whose rows are of a warp or less."""
HELD_BYTES = 64
"""Of a row in a lane: 4 loads of 16 bytes, or 16 elements of 4. Fewer leave too little under way,
more too few threads."""
SHORT_BYTES, SHORT_HELD_BYTES = 1024, 32
"""Rows up to so many bytes have half as much in a lane, or a warp would be spread over many."""
SHORTEST_BYTES, SHORTEST_HELD_BYTES = 64, 16
"""And rows up to so many one load of 16 bytes: more per lane, and lanes lie apart."""
SHORTEST_ELEMENTS, SHORTEST_HELD = 32, 4
"""Where elements come one by one, rows of up to so many have so many in a lane."""
MOST_HELD_BYTES = 128
"""In a lane of the largest block, and of a part: 32 registers of 64."""
MOST_ONE_BY_ONE_BYTES = 96
"""Of elements of 8 bytes that come one by one: with more, registers do not suffice."""
CHUNKS = (1, 2, 3, 4, 5, 6, 8, 9, 10, 12, 14, 16, 20, 24, 28, 32)
"""Of a lane: so many lengths share a kernel. What a row lacks of the last chunks is worked on all
the same, as minus infinity or 0, and costs instructions."""
LIVING_THREADS = 1536
"""On a multiprocessor, for which blocks of 256 threads or more leave registers: 40 for each. Of
elements of 8 bytes, whose exponential takes more, 1024: 64 for each."""
PART_THREADS, PART_RESIDENT = 256, {4: 4, 8: 3}
"""Of a part; bytes of an element -> blocks on a multiprocessor."""
PART_HELD = {True: 8, False: 16}
"""Wide or not -> chunks of a thread that has a part of a row; half of them of 8 bytes each."""


def row_shape(length: int, itemsize: int, wide: bool) -> Shape | None:
    """How rows of this length lie in registers; None of those too long for a block.

    >>> row_shape(1000, 4, True), row_shape(7, 4, False), row_shape(32768, 4, True).threads
    (Shape(threads=64, lanes=64, chunks=4, wide=True, resident=1), \
Shape(threads=128, lanes=2, chunks=4, wide=False, resident=1), 1024)
    """
    size, chunk = length * itemsize, 16 if wide else itemsize
    per_lane = SHORT_HELD_BYTES if size <= SHORT_BYTES else HELD_BYTES
    if wide and size <= SHORTEST_BYTES:
        per_lane = SHORTEST_HELD_BYTES
    if not wide and length <= SHORTEST_ELEMENTS:
        per_lane = SHORTEST_HELD * itemsize
    lanes = 1
    while lanes * per_lane < size and lanes < MOST_THREADS:
        lanes *= 2
    needed = -(-size // (lanes * chunk))
    if needed * chunk > (MOST_HELD_BYTES if wide or itemsize == 4 else MOST_ONE_BY_ONE_BYTES):
        return None
    chunks = next(count for count in CHUNKS if count >= needed)
    threads = lanes if lanes > WARP else SMALL_BLOCK
    return Shape(threads, lanes, chunks, wide, _resident(threads, chunks, itemsize, wide))


def _resident(threads: int, chunks: int, itemsize: int, wide: bool) -> int:
    """Blocks on a multiprocessor for which the compiler is to leave registers."""
    if itemsize == 8:
        return MOST_THREADS // threads if threads > SMALL_BLOCK else 1
    if threads == MOST_THREADS:
        return 2 if wide and chunks <= 4 else 1
    return LIVING_THREADS // threads if threads > SMALL_BLOCK else 1


def row_launches(
    form: Form,
    new: New,
    out: Any,
    inp: Any,
    weight: Any,
    bias: Any,
    eps: float,
    processors: int,
) -> list[Launch]:
    """What to launch for the rows of a matrix; `weight` and `bias` may be None."""
    rows, length = inp.shape
    dtype, size = TYPES[inp.dtype.name], inp.dtype.itemsize
    more = [one for one in (weight, bias) if one is not None]
    wide = quads(out, inp, *more)
    weight, bias = inp if weight is None else weight, inp if bias is None else bias
    number = inp.dtype.type(eps)
    if length == 1 and form.is_softmax and (rows == 1 or inp.strides[0] == size):
        flat = [one.reshape(-1) if hasattr(one, "reshape") else one.flat() for one in (out, inp)]
        blocks = -(-rows // (single.THREADS * single.HELD))
        return [Launch(single.single_of(form, dtype), blocks, single.THREADS, tuple(flat))]
    shape = row_shape(length, size, wide)
    if shape is not None:
        kernel = rows_of(form, shape, dtype)
        args: tuple[Any, ...] = (out, inp, weight, bias, number)
        return [Launch(kernel, -(-rows // shape.rows), shape.threads, args)]
    held = PART_HELD[wide] if wide or size == 4 else PART_HELD[wide] // 2
    shape = Shape(PART_THREADS, PART_THREADS, held, wide, PART_RESIDENT[size])
    parts = -(-length // shape.most(size))
    blocks, count = rows * parts, np.uint32(parts)
    firsts, seconds = (scratch(new, (blocks,), inp.dtype) for _ in range(2))
    kernel = trailing_parts_of(form, shape, dtype)
    words = flags(new, (1 + 2 * rows,), np.dtype(np.uint32))
    late = behind(rows, parts, processors * PART_RESIDENT[size])
    args = (out, inp, weight, bias, firsts, seconds, words, count, np.uint32(late), number)
    return [Launch(kernel, blocks + late * parts, shape.threads, args)]


# --- columns -------------------------------------------------------------------------------------

COLUMNS = 32
"""Neighbouring columns of a group of threads, where there are so many: 128 bytes of float32."""
FEW_LINES = 16
"""Elements of a column in a thread, where threads suffice."""
MOST_HELD = {4: 32, 8: 16}
"""Bytes of an element -> elements of a column in a thread at most."""
TWICE_THREADS, TWICE_HELD = 512, 8


def column_shape(length: int, inner: int, itemsize: int) -> tuple[int, int, int, int, int]:
    """(threads, chunks, width, lines, groups); no chunks for columns that are read twice.

    >>> column_shape(100, 1000, 4), column_shape(1000, 1000, 4), column_shape(20, 3, 4)
    ((256, 16, 32, 7, 1), (1024, 32, 32, 32, 1), (256, 16, 3, 2, 42))
    """
    width = min(inner, COLUMNS)
    lines = min(-(-length // FEW_LINES), MOST_THREADS // width)
    held = -(-length // lines)
    if held > MOST_HELD[itemsize]:
        lines = TWICE_THREADS // width
        return TWICE_THREADS, 0, width, lines, 1
    chunks = 1
    while chunks < held:
        chunks *= 2
    threads = 256
    while threads < width * lines:
        threads *= 2
    return threads, chunks, width, lines, threads // (width * lines)


def column_launches(
    form: Form,
    new: New,
    out: Any,
    inp: Any,
    outer: int,
    length: int,
    inner: int,
    processors: int,
) -> list[Launch]:
    """What to launch for the columns of `outer` slabs of length x inner, arrays of one axis."""
    dtype, size = TYPES[inp.dtype.name], inp.dtype.itemsize
    threads, chunks, width, lines, groups = column_shape(length, inner, size)
    numbers = tuple(np.uint32(one) for one in (outer, length, inner, width, lines, groups))
    if chunks:
        kernel = columns_of(form, threads, chunks, dtype)
    else:
        kernel = long_columns_of(form, threads, TWICE_HELD, dtype)
    blocks = -(-outer * -(-inner // width) // groups)
    return [Launch(kernel, blocks, threads, (out, inp, *numbers))]
