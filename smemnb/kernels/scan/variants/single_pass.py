"""Rows of any length in one launch, each cut into tiles that look back (`lookback`).

A block takes the next tile; a warp of it holds neighbouring elements in chunks of 32 lanes times 16
bytes of the output. Tiles begin at multiples of 16 bytes of the output, so the first and the last
tile of a row may reach beyond it; there, elements are moved one by one.

    scan_of(combining, cut, exclusive)        kernel(out, inp, words, rows, tiles, length)
    scan_alone_of(combining, cut, exclusive)  rows of one tile: kernel(out, inp, rows, length)

`out` and `inp` are flat, all rows one after the other, below 2^32 elements. `clear` makes the words
zeros again.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

from numba import cuda, int32, uint32, uint64

from ...ptx import load1, load16, misalignment, store1, store16
from ...unrolled import device, jit, named
from ..lookback import EVERYONE, sum_before_of
from .combining import Combining

CLEAR_THREADS = 256


class Cut(NamedTuple):
    """How a row is cut: threads of a block, chunks of a warp, blocks on a multiprocessor (0: any)."""

    threads: int
    chunks: int
    resident: int = 0

    def tile(self, itemsize: int) -> int:
        """Elements of a tile, where one of the output has so many bytes."""
        return self.threads * self.chunks * (16 // itemsize)


@jit()
def clear(words):
    """Zeros."""
    for i in range(cuda.grid(1), words.size, cuda.gridsize(1)):
        words[i] = uint64(0)


@cache
def scanned_of(acc: Any, combine: Any) -> Any:
    """A device function: what a warp's lanes up to this one combine to.

    (A shuffle hands unsigned numbers back as signed ones: hence the type around each.)
    """
    number = acc

    @device
    def scanned(acc, lane):
        left = number(cuda.shfl_up_sync(EVERYONE, acc, 1))
        acc = combine(left, acc) if lane >= 1 else acc
        left = number(cuda.shfl_up_sync(EVERYONE, acc, 2))
        acc = combine(left, acc) if lane >= 2 else acc
        left = number(cuda.shfl_up_sync(EVERYONE, acc, 4))
        acc = combine(left, acc) if lane >= 4 else acc
        left = number(cuda.shfl_up_sync(EVERYONE, acc, 8))
        acc = combine(left, acc) if lane >= 8 else acc
        left = number(cuda.shfl_up_sync(EVERYONE, acc, 16))
        return combine(left, acc) if lane >= 16 else acc

    return scanned


class _Parts(NamedTuple):
    """Device functions that both kernels are made of, of a lane's `items` and `before`.

    `before[c]` is what lies before the lane in its warp, of chunk c.
    """

    load: Any
    scan: Any
    store: Any


@cache
def _parts_of(what: Combining, warps: int, chunks: int, exclusive: bool) -> _Parts:
    dtype, acc, combine, zero = what.dtype, what.acc, what.combine, what.zero
    run = 16 // (acc.bitwidth // 8)  # elements of a lane in a chunk
    chunk = 32 * run
    wide_loads = dtype.bitwidth == acc.bitwidth
    scanned = scanned_of(acc, combine)

    @device
    def load_run(items, inp, c, at, shift, begin, end):
        """The elements of a chunk that the row has."""
        for e in range(run):
            items[c * run + e] = acc(zero)
            here = uint32(at + uint32(e))
            if here >= begin and here < end:
                items[c * run + e] = acc(load1(inp, uint32(here - shift)))

    if wide_loads:

        @device
        def load(items, inp, start, shift, begin, end, aligned):
            """A lane's elements; places count from a multiple of 16 bytes, `shift` before out."""
            for c in range(chunks):
                at = uint32(start + c * chunk)
                if aligned and at >= begin and at + uint32(run) <= end:
                    several = load16(inp, uint32(at - shift))
                    for e in range(run):
                        items[c * run + e] = acc(several[e])
                else:
                    load_run(items, inp, c, at, shift, begin, end)

    else:

        @device
        def load(items, inp, start, shift, begin, end, aligned):
            """A lane's elements, of another size than those of out."""
            for c in range(chunks):
                load_run(items, inp, c, uint32(start + c * chunk), shift, begin, end)

    @device
    def scan(items, before, sums, lane, warp):
        """Scan what a warp has, chunk after chunk, then the warps; the tile's sum comes back."""
        running = acc(zero)
        for c in range(chunks):
            for e in range(1, run):
                items[c * run + e] = combine(items[c * run + e - 1], items[c * run + e])
            upto = scanned(items[c * run + run - 1], lane)
            left = acc(cuda.shfl_up_sync(EVERYONE, upto, 1))
            if lane == 0:
                left = acc(zero)
            before[c] = combine(running, left)
            running = combine(running, acc(cuda.shfl_sync(EVERYONE, upto, 31)))
        if warps == 1:
            return running
        if lane == 0:
            sums[warp] = running
        cuda.syncthreads()  # all sums are there before a warp reads them
        upto = acc(zero)
        if lane < warps:
            upto = sums[lane]
        upto = scanned(upto, lane)
        left = acc(cuda.shfl_sync(EVERYONE, upto, max(int32(warp) - 1, 0)))
        if warp > 0:
            for c in range(chunks):
                before[c] = combine(left, before[c])
        return acc(cuda.shfl_sync(EVERYONE, upto, warps - 1))

    @device
    def result(items, left, c, e):
        """What stands at a place of a lane, where `left` lies before the lane's chunk."""
        if exclusive:
            return left if e == 0 else combine(left, items[c * run + e - 1])
        return combine(left, items[c * run + e])

    if run == 4:

        @device
        def store_wide(out, to, items, left, c):
            """A lane's chunk."""
            first, second = result(items, left, c, 0), result(items, left, c, 1)
            store16(out, to, (first, second, result(items, left, c, 2), result(items, left, c, 3)))

    else:

        @device
        def store_wide(out, to, items, left, c):
            """A lane's chunk."""
            store16(out, to, (result(items, left, c, 0), result(items, left, c, 1)))

    @device
    def store(out, items, before, carried, start, shift, begin, end):
        """What the row has of a lane's elements."""
        for c in range(chunks):
            left = combine(carried, before[c])
            at = uint32(start + c * chunk)
            if at >= begin and at + uint32(run) <= end:
                store_wide(out, uint32(at - shift), items, left, c)
            else:
                for e in range(run):
                    here = uint32(at + uint32(e))
                    if here >= begin and here < end:
                        store1(out, uint32(here - shift), result(items, left, c, e))

    return _Parts(load, scan, store)


