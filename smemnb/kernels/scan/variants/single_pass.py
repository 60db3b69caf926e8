"""Rows of any length in one launch, each cut into tiles that look back (`lookback`).

A block takes the next tile; a warp of it holds neighbouring elements in chunks of 32 lanes times
`run_of` elements. Tiles begin at multiples of 16 bytes of the input (of 4 or 8 where its elements
are smaller), so the first and the last tile of a row may reach beyond it; there, elements are moved
one by one.

    scan_of(combining, cut, exclusive)        kernel(out, inp, words, rows, tiles, length)
    scan_alone_of(combining, cut, exclusive)  rows of one tile: kernel(out, inp, rows, length)

`out` and `inp` are flat, all rows one after the other, below 2^32 elements.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

from numba import cuda, int32, uint32, uint64

from ...ptx import load1, load4, load16, misalignment, store1, store16
from ...ptx.relaxed import bits_of
from ...unrolled import device, jit, named
from ..combining import Combining
from ..lookback import EVERYONE, LOW, say, sum_before_of, take


class Cut(NamedTuple):
    """How a row is cut: threads of a block, chunks of a warp, least blocks on a multiprocessor.

    `waits`: a tile's elements are in shared memory, and not in registers (`waiting`).
    """

    threads: int
    chunks: int
    resident: int = 0
    waits: bool = False

    def tile(self, what: Combining) -> int:
        """Elements of a tile."""
        return self.threads * self.chunks * run_of(what.dtype, what.acc)


def run_of(dtype: Any, acc: Any) -> int:
    """Neighbours that a lane loads and stores at once: 16 bytes of the smaller type, at most 4."""
    return 2 if dtype.bitwidth == acc.bitwidth == 64 else 4


@cache
def wide_of(dtype: Any, acc: Any, run: int) -> tuple[Any, Any]:
    """Device functions that load and store a lane's neighbours at once."""
    if dtype.bitwidth == 8:

        @device
        def load_wide(inp, at):
            word = load4(inp, at)
            first, second = dtype(word & uint32(255)), dtype(word >> uint32(8) & uint32(255))
            third, fourth = dtype(word >> uint32(16) & uint32(255)), dtype(word >> uint32(24))
            return first, second, third, fourth

    elif dtype.bitwidth == 16:

        @device
        def load_wide(inp, at):
            low, high = load4(inp, at), load4(inp, uint32(at + uint32(2)))
            first, second = dtype(low & uint32(65535)), dtype(low >> uint32(16))
            return first, second, dtype(high & uint32(65535)), dtype(high >> uint32(16))

    else:

        @device
        def load_wide(inp, at):
            return load16(inp, at)

    if run * acc.bitwidth == 256:

        @device
        def store_wide(out, to, several):
            store16(out, to, (several[0], several[1]))
            store16(out, uint32(to + uint32(2)), (several[2], several[3]))

    else:

        @device
        def store_wide(out, to, several):
            store16(out, to, several)

    return load_wide, store_wide


@cache
def scanned_of(combine: Any) -> Any:
    """A device function: what a warp's lanes up to this one combine to."""

    @device
    def scanned(acc, lane):
        left = cuda.shfl_up_sync(EVERYONE, acc, 1)
        acc = combine(left, acc) if lane >= 1 else acc
        left = cuda.shfl_up_sync(EVERYONE, acc, 2)
        acc = combine(left, acc) if lane >= 2 else acc
        left = cuda.shfl_up_sync(EVERYONE, acc, 4)
        acc = combine(left, acc) if lane >= 4 else acc
        left = cuda.shfl_up_sync(EVERYONE, acc, 8)
        acc = combine(left, acc) if lane >= 8 else acc
        left = cuda.shfl_up_sync(EVERYONE, acc, 16)
        return combine(left, acc) if lane >= 16 else acc

    return scanned


class _Parts(NamedTuple):
    """Device functions that the kernels are made of, of a lane's `items`."""

    load_whole: Any
    load: Any
    total_of: Any
    scan_warp: Any
    scan_warps: Any
    store_whole: Any
    store: Any


