"""Trial."""

from __future__ import annotations

from numba import cuda, float32, float64, uint32, uint64

from ...ptx import load1, load16, store1, store16
from ...unrolled import device, jit
from ..ptx_words import bits_of, load_pair, load_word, number_of, store_pair, store_word

EVERYONE = 0xFFFFFFFF
PART, WHOLE = 1, 2


@device
def publish(words, slot, flag, value):
    bits = bits_of(value)
    tag = uint64(uint64(flag) << uint64(32))
    store_pair(
        words,
        uint32(uint32(2) * slot),
        uint64(tag | (bits >> uint64(32))),
        uint64(tag | (bits & uint64(0xFFFFFFFF))),
    )


@device
def observed(words, slot, like):
    high, low = load_pair(words, uint32(uint32(2) * slot))
    flag = uint32(high >> uint64(32))
    if flag != uint32(low >> uint64(32)):
        flag = uint32(0)
    bits = uint64((high << uint64(32)) | (low & uint64(0xFFFFFFFF)))
    return flag, number_of(like, bits)


@device
def publish1(words, slot, flag, value):
    store_word(words, slot, uint64((uint64(flag) << uint64(32)) | uint64(bits_of(value))))


@device
def observed1(words, slot, like):
    word = load_word(words, slot)
    return uint32(word >> uint64(32)), number_of(like, uint32(word & uint64(0xFFFFFFFF)))


@device
def scanned(upto, lane):
    left = cuda.shfl_up_sync(EVERYONE, upto, 1)
    upto += left if lane >= 1 else float32(0)
    left = cuda.shfl_up_sync(EVERYONE, upto, 2)
    upto += left if lane >= 2 else float32(0)
    left = cuda.shfl_up_sync(EVERYONE, upto, 4)
    upto += left if lane >= 4 else float32(0)
    left = cuda.shfl_up_sync(EVERYONE, upto, 8)
    upto += left if lane >= 8 else float32(0)
    left = cuda.shfl_up_sync(EVERYONE, upto, 16)
    upto += left if lane >= 16 else float32(0)
    return upto


