"""How a tile learns what lies before it while the tiles before it still run: in two levels.

Each tile says its own sum. Every 32 tiles of a row are a group; the last tile of a group also says
the sum of the group, and the sum of all up to its end. A tile looks at the tiles of its own group
and at the 32 groups before, at more than 1000 tiles, once. The order in which anything is added is
always the same, so every call rounds alike.

What is said stands in two words of 64 bits, (flag, high half of the sum) and (flag, low half). A
word is never seen half written; if both flags are equal, both halves are of one sum. A flag is
`OWN` or `WHOLE` plus twice the number of the launch, so that words of earlier launches say nothing,
and nobody has to clear them.

`words` holds, two by two: the counter, then one pair per tile, then one pair per group. All begin
as zeros, once. Of `rows` rows with `tiles` tiles each, tile k of row r has the number k * rows + r:
tiles that wait for each other begin far apart where there are many rows.

The low half of the counter numbers the tiles in the order in which blocks take them, so a tile
waits only for tiles that have been taken before; the high half is the number of the launch. Who
takes the last number sets both for the next launch.

**Limits**: launches on one array of words come one after the other. After 2^31 launches their
numbers repeat.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from numba import cuda, uint32, uint64

from ..ptx.relaxed import bits_of, load_pair, number_of, store_pair
from ..unrolled import device

EVERYONE = 0xFFFFFFFF  # lanes that take part
OWN, WHOLE = 1, 2
NOWHERE = 32  # no lane
GROUP = 32  # tiles
LOW = 0xFFFFFFFF
NEXT_LAUNCH = 1 << 32


def words_needed(rows: int, tiles: int) -> int:
    """How many uint64 a scan of so many rows of so many tiles needs."""
    return 2 + 2 * rows * tiles + 2 * rows * -(-tiles // GROUP)


@device
def take(words, numbers):
    """The next number, below the number of the launch; `numbers` of them are taken in all."""
    taken = cuda.atomic.add(words, 0, uint64(1))
    if uint32(taken & uint64(LOW)) == uint32(numbers - uint32(1)):
        cuda.atomic.add(words, 0, uint64(uint64(NEXT_LAUNCH) - uint64(numbers)))
    return taken


@device
def tell(words, slot, flag, bits):
    """Say a flag and the bits of a sum."""
    tag = uint64(uint64(flag) << uint64(32))
    high, low = uint64(tag | bits >> uint64(32)), uint64(tag | bits & uint64(LOW))
    store_pair(words, uint32(uint32(2) * slot), high, low)


@device
def look(words, slot, launch):
    """The flag and the bits of what was said; flag 0 while nothing was, or half of it."""
    high, low = load_pair(words, uint32(uint32(2) * slot))
    flag = uint32(uint32(high >> uint64(32)) - uint32(2) * launch)
    if high >> uint64(32) != low >> uint64(32) or flag > WHOLE:
        flag = uint32(0)
    return flag, uint64(high << uint64(32) | low & uint64(LOW))


@device
def say(words, launch, rows, row, tile, bits):
    """Say a tile's own sum, by one thread: the earlier, the shorter others wait."""
    tell(words, uint32(uint32(1) + tile * rows + row), uint32(uint32(2) * launch + OWN), bits)


@cache
def sum_before_of(carry: Any, combine: Callable[[Any, Any], Any], zero: float) -> Any:
    """A device function for one warp of a block: what lies before its tile in its row.

    Args:
        carry: type of sums between tiles, of 8 bytes.
        combine: a device function of two of them.
        zero: what changes nothing when it is combined.
    """

    @device
    def sum_before(words, launch, rows, tiles, row, tile, total, lane):
        """What lies before tile `tile` of a row, which has said its own sum, `total`."""
        group, place = uint32(tile // uint32(GROUP)), uint32(tile % uint32(GROUP))
        groups = uint32(uint32(1) + rows * tiles)  # pairs before them
        own, whole = uint32(uint32(2) * launch + OWN), uint32(uint32(2) * launch + WHOLE)
        last = place == GROUP - 1 and lane == 0
        here = uint32(groups + group * rows + row)

        # a. lane k looks at the group k + 1 before, and at tile k of this group until it is there
        far, before = uint32(WHOLE), carry(zero)  # before the first group
        at = uint32(groups + (group - uint32(1) - lane) * rows + row)
        if lane < group:
            far, bits = look(words, at, launch)
            before = number_of(before, bits)
        inside = carry(zero)
        if lane < place:
            there = uint32(0)
            slot = uint32(uint32(1) + (group * uint32(GROUP) + lane) * rows + row)
            while there == 0:
                there, bits = look(words, slot, launch)
                inside = number_of(inside, bits)
        cuda.syncwarp()

        # b. the sum of this group up to the tile, always added in this order
        inside = combine(inside, cuda.shfl_xor_sync(EVERYONE, inside, 1))
        inside = combine(inside, cuda.shfl_xor_sync(EVERYONE, inside, 2))
        inside = combine(inside, cuda.shfl_xor_sync(EVERYONE, inside, 4))
        inside = combine(inside, cuda.shfl_xor_sync(EVERYONE, inside, 8))
        inside = combine(inside, cuda.shfl_xor_sync(EVERYONE, inside, 16))
        if group == 0:
            if last:
                tell(words, here, whole, bits_of(combine(inside, total)))
            return inside
        if last:
            tell(words, here, own, bits_of(combine(inside, total)))

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
                far, bits = look(words, at, launch)
                before = number_of(before, bits)

        # d. from there on, each group to all before it
        upto = cuda.shfl_sync(EVERYONE, before, near)
        while near > 0:
            near -= uint32(1)
            upto = combine(upto, cuda.shfl_sync(EVERYONE, before, near))
        if last:
            tell(words, here, whole, bits_of(combine(upto, combine(inside, total))))
        return combine(upto, inside)

    return sum_before