@cache
def _parts_of(what: Combining, warps: int, chunks: int, exclusive: bool) -> _Parts:
    dtype, acc, combine, zero = what.dtype, what.acc, what.combine, what.zero
    run = run_of(dtype, acc)  # elements of a lane in a chunk
    chunk = 32 * run
    scanned = scanned_of(combine)
    load_wide, store_wide = wide_of(dtype, acc, run)

    @device
    def load_run(items, inp, c, at, shift, begin, end):
        """The elements of a chunk that the row has."""
        for e in range(run):
            here = uint32(at + uint32(e))
            if here >= begin and here < end:
                items[c * run + e] = acc(load1(inp, uint32(here - shift)))

    @device
    def load_whole(items, inp, at):
        """A lane's elements of a tile that lies whole in its row."""
        for c in range(chunks):
            several = load_wide(inp, uint32(at + c * chunk))
            for e in range(run):
                items[c * run + e] = acc(several[e])

    @device
    def load(items, inp, start, shift, begin, end):
        """A lane's elements; places count from `shift` before the first element."""
        for c in range(chunks):
            at = uint32(start + c * chunk)
            if at >= begin and at + uint32(run) <= end:
                several = load_wide(inp, uint32(at - shift))
                for e in range(run):
                    items[c * run + e] = acc(several[e])
            else:
                for e in range(run):
                    items[c * run + e] = acc(zero)
                if at < end:
                    load_run(items, inp, c, at, shift, begin, end)

    if exclusive:

        @device
        def spread(items, c, left):
            """What lies before each element of a chunk in its warp."""
            for e in range(run - 1, 0, -1):
                items[c * run + e] = combine(left, items[c * run + e - 1])
            items[c * run] = left

    else:

        @device
        def spread(items, c, left):
            """What lies up to each element of a chunk in its warp."""
            for e in range(run):
                items[c * run + e] = combine(left, items[c * run + e])

    @device
    def total_of(items):
        """What a warp's lanes have in all."""
        total = acc(zero)
        for c in range(chunks):
            some = items[c * run]
            for e in range(1, run):
                some = combine(some, items[c * run + e])
            total = combine(total, some)
        total = combine(total, cuda.shfl_xor_sync(EVERYONE, total, 1))
        total = combine(total, cuda.shfl_xor_sync(EVERYONE, total, 2))
        total = combine(total, cuda.shfl_xor_sync(EVERYONE, total, 4))
        total = combine(total, cuda.shfl_xor_sync(EVERYONE, total, 8))
        return combine(total, cuda.shfl_xor_sync(EVERYONE, total, 16))

    @device
    def scan_warp(items, lane):
        """Scan what a warp has, chunk by chunk; its sum comes back."""
        running = acc(zero)
        for c in range(chunks):
            for e in range(1, run):
                items[c * run + e] = combine(items[c * run + e - 1], items[c * run + e])
            upto = scanned(items[c * run + run - 1], lane)
            left = cuda.shfl_up_sync(EVERYONE, upto, 1)
            if lane == 0:
                left = acc(zero)
            spread(items, c, combine(running, left))
            running = combine(running, cuda.shfl_sync(EVERYONE, upto, 31))
        return running

    @device
    def scan_warps(sums, mine, lane, warp):
        """What lies before a warp in the tile, and the sum of the tile, of all warps' sums."""
        if warps == 1:
            return acc(zero), mine
        if lane == 0:
            sums[warp] = mine
        cuda.syncthreads()  # all sums are there before a warp reads them
        upto = acc(zero)
        if lane < warps:
            upto = sums[lane]
        upto = scanned(upto, lane)
        left = cuda.shfl_sync(EVERYONE, upto, max(int32(warp) - 1, 0))
        if warp == 0:
            left = acc(zero)
        return left, cuda.shfl_sync(EVERYONE, upto, warps - 1)

    if run == 4:

        @device
        def store_run(out, to, items, left, c):
            """A lane's chunk."""
            first, second = combine(left, items[c * 4]), combine(left, items[c * 4 + 1])
            third, fourth = combine(left, items[c * 4 + 2]), combine(left, items[c * 4 + 3])
            store_wide(out, to, (first, second, third, fourth))

    else:

        @device
        def store_run(out, to, items, left, c):
            """A lane's chunk."""
            store_wide(out, to, (combine(left, items[c * 2]), combine(left, items[c * 2 + 1])))

    @device
    def store_whole(out, items, left, to):
        """A lane's elements of a tile that lies whole in its row."""
        for c in range(chunks):
            store_run(out, uint32(to + c * chunk), items, left, c)

    @device
    def store(out, items, left, start, shift, begin, end, aligned):
        """What the row has of a lane's elements, with what lies before its warp."""
        for c in range(chunks):
            at = uint32(start + c * chunk)
            if aligned and at >= begin and at + uint32(run) <= end:
                store_run(out, uint32(at - shift), items, left, c)
            elif at < end:
                for e in range(run):
                    here = uint32(at + uint32(e))
                    if here >= begin and here < end:
                        store1(out, uint32(here - shift), combine(left, items[c * run + e]))

    return _Parts(load_whole, load, total_of, scan_warp, scan_warps, store_whole, store)


def _options(cut: Cut) -> dict[str, Any]:
    return {"launch_bounds": (cut.threads, cut.resident) if cut.resident else cut.threads}


