"""How a convolution is cut into launches: pieces of its weights, strips of its rows.

pieces      weights of more than `MOST_TAPS` go piece by piece, each added to what is there
factors     weights that are a column times a row are one: `separable`
strips      how many rows a thread walks down, how many threads share out a strip's columns
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numba import float32, float64, int8, int16, int32, int64, uint8, uint16, uint32, uint64

from ..step import Launch, New, scratch
from .variants.edges import MODES
from .variants.framed import inside, stencil_framed_of
from .variants.sliding import THREADS, WIDE_BYTES, stencil_of

TYPES = {
    one.name: one
    for one in (
        *(float32, float64, int8, int16, int32, int64),
        *(uint8, uint16, uint32, uint64),
    )
}
"""Types of elements by NumPy's names."""

MOST_TAPS, MOST_HIGH, MOST_ACROSS = 81, 15, 15
"""Of one kernel: multiply-adds per element, rows under way, elements of a row."""
SEPARABLE_TAPS = 60
"""Of more than so many weights it pays to make the sums of rows first: those of 8x8 are no limit
yet, as memory is."""
SEPARABLE_ERROR = 2.0**-21
"""What products of a column and a row may differ from the weights that they stand for, of each."""

FRAMED = 0.75
"""Share of a picture that lies inside, above which its frame gets blocks of its own."""


class Geometry(NamedTuple):
    """A stack of pictures: `images` of them with `rows` x `cols` elements, one after the other."""

    images: int
    rows: int
    cols: int


class Strips(NamedTuple):
    """Who makes what: strips of `walk` rows, `down` below each other and `across` side by side."""

    walk: int
    down: int
    across: int


