"""`stencil_ahead` and `separable_sliding` for other sizes, types, edges and widths.

`..rungs.stencil_ahead` is the same kernel for 5x5 weights of float32 with its numbers in it: read
that one. Here a thread's columns are `wide` neighbours: 16 bytes where rows allow it, else one.
Where a picture is narrow, the threads of a warp share out strips of `walk` rows.
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
    """A device function that puts `chunks` times `wide` neighbours into `window`."""

    @device
    def load_chunk(chunk, window, inp, at, number):
        if wide == 1:
            window[chunk] = number(load1(inp, uint32(at + uint32(chunk))))
        else:
            several = load16(inp, uint32(at + uint32(chunk * wide)))
            for x in range(wide):
                window[chunk * wide + x] = number(several[x])

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

    Launch with blocks of `THREADS` threads in one axis, `lanes` of them for a strip.

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
    load_window, store_sums = _loads(wide, chunks), stores(wide, stored, adds)
    words = number.bitwidth // 32
    registers = words * ((high + 1) * wide + 2 * used) + 24
    resident = max(2, min(16, 512 // (-(-registers // 8) * 8)))

    @device
    def load_row(y, window, inp, base, rows, cols, col, left, mode, cval, places, tx):
        """This thread's elements of row y, and what stands for them beyond an edge."""
        line = edged(y, rows, mode)
        start = int32(col - left)
        if line == OUTSIDE:
            for x in range(near):
                window[x] = cval
        elif start - shift >= 0 and start - shift + near <= cols:
            load_window((window, inp, uint32(base + uint32(line * cols + start - shift)), number))
        else:
            for x in range(used):
                place = places[x, tx]
                window[shift + x] = cval
                if place != OUTSIDE:
                    window[shift + x] = number(
                        load1(inp, uint32(base + uint32(line * cols + place)))
                    )

    @device
    def add_row(k, acc, weights, window):
        """Sum s of column c moves up by one row, and takes what its window has of this row."""
        s, c = k // wide, k % wide
        total = acc[s + 1, c]
        for j in range(across_size):
            total += weights[(high - 1 - s) * across_size + j] * window[shift + c + j]
        acc[s, c] = total

    @device
    def weigh_row(j, along, weights, window):
        """Element j of the sums along the row."""
        for c in range(wide):
            along[c] += weights[high + j] * window[shift + c + j]

    @device
    def add_along(s, acc, weights, along):
        """Sums s move up by one row, and take the row's sums."""
        for c in range(wide):
            acc[s, c] = acc[s + 1, c] + weights[high - 1 - s] * along[c]

    add_rows, add_alongs = laid_out(high * wide, add_row), laid_out(high, add_along)
    weigh_rows = laid_out(across_size, weigh_row)

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
        lanes,
        walk,
        up,
        left,
        mode,
        cval,
        weights,
    ):
        places = cuda.shared.array(places_shape, int32)
        window = cuda.local.array(near, number)
        coming = cuda.local.array(near, number)
        along = cuda.local.array(wide, number)
        acc = cuda.local.array(sums, number)
        tx = int32(cuda.threadIdx.x)

        # 1. this thread's columns, and the strip of rows that it walks down
        thread = uint32(cuda.blockIdx.x * THREADS + tx)
        strip, lane = uint32(thread // lanes), uint32(thread % lanes)
        col = int32((strip % across * lanes + lane) * wide)
        strip = uint32(strip // across)
        row0 = int32(strip % down * walk)
        image = uint32(strip // down)
        if image >= images or col >= cols:
            return
        base = uint32(image * uint32(rows * cols))
        start = int32(col - left)
        if start - shift < 0 or start - shift + near > cols:
            for x in range(used):
                places[x, tx] = edged(int32(start + x), cols, mode)
        for s in range(high + 1):
            for c in range(wide):
                acc[s, c] = number(0)
        first = int32(row0 - up)
        last = int32(min(row0 + int32(walk), rows) - up + high - 1)

        # 2. row by row, the next one under way while one is added
        load_row(first, coming, inp, base, rows, cols, col, left, mode, cval, places, tx)
        y = first
        while y < last:
            for x in range(used):
                window[shift + x] = coming[shift + x]
            y = int32(y + 1)
            if y < last:
                load_row(y, coming, inp, base, rows, cols, col, left, mode, cval, places, tx)
            if separable:
                for c in range(wide):
                    along[c] = number(0)
                weigh_rows((along, weights, window))
                add_alongs((acc, weights, along))
            else:
                add_rows((acc, weights, window))

            # 3. the row of out that is complete
            row = int32(y - high + up)
            if row >= row0:
                to = uint32(base + uint32(row * cols + col))
                store_sums(out, before, to, acc)

    return named(stencil, f"stencil_{high}x{across_size}")
