"""`stencil_framed` for other sizes, types, edges and widths.

`..rungs.stencil_framed` is the same kernel for 5x5 weights of float32 with its numbers in it: read
that one. A picture has an inside, whose windows do not reach beyond an edge, and a frame around it.
A thread makes `tall` rows of `wide` columns of the inside, or one element of the frame; blocks of
the frame come first, so that none of them is left for the end. Of a line a thread makes one row,
and all threads of a block lie side by side.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

from numba import cuda, int32, uint32

from ...ptx import load1, load16, store1, store16
from ...unrolled import device, jit, named
from .edges import OUTSIDE, edged
from .sliding import laid_out

THREADS = 128
HIGH = 4
"""Rows of a thread, but for lines."""
LANES = {HIGH: 32, 1: THREADS}
"""Threads of a block side by side."""


class Inside(NamedTuple):
    """Which part of a picture threads make 16 bytes at a time, and how many blocks it takes.

    Attributes:
        row: the first one.
        col: the first one.
        down: tiles of `tall` rows.
        across: chunks of columns.
        rows: of the inside.
        cols: of the inside.
        tall: rows of a thread.
    """

    row: int
    col: int
    down: int
    across: int
    rows: int
    cols: int
    tall: int = HIGH

    @property
    def blocks(self) -> tuple[int, int]:
        """Blocks down and across."""
        lanes = LANES[self.tall]
        return -(-self.down // (THREADS // lanes)), -(-self.across // lanes)


def chunks_of(size: tuple[int, int], wide: int, shift: int) -> int:
    """Chunks of a row that a thread loads."""
    return -(-(shift + size[1] + wide - 1) // wide)


def inside(rows: int, cols: int, size: tuple[int, int], up: int, left: int, wide: int) -> Inside:
    """The inside of a picture; without rows or columns where all windows reach beyond an edge.

    >>> inside(8192, 8192, (5, 5), 2, 2, 4)
    Inside(row=2, col=4, down=2047, across=2046, rows=8188, cols=8184, tall=4)
    >>> inside(1, 1001, (1, 3), 0, 1, 4)
    Inside(row=0, col=4, down=1, across=248, rows=1, cols=992, tall=1)
    """
    tall = HIGH if rows > 1 else 1
    shift = -left % wide
    near = chunks_of(size, wide, shift) * wide
    row, col = max(0, up), max(0, left + shift)
    down = max(0, min(rows, rows - size[0] + 1 + up) - row) // tall
    last = min(cols - wide, cols - near + left + shift)
    across = max(0, (last - col) // wide + 1)
    if not down or not across:
        return Inside(0, 0, 0, 0, 0, 0, tall)
    return Inside(row, col, down, across, down * tall, across * wide, tall)


@cache
def stencil_framed_of(
    number: Any,
    size: tuple[int, int],
    wide: int = 1,
    shift: int = 0,
    *,
    adds: bool = False,
    tall: int = HIGH,
) -> Any:
    """out = the window of inp, weighted, plus `before` where `adds` is set.

    Launch with blocks of `THREADS` threads in one axis: `frame_blocks` for the frame, which takes
    long for an element, then those of the inside.

    Args:
        number: type of all, float32 or float64.
        size: rows and columns of the weights.
        wide: columns per thread: 1, or as many as are 16 bytes, where rows begin at such.
        shift: columns from a multiple of `wide` to the first one of a window.
        adds: whether `before` is added.
        tall: rows of a thread: `HIGH`, or 1.
    """
    high, along = size
    lanes = LANES[tall]
    warps = THREADS // lanes
    chunks = chunks_of(size, wide, shift)
    near = chunks * wide
    sums, places_shape = (tall, wide), (high + along, THREADS)
    words = number.bitwidth // 32
    registers = words * (tall * wide + near) + 36
    resident = max(2, min(12, 512 // (-(-registers // 8) * 8)))

    @device
    def load_chunk(chunk, window, inp, at):
        if wide == 1:
            window[chunk] = load1(inp, uint32(at + uint32(chunk)))
        else:
            several = load16(inp, uint32(at + uint32(chunk * wide)))
            for x in range(wide):
                window[chunk * wide + x] = several[x]

    load_window = laid_out(chunks, load_chunk)

    @device
    def add(k, y, acc, weights, window):
        """Add row y of a thread's windows to column c of the result for which it is row i."""
        i, c = k // wide, k % wide
        r = y - i
        if r >= 0 and r < tall:
            for j in range(along):
                acc[r, c] += weights[i * along + j] * window[shift + c + j]

    adds_to = laid_out(high * wide, add)

    @device
    def take_row(y, inp, at, pitch, acc, weights, window):
        """Load row y of a thread's windows, and add it to the results that have it."""
        load_window((window, inp, uint32(at + uint32(y) * pitch)))
        adds_to((y, acc, weights, window))

    take_rows = laid_out(tall + high - 1, take_row)

    @device
    def store_row(r, out, before, to, pitch, acc):
        """Store a row of results."""
        place = uint32(to + uint32(r) * pitch)
        if wide == 1:
            value = acc[r, 0]
            if adds:
                value += load1(before, place)
            store1(out, place, value)
        elif wide == 2:
            first, second = acc[r, 0], acc[r, 1]
            if adds:
                two = load16(before, place)
                first += two[0]
                second += two[1]
            store16(out, place, (first, second))
        else:
            first, second, third, fourth = acc[r, 0], acc[r, 1], acc[r, 2], acc[r, 3]
            if adds:
                four = load16(before, place)
                first += four[0]
                second += four[1]
                third += four[2]
                fourth += four[3]
            store16(out, place, (first, second, third, fourth))

    store_rows = laid_out(tall, store_row)

    @device
    def add_edge(i, total, inp, base, cols, cval, weights, places, tx):
        """Add row i of the window of an element of the frame."""
        line = places[i, tx]
        for j in range(along):
            place = places[high + j, tx]
            value = cval
            if line != OUTSIDE and place != OUTSIDE:
                value = load1(inp, uint32(base + uint32(line * cols + place)))
            total[0] += weights[i * along + j] * value

    add_edges = laid_out(high, add_edge)

    @jit(launch_bounds=(THREADS, resident))
    def stencil(
        out,
        inp,
        before,
        images,
        rows,
        cols,
        row_in,
        col_in,
        down,
        across,
        frame_blocks,
        up,
        left,
        mode,
        cval,
        weights,
    ):
        places = cuda.shared.array(places_shape, int32)
        acc = cuda.local.array(sums, number)
        window = cuda.local.array(near, number)
        total = cuda.local.array(1, number)
        tx, block, pitch = int32(cuda.threadIdx.x), uint32(cuda.blockIdx.x), uint32(cols)
        if block >= frame_blocks:
            # 1. a tile of the inside, 16 bytes at a time
            block = uint32(block - uint32(frame_blocks))
            blocks_across = uint32((across + uint32(lanes - 1)) // uint32(lanes))
            chunk = uint32(block % blocks_across * uint32(lanes) + uint32(tx % lanes))
            block = uint32(block // blocks_across)
            blocks_down = uint32((down + uint32(warps - 1)) // uint32(warps))
            tile = uint32(block % blocks_down * uint32(warps) + uint32(tx // lanes))
            image = uint32(block // blocks_down)
            if image < images and tile < down and chunk < across:
                base = uint32(image * uint32(rows * cols))
                row = uint32(row_in + uint32(tall) * tile)
                col = uint32(col_in + uint32(wide) * chunk)
                for r in range(tall):
                    for c in range(wide):
                        acc[r, c] = number(0)
                at = uint32(base + uint32(row - uint32(up)) * pitch)
                at = uint32(at + col - uint32(left + shift))
                take_rows((inp, at, pitch, acc, weights, window))
                to = uint32(base + row * pitch + col)
                store_rows((out, before, to, pitch, acc))
        else:
            # 2. an element of the frame: rows above and below, then columns on both sides
            rows_in, cols_in = int32(down * uint32(tall)), int32(across * uint32(wide))
            bands = uint32((rows - rows_in) * cols)
            sides = uint32(cols - cols_in)
            frame = uint32(bands + uint32(rows_in) * sides)
            element = uint32(block * uint32(THREADS) + uint32(tx))
            image = uint32(element // frame)
            element = uint32(element % frame)
            if image < images:
                if element < bands:
                    row, col = int32(element // pitch), int32(element % pitch)
                    if row >= row_in:
                        row = int32(row + rows_in)
                else:
                    element = uint32(element - bands)
                    row, col = int32(row_in + element // sides), int32(element % sides)
                    if col >= col_in:
                        col = int32(col + cols_in)
                for i in range(high):
                    places[i, tx] = edged(int32(row + i - up), rows, mode)
                for j in range(along):
                    places[high + j, tx] = edged(int32(col + j - left), cols, mode)
                base = uint32(image * uint32(rows * cols))
                total[0] = number(0)
                add_edges((total, inp, base, cols, cval, weights, places, tx))
                to = uint32(base + uint32(row * cols + col))
                value = total[0]
                if adds:
                    value += load1(before, to)
                store1(out, to, value)

    return named(stencil, f"stencil_{high}x{along}")