def strips(shape: Geometry, wide: int, high: int, most: int) -> Strips:
    """Strips of `wide` columns for weights of `high` rows, of which so many are made at once.

    Longer ones read fewer rows twice, and leave less to share out among threads.

    >>> strips(Geometry(1, 8192, 8192), 4, 15, 132 * 512)
    Strips(walk=56, down=147, across=2048)
    >>> strips(Geometry(1, 100, 12), 4, 3, 132 * 1024)
    Strips(walk=1, down=100, across=3)
    """
    across = -(-shape.cols // wide)
    walk = -(-shape.images * shape.rows * across // most)
    walk = max(1, min(walk, max(8, 4 * (high - 1))))
    down = max(1, -(-shape.rows // walk))
    return Strips(-(-shape.rows // down), down, across)


def factors(weights: np.ndarray[Any, Any]) -> tuple[Any, Any] | None:
    """The column and the row whose products the weights are, if they are.

    >>> down, across = factors(np.outer([1.0, 2.0, 1.0], [3.0, 5.0]))
    >>> np.outer(down, across)
    array([[ 3.,  5.],
           [ 6., 10.],
           [ 3.,  5.]])
    >>> factors(np.eye(2))
    """
    if not np.isfinite(weights).all():
        return None
    row, col = np.unravel_index(np.argmax(abs(weights)), weights.shape)
    largest = weights[row, col]
    if largest == 0:
        return None
    down, across = weights[:, col] / largest, weights[row]
    near = abs(np.outer(down, across) - weights) <= SEPARABLE_ERROR * abs(weights)
    return (down, across) if near.all() else None


def cut(extent: int, most: int) -> list[tuple[int, int]]:
    """Parts of nearly equal length, (first, length) each.

    >>> cut(31, 15)
    [(0, 11), (11, 10), (21, 10)]
    """
    parts = -(-extent // most)
    ends = [extent * part // parts for part in range(parts + 1)]
    lengths = sorted((b - a for a, b in pairwise(ends)), reverse=True)
    return [(sum(lengths[:at]), length) for at, length in enumerate(lengths)]


def pieces(size: tuple[int, int]) -> Iterator[tuple[slice, slice]]:
    """Rows and columns of the weights of each kernel."""
    high, wide = size
    columns = cut(wide, MOST_ACROSS)
    rows = cut(high, min(MOST_HIGH, MOST_TAPS // columns[0][1]))
    for row, length in rows:
        for col, width in columns:
            yield slice(row, row + length), slice(col, col + width)


class Window(NamedTuple):
    """What is weighed, and where it lies.

    Attributes:
        weights: two axes, in the order in which they lie on the picture.
        up: rows of them before the element that they belong to.
        left: columns of them before it.
        mode: one of `MODES`.
        cval: what stands beyond an edge in mode "constant".
    """

    weights: np.ndarray[Any, Any]
    up: int
    left: int
    mode: str
    cval: float


def convolution(
    new: New, out: Any, inp: Any, shape: Geometry, window: Window, processors: int
) -> Sequence[Launch]:
    """The launches of a convolution; `out` and `inp` lie without gaps, flat.

    Args:
        new: makes arrays that the launches need beside their arguments.
        out: of the type of inp.
        inp: of one of `TYPES`.
        shape: of both.
        window: what is weighed.
        processors: multiprocessors that work; 0 in the engine.
    """
    processors = max(1, processors)
    number = np.dtype(np.float32 if inp.dtype == np.float32 else np.float64)
    parts = None
    if number == np.float32 and window.weights.size > SEPARABLE_TAPS:
        parts = factors(window.weights)
    if parts is None:
        return _by_pieces(new, out, inp, shape, window, number, processors)
    high, wide = window.weights.shape
    if high <= MOST_HIGH and wide <= MOST_ACROSS:
        both = np.concatenate(parts)
        return [_launch(out, inp, None, shape, window, both, number, processors, separable=True)]
    sums = scratch(new, (out.size,), number)
    down, across = (parts[0][:, None], parts[1][None, :])
    first = window._replace(weights=across, up=0)
    second = window._replace(weights=down, left=0, cval=window.cval * float(across.sum()))
    return [
        *_by_pieces(new, sums, inp, shape, first, number, processors),
        *_by_pieces(new, out, sums, shape, second, number, processors),
    ]


def _by_pieces(
    new: New,
    out: Any,
    inp: Any,
    shape: Geometry,
    window: Window,
    number: np.dtype[Any],
    processors: int,
) -> list[Launch]:
    """A launch for each piece of the weights; sums between them are of type `number`."""
    every = list(pieces(window.weights.shape))
    sums = out
    if len(every) > 1 and out.dtype != number:
        sums = scratch(new, (out.size,), number)
    launches = []
    for at, (rows, cols) in enumerate(every):
        piece = window._replace(
            weights=window.weights[rows, cols],
            up=window.up - rows.start,
            left=window.left - cols.start,
        )
        target = out if at == len(every) - 1 else sums
        before = sums if at else None
        weights = piece.weights.ravel()
        launches.append(_launch(target, inp, before, shape, piece, weights, number, processors))
    return launches


def _launch(
    out: Any,
    inp: Any,
    before: Any,
    shape: Geometry,
    window: Window,
    weights: np.ndarray[Any, Any],
    number: np.dtype[Any],
    processors: int,
    *,
    separable: bool = False,
) -> Launch:
    wide, size = _wide(shape, out, inp), window.weights.shape
    kind, shift = TYPES[number.name], -window.left % wide
    edge = np.int32(MODES.index(window.mode)), number.type(window.cval)
    before_it = np.int32(window.up), np.int32(window.left)
    extents = np.uint32(shape.images), np.int32(shape.rows), np.int32(shape.cols)
    arrays = out, inp, inp if before is None else before
    end = (*before_it, *edge, tuple(weights.astype(number)))
    if shape.images * shape.rows == 1 and not separable:  # of a line only its begin counts
        wide = _wide(shape._replace(cols=WIDE_BYTES), out, inp)
        shift = -window.left % wide
    part = inside(shape.rows, shape.cols, size, window.up, window.left, wide)
    share = part.rows * part.cols / (shape.rows * shape.cols)
    if inp.dtype == out.dtype == number and not separable and share >= FRAMED:
        kernel = stencil_framed_of(kind, size, wide, shift, adds=before is not None, tall=part.tall)
        blocks = shape.images * part.blocks[0] * part.blocks[1]
        frame = -(-shape.images * (shape.rows * shape.cols - part.rows * part.cols) // THREADS)
        places = np.int32(part.row), np.int32(part.col), *map(np.uint32, part[2:4])
        numbers = (*extents, *places, np.uint32(frame), *end)
        return Launch(kernel, blocks + frame, THREADS, (*arrays, *numbers))
    types = TYPES[inp.dtype.name], TYPES[out.dtype.name], kind
    form = {"separable": separable, "adds": before is not None}
    wide = _wide(shape, out, inp)
    kernel = stencil_of(*types, size, wide, -window.left % wide, **form)
    by = strips(shape, wide, size[0], processors * threads_of(kernel))
    numbers = (*extents, np.uint32(by.down), np.uint32(by.across), np.int32(by.walk), *end)
    blocks = -(-shape.images * by.down * by.across // THREADS)
    return Launch(kernel, blocks, THREADS, (*arrays, *numbers))


def threads_of(kernel: Any) -> int:
    """Threads of a kernel that a multiprocessor has room for, as its launch bounds promise."""
    threads, blocks = kernel.targetoptions["launch_bounds"]
    return int(threads) * int(blocks)


def _wide(shape: Geometry, out: Any, inp: Any) -> int:
    """Columns per thread: those in 16 bytes, where rows of both begin at such."""
    size = inp.dtype.itemsize
    whole = inp.dtype.kind == "f" and out.dtype == inp.dtype
    whole = whole and shape.cols * size % WIDE_BYTES == 0
    aligned = all(getattr(one, "aligned", lambda _: True)(WIDE_BYTES) for one in (out, inp))
    return WIDE_BYTES // size if whole and aligned else 1
