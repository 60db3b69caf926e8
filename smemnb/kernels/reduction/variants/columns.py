"""Columns: neighbouring lanes take neighbouring lines, and walk along them.

`columns_of(combining, form)` makes the kernel `(out, inp, values, places, tickets, length, inner,
outer_step, length_step, inner_step, tiles, parts)`: out[o * inner + i] is the reduction of `length`
elements, `length_step` apart, from `o * outer_step + i * inner_step` on. A block of `across` x
`down` threads has a tile of columns of one o, a thread those of a move (16 bytes where columns are
neighbours, `wide`) or one of them, and every `down`-th row. What a block does:

1. Go through its share of the rows, four moves at once, a chunk of all parts after the other.
2. Merge the `down` threads of a column through shared memory.
3. With several parts, as `lines` does: who draws the last ticket of a tile takes all parts.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

from numba import cuda, uint32

from ...unrolled import jit, named
from ..combining import NOWHERE, Combining
from .moves import MOVES, per_move
from .moves import columns_of as turn_of


class Form(NamedTuple):
    """Threads across and down, and whether a move is of 16 bytes."""

    across: int = 32
    down: int = 8
    wide: bool = True


@cache
def columns_of(of: Combining, form: Form) -> Any:
    """The kernel for a reduction."""
    lanes, down, wide = form
    per, kind, identity = per_move(of, wide=wide), of.kind, of.identity
    merged, result, has_places = of.merged, of.result, of.places
    tile, chunk = lanes * per, down * MOVES
    room = tile * down if down > 1 else 1
    placed = room if has_places else 1
    turn = turn_of(of, down, wide=wide)

    @jit(launch_bounds=lanes * down)
    def reduce_columns(
        out,
        inp,
        values,
        places,
        tickets,
        length,
        inner,
        outer_step,
        length_step,
        inner_step,
        tiles,
        parts,
    ):
        shared_values = cuda.shared.array(room, kind)
        shared_places = cuda.shared.array(placed, uint32)
        last = cuda.shared.array(1, uint32)
        acc = cuda.local.array(per, kind)
        at = cuda.local.array(per, uint32)
        rows = cuda.local.array(per, uint32)
        tx, ty = uint32(cuda.threadIdx.x), uint32(cuda.threadIdx.y)
        block = uint32(cuda.blockIdx.x)
        group = uint32(block // parts)
        part = uint32(block - group * parts)
        o = uint32(group // tiles)
        col = uint32((group - o * tiles) * uint32(tile) + tx * uint32(per))
        for q in range(per):
            acc[q], at[q], rows[q] = kind(identity), uint32(NOWHERE), uint32(0)

        # 1. a chunk of rows after the other
        if col < inner:
            ahead = uint32(o * outer_step + col * inner_step)
            k = uint32(part * uint32(chunk) + ty)
            while k < length:
                turn(inp, ahead, length_step, k, length, rows, uint32(1), acc, at)
                k += uint32(parts * uint32(chunk))

        # 2. threads of the same columns
        if down > 1:
            for q in range(per):
                shared_values[ty * tile + q * lanes + tx] = acc[q]
                if has_places:
                    shared_places[ty * tile + q * lanes + tx] = at[q]
            cuda.syncthreads()  # every thread has left its own
            if ty == 0:
                for q in range(per):
                    for y in range(1, down):
                        place = uint32(NOWHERE)
                        if has_places:
                            place = shared_places[y * tile + q * lanes + tx]
                        other = shared_values[y * tile + q * lanes + tx]
                        acc[q], at[q] = merged(acc[q], at[q], other, place)

        # 3. the last part of a tile takes all of them
        if parts == 1:
            if ty == 0 and col < inner:
                for q in range(per):
                    out[o * inner + col + q] = result(acc[q], at[q], length)
            return
        if ty == 0:
            for q in range(per):
                values[block * tile + q * lanes + tx] = acc[q]
                if has_places:
                    places[block * tile + q * lanes + tx] = at[q]
            cuda.threadfence()  # the part is in memory ...
        cuda.syncthreads()  # ... before its ticket is drawn
        if tx == 0 and ty == 0:
            last[0] = cuda.atomic.inc(tickets, group, uint32(parts - uint32(1)))
        cuda.syncthreads()  # everyone knows who came before
        if last[0] != parts - uint32(1):
            return
        cuda.threadfence()
        for q in range(per):
            acc[q], at[q] = kind(identity), uint32(NOWHERE)
        k = ty
        while k < parts:
            begin = uint32((group * parts + k) * uint32(tile) + tx)
            for q in range(per):
                place = places[begin + q * lanes] if has_places else uint32(NOWHERE)
                acc[q], at[q] = merged(acc[q], at[q], values[begin + q * lanes], place)
            k += uint32(down)
        if down > 1:
            for q in range(per):
                shared_values[ty * tile + q * lanes + tx] = acc[q]
                if has_places:
                    shared_places[ty * tile + q * lanes + tx] = at[q]
            cuda.syncthreads()  # every thread has left its own
            if ty == 0:
                for q in range(per):
                    for y in range(1, down):
                        place = uint32(NOWHERE)
                        if has_places:
                            place = shared_places[y * tile + q * lanes + tx]
                        other = shared_values[y * tile + q * lanes + tx]
                        acc[q], at[q] = merged(acc[q], at[q], other, place)
        if ty == 0 and col < inner:
            for q in range(per):
                out[o * inner + col + q] = result(acc[q], at[q], length)

    return named(reduce_columns, f"{of.name}_columns")
