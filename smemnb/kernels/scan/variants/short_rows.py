"""Rows of up to 64 elements: a block brings many of them into shared memory, a thread scans one.

    scan_short_of(combining, exclusive)     kernel(out, inp, rows, length, taken)

A block takes `taken` rows, as many as `rows_taken` says. Element i of the block's
rows lies at i + i // 32: lanes that move 4 neighbours each, and lanes that walk along rows whose
length is a power of two, then visit all banks. `out` and `inp` are flat, below 2^32 elements.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from numba import cuda, uint32

from ...ptx import load1, load16, misalignment, store1, store16
from ...unrolled import device, jit, named
from ..combining import Combining

THREADS = 128
LONGEST = 64
LEAST = 2048  # elements of a block
TILE_BYTES = 34 * 1024


def rows_taken(itemsize: int, length: int) -> int:
    """Rows that a block takes: one per thread, more of very short ones, as many as it holds."""
    held = TILE_BYTES // itemsize * 32 // 33 - 16
    return min(max(THREADS, LEAST // length), held // length)


@device
def place(i):
    """Where element i of a block's rows lies in the tile."""
    return uint32(i + i // uint32(32))


@cache
def scan_short_of(what: Combining, exclusive: bool = False) -> Any:
    """The kernel of short rows: kernel(out, inp, rows, length, taken)."""
    acc, combine, zero = what.acc, what.combine, what.zero
    itemsize = acc.bitwidth // 8
    size, run = TILE_BYTES // itemsize, 16 // itemsize
    wide_loads = what.dtype.bitwidth == acc.bitwidth

    if wide_loads:

        @device
        def load_run(inp, at, first):
            """Neighbours, 16 bytes of them; `first` is that of several blocks, and not used."""
            return load16(inp, at)

    else:

        @device
        def load_run(inp, at, first):
            """The same, one by one."""
            return (load1(inp, at), load1(inp, uint32(at + uint32(1))))

    if run == 4:

        @device
        def store_run(out, to, tile, i):
            """Neighbours of the tile."""
            first, second = tile[place(i)], tile[place(i + uint32(1))]
            third, fourth = tile[place(i + uint32(2))], tile[place(i + uint32(3))]
            store16(out, to, (first, second, third, fourth))

    else:

        @device
        def store_run(out, to, tile, i):
            """Neighbours of the tile."""
            store16(out, to, (tile[place(i)], tile[place(i + uint32(1))]))

    runs_fit = wide_loads or run == 2

    @jit(launch_bounds=THREADS)
    def kernel(out, inp, rows, length, taken):
        tile = cuda.shared.array(size, acc)
        tid = uint32(cuda.threadIdx.x)
        across = uint32(length)
        first_row = uint32(cuda.blockIdx.x) * uint32(taken)
        here = uint32(min(uint32(taken), uint32(uint32(rows) - first_row)))
        shift = misalignment(out)
        aligned = misalignment(inp) == shift or not wide_loads
        begin = uint32(first_row * across + shift)
        end = uint32(begin + here * across)
        base = uint32(begin - begin % uint32(run))
        skipped = uint32(begin - base)

        # 1. load whole 16 bytes, at both ends one by one
        for at in range(uint32(base + tid * uint32(run)), end, uint32(THREADS * run)):
            at = uint32(at)
            if runs_fit and aligned and at >= begin and at + uint32(run) <= end:
                several = load_run(inp, uint32(at - shift), uint32(0))
                for e in range(run):
                    tile[place(uint32(at - base + uint32(e)))] = acc(several[e])
            else:
                for e in range(run):
                    one = uint32(at + uint32(e))
                    if one >= begin and one < end:
                        tile[place(uint32(one - base))] = acc(load1(inp, uint32(one - shift)))
        cuda.syncthreads()  # all rows are there before a thread scans one

        # 2. a thread per row, and the next 128 rows
        for row in range(tid, here, uint32(THREADS)):
            so_far = acc(zero)
            i = uint32(skipped + uint32(row) * across)
            for _ in range(length):
                at = place(i)
                if exclusive:
                    mine = tile[at]
                    tile[at] = so_far
                    so_far = combine(so_far, mine)
                else:
                    so_far = combine(so_far, tile[at])
                    tile[at] = so_far
                i += uint32(1)
        cuda.syncthreads()  # all rows are scanned before they are stored in another order

        # 3. store
        for at in range(uint32(base + tid * uint32(run)), end, uint32(THREADS * run)):
            at = uint32(at)
            if at >= begin and at + uint32(run) <= end:
                store_run(out, uint32(at - shift), tile, uint32(at - base))
            else:
                for e in range(run):
                    one = uint32(at + uint32(e))
                    if one >= begin and one < end:
                        store1(out, uint32(one - shift), tile[place(uint32(one - base))])

    return named(kernel, f"scan_{what.name}_short")
