"""Few columns: rows one behind the other are read as one run, at a stride of whole rows.

`narrow_of(combining, form)` makes the kernel `(out, inp, values, places, tickets, length, inner,
outer_step, threads, parts)`: out[o * inner + i] is the reduction of inp[o * outer_step + k * inner
+ i] over k. The moves of `threads` threads, at most those of a block, cover whole rows, so element
q of every move of a thread is of the same column. What a block does:

1. Go through its share of the run, four sweeps of the threads at once.
2. Put all accumulators into shared memory, where they are rows of `inner`, and halve those.
3. With several parts, as `lines` does: who draws the last ticket of o takes all parts.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

from numba import cuda, uint32

from ...ptx import load1
from ...unrolled import device, jit, named
from ..combining import NOWHERE, Combining
from .moves import MOVES, per_move
from .moves import columns_of as turn_of


class Form(NamedTuple):
    """Threads of a block, and whether a move is of 16 bytes."""

    threads: int = 512
    wide: bool = True


@cache
def narrow_of(of: Combining, form: Form) -> Any:
    """The kernel for a reduction."""
    most, wide = form
    per, kind, identity = per_move(of, wide=wide), of.kind, of.identity
    merged, result, has_places, lift = of.merged, of.result, of.places, of.lift
    room = most * per
    placed = room if has_places else 1
    turn = turn_of(of, 1, wide=wide)
    halve = _halved(of, most)

    @jit(launch_bounds=most)
    def reduce_narrow(out, inp, values, places, tickets, length, inner, outer_step, threads, parts):
        shared_values = cuda.shared.array(room, kind)
        shared_places = cuda.shared.array(placed, uint32)
        last = cuda.shared.array(1, uint32)
        acc = cuda.local.array(per, kind)
        at = cuda.local.array(per, uint32)
        rows = cuda.local.array(per, uint32)
        tx, block = uint32(cuda.threadIdx.x), uint32(cuda.blockIdx.x)
        o = uint32(block // parts)
        part = uint32(block - o * parts)
        total = uint32(length * inner)
        count = uint32(total // uint32(per))
        sweep = uint32(threads * uint32(per) // inner)  # rows that one sweep covers
        for q in range(per):
            acc[q], at[q] = kind(identity), uint32(NOWHERE)
            rows[q] = uint32((tx * uint32(per) + uint32(q)) // inner)

        # 1. sweep k: move k * threads + tx
        if tx < threads:
            ahead, apart = uint32(o * outer_step + tx * uint32(per)), uint32(threads * uint32(per))
            sweeps = uint32((count + threads - uint32(1) - tx) // threads)  # of this thread
            k = uint32(part * uint32(MOVES))
            while k < sweeps:
                turn(inp, ahead, apart, k, sweeps, rows, sweep, acc, at)
                k += uint32(parts * uint32(MOVES))
            if part == 0 and tx == count % threads:  # elements behind the last move
                for q in range(per - 1):
                    if count * uint32(per) + uint32(q) < total:
                        element = uint32(count * uint32(per) + uint32(q))
                        a, i = lift(
                            load1(inp, uint32(o * outer_step + element)), uint32(element // inner)
                        )
                        acc[q], at[q] = merged(acc[q], at[q], a, i)

            # 2. rows of accumulators
            for q in range(per):
                shared_values[tx * uint32(per) + uint32(q)] = acc[q]
                if has_places:
                    shared_places[tx * uint32(per) + uint32(q)] = at[q]
        cuda.syncthreads()  # every thread has left its own
        halve(shared_values, shared_places, sweep, inner, tx)

        # 3. the last part takes all of them
        if parts == 1:
            if tx < inner:
                place = shared_places[tx] if has_places else uint32(NOWHERE)
                out[o * inner + tx] = result(shared_values[tx], place, length)
            return
        if tx < inner:
            values[block * inner + tx] = shared_values[tx]
            if has_places:
                places[block * inner + tx] = shared_places[tx]
            cuda.threadfence()  # the part is in memory ...
        cuda.syncthreads()  # ... before its ticket is drawn, and the shared arrays are free
        if tx == 0:
            last[0] = cuda.atomic.inc(tickets, o, uint32(parts - uint32(1)))
        cuda.syncthreads()  # everyone knows who came before
        if last[0] != parts - uint32(1):
            return
        cuda.threadfence()
        high = uint32(uint32(most) // inner)
        if tx < high * inner:
            total_value, total_place = kind(identity), uint32(NOWHERE)
            k = uint32(tx // inner)
            begin = uint32(o * parts * inner + tx % inner)
            while k < parts:
                place = places[begin + k * inner] if has_places else uint32(NOWHERE)
                total_value, total_place = merged(
                    total_value, total_place, values[begin + k * inner], place
                )
                k += high
            shared_values[tx] = total_value
            if has_places:
                shared_places[tx] = total_place
        cuda.syncthreads()  # every thread has left its own
        halve(shared_values, shared_places, high, inner, tx)
        if tx < inner:
            place = shared_places[tx] if has_places else uint32(NOWHERE)
            out[o * inner + tx] = result(shared_values[tx], place, length)

    return named(reduce_narrow, f"{of.name}_narrow")


@cache
def _halved(of: Combining, threads: int) -> Any:
    """`halve(values, places, rows, inner, tx)`: rows of accumulators to one, by halves."""
    merged, has_places = of.merged, of.places

    @device
    def halve(values, places, rows, inner, tx):
        while rows > 1:
            half = uint32((rows + uint32(1)) // uint32(2))
            k, many, apart = tx, uint32((rows - half) * inner), uint32(half * inner)
            while k < many:
                i, j = uint32(NOWHERE), uint32(NOWHERE)
                if has_places:
                    i, j = places[k], places[k + apart]
                a, i = merged(values[k], i, values[k + apart], j)
                values[k] = a
                if has_places:
                    places[k] = i
                k += uint32(threads)
            rows = half
            cuda.syncthreads()  # a half is there before it is halved

    return halve
