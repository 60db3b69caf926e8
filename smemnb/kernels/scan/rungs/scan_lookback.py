"""scan_lookback: out = running sums of inp, in one launch: a tile waits for those before it.

Each tile has a word of 64 bits in which it says how far it is: a flag (0: nothing yet, 1: the sum
of the tile, 2: the sum of all up to its end) and the sum itself. Both are in one word, so whoever
sees the flag sees the sum. A tile says its own sum, looks back until it finds a word with flag 2,
adds the sums that lie between, and says the sum up to its own end.

Blocks take tiles in the order in which they begin, by a counter, so a tile waits only for tiles
that have begun. Sums are added from left to right, each to all before it, wherever the look back
ended: so every call rounds alike.

Launch with blocks of 256 threads, one per 1024 elements; below 2^32 elements; both arrays begin at
multiples of 16 bytes; `words`, one for the counter and one per tile, are zeros.
"""

from __future__ import annotations

from numba import cuda, float32, uint32, uint64

from ...ptx import load1, load16, store1, store16
from ...ptx.relaxed import bits_of, load_word, number_of, store_word
from ...unrolled import device, jit

CHUNK = 4  # elements in 16 bytes
THREADS = 256
WARPS = THREADS // 32
TILE = THREADS * CHUNK  # elements of a tile
EVERYONE = 0xFFFFFFFF  # lanes that take part
OWN, WHOLE = 1, 2  # flags: the sum of the tile, the sum of all up to its end
NOWHERE = 32  # no lane


@device
def scanned(acc, lane):
    """The sum of acc over this lane and those before it: five shuffles."""
    left = cuda.shfl_up_sync(EVERYONE, acc, 1)
    if lane >= 1:
        acc += left
    left = cuda.shfl_up_sync(EVERYONE, acc, 2)
    if lane >= 2:
        acc += left
    left = cuda.shfl_up_sync(EVERYONE, acc, 4)
    if lane >= 4:
        acc += left
    left = cuda.shfl_up_sync(EVERYONE, acc, 8)
    if lane >= 8:
        acc += left
    left = cuda.shfl_up_sync(EVERYONE, acc, 16)
    if lane >= 16:
        acc += left
    return acc


@device
def tell(words, tile, flag, acc):
    """Say how far a tile is."""
    store_word(
        words, uint32(uint32(1) + tile), uint64(uint64(flag) << uint64(32) | uint64(bits_of(acc)))
    )


@device
def sum_before(words, tile, lane):
    """The sum of all tiles before this one: lane k looks at the tile k + 1 before."""
    # a. look until one says WHOLE and all that lie between say at least OWN      global: 8 sectors
    flag, acc = uint32(WHOLE), float32(0)  # before the first tile
    if lane < tile:
        flag = uint32(0)
    near = uint32(NOWHERE)
    while near == NOWHERE:
        if flag != WHOLE:
            word = load_word(words, uint32(tile - lane))
            flag = uint32(word >> uint64(32))
            acc = number_of(acc, uint32(word & uint64(EVERYONE)))
        whole = uint32(cuda.ballot_sync(EVERYONE, flag == WHOLE))
        there = uint32(cuda.ballot_sync(EVERYONE, flag != 0))
        if whole != 0:
            first = uint32(cuda.ffs(whole) - 1)
            between = uint32((uint32(1) << first) - uint32(1))
            if (there & between) == between:
                near = first

    # b. from there to the right, each sum to all before it
    before = cuda.shfl_sync(EVERYONE, acc, near)
    while near > 0:
        near -= uint32(1)
        before += cuda.shfl_sync(EVERYONE, acc, near)
    return before


@jit(launch_bounds=THREADS)
def scan_lookback(out, inp, words):
    """out = running sums of inp.  As scan_tiles, but each tile looks back for those before it."""
    sums = cuda.shared.array(WARPS, float32)
    place = cuda.shared.array(1, uint32)
    carry = cuda.shared.array(1, float32)
    tid = uint32(cuda.threadIdx.x)
    lane, warp = uint32(tid % uint32(32)), uint32(tid // uint32(32))

    # 0. take the next tile
    if tid == 0:
        place[0] = uint32(cuda.atomic.add(words, 0, uint64(1)))
    cuda.syncthreads()  # the number of the tile is there
    tile = place[0]  # shared: 1 wavefront
    start, size = uint32(tile * uint32(TILE) + tid * uint32(CHUNK)), uint32(inp.size)

    # 1. load four neighbours, zeros behind the end        global: 16 sectors
    first = second = third = fourth = float32(0)
    whole = start + uint32(CHUNK) <= size
    if whole:
        first, second, third, fourth = load16(inp, start)
    elif start < size:
        first = load1(inp, start)
        if start + uint32(1) < size:
            second = load1(inp, uint32(start + uint32(1)))
        if start + uint32(2) < size:
            third = load1(inp, uint32(start + uint32(2)))

    # 2. each lane adds up its four, each warp scans its 32 sums
    second += first
    third += second
    fourth += third
    upto = scanned(fourth, lane)
    before = cuda.shfl_up_sync(EVERYONE, upto, 1)
    if lane == 0:
        before = float32(0)
    if lane == 31:
        sums[warp] = upto  # shared: 1 wavefront
    cuda.syncthreads()  # all sums are there before a warp reads them

    # 3. each warp scans all sums of warps                 shared: 1 wavefront
    acc = float32(0)
    if lane < WARPS:
        acc = sums[lane]
    upto = scanned(acc, lane)
    total = cuda.shfl_sync(EVERYONE, upto, WARPS - 1)
    earlier = cuda.shfl_sync(EVERYONE, upto, max(int(warp) - 1, 0))
    if warp > 0:
        before += earlier

    # 4. the first warp says the tile's sum, looks back, says the sum up to the tile's end
    if warp == 0:
        if lane == 0 and tile > 0:
            tell(words, tile, OWN, total)
        acc = sum_before(words, tile, lane)
        if lane == 0:
            tell(words, tile, WHOLE, acc + total)
            carry[0] = acc
    cuda.syncthreads()  # what lies before the tile is there
    before += carry[0]  # shared: 1 wavefront

    # 5. store four neighbours                             global: 16 sectors
    if whole:
        store16(out, start, (before + first, before + second, before + third, before + fourth))
    elif start < size:
        store1(out, start, before + first)
        if start + uint32(1) < size:
            store1(out, uint32(start + uint32(1)), before + second)
        if start + uint32(2) < size:
            store1(out, uint32(start + uint32(2)), before + third)