@cache
def scan_of(what: Combining, cut: Cut, exclusive: bool = False) -> Any:
    """The kernel of rows of any length: kernel(out, inp, words, rows, tiles, length)."""
    threads, chunks = cut.threads, cut.chunks
    warps, acc, carry, combine = threads // 32, what.acc, what.carry, what.combine
    run = run_of(what.dtype, what.acc)
    per_store = 128 // acc.bitwidth
    held, span, tile_size = chunks * run, 32 * chunks * run, threads * chunks * run
    parts = _parts_of(what, warps, chunks, exclusive)
    load_whole, load, store_whole, store = parts.load_whole, parts.load, *parts[-2:]
    total_of, scan_warp, scan_warps = parts.total_of, parts.scan_warp, parts.scan_warps
    sum_before = sum_before_of(carry, combine, what.zero)

    @device
    def scan_tile(out, inp, words, lines, deep, across, launch, number, items, sums, carried):
        """One tile: k of a row, all rows' first tiles come first."""
        tid = uint32(cuda.threadIdx.x)
        lane, warp = uint32(tid % uint32(32)), uint32(tid // uint32(32))
        tile = uint32(number // lines)
        row = uint32(number - tile * lines)

        # 1. load; places count from the last multiple of 16 bytes before inp
        shift = uint32(misalignment(inp) % uint32(run))
        aligned = misalignment(out) == shift % uint32(per_store)
        begin = uint32(row * across + shift)
        end = uint32(begin + across)
        first = uint32(begin - begin % uint32(run) + tile * uint32(tile_size))
        start = uint32(first + warp * uint32(span) + lane * uint32(run))
        whole = aligned and first >= begin and first + uint32(tile_size) <= end
        if whole:
            load_whole(items, inp, uint32(start - shift))
        else:
            load(items, inp, start, shift, begin, end)

        # 2. say the sum of the tile first, for others wait for it; then scan each warp's part
        left, total = scan_warps(sums, total_of(items), lane, warp)
        if tid == 0:
            say(words, launch, lines, row, tile, bits_of(carry(total)))
        scan_warp(items, lane)

        # 3. look back for what lies before the tile
        if warp == 0:
            earlier = sum_before(words, launch, lines, deep, row, tile, carry(total), lane)
            if lane == 0:
                carried[0] = earlier
        cuda.syncthreads()  # what lies before the tile is there
        left = acc(combine(carried[0], carry(left)))

        # 4. store
        if whole:
            store_whole(out, items, left, uint32(start - shift))
        else:
            store(out, items, left, start, shift, begin, end, aligned)

    @jit(**_options(cut))
    def kernel(out, inp, words, rows, tiles, length):
        sums = cuda.shared.array(32, acc)
        place = cuda.shared.array(1, uint64)
        carried = cuda.shared.array(1, carry)
        items = cuda.local.array(held, acc)
        lines, deep = uint32(rows), uint32(tiles)
        if cuda.threadIdx.x == 0:
            place[0] = take(words, uint32(lines * deep))
        cuda.syncthreads()  # the number of the tile is there
        launch, number = uint32(place[0] >> uint64(32)), uint32(place[0] & uint64(LOW))
        across = uint32(length)
        scan_tile(out, inp, words, lines, deep, across, launch, number, items, sums, carried)

    return named(kernel, f"scan_{what.name}")


@cache
def scan_alone_of(what: Combining, cut: Cut, exclusive: bool = False) -> Any:
    """The kernel of rows of one tile, a block or a warp for each: kernel(out, inp, rows, length).

    With one warp to a row (`cut.threads` is 32), a block has 8 of them.
    """
    by_warp = cut.threads == 32
    threads, chunks = 256 if by_warp else cut.threads, cut.chunks
    warps, acc = cut.threads // 32, what.acc
    run = run_of(what.dtype, acc)
    per_store = 128 // acc.bitwidth
    held, span = chunks * run, 32 * chunks * run
    parts = _parts_of(what, warps, chunks, exclusive)
    load, scan_warp, scan_warps, store = parts.load, parts.scan_warp, parts.scan_warps, parts.store

    @jit(launch_bounds=threads)
    def kernel(out, inp, rows, length):
        sums = cuda.shared.array(32, acc)
        items = cuda.local.array(held, acc)
        tid = uint32(cuda.threadIdx.x)
        lane, warp = uint32(tid % uint32(32)), uint32(tid // uint32(32))
        row = uint32(cuda.blockIdx.x)
        if by_warp:
            row = uint32(row * uint32(8) + warp)
            warp = uint32(0)
        if row < rows:
            shift = uint32(misalignment(inp) % uint32(run))
            aligned = misalignment(out) == shift % uint32(per_store)
            begin = uint32(row * uint32(length) + shift)
            end = uint32(begin + uint32(length))
            first = uint32(begin - begin % uint32(run))
            start = uint32(first + warp * uint32(span) + lane * uint32(run))
            load(items, inp, start, shift, begin, end)
            left, _ = scan_warps(sums, scan_warp(items, lane), lane, warp)
            store(out, items, left, start, shift, begin, end, aligned)

    return named(kernel, f"scan_{what.name}_alone")
