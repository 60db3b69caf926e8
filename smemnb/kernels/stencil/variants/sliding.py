"""`stencil_ahead` and `separable_sliding` for other sizes, types, edges and widths.

`..rungs.stencil_ahead` is the same kernel for 5x5 weights of float32 with its numbers in it: read
that one. Here a thread's columns are `wide` neighbours: 16 bytes where rows allow it, else one.
Threads are counted along the rows of a picture, so in a narrow one a warp has several strips.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from numba import cuda, int32, int64, uint32

from ...ptx import load1, load16, store1, store16
from ...unrolled import device, jit, named
from .edges import OUTSIDE, edged

THREADS = 128
WIDE_BYTES = 16
MOST_LAID_OUT = 200
"""Multiply-adds for a row up to which two rows stand one after the other: no window is moved."""


def laid_out(count: int, body: Any, first: int = 0) -> Any:
    """A device function of a tuple: it calls `body(k, *args)` for k = 0 ... count - 1.

    As `unroll`, but each half calls its halves: of 200 steps none is 200 calls deep.
    """
    if count == 1:

        @device
        def only(args):
            body(first, *args)

        return only

    before = laid_out(count // 2, body, first)
    after = laid_out(count - count // 2, body, first + count // 2)

    @device
    def both(args):
        before(args)
        after(args)

    return both


def _loads(wide: int, chunks: int) -> Any:
    """A device function that puts `chunks` times `wide` neighbours into a window."""

    @device
    def load_chunk(chunk, which, windows, inp, at, number):
        if wide == 1:
            windows[which, chunk] = number(load1(inp, uint32(at + uint32(chunk))))
        else:
            several = load16(inp, uint32(at + uint32(chunk * wide)))
            for x in range(wide):
                windows[which, chunk * wide + x] = number(several[x])

    return laid_out(chunks, load_chunk)


def stores(wide: int, stored: Any, adds: bool) -> Any:
    """A device function that stores the first sums, with what was there before added if asked."""

    @device
    def whole(value):
        if whole_numbers:  # cut towards 0 in 64 bits, the rest by what fits
            return stored(int64(value))
        return stored(value)

    whole_numbers = not hasattr(stored, "dtype") and str(stored)[:3] in ("int", "uin")

    @device
    def store_one(out, before, to, acc):
        value = acc[0, 0]
        if adds:
            value += load1(before, to)
        store1(out, to, whole(value))

    @device
    def store_two(out, before, to, acc):
        first, second = acc[0, 0], acc[0, 1]
        if adds:
            two = load16(before, to)
            first += two[0]
            second += two[1]
        store16(out, to, (first, second))

    @device
    def store_four(out, before, to, acc):
        first, second, third, fourth = acc[0, 0], acc[0, 1], acc[0, 2], acc[0, 3]
        if adds:
            four = load16(before, to)
            first += four[0]
            second += four[1]
            third += four[2]
            fourth += four[3]
        store16(out, to, (first, second, third, fourth))

    return {1: store_one, 2: store_two, 4: store_four}[wide]


@cache
def stencil_of(
    dtype: Any,
    stored: Any,
    number: Any,
    size: tuple[int, int],
    wide: int = 1,
    shift: int = 0,
    *,
    separable: bool = False,
    adds: bool = False,
) -> Any:
    """out = the window of inp, weighted, plus `before` where `adds` is set.

    Launch with blocks of `THREADS` threads in one axis, `across` of them for a strip of `walk` rows
    of a picture, `down` of which are a picture.

    Args:
        dtype: of inp, of Numba.
        stored: type of out; whole numbers are cut towards 0.
        number: type of sums and weights, float32 or float64.
        size: rows and columns of the weights.
        wide: columns per thread: 1, or as many as are 16 bytes, where rows begin at such.
        shift: columns from a multiple of `wide` to the first one of a window.
        separable: weights are a column, then a row, and stand for their products.
        adds: whether `before` is added.
    """
    high, across_size = size
    used = across_size + wide - 1
    chunks = -(-(shift + used) // wide)
    near = chunks * wide
    sums, places_shape = (high + 1, wide), (used, THREADS)
    phases = 2 if high * across_size * wide <= MOST_LAID_OUT and not separable else 1
    windows_shape = (2, near)
    load_window, store_sums = _loads(wide, chunks), stores(wide, stored, adds)
    words = number.bitwidth // 32
    registers = words * (high * wide + 2 * used) + 28
    resident = max(2, min(16, 512 // (-(-registers // 8) * 8)))

    @device
    def load_row(y, windows, inp, base, rows, cols, col, left, mode, cval, places, tx):
        """This thread's elements of row y, and what stands for them beyond an edge."""
        line = edged(y, rows, mode)
        for x in range(used):
            place = places[x, tx]
            windows[1, shift + x] = cval
            if line != OUTSIDE and place != OUTSIDE:
                at = uint32(base + uint32(line * cols + place))
                windows[1, shift + x] = number(load1(inp, at))

    @device
    def hand_on(windows):
        """What was under way is at hand."""
        for x in range(used):
            windows[0, shift + x] = windows[1, shift + x]

    @device
    def add_row(k, which, acc, weights, windows):
        """Sum s of column c moves up by one row, and takes what its window has of this row."""
        s, c = k // wide, k % wide
        total = acc[s + 1, c]
        for j in range(across_size):
            total += weights[(high - 1 - s) * across_size + j] * windows[which, shift + c + j]
        acc[s, c] = total

    @device
    def weigh_row(j, which, along, weights, windows):
        """Element j of the sums along the row."""
        for c in range(wide):
            along[c] += weights[high + j] * windows[which, shift + c + j]

    @device
    def add_along(s, acc, weights, along):
        """Sums s move up by one row, and take the row's sums."""
        for c in range(wide):
            acc[s, c] = acc[s + 1, c] + weights[high - 1 - s] * along[c]

    add_rows, add_alongs = laid_out(high * wide, add_row), laid_out(high, add_along)
    weigh_rows = laid_out(across_size, weigh_row)

    @device
    def add(which, acc, along, weights, windows):
        """Add the row at hand to all sums."""
        if separable:
            for c in range(wide):
                along[c] = number(0)
            weigh_rows((which, along, weights, windows))
            add_alongs((acc, weights, along))
        else:
            add_rows((which, acc, weights, windows))

    @device
    def step(phase, k, count, out, inp, before, at, to, cols, acc, along, weights, windows):
        """Row k + phase of a strip inside: the next one under way while this one is added."""
        row = uint32(k + uint32(phase))
        if row < count:
            if phases == 1:
                hand_on(windows)
            if row + uint32(1) < count:
                following = uint32(at + uint32(row + uint32(1)) * cols)
                load_window((1 - phase, windows, inp, following, number))
            add(phase, acc, along, weights, windows)
            if row >= uint32(high - 1):
                store_sums(out, before, uint32(to + uint32(row - uint32(high - 1)) * cols), acc)

    steps = laid_out(phases, step)

    @jit(launch_bounds=(THREADS, resident))
    def stencil(
        out,
        inp,
        before,
        images,
        rows,
        cols,
        down,
        across,
        walk,
        up,
        left,
        mode,
        cval,
        weights,
    ):
        places = cuda.shared.array(places_shape, int32)
        windows = cuda.local.array(windows_shape, number)
        along = cuda.local.array(wide, number)
        acc = cuda.local.array(sums, number)
        tx = int32(cuda.threadIdx.x)

        # 1. this thread's columns, and the strip of rows that it walks down
        thread = uint32(cuda.blockIdx.x * THREADS + tx)
        strip = uint32(thread // across)
        col = int32(thread % across * uint32(wide))
        row0 = int32(strip % down * walk)
        image = uint32(strip // down)
        if image >= images or col >= cols:
            return
        base = uint32(image * uint32(rows * cols))
        for s in range(high + 1):
            for c in range(wide):
                acc[s, c] = number(0)
        start = int32(col - left - shift)
        first = int32(row0 - up)
        last = int32(min(row0 + int32(walk), rows) - up + high - 1)

        # 2. inside of the picture: 16 bytes at a time, and nothing to ask
        if start >= 0 and start + near <= cols and first >= 0 and last <= rows:
            at = uint32(base + uint32(first * cols + start))
            to = uint32(base + uint32(row0 * cols + col))
            pitch, count = uint32(cols), uint32(last - first)
            load_window((2 - phases if phases == 1 else 0, windows, inp, at, number))
            k = uint32(0)
            while k < count:
                steps((k, count, out, inp, before, at, to, pitch, acc, along, weights, windows))
                k = uint32(k + uint32(phases))
        else:
            # 3. at an edge: which column stands at each place is the same in all rows
            for x in range(used):
                places[x, tx] = edged(int32(start + shift + x), cols, mode)
            load_row(first, windows, inp, base, rows, cols, col, left, mode, cval, places, tx)
            y = first
            while y < last:
                hand_on(windows)
                y = int32(y + 1)
                if y < last:
                    load_row(y, windows, inp, base, rows, cols, col, left, mode, cval, places, tx)
                add(0, acc, along, weights, windows)
                row = int32(y - high + up)
                if row >= row0:
                    store_sums(out, before, uint32(base + uint32(row * cols + col)), acc)

    return named(stencil, f"stencil_{high}x{across_size}")
