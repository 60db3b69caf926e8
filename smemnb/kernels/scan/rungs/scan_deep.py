"""scan_deep: out = running sums of inp, in one launch, 32 elements per lane: tiles of 8192.

A lane has 8 chunks of 4 neighbours, which lie 128 elements apart; a warp scans chunk by chunk.
Eight times fewer tiles look back, and eight loads of a lane are under way at once.

Launch with blocks of 256 threads, one per 8192 elements; below 2^32 elements; both arrays begin at
multiples of 16 bytes; `words`, one for the counter and one per tile, are zeros.
"""

from __future__ import annotations

from numba import cuda, float32, uint32, uint64

from ...ptx import load1, load16, store1, store16
from ...ptx.relaxed import bits_of, load_word, number_of, store_word
from ...unrolled import device, jit

QUAD = 4  # elements in 16 bytes
CHUNKS = 8  # of a lane
HELD = QUAD * CHUNKS  # elements of a lane
CHUNK = 32 * QUAD  # elements of a warp in one request
SPAN = CHUNKS * CHUNK  # elements of a warp
THREADS, RESIDENT = 256, 4
WARPS = THREADS // 32
TILE = WARPS * SPAN  # elements of a tile
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
def load(items, inp, start, size):
    """A lane's elements, zeros behind the end: 16 sectors for each load."""
    for c in range(CHUNKS):
        at = uint32(start + c * CHUNK)
        if at + uint32(QUAD) <= size:
            four = load16(inp, at)
            for e in range(QUAD):
                items[c * QUAD + e] = four[e]
        else:
            for e in range(QUAD):
                items[c * QUAD + e] = float32(0)
                if at + uint32(e) < size:
                    items[c * QUAD + e] = load1(inp, uint32(at + uint32(e)))


@device
def scan_warp(items, lane):
    """What lies up to each element in its warp; the sum of the warp comes back."""
    running = float32(0)
    for c in range(CHUNKS):
        for e in range(1, QUAD):
            items[c * QUAD + e] += items[c * QUAD + e - 1]
        upto = scanned(items[c * QUAD + QUAD - 1], lane)
        left = cuda.shfl_up_sync(EVERYONE, upto, 1)
        if lane == 0:
            left = float32(0)
        left += running
        for e in range(QUAD):
            items[c * QUAD + e] += left
        running += cuda.shfl_sync(EVERYONE, upto, 31)
    return running


@device
def store(out, items, before, start, size):
    """A lane's elements, with what lies before its warp: 16 sectors for each store."""
    for c in range(CHUNKS):
        at, k = uint32(start + c * CHUNK), c * QUAD
        first, second = before + items[k], before + items[k + 1]
        third, fourth = before + items[k + 2], before + items[k + 3]
        if at + uint32(QUAD) <= size:
            store16(out, at, (first, second, third, fourth))
        elif at < size:
            store1(out, at, first)
            if at + uint32(1) < size:
                store1(out, uint32(at + uint32(1)), second)
            if at + uint32(2) < size:
                store1(out, uint32(at + uint32(2)), third)


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


@jit(launch_bounds=(THREADS, RESIDENT))
def scan_deep(out, inp, words):
    """out = running sums of inp.  As scan_lookback, but 32 elements per lane."""
    sums = cuda.shared.array(WARPS, float32)
    place = cuda.shared.array(1, uint32)
    carry = cuda.shared.array(1, float32)
    items = cuda.local.array(HELD, float32)
    tid, size = uint32(cuda.threadIdx.x), uint32(inp.size)
    lane, warp = uint32(tid % uint32(32)), uint32(tid // uint32(32))

    # 0. take the next tile
    if tid == 0:
        place[0] = uint32(cuda.atomic.add(words, 0, uint64(1)))
    cuda.syncthreads()  # the number of the tile is there
    tile = place[0]  # shared: 1 wavefront
    start = uint32(tile * uint32(TILE) + warp * uint32(SPAN) + lane * uint32(QUAD))

    # 1. load, and scan what a warp has
    load(items, inp, start, size)
    running = scan_warp(items, lane)
    if lane == 0:
        sums[warp] = running  # shared: 1 wavefront
    cuda.syncthreads()  # all sums are there before a warp reads them

    # 2. each warp scans all sums of warps                 shared: 1 wavefront
    acc = float32(0)
    if lane < WARPS:
        acc = sums[lane]
    upto = scanned(acc, lane)
    total = cuda.shfl_sync(EVERYONE, upto, WARPS - 1)
    before = cuda.shfl_sync(EVERYONE, upto, max(int(warp) - 1, 0))
    if warp == 0:
        before = float32(0)

    # 3. the first warp says the tile's sum, looks back, says the sum up to the tile's end
    if warp == 0:
        if lane == 0 and tile > 0:
            tell(words, tile, OWN, total)
        acc = sum_before(words, tile, lane)
        if lane == 0:
            tell(words, tile, WHOLE, acc + total)
            carry[0] = acc
    cuda.syncthreads()  # what lies before the tile is there
    before += carry[0]  # shared: 1 wavefront

    # 4. store
    store(out, items, before, start, size)
