"""The second launch of small arrays: a block takes all parts of a line, in their order.

`finish_of(combining)` makes the kernel `(out, values, places, length, parts)`: out[line] is made of
`values` and `places` from `line * parts` on, which blocks of `lines` left there without a ticket.

A ticket saves a launch, but its word has to be 0, and a CUDA graph, whose memory is its own, clears
it at every replay. For small arrays that and the ticket take longer than a second launch.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from numba import cuda, uint32

from ...unrolled import jit, named
from ..combining import NOWHERE, Combining, across

WARP = 32
THREADS = 256


@cache
def finish_of(of: Combining) -> Any:
    """The kernel for a reduction."""
    kind, identity, merged, result = of.kind, of.identity, of.merged, of.result
    has_places, warps = of.places, THREADS // WARP
    in_warp, in_warps = across(of, WARP), across(of, warps)

    @jit(launch_bounds=THREADS)
    def reduce_parts(out, values, places, length, parts):
        shared_values = cuda.shared.array(WARP, kind)
        shared_places = cuda.shared.array(WARP, uint32)
        tx, line = uint32(cuda.threadIdx.x), uint32(cuda.blockIdx.x)
        acc, at = kind(identity), uint32(NOWHERE)

        # 1. parts of a thread, in their order
        k = tx
        while k < parts:
            place = places[line * parts + k] if has_places else uint32(NOWHERE)
            acc, at = merged(acc, at, values[line * parts + k], place)
            k += uint32(THREADS)

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
            if lane == 0:
                out[line] = result(acc, at, length)

    return named(reduce_parts, f"{of.name}_parts")
