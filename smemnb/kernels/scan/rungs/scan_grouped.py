"""scan_grouped: out = running sums of inp, in one launch; a look back in two levels, in float64.

Every 32 tiles are a group. A tile says its own sum; the last tile of a group also says the sum of
the group, and the sum of all up to its end. A tile looks at the tiles of its own group and at the
32 groups before, at more than 1000 tiles, once. The order of all additions is fixed, so every call
rounds alike.

What is said is a double in two words of 64 bits, (flag, high half) and (flag, low half): where both
flags are equal, both halves are of one sum. A flag is OWN or WHOLE plus twice the number of the
launch, so words of earlier launches say nothing, and nobody clears them: they are zeros once. The
counter of tiles has that number in its upper half; who takes the last tile sets it for the next.

Launch with blocks of 256 threads, one per 8192 elements; below 2^32 elements; both arrays begin at
multiples of 16 bytes; `words` are 2 for the counter, 2 per tile, 2 per group.
"""

from __future__ import annotations

from numba import cuda, float32, float64, uint32, uint64

from ...ptx import load1, load16, store1, store16
from ...ptx.relaxed import bits_of, load_pair, number_of, store_pair
from ...unrolled import device, jit

QUAD = 4  # elements in 16 bytes
CHUNKS = 8  # of a lane
HELD = QUAD * CHUNKS  # elements of a lane
CHUNK = 32 * QUAD  # elements of a warp in one request
SPAN = CHUNKS * CHUNK  # elements of a warp
THREADS, RESIDENT = 256, 3
WARPS = THREADS // 32
TILE = WARPS * SPAN  # elements of a tile
GROUP = 32  # tiles
EVERYONE = LOW = 0xFFFFFFFF  # lanes that take part; the low half of a word
OWN, WHOLE = 1, 2  # flags: the sum of a tile or group, the sum of all up to its end
NOWHERE = 32  # no lane
NEXT_LAUNCH = 1 << 32


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
def take(words, tiles):
    """The next tile, below the number of the launch."""
    taken = cuda.atomic.add(words, 0, uint64(1))
    if uint32(taken & uint64(LOW)) == uint32(tiles - uint32(1)):
        cuda.atomic.add(words, 0, uint64(uint64(NEXT_LAUNCH) - uint64(tiles)))
    return taken


@device
def tell(words, slot, flag, acc):
    """Say a flag and a sum."""
    bits, tag = bits_of(acc), uint64(uint64(flag) << uint64(32))
    high, low = uint64(tag | bits >> uint64(32)), uint64(tag | bits & uint64(LOW))
    store_pair(words, uint32(uint32(2) * slot), high, low)


@device
def look(words, slot, launch):
    """The flag and the sum that were said; flag 0 while nothing was, or half of it."""
    high, low = load_pair(words, uint32(uint32(2) * slot))
    flag = uint32(uint32(high >> uint64(32)) - uint32(2) * launch)
    if high >> uint64(32) != low >> uint64(32) or flag > WHOLE:
        flag = uint32(0)
    return flag, number_of(float64(0), uint64(high << uint64(32) | low & uint64(LOW)))


@device
def sum_before(words, launch, tiles, tile, total, lane):
    """The sum of all tiles before this one, which has said its own, `total`."""
    group, place = uint32(tile // uint32(GROUP)), uint32(tile % uint32(GROUP))
    own, whole = uint32(uint32(2) * launch + OWN), uint32(uint32(2) * launch + WHOLE)
    groups = uint32(uint32(1) + tiles)  # pairs before them: the counter, the tiles
    last = place == GROUP - 1 and lane == 0

    # a. lane k looks at the group k + 1 before, and at tile k of this group until it is there
    far, before = uint32(WHOLE), float64(0)  # before the first group
    at = uint32(groups + group - uint32(1) - lane)
    if lane < group:
        far, before = look(words, at, launch)
    inside = float64(0)
    if lane < place:
        there = uint32(0)
        while there == 0:
            there, inside = look(words, uint32(uint32(1) + group * uint32(GROUP) + lane), launch)
    cuda.syncwarp()

    # b. the sum of this group up to the tile, always added in this order
    inside += cuda.shfl_xor_sync(EVERYONE, inside, 1)
    inside += cuda.shfl_xor_sync(EVERYONE, inside, 2)
    inside += cuda.shfl_xor_sync(EVERYONE, inside, 4)
    inside += cuda.shfl_xor_sync(EVERYONE, inside, 8)
    inside += cuda.shfl_xor_sync(EVERYONE, inside, 16)
    if group == 0:
        if last:
            tell(words, groups, whole, inside + total)
        return inside
    if last:
        tell(words, uint32(groups + group), own, inside + total)

    # c. look until a group says WHOLE and all that lie between say at least OWN
    near = uint32(NOWHERE)
    while near == NOWHERE:
        done = uint32(cuda.ballot_sync(EVERYONE, far == WHOLE))
        said = uint32(cuda.ballot_sync(EVERYONE, far != 0))
        if done != 0:
            first = uint32(cuda.ffs(done) - 1)
            between = uint32((uint32(1) << first) - uint32(1))
            if (said & between) == between:
                near = first
        if near == NOWHERE and far != WHOLE:
            far, before = look(words, at, launch)

    # d. from there on, each group to all before it
    upto = cuda.shfl_sync(EVERYONE, before, near)
    while near > 0:
        near -= uint32(1)
        upto += cuda.shfl_sync(EVERYONE, before, near)
    if last:
        tell(words, uint32(groups + group), whole, upto + (inside + total))
    return upto + inside


@jit(launch_bounds=(THREADS, RESIDENT))
def scan_grouped(out, inp, words, tiles):
    """out = running sums of inp.  As scan_deep, but tiles look back in two levels, in float64."""
    sums = cuda.shared.array(WARPS, float32)
    place = cuda.shared.array(1, uint64)
    carry = cuda.shared.array(1, float64)
    items = cuda.local.array(HELD, float32)
    tid, size = uint32(cuda.threadIdx.x), uint32(inp.size)
    lane, warp = uint32(tid % uint32(32)), uint32(tid // uint32(32))

    # 0. take the next tile
    if tid == 0:
        place[0] = take(words, uint32(tiles))
    cuda.syncthreads()  # the number of the tile is there
    launch = uint32(place[0] >> uint64(32))
    tile = uint32(place[0] & uint64(LOW))  # shared: 1 wavefront
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

    # 3. the first warp says the tile's sum, and looks back
    if warp == 0:
        if lane == 0:
            tell(words, uint32(uint32(1) + tile), uint32(uint32(2) * launch + OWN), float64(total))
        earlier = sum_before(words, launch, uint32(tiles), tile, float64(total), lane)
        if lane == 0:
            carry[0] = earlier
    cuda.syncthreads()  # what lies before the tile is there
    before = float32(carry[0] + before)  # shared: 1 wavefront

    # 4. store
    store(out, items, before, start, size)
