"""`stencil_async` for other sizes, types and edges, and for rows that begin anywhere.

`..rungs.stencil_async` is the same kernel for 5x5 weights of float32 with its numbers in it: read
that one. Here a warp's columns are 32 times `wide`, those of 16 bytes for each lane. Where rows do
not begin at multiples of 16 bytes, a warp asks for them element by element, neighbours side by
side, and passes its results through shared memory, so that it stores them in the same manner.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from numba import cuda, int32, uint32

from ...ptx import load1, load16, store1
from ...ptx_async import commit, copy1, copy16, wait_for
from ...unrolled import device, jit, named
from .edges import OUTSIDE, edged
from .sliding import THREADS, WIDE_BYTES, laid_out, stores

SLOTS = 4
"""Rows of a ring, a power of two: one at hand, the others under way."""


def passes_of(number: Any, size: tuple[int, int], shift: int) -> int:
    """How often 32 lanes ask one by one for what a warp needs of a row."""
    return -(-_slot_size(number, size, shift) // 32)


def _slot_size(number: Any, size: tuple[int, int], shift: int) -> int:
    """Elements of a row for a warp."""
    wide = WIDE_BYTES * 8 // int(number.bitwidth)
    return 32 * wide + (shift + size[1] - 2 + wide) // wide * wide


@cache
def stencil_streamed_of(
    number: Any,
    size: tuple[int, int],
    shift: int = 0,
    *,
    whole: bool = True,
    separable: bool = False,
    adds: bool = False,
) -> Any:
    """out = the window of inp, weighted, plus `before` where `adds` is set.

    Launch with blocks of `THREADS` threads in one axis, 32 of them for a strip of `walk` rows;
    `passes` is `passes_of` these, an argument so that the compiler lays no loop out.

    Args:
        number: type of all, float32 or float64.
        size: rows and columns of the weights.
        shift: columns from a multiple of `wide` to the first one of a window.
        whole: whether rows of all arrays begin at multiples of 16 bytes.
        separable: weights are a column, then a row, and stand for their products.
        adds: whether `before` is added.
    """
    high, along_size = size
    bytes_each = number.bitwidth // 8
    wide = WIDE_BYTES // bytes_each
    used = along_size + wide - 1
    chunks = -(-(shift + used) // wide)
    near = chunks * wide
    slot_size = _slot_size(number, size, shift)
    more = chunks - 1  # chunks beyond one per lane
    ring_size = SLOTS * slot_size
    rings_size = THREADS // 32 * ring_size
    results_size = THREADS * wide
    places_size = THREADS // 32 * slot_size
    sums = (high + 1, wide)
    words = bytes_each // 4
    registers = words * (high * wide + used) + (26 if whole else 34)
    resident = max(2, min(16, 512 // (-(-registers // 8) * 8)))
    wait, store_sums = wait_for(SLOTS - 2), stores(wide, number, adds)

    @device
    def ask_row(
        rings, slot, inp, base, y, rows, cols, first, inner, passes, places, lane, mode, cval
    ):
        """Ask for a row, from column `first` on: what the warp's windows have of it."""
        line = edged(y, rows, mode)
        if line == OUTSIDE:
            for k in range(passes):
                x = uint32(lane + 32 * k)
                if x < slot_size:
                    store1(rings, uint32(slot + x), cval)
                cuda.syncwarp()
        elif inner:
            x = uint32(wide * lane)
            start = uint32(base + uint32(line * cols + first) + x)
            copy16(rings, uint32(slot + x), inp, start)
            if lane < more:
                x = uint32(32 * wide)
                copy16(rings, uint32(slot + wide * lane + x), inp, uint32(start + x))
        else:
            start = uint32(base + uint32(line * cols))
            for k in range(passes):
                x = uint32(lane + 32 * k)
                if x < slot_size:
                    place = places[slot_size * (cuda.threadIdx.x // 32) + x]
                    if place == OUTSIDE:
                        store1(rings, uint32(slot + x), cval)
                    else:
                        copy1(rings, uint32(slot + x), inp, uint32(start + uint32(place)))
                cuda.syncwarp()  # which also keeps the compiler from laying the loop out

    @device
    def read_chunk(chunk, window, rings, at):
        several = load16(rings, uint32(at + chunk * wide))
        for x in range(wide):
            window[chunk * wide + x] = several[x]

    @device
    def add_row(k, acc, weights, window):
        """Sum s of column c moves up by one row, and takes what its window has of this row."""
        s, c = k // wide, k % wide
        total = acc[s + 1, c]
        for j in range(along_size):
            total += weights[(high - 1 - s) * along_size + j] * window[shift + c + j]
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

    read_window = laid_out(chunks, read_chunk)
    add_rows, add_alongs = laid_out(high * wide, add_row), laid_out(high, add_along)
    weigh_rows = laid_out(along_size, weigh_row)

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
        passes,
        weights,
    ):
        rings = cuda.shared.array(rings_size, number, alignment=16)
        places = cuda.shared.array(places_size, int32)
        if not whole:
            results = cuda.shared.array(results_size, number, alignment=16)
        window = cuda.local.array(near, number)
        along = cuda.local.array(wide, number)
        acc = cuda.local.array(sums, number)
        tx = int32(cuda.threadIdx.x)
        lane = int32(tx % 32)

        # 1. this warp's columns, and the strip of rows that it walks down
        strip = uint32(cuda.blockIdx.x * (THREADS // 32) + tx // 32)
        col0 = int32(strip % across * uint32(32 * wide))
        strip = uint32(strip // across)
        row0 = int32(strip % down * uint32(walk))
        image = uint32(strip // down)
        if image >= images:
            return
        base = uint32(image * uint32(rows * cols))
        first = int32(col0 - left - shift)
        for s in range(high + 1):
            for c in range(wide):
                acc[s, c] = number(0)
        top = int32(row0 - up)
        last = int32(min(row0 + walk, rows) - up + high - 1)

        # 2. where a row ends: which columns stand at each place, of which a lane asks for its own
        inner = whole and first >= 0 and first + slot_size <= cols
        if not inner:
            for k in range(passes):
                x = int32(lane + 32 * k)
                if x < slot_size:
                    places[slot_size * (tx // 32) + x] = edged(int32(first + x), cols, mode)
                cuda.syncwarp()

        ring = int32(tx // 32 * ring_size)
        y = int32(top - SLOTS + 1)
        while y < last:
            # 3. wait for the row at hand, and read it
            if y >= top:
                wait()
                cuda.syncwarp()  # it is there for all lanes, and all have read the one before it
                at = int32(ring + ((y - top) & (SLOTS - 1)) * slot_size + wide * lane)
                read_window((window, rings, at))

            # 4. ask for the one that takes the place of the row before it
            ahead = int32(y + SLOTS - 1)
            if ahead < last:
                slot = int32(ring + ((ahead - top) & (SLOTS - 1)) * slot_size)
                ask_row(
                    rings,
                    slot,
                    inp,
                    base,
                    ahead,
                    rows,
                    cols,
                    first,
                    inner,
                    passes,
                    places,
                    lane,
                    mode,
                    cval,
                )
            commit()

            if y >= top:
                # 5. add the row at hand to the sums
                if separable:
                    for c in range(wide):
                        along[c] = number(0)
                    weigh_rows((along, weights, window))
                    add_alongs((acc, weights, along))
                else:
                    add_rows((acc, weights, window))

                # 6. store the row of out that is complete
                row = int32(y - high + 1 + up)
                if row >= row0:
                    start = uint32(base + uint32(row * cols + col0))
                    if whole:
                        if col0 + wide * lane < cols:
                            store_sums(out, before, uint32(start + uint32(wide * lane)), acc)
                    else:
                        for c in range(wide):
                            store1(results, uint32(wide * tx + c), acc[0, c])
                        cuda.syncwarp()  # all lanes' results are there
                        for c in range(wide):
                            x = int32(lane + 32 * c)
                            if col0 + x < cols:
                                to = uint32(start + uint32(x))
                                value = load1(results, uint32(tx // 32 * (32 * wide) + x))
                                if adds:
                                    value += load1(before, to)
                                store1(out, to, value)
            y = int32(y + 1)

    return named(stencil, f"stencil_{high}x{along_size}")
