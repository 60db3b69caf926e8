"""Many lines: some lanes of a warp for each.

`rows_of(combining, lanes, wide)` makes the kernel `(out, inp, lines, length, step, inner,
outer_step, inner_step)`: out[line] is the reduction of `length` elements, `step` apart, from
`line // inner * outer_step + line % inner * inner_step` on. A line has `lanes` neighbouring lanes,
1 to 32; moves are of 16 bytes where elements are neighbours (`wide`).
"""

from __future__ import annotations

from functools import cache
from typing import Any

from numba import cuda, uint32

from ...ptx import load1, misalignment
from ...unrolled import jit, named
from ..combining import NOWHERE, Combining, across
from .moves import MOVES, per_move, turns_of

THREADS = 256


@cache
def rows_of(of: Combining, lanes: int, *, wide: bool = True) -> Any:
    """The kernel for a reduction."""
    per, kind, identity, lift = per_move(of, wide=wide), of.kind, of.identity, of.lift
    merged, result = of.merged, of.result
    together = across(of, lanes)
    whole, rest = turns_of(of, lanes, wide=wide)

    @jit(launch_bounds=THREADS)
    def reduce_rows(out, inp, lines, length, step, inner, outer_step, inner_step):
        tx = uint32(cuda.threadIdx.x)
        sub = uint32(tx % uint32(lanes))
        line = uint32(cuda.blockIdx.x * uint32(THREADS // lanes) + tx // uint32(lanes))
        acc, at = kind(identity), uint32(NOWHERE)
        if line < lines:
            first = uint32(line // inner * outer_step + line % inner * inner_step)
            head, count, apart = uint32(0), length, step
            if wide:
                beyond = uint32((misalignment(inp) + first) % uint32(per))
                head = min(uint32((uint32(per) - beyond) % uint32(per)), length)
                count, apart = uint32((length - head) // uint32(per)), uint32(per)
                k, edge = sub, uint32(length - count * uint32(per))
                while k < edge:
                    place = uint32(k if k < head else k + count * uint32(per))
                    a, i = lift(load1(inp, uint32(first + place)), place)
                    acc, at = merged(acc, at, a, i)
                    k += uint32(lanes)
            v, ahead = sub, uint32(first + head)
            while v + uint32((MOVES - 1) * lanes) < count:
                acc, at = whole(inp, ahead, apart, head, v, acc, at)
                v += uint32(MOVES * lanes)
            if v < count:
                acc, at = rest(inp, ahead, apart, head, v, count, acc, at)
        acc, at = together(acc, at)
        if sub == 0 and line < lines:
            out[line] = result(acc, at, length)

    return named(reduce_rows, f"{of.name}_rows")