def trial_of(threads=256, chunks=4, resident=0, ticketed=True, kind="groups", lanes=32, nap=0, limit=0, wide=1):
    warps = threads // 32
    chunk = 128
    span = chunks * chunk
    tile_size = warps * span
    per = 4 * chunks
    carry_t = float64 if kind in ("groups", "none") else float32

    if nap:

        @device
        def wait():
            cuda.nanosleep(nap)

    else:

        @device
        def wait():
            pass

    if limit:

        @device
        def goes_on(tries):
            return tries < uint32(limit)

        @device
        def counted(tries):
            return uint32(tries + uint32(1))

    else:

        @device
        def goes_on(tries):
            return True

        @device
        def counted(tries):
            return tries

    @device
    def look_back_groups(parts, groups, tile, total, lane):
        """Two levels."""
        group, place = uint32(tile // uint32(32)), uint32(tile % uint32(32))
        mine = float64(0)
        # first look at the groups, early
        flag, value = uint32(2), float64(0)
        if lane < group:
            flag, value = observed(groups, uint32(group - uint32(1) - lane), float64(0))
        tries = uint32(0)
        if lane < place:
            seen = uint32(0)
            while seen == uint32(0) and goes_on(tries):
                seen, mine = observed(parts, uint32(group * uint32(32) + lane), float64(0))
                tries = counted(tries)
                if seen == uint32(0):
                    wait()
        cuda.syncwarp()
        mine += cuda.shfl_xor_sync(EVERYONE, mine, 16)
        mine += cuda.shfl_xor_sync(EVERYONE, mine, 8)
        mine += cuda.shfl_xor_sync(EVERYONE, mine, 4)
        mine += cuda.shfl_xor_sync(EVERYONE, mine, 2)
        mine += cuda.shfl_xor_sync(EVERYONE, mine, 1)
        whole = float64(mine + total)
        if place == uint32(31) and lane == uint32(0):
            if group == uint32(0):
                publish(groups, group, uint32(WHOLE), whole)
            else:
                publish(groups, group, uint32(PART), whole)
        if group == uint32(0):
            return mine
        tries = uint32(0)
        near = uint32(32)
        while near == uint32(32) and goes_on(tries):
            have = uint32(cuda.ballot_sync(EVERYONE, flag == uint32(WHOLE)))
            some = uint32(cuda.ballot_sync(EVERYONE, flag != uint32(0)))
            if have != uint32(0):
                first = uint32(cuda.ffs(have) - 1)
                below = uint32((uint32(1) << first) - uint32(1))
                if some & below == below:
                    near = first
            if near == uint32(32):
                wait()
                if lane < group and flag != uint32(WHOLE):
                    flag, value = observed(groups, uint32(group - uint32(1) - lane), float64(0))
            tries = counted(tries)
        before = cuda.shfl_sync(EVERYONE, value, near)
        while near > uint32(0):
            near -= uint32(1)
            before += cuda.shfl_sync(EVERYONE, value, near)
        if place == uint32(31) and lane == uint32(0):
            publish(groups, group, uint32(WHOLE), before + whole)
        return before + mine

    @device
    def look_back_fold(parts, groups, tile, total, lane):
        """One level, a left fold, windows of 32 * wide tiles."""
        flag, value = uint32(2), float32(0)
        flag2, value2 = uint32(2), float32(0)
        at = uint32(lane + uint32(1))
        tries = uint32(0)
        near = uint32(255)
        flag = uint32(0) if lane < tile else uint32(2)
        flag2 = uint32(0) if lane + uint32(32) < tile and wide == 2 else uint32(2)
        while near == uint32(255) and goes_on(tries):
            if flag != uint32(2):
                flag, value = observed1(parts, uint32(tile - at), float32(0))
            if wide == 2 and flag2 != uint32(2):
                flag2, value2 = observed1(parts, uint32(tile - at - uint32(32)), float32(0))
            have = uint32(cuda.ballot_sync(EVERYONE, flag == uint32(WHOLE)))
            some = uint32(cuda.ballot_sync(EVERYONE, flag != uint32(0)))
            if have != uint32(0):
                first = uint32(cuda.ffs(have) - 1)
                below = uint32((uint32(1) << first) - uint32(1))
                if some & below == below:
                    near = first
            elif wide == 2 and some == uint32(EVERYONE):
                have2 = uint32(cuda.ballot_sync(EVERYONE, flag2 == uint32(WHOLE)))
                some2 = uint32(cuda.ballot_sync(EVERYONE, flag2 != uint32(0)))
                if have2 != uint32(0):
                    first = uint32(cuda.ffs(have2) - 1)
                    below = uint32((uint32(1) << first) - uint32(1))
                    if some2 & below == below:
                        near = uint32(first + uint32(32))
            if near == uint32(255):
                wait()
            tries = counted(tries)
        before = float32(0)
        if wide == 2 and near >= uint32(32):
            near -= uint32(32)
            before = cuda.shfl_sync(EVERYONE, value2, near)
            while near > uint32(0):
                near -= uint32(1)
                before += cuda.shfl_sync(EVERYONE, value2, near)
            near = uint32(32)
        else:
            before = cuda.shfl_sync(EVERYONE, value, near)
        while near > uint32(0):
            near -= uint32(1)
            before += cuda.shfl_sync(EVERYONE, value, near)
        if lane == uint32(0):
            publish1(parts, tile, uint32(WHOLE), float32(before + total))
        return before

    two_level = kind == "groups"
    look = kind != "none"
    options = {"launch_bounds": (threads, resident)} if resident else {"launch_bounds": threads}

    @jit(**options)
    def scan(out, inp, ticket, parts, groups):
        sums = cuda.shared.array(32, float32)
        place = cuda.shared.array(1, uint32)
        carry = cuda.shared.array(1, carry_t)
        tid = uint32(cuda.threadIdx.x)
        lane, warp = uint32(tid % uint32(32)), uint32(tid // uint32(32))
        tile = uint32(cuda.blockIdx.x)
        if ticketed:
            if tid == 0:
                place[0] = cuda.atomic.add(ticket, 0, uint32(1))
            cuda.syncthreads()
            tile = uint32(place[0])
        size = uint32(inp.size)
        start = uint32(tile * uint32(tile_size) + warp * uint32(span) + lane * uint32(4))
        items = cuda.local.array(per, float32)
        full = tile * uint32(tile_size) + uint32(tile_size) <= size
        if full:
            for c in range(chunks):
                four = load16(inp, uint32(start + c * chunk))
                items[4 * c] = four[0]
                items[4 * c + 1] = four[1]
                items[4 * c + 2] = four[2]
                items[4 * c + 3] = four[3]
        else:
            for c in range(chunks):
                for e in range(4):
                    at = uint32(start + c * chunk + e)
                    items[4 * c + e] = load1(inp, at) if at < size else float32(0)
        running = float32(0)
        offset = cuda.local.array(chunks, float32)
        for c in range(chunks):
            items[4 * c + 1] += items[4 * c]
            items[4 * c + 2] += items[4 * c + 1]
            items[4 * c + 3] += items[4 * c + 2]
            upto = items[4 * c + 3]
            upto = scanned(upto, lane)
            left = cuda.shfl_up_sync(EVERYONE, upto, 1)
            if lane == 0:
                left = float32(0)
            offset[c] = running + left
            running += cuda.shfl_sync(EVERYONE, upto, 31)
        if lane == 0:
            sums[warp] = running
        cuda.syncthreads()
        upto = float32(0)
        if lane < warps:
            upto = sums[lane]
        upto = scanned(upto, lane)
        total = cuda.shfl_sync(EVERYONE, upto, warps - 1)
        left = cuda.shfl_sync(EVERYONE, upto, max(int(warp) - 1, 0))
        if warp == 0:
            left = float32(0)
        if look:
            if warp == 0:
                if two_level:
                    if lane == 0:
                        publish(parts, tile, uint32(PART), float64(total))
                    before = look_back_groups(parts, groups, tile, float64(total), lane)
                else:
                    if tile > uint32(0):
                        if lane == 0:
                            publish1(parts, tile, uint32(PART), total)
                    before = look_back_fold(parts, groups, tile, total, lane)
                if lane == 0:
                    carry[0] = before
            cuda.syncthreads()
            left = float32(carry[0] + left)
        if full:
            for c in range(chunks):
                b = left + offset[c]
                store16(
                    out,
                    uint32(start + c * chunk),
                    (b + items[4 * c], b + items[4 * c + 1], b + items[4 * c + 2], b + items[4 * c + 3]),
                )
        else:
            for c in range(chunks):
                b = left + offset[c]
                for e in range(4):
                    at = uint32(start + c * chunk + e)
                    if at < size:
                        store1(out, at, b + items[4 * c + e])

    return scan, tile_size
