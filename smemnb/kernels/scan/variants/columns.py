"""Scans along an axis that is not the last one: neighbouring threads take neighbouring columns.

An array of (outer, length, inner) elements, all in a row in memory, has outer * inner columns.

    scan_columns_of(combining, exclusive)       a thread goes down a column:
        kernel(out, inp, columns, length, inner)
    scan_cut_columns_of(combining, exclusive)   columns are cut into tiles that look back:
        kernel(out, inp, words, outer, length, inner, wide, tiles)

The first is for many columns, or short ones. In the second a block has `wide` columns, at most 32,
and 256 // wide groups of threads below each other with `DEEP` elements each; `tile_rows` says how
many rows that are. Below 2^32 elements.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from numba import cuda, uint32, uint64

from ...ptx import load1, store1
from ...ptx.relaxed import bits_of
from ...unrolled import jit, named
from ..combining import Combining
from ..lookback import LOW, say, sum_before_of, take

THREADS = 256
DEEP = 16  # elements of a thread
AHEAD = 8  # loads of a thread that begin one after the other
WIDEST = 32
RESIDENT = 4


def columns_wide(inner: int) -> int:
    """Columns of a block: at most 32, all blocks about alike."""
    return -(-inner // -(-inner // WIDEST))


def tile_rows(wide: int) -> int:
    """Rows of a block with so many columns."""
    return THREADS // wide * DEEP


@cache
def scan_columns_of(what: Combining, exclusive: bool = False) -> Any:
    """A thread per column: kernel(out, inp, columns, length, inner)."""
    acc, carry, combine, zero = what.acc, what.carry, what.combine, what.zero

    @jit(launch_bounds=THREADS)
    def kernel(out, inp, columns, length, inner):
        column = uint32(uint32(cuda.blockIdx.x) * uint32(THREADS) + uint32(cuda.threadIdx.x))
        step, rows = uint32(inner), uint32(length)
        items = cuda.local.array(AHEAD, acc)
        if column < uint32(columns):
            outer = uint32(column // step)
            at = uint32(outer * rows * step + (column - outer * step))
            so_far = carry(zero)
            row = uint32(0)
            while row < rows:
                # several loads begin before the first is needed
                for k in range(AHEAD):
                    items[k] = acc(zero)
                    if row + uint32(k) < rows:
                        items[k] = acc(load1(inp, uint32(at + uint32(k) * step)))
                for k in range(AHEAD):
                    before = so_far
                    so_far = combine(so_far, carry(items[k]))
                    if row + uint32(k) < rows:
                        store1(
                            out, uint32(at + uint32(k) * step), acc(before if exclusive else so_far)
                        )
                at += uint32(uint32(AHEAD) * step)
                row += uint32(AHEAD)

    return named(kernel, f"scan_{what.name}_columns")


@cache
def scan_cut_columns_of(what: Combining, exclusive: bool = False) -> Any:
    """Tiles of columns: kernel(out, inp, words, outer, length, inner, wide, tiles)."""
    acc, carry, combine, zero = what.acc, what.carry, what.combine, what.zero
    sum_before = sum_before_of(carry, combine, zero)
    warps = THREADS // 32

    @jit(launch_bounds=(THREADS, RESIDENT))
    def kernel(out, inp, words, outer, length, inner, wide, tiles):
        sums = cuda.shared.array(THREADS, acc)
        carried = cuda.shared.array(WIDEST, carry)
        place = cuda.shared.array(1, uint64)
        items = cuda.local.array(DEEP, acc)
        tid = uint32(cuda.threadIdx.x)
        lane, warp = uint32(tid % uint32(32)), uint32(tid // uint32(32))

        # 0. take the next tile: the top of all columns first
        across, rows, columns = uint32(wide), uint32(length), uint32(inner)
        bands = uint32((columns + across - uint32(1)) // across)
        every = uint32(bands * uint32(outer))
        if tid == 0:
            place[0] = take(words, uint32(every * uint32(tiles)))
        cuda.syncthreads()  # the number of the tile is there
        taken = place[0]
        launch, number = uint32(taken >> uint64(32)), uint32(taken & uint64(LOW))
        tile = uint32(number // every)
        band = uint32(number - tile * every)
        slab = uint32(band // bands)
        left = uint32((band - slab * bands) * across)

        # 1. a thread has DEEP rows of a column
        groups = uint32(uint32(THREADS) // across)
        group = uint32(tid // across)
        col = uint32(left + (tid - group * across))
        row = uint32((tile * groups + group) * uint32(DEEP))
        at = uint32((slab * rows + row) * columns + col)
        mine = group < groups and col < columns
        for k in range(DEEP):
            items[k] = acc(zero)
            if mine and row + uint32(k) < rows:
                items[k] = acc(load1(inp, uint32(at + uint32(k) * columns)))
        for k in range(1, DEEP):
            items[k] = combine(items[k - 1], items[k])

        # 2. what the groups above have, in 1, 2, 4 ... steps
        upto = items[DEEP - 1]
        step = uint32(1)
        while step < groups:
            sums[tid] = upto
            cuda.syncthreads()  # the sums of this step are there
            if group >= step and group < groups:
                upto = combine(sums[uint32(tid - step * across)], upto)
            cuda.syncthreads()  # all have read before they store again
            step *= uint32(2)
        sums[tid] = upto
        cuda.syncthreads()  # the sums of all groups are there
        above = acc(zero)
        if group > 0 and group < groups:
            above = sums[uint32(tid - across)]

        # 3. each warp looks back for some of the columns
        one = warp
        while one < across:
            if left + one < columns:
                total = carry(sums[uint32((groups - uint32(1)) * across + one)])
                line = uint32(slab * columns + left + one)
                lines = uint32(uint32(outer) * columns)
                if lane == 0:
                    say(words, launch, lines, line, tile, bits_of(total))
                earlier = sum_before(words, launch, lines, uint32(tiles), line, tile, total, lane)
                if lane == 0:
                    carried[one] = earlier
            one += uint32(warps)
        cuda.syncthreads()  # what lies above the tile is there

        # 4. store
        if mine:
            so_far = acc(combine(carried[uint32(tid - group * across)], carry(above)))
            for k in range(DEEP):
                if row + uint32(k) < rows:
                    if exclusive:
                        value = so_far if k == 0 else combine(so_far, items[max(k - 1, 0)])
                    else:
                        value = combine(so_far, items[k])
                    store1(out, uint32(at + uint32(k) * columns), value)

    return named(kernel, f"scan_{what.name}_cut_columns")
