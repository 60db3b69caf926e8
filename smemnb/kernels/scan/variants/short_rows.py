"""Short rows and columns: a block brings many of them into shared memory, a thread scans one.

    scan_short_of(combining, exclusive)     kernel(out, inp, slabs, length, inner, taken)

A slab has length x inner elements, inner columns: it is a row where inner is 1. A block takes
`taken` slabs, at most as many as `slabs_held` says. Element i of the block's
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
LONGEST = 64  # elements of a row
TILE_BYTES = 34 * 1024


def slabs_held(itemsize: int, slab: int) -> int:
    """Slabs of so many elements that fit into a block's tile."""
    return (TILE_BYTES // itemsize * 32 // 33 - 16) // slab


@device
def place(i):
    """Where element i of a block's rows lies in the tile."""
    return uint32(i + i // uint32(32))


@cache
def scan_short_of(what: Combining, exclusive: bool = False) -> Any:
    """The kernel of short rows and columns: kernel(out, inp, slabs, length, inner, taken)."""
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
    def kernel(out, inp, slabs, length, inner, taken):
        tile = cuda.shared.array(size, acc)
        tid = uint32(cuda.threadIdx.x)
        columns = uint32(inner)
        slab = uint32(uint32(length) * columns)
        first_slab = uint32(uint32(cuda.blockIdx.x) * uint32(taken))
        here = uint32(min(uint32(taken), uint32(uint32(slabs) - first_slab)))
        shift = misalignment(out)
        aligned = misalignment(inp) == shift or not wide_loads
        begin = uint32(first_slab * slab + shift)
        end = uint32(begin + here * slab)
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
        cuda.syncthreads()  # all are there before a thread scans one

        # 2. a thread per row or column, and the next 128 of them
        for line in range(tid, uint32(here * columns), uint32(THREADS)):
            so_far = acc(zero)
            which = uint32(uint32(line) // columns)
            i = uint32(skipped + which * slab + (uint32(line) - which * columns))
            for _ in range(length):
                at = place(i)
                if exclusive:
                    mine = tile[at]
                    tile[at] = so_far
                    so_far = combine(so_far, mine)
                else:
                    so_far = combine(so_far, tile[at])
                    tile[at] = so_far
                i += columns
        cuda.syncthreads()  # all are scanned before they are stored in another order

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