def _options(cut: Cut) -> dict[str, Any]:
    return {"launch_bounds": (cut.threads, cut.resident) if cut.resident else cut.threads}


@cache
def scan_of(what: Combining, cut: Cut, exclusive: bool = False) -> Any:
    """The kernel of rows of any length: kernel(out, inp, words, rows, tiles, length)."""
    threads, chunks = cut.threads, cut.chunks
    warps, acc, carry, combine = threads // 32, what.acc, what.carry, what.combine
    run = 16 // (acc.bitwidth // 8)
    held, span, tile_size = chunks * run, 32 * chunks * run, threads * chunks * run
    load, scan, store = _parts_of(what, warps, chunks, exclusive)
    sum_before = sum_before_of(carry, combine, what.zero)

    @jit(**_options(cut))
    def kernel(out, inp, words, rows, tiles, length):
        sums = cuda.shared.array(32, acc)
        place = cuda.shared.array(1, uint32)
        carried = cuda.shared.array(1, carry)
        items = cuda.local.array(held, acc)
        before = cuda.local.array(chunks, acc)
        tid = uint32(cuda.threadIdx.x)
        lane, warp = uint32(tid % uint32(32)), uint32(tid // uint32(32))

        # 0. take the next tile: k of a row, all rows' first tiles first
        if tid == 0:
            place[0] = uint32(cuda.atomic.add(words, 0, uint64(1)))
        cuda.syncthreads()  # the number of the tile is there
        number, count = place[0], uint32(rows)
        tile = uint32(number // count)
        row = uint32(number - tile * count)

        # 1. load; places count from the last multiple of 16 bytes before out
        shift = misalignment(out)
        begin = uint32(row * uint32(length) + shift)
        end = uint32(begin + uint32(length))
        first = uint32(begin - begin % uint32(run) + tile * uint32(tile_size))
        start = uint32(first + warp * uint32(span) + lane * uint32(run))
        load(items, inp, start, shift, begin, end, misalignment(inp) == shift)

        # 2. scan the tile, and look back for what lies before it
        total = scan(items, before, sums, lane, warp)
        if warp == 0:
            earlier = sum_before(words, count, uint32(tiles), row, tile, carry(total), lane)
            if lane == 0:
                carried[0] = earlier
        cuda.syncthreads()  # what lies before the tile is there

        # 3. store
        store(out, items, before, acc(carried[0]), start, shift, begin, end)

    return named(kernel, f"scan_{what.name}")


@cache
def scan_alone_of(what: Combining, cut: Cut, exclusive: bool = False) -> Any:
    """The kernel of rows of one tile, a block or a warp for each: kernel(out, inp, rows, length).

    With one warp to a row (`cut.threads` is 32), a block has 8 of them.
    """
    by_warp = cut.threads == 32
    threads, chunks = 256 if by_warp else cut.threads, cut.chunks
    warps, acc = cut.threads // 32, what.acc
    run = 16 // (acc.bitwidth // 8)
    held, span = chunks * run, 32 * chunks * run
    load, scan, store = _parts_of(what, warps, chunks, exclusive)
    zero = what.zero

    @jit(launch_bounds=threads)
    def kernel(out, inp, rows, length):
        sums = cuda.shared.array(32, acc)
        items = cuda.local.array(held, acc)
        before = cuda.local.array(chunks, acc)
        tid = uint32(cuda.threadIdx.x)
        lane, warp = uint32(tid % uint32(32)), uint32(tid // uint32(32))
        row = uint32(cuda.blockIdx.x)
        if by_warp:
            row = uint32(row * uint32(8) + warp)
            warp = uint32(0)
        if row < rows:
            shift = misalignment(out)
            begin = uint32(row * uint32(length) + shift)
            end = uint32(begin + uint32(length))
            first = uint32(begin - begin % uint32(run))
            start = uint32(first + warp * uint32(span) + lane * uint32(run))
            load(items, inp, start, shift, begin, end, misalignment(inp) == shift)
            scan(items, before, sums, lane, warp)
            store(out, items, before, acc(zero), start, shift, begin, end)

    return named(kernel, f"scan_{what.name}_alone")
