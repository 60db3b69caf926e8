"""Short lines one behind the other: a block copies many by 16 bytes, a thread takes one of them.

`short_of(combining, most)` makes the kernel `(out, inp, lines, length)` for lines of up to `most`
neighbours: out[line] is the reduction of inp[line * length : (line + 1) * length], and `inp` begins
at a multiple of 16 bytes. Lines of an odd number of words lie on different banks: a warp reads
element k of its 32 lines in one wavefront; of an even number, in as many as the power of two in it.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from numba import cuda, uint32
from numba.np.numpy_support import from_dtype

from ...ptx import load1, load16, store1, store16
from ...unrolled import jit, named
from ..combining import NOWHERE, Combining

THREADS = 256


@cache
def short_of(of: Combining, most: int) -> Any:
    """The kernel for a reduction."""
    per, kind, identity, lift = 16 // of.dtype.itemsize, of.kind, of.identity, of.lift
    merged, result, room = of.merged, of.result, THREADS * most
    element = from_dtype(of.dtype)

    @jit(launch_bounds=THREADS)
    def reduce_short(out, inp, lines, length):
        tile = cuda.shared.array(room, element, alignment=16)
        tx = uint32(cuda.threadIdx.x)
        line = uint32(cuda.blockIdx.x * uint32(THREADS))
        begin = uint32(line * length)
        here = uint32(min(uint32(lines - line), uint32(THREADS)) * length)

        # 1. the lines of the block as they lie    global: 16 sectors    shared: 4 wavefronts
        k = uint32(tx * uint32(per))
        whole = uint32(here // uint32(per) * uint32(per))
        while k < whole:
            store16(tile, k, load16(inp, uint32(begin + k)))
            k += uint32(THREADS * per)
        k = uint32(whole + tx)
        if k < here:
            store1(tile, k, load1(inp, uint32(begin + k)))
        cuda.syncthreads()  # all lines are there before anyone reads one

        # 2. a line per thread
        first, stop = uint32(tx * length), uint32((tx + uint32(1)) * length)
        if stop <= here:
            acc, at, k = kind(identity), uint32(NOWHERE), first
            while k < stop:
                a, i = lift(load1(tile, k), uint32(k - first))
                acc, at = merged(acc, at, a, i)
                k += uint32(1)
            out[line + tx] = result(acc, at, length)

    return named(reduce_short, f"{of.name}_short")
