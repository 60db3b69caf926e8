"""Rows of a few hundred tiles in two launches that need no words: sums of tiles, then the scans.

The look back of `single_pass` takes one launch, but its words have to be zeros once. A CUDA graph
has memory of its own, which it clears each time it is replayed, and that takes longer than to read
a small array twice, the second time from the L2 cache. A block adds up the sums of the tiles before
its own in a fixed order, so every call rounds alike.

    tile_sums_of(combining, cut)              kernel(sums, inp, rows, tiles, length)
    scan_after_of(combining, cut, exclusive)  kernel(out, inp, sums, rows, tiles, length)

`sums` are `rows * tiles` of the type of sums between tiles; tile k of row r is number k * rows + r.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from numba import cuda, uint32

from ...ptx import misalignment
from ...unrolled import device, jit, named
from ..combining import Combining
from ..lookback import EVERYONE
from .single_pass import Cut, _parts_of, run_of


@cache
def _place_of(what: Combining, cut: Cut) -> Any:
    """A device function: (shift, begin, end, start) of this thread, as `single_pass` has them."""
    run = run_of(what.dtype, what.acc)
    span, tile_size = 32 * cut.chunks * run, cut.tile(what)

    @device
    def place(inp, number, lines, across):
        tid = uint32(cuda.threadIdx.x)
        lane, warp = uint32(tid % uint32(32)), uint32(tid // uint32(32))
        tile = uint32(number // lines)
        row = uint32(number - tile * lines)
        shift = uint32(misalignment(inp) % uint32(run))
        begin = uint32(row * across + shift)
        first = uint32(begin - begin % uint32(run) + tile * uint32(tile_size))
        start = uint32(first + warp * uint32(span) + lane * uint32(run))
        return shift, begin, uint32(begin + across), start

    return place


@cache
def tile_sums_of(what: Combining, cut: Cut) -> Any:
    """The kernel of the sums of tiles: kernel(sums, inp, rows, tiles, length)."""
    warps, acc, carry = cut.threads // 32, what.acc, what.carry
    held = cut.chunks * run_of(what.dtype, what.acc)
    place = _place_of(what, cut)
    parts = _parts_of(what, warps, cut.chunks, False)
    load, total_of, scan_warps = parts.load, parts.total_of, parts.scan_warps

    @jit(launch_bounds=cut.threads)
    def kernel(sums, inp, rows, tiles, length):
        of_warps = cuda.shared.array(32, acc)
        items = cuda.local.array(held, acc)
        tid, number = uint32(cuda.threadIdx.x), uint32(cuda.blockIdx.x)
        lane, warp = uint32(tid % uint32(32)), uint32(tid // uint32(32))
        shift, begin, end, start = place(inp, number, uint32(rows), uint32(length))
        load(items, inp, start, shift, begin, end)
        _, total = scan_warps(of_warps, total_of(items), lane, warp)
        if tid == 0:
            sums[number] = carry(total)

    return named(kernel, f"scan_{what.name}_tile_sums")


@cache
def scan_after_of(what: Combining, cut: Cut, exclusive: bool = False) -> Any:
    """The kernel of the scans: kernel(out, inp, sums, rows, tiles, length)."""
    warps, acc, carry = cut.threads // 32, what.acc, what.carry
    combine, zero = what.combine, what.zero
    run = run_of(what.dtype, what.acc)
    per_store = 128 // acc.bitwidth
    held = cut.chunks * run
    place = _place_of(what, cut)
    parts = _parts_of(what, warps, cut.chunks, exclusive)
    load, scan_warp, scan_warps, store = parts.load, parts.scan_warp, parts.scan_warps, parts.store

    @device
    def sum_before(sums, number, lines, lane):
        """What lies before a tile: a lane has every 32nd tile, then the lanes meet."""
        tile = uint32(number // lines)
        row = uint32(number - tile * lines)
        before, at = carry(zero), lane
        while at < tile:
            before = combine(before, sums[uint32(at * lines + row)])
            at = uint32(at + uint32(32))
        before = combine(before, cuda.shfl_xor_sync(EVERYONE, before, 1))
        before = combine(before, cuda.shfl_xor_sync(EVERYONE, before, 2))
        before = combine(before, cuda.shfl_xor_sync(EVERYONE, before, 4))
        before = combine(before, cuda.shfl_xor_sync(EVERYONE, before, 8))
        return combine(before, cuda.shfl_xor_sync(EVERYONE, before, 16))

    @jit(launch_bounds=cut.threads)
    def kernel(out, inp, sums, rows, tiles, length):
        of_warps = cuda.shared.array(32, acc)
        items = cuda.local.array(held, acc)
        tid, number = uint32(cuda.threadIdx.x), uint32(cuda.blockIdx.x)
        lane, warp = uint32(tid % uint32(32)), uint32(tid // uint32(32))
        shift, begin, end, start = place(inp, number, uint32(rows), uint32(length))
        aligned = misalignment(out) == shift % uint32(per_store)
        load(items, inp, start, shift, begin, end)
        earlier = sum_before(sums, number, uint32(rows), lane)
        left, _ = scan_warps(of_warps, scan_warp(items, lane), lane, warp)
        left = acc(combine(earlier, carry(left)))
        store(out, items, left, start, shift, begin, end, aligned)

    return named(kernel, f"scan_{what.name}_after")
