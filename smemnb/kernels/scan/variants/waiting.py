"""Long rows as in `single_pass`, but tiles wait for their turn in shared memory.

While a tile looks back, its elements are held, and nobody else can be loaded into the registers
that hold them. Shared memory is free meanwhile: elements are sent there (`cp.async`), added up from
there, scanned there, and stored from there. So a multiprocessor has more bytes under way or waiting
than its registers would hold. Each lane reads and writes what it sent itself, so there are no more
barriers than before.

    scan_waiting_of(combining, cut, exclusive)    kernel(out, inp, words, rows, tiles, length)

Input and sums are of one type, of 4 or 8 bytes; a tile has less than 48 KB.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from numba import cuda, int32, uint32, uint64

from ...ptx import load1, load16, misalignment, store1, store16
from ...ptx.asynchronous import await_copies, copy16
from ...ptx.relaxed import bits_of
from ...unrolled import device, jit, named
from ..combining import Combining
from ..lookback import EVERYONE, LOW, say, sum_before_of, take
from .single_pass import Cut, run_of, scanned_of


@cache
def scan_waiting_of(what: Combining, cut: Cut, exclusive: bool = False) -> Any:
    """The kernel of rows of any length: kernel(out, inp, words, rows, tiles, length)."""
    threads, chunks = cut.threads, cut.chunks
    warps, acc, carry, combine, zero = threads // 32, what.acc, what.carry, what.combine, what.zero
    run = run_of(what.dtype, what.acc)  # elements of a lane in a chunk: 16 bytes
    chunk = 32 * run
    span, tile_size = chunks * chunk, warps * chunks * chunk
    scanned = scanned_of(combine)
    sum_before = sum_before_of(carry, combine, zero)

    @device
    def send_run(staged, to, inp, at, shift, begin, end):
        """The elements of a chunk that the row has, and what changes nothing for the others."""
        for e in range(run):
            here = uint32(at + uint32(e))
            value = acc(zero)
            if here >= begin and here < end:
                value = load1(inp, uint32(here - shift))
            staged[uint32(to + uint32(e))] = value

    @device
    def send(staged, mine, inp, start, shift, begin, end):
        """A lane's elements on their way; places count from `shift` before the first element."""
        for c in range(chunks):
            at, to = uint32(start + c * chunk), uint32(mine + c * chunk)
            if at >= begin and at + uint32(run) <= end:
                copy16(staged, to, inp, uint32(at - shift), True)
            else:
                send_run(staged, to, inp, at, shift, begin, end)

    @device
    def total_of(staged, mine):
        """What a warp's lanes have in all, once it is there."""
        await_copies()
        total = acc(zero)
        for c in range(chunks):
            several = load16(staged, uint32(mine + c * chunk))
            some = several[0]
            for e in range(1, run):
                some = combine(some, several[e])
            total = combine(total, some)
        total = combine(total, cuda.shfl_xor_sync(EVERYONE, total, 1))
        total = combine(total, cuda.shfl_xor_sync(EVERYONE, total, 2))
        total = combine(total, cuda.shfl_xor_sync(EVERYONE, total, 4))
        total = combine(total, cuda.shfl_xor_sync(EVERYONE, total, 8))
        return combine(total, cuda.shfl_xor_sync(EVERYONE, total, 16))

    if run == 4:

        @device
        def upto_each(several):
            """What lies up to each of a lane's neighbours."""
            second = combine(several[0], several[1])
            third = combine(second, several[2])
            return several[0], second, third, combine(third, several[3])

        @device
        def behind(left, upto):
            """The scan of neighbours, behind `left`."""
            if exclusive:
                return (
                    left,
                    combine(left, upto[0]),
                    combine(left, upto[1]),
                    combine(left, upto[2]),
                )
            return (
                combine(left, upto[0]),
                combine(left, upto[1]),
                combine(left, upto[2]),
                combine(left, upto[3]),
            )

        @device
        def further(left, several):
            """Neighbours with what lies before all of them."""
            first, second = combine(left, several[0]), combine(left, several[1])
            return first, second, combine(left, several[2]), combine(left, several[3])

    else:

        @device
        def upto_each(several):
            """What lies up to each of a lane's neighbours."""
            return several[0], combine(several[0], several[1])

        @device
        def behind(left, upto):
            """The scan of neighbours, behind `left`."""
            if exclusive:
                return left, combine(left, upto[0])
            return combine(left, upto[0]), combine(left, upto[1])

        @device
        def further(left, several):
            """Neighbours with what lies before all of them."""
            return combine(left, several[0]), combine(left, several[1])

    @device
    def scan_warp(staged, mine, lane):
        """Scan what a warp has, chunk by chunk, where it is."""
        running = acc(zero)
        for c in range(chunks):
            at = uint32(mine + c * chunk)
            own = upto_each(load16(staged, at))
            upto = scanned(own[run - 1], lane)
            left = cuda.shfl_up_sync(EVERYONE, upto, 1)
            if lane == 0:
                left = acc(zero)
            store16(staged, at, behind(combine(running, left), own))
            running = combine(running, cuda.shfl_sync(EVERYONE, upto, 31))

    @device
    def scan_warps(sums, mine, lane, warp):
        """What lies before a warp in the tile, and the sum of the tile, of all warps' sums."""
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

    @device
    def store_whole(out, staged, mine, left, to):
        """A lane's elements of a tile that lies whole in its row."""
        for c in range(chunks):
            several = load16(staged, uint32(mine + c * chunk))
            store16(out, uint32(to + c * chunk), further(left, several))

    @device
    def store(out, staged, mine, left, start, shift, begin, end, aligned):
        """What the row has of a lane's elements, with what lies before its warp."""
        for c in range(chunks):
            at, there = uint32(start + c * chunk), uint32(mine + c * chunk)
            if aligned and at >= begin and at + uint32(run) <= end:
                store16(out, uint32(at - shift), further(left, load16(staged, there)))
            elif at < end:
                for e in range(run):
                    here = uint32(at + uint32(e))
                    if here >= begin and here < end:
                        value = combine(left, staged[uint32(there + uint32(e))])
                        store1(out, uint32(here - shift), value)

    @jit(launch_bounds=(threads, cut.resident))
    def kernel(out, inp, words, rows, tiles, length):
        staged = cuda.shared.array(tile_size, acc, alignment=16)
        sums = cuda.shared.array(warps, acc)
        place = cuda.shared.array(1, uint64)
        carried = cuda.shared.array(1, carry)
        lines, deep, across = uint32(rows), uint32(tiles), uint32(length)
        tid = uint32(cuda.threadIdx.x)
        lane, warp = uint32(tid % uint32(32)), uint32(tid // uint32(32))

        # 0. take the next tile: k of a row, all rows' first tiles come first
        if tid == 0:
            place[0] = take(words, uint32(lines * deep))
        cuda.syncthreads()  # the number of the tile is there
        launch, number = uint32(place[0] >> uint64(32)), uint32(place[0] & uint64(LOW))
        tile = uint32(number // lines)
        row = uint32(number - tile * lines)

        # 1. send its elements; places count from the last multiple of 16 bytes before inp
        shift = uint32(misalignment(inp) % uint32(run))
        aligned = misalignment(out) % uint32(run) == shift
        begin = uint32(row * across + shift)
        end = uint32(begin + across)
        first = uint32(begin - begin % uint32(run) + tile * uint32(tile_size))
        start = uint32(first + warp * uint32(span) + lane * uint32(run))
        mine = uint32(warp * uint32(span) + lane * uint32(run))
        whole = aligned and first >= begin and first + uint32(tile_size) <= end
        if whole:
            for c in range(chunks):
                to, at = uint32(mine + c * chunk), uint32(start - shift + c * chunk)
                copy16(staged, to, inp, at, True)
        else:
            send(staged, mine, inp, start, shift, begin, end)

        # 2. say the sum of the tile first, for others wait for it; then scan each warp's part
        left, total = scan_warps(sums, total_of(staged, mine), lane, warp)
        if tid == 0:
            say(words, launch, lines, row, tile, bits_of(carry(total)))
        scan_warp(staged, mine, lane)

        # 3. look back for what lies before the tile
        if warp == 0:
            earlier = sum_before(words, launch, lines, deep, row, tile, carry(total), lane)
            if lane == 0:
                carried[0] = earlier
        cuda.syncthreads()  # what lies before the tile is there
        left = acc(combine(carried[0], carry(left)))

        # 4. store
        if whole:
            store_whole(out, staged, mine, left, uint32(start - shift))
        else:
            store(out, staged, mine, left, start, shift, begin, end, aligned)

    return named(kernel, f"scan_{what.name}_waiting")
