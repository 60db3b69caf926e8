"""Long lines: a block for each, or several blocks that share one.

`lines_of(combining, form)` makes the kernel `(out, inp, values, places, tickets, length, step,
inner, outer_step, inner_step, parts)`: out[line] is the reduction of `length` elements, `step`
apart, from `line // inner * outer_step + line % inner * inner_step` on. What a block does:

1. Go through its share of the line in chunks of four moves per thread, a chunk of all parts
   after the other. A move is of 16 bytes where elements are neighbours (`wide`, `step` 1); those
   before the first multiple of 16 bytes and behind the last are for the first part.
2. Merge lanes by shuffles, warps through shared memory.
3. With several parts, leave that in `values` and `places` and draw a ticket. Who draws the last one
   takes all parts, in their order, so that the result is the same in every run; the ticket is 0
   again. Without tickets the parts are left to a second launch (`finish`).
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

from numba import cuda, uint32

from ...ptx import load1, misalignment
from ...unrolled import jit, named
from ..combining import NOWHERE, Combining, across
from .moves import MOVES, per_move, turns_of

WARP = 32


class Form(NamedTuple):
    """Threads of a block, and whether a move is of 16 bytes."""

    threads: int = 256
    wide: bool = True


@cache
def lines_of(of: Combining, form: Form) -> Any:
    """The kernel for a reduction."""
    threads, wide, kind = form.threads, form.wide, of.kind
    per, warps, chunk = per_move(of, wide=wide), threads // WARP, threads * MOVES
    identity, lift, merged, result = of.identity, of.lift, of.merged, of.result
    has_places = of.places
    in_warp, in_warps = across(of, WARP), across(of, warps)
    whole, rest = turns_of(of, threads, wide=wide)

    @jit(launch_bounds=threads)
    def reduce_lines(
        out, inp, values, places, tickets, length, step, inner, outer_step, inner_step, parts
    ):
        shared_values = cuda.shared.array(WARP, kind)
        shared_places = cuda.shared.array(WARP, uint32)
        last = cuda.shared.array(1, uint32)
        tx, block = uint32(cuda.threadIdx.x), uint32(cuda.blockIdx.x)
        line = uint32(block // parts)
        part = uint32(block - line * parts)
        first = uint32(line // inner * outer_step + line % inner * inner_step)
        acc, at = kind(identity), uint32(NOWHERE)

        # 1. elements beside multiples of 16 bytes, fewer than threads; chunks; the last one
        head, count, apart = uint32(0), length, step
        if wide:
            head = uint32((uint32(per) - (misalignment(inp) + first) % uint32(per)) % uint32(per))
            head = min(head, length)
            count, apart = uint32((length - head) // uint32(per)), uint32(per)
            if part == 0 and tx < uint32(length - count * uint32(per)):
                place = uint32(tx if tx < head else tx + count * uint32(per))
                acc, at = lift(load1(inp, uint32(first + place)), place)
        v, ahead = uint32(part * uint32(chunk) + tx), uint32(first + head)
        while v + uint32(chunk - threads) < count:
            acc, at = whole(inp, ahead, apart, head, v, acc, at)
            v += uint32(parts * uint32(chunk))
        if v < count:
            acc, at = rest(inp, ahead, apart, head, v, count, acc, at)

        # 2. lanes, then warps
        acc, at = in_warp(acc, at)
        lane, warp = uint32(tx % uint32(WARP)), uint32(tx // uint32(WARP))
        if lane == 0:
            shared_values[warp] = acc
            if has_places:
                shared_places[warp] = at
        cuda.syncthreads()  # every warp has left its own
        if warp == 0:
            acc, at = kind(identity), uint32(NOWHERE)
            if lane < uint32(warps):
                acc = shared_values[lane]
                if has_places:
                    at = shared_places[lane]
            acc, at = in_warps(acc, at)

        # 3. the last part of a line takes all of them
        if parts == 1:
            if tx == 0:
                out[line] = result(acc, at, length)
            return
        if tx == 0:
            values[block] = acc
            if has_places:
                places[block] = at
            cuda.threadfence()  # the part is in memory before its ticket is drawn
        if tickets.size == 0:
            return
        if tx == 0:
            last[0] = cuda.atomic.inc(tickets, line, uint32(parts - uint32(1)))
        cuda.syncthreads()  # everyone knows who came before, and warp 0 has read what warps left
        if last[0] != parts - uint32(1):
            return
        cuda.threadfence()
        acc, at = kind(identity), uint32(NOWHERE)
        k = tx
        while k < parts:
            place = places[line * parts + k] if has_places else uint32(NOWHERE)
            acc, at = merged(acc, at, values[line * parts + k], place)
            k += uint32(threads)
        acc, at = in_warp(acc, at)
        if lane == 0:
            shared_values[warp] = acc
            if has_places:
                shared_places[warp] = at
        cuda.syncthreads()  # every warp has left its own
        if warp == 0:
            acc, at = kind(identity), uint32(NOWHERE)
            if lane < uint32(warps):
                acc = shared_values[lane]
                if has_places:
                    at = shared_places[lane]
            acc, at = in_warps(acc, at)
            if lane == 0:
                out[line] = result(acc, at, length)

    return named(reduce_lines, f"{of.name}_lines")
