"""How a tile learns what lies before it while the tiles before it still run: in two levels.

Each tile says its own sum. Every 32 tiles of a row are a group; the last tile of a group adds up the
sums of the group, says them, finds what lies before the group, and says the sum up to its end. So a
tile looks once at up to 31 tiles of its own group and once at up to 32 groups, at 1024 tiles in all,
and the order in which anything is added is always the same: every call rounds alike.

What is said stands in two words of 64 bits, (flag, high half of the sum) and (flag, low half). A
word is never seen half written; if both flags are equal, both halves are of one sum. Flags: 0 nothing
yet, `OWN` the sum of the tile or group, `WHOLE` the sum of all up to its end.

`words` holds, two by two: the counter of tiles, then one pair per tile, then one pair per group. All
begin as zeros. Of `rows` rows with `tiles` tiles each, tile k of row r has the number k * rows + r:
tiles that wait for each other begin far apart where there are many rows.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from numba import cuda, uint32, uint64

from ..unrolled import device
from .ptx_words import bits_of, load_pair, number_of, store_pair

EVERYONE = 0xFFFFFFFF  # lanes that take part
OWN, WHOLE = 1, 2
NOWHERE = 32  # no lane
GROUP = 32  # tiles
LOW = 0xFFFFFFFF


def words_needed(rows: int, tiles: int) -> int:
    """How many uint64 a scan of so many rows of so many tiles needs, all zeros."""
    return 2 + 2 * rows * tiles + 2 * rows * -(-tiles // GROUP)


@device
def tell(words, slot, flag, bits):
    """Say a flag and the bits of a sum."""
    tag = uint64(uint64(flag) << uint64(32))
    high, low = uint64(tag | bits >> uint64(32)), uint64(tag | bits & uint64(LOW))
    store_pair(words, uint32(uint32(2) * slot), high, low)


@device
def look(words, slot):
    """The flag and the bits of what was said; flag 0 while nothing was, or half of it."""
    high, low = load_pair(words, uint32(uint32(2) * slot))
    flag = uint32(high >> uint64(32))
    if flag != uint32(low >> uint64(32)):
        flag = uint32(0)
    return flag, uint64(high << uint64(32) | low & uint64(LOW))


@cache
def sum_before_of(carry: Any, combine: Callable[[Any, Any], Any], zero: float) -> Any:
    """A device function for the first warp of a block: what lies before its tile in its row.

    Args:
        carry: type of sums between tiles, of 8 bytes.
        combine: a device function of two of them.
        zero: what changes nothing when it is combined.
    """

    # a shuffle hands unsigned numbers back as signed ones: hence `carry(...)` around each
    @device
    def sum_before(words, rows, tiles, row, tile, total, lane):
        """What lies before tile `tile` of a row, whose own sum is `total`."""
        group, place = uint32(tile // uint32(GROUP)), uint32(tile % uint32(GROUP))
        parts = uint32(1)
        groups = uint32(parts + rows * tiles)
        last = place == GROUP - 1 and lane == 0

        # a. say the tile's own sum; look at the groups before, lane k at the one k + 1 before
        if lane == 0:
            tell(words, uint32(parts + tile * rows + row), OWN, bits_of(total))
        flag, before = uint32(WHOLE), carry(zero)  # before the first group
        at = uint32(groups + (group - uint32(1) - lane) * rows + row)
        if lane < group:
            flag, bits = look(words, at)
            before = number_of(before, bits)

        # b. the sums of the tiles of this group that lie before, always added in this order
        inside = carry(zero)
        if lane < place:
            there = uint32(0)
            while there == 0:
                slot = uint32(parts + (group * uint32(GROUP) + lane) * rows + row)
                there, bits = look(words, slot)
            inside = number_of(inside, bits)
        cuda.syncwarp()
        inside = combine(inside, carry(cuda.shfl_xor_sync(EVERYONE, inside, 1)))
        inside = combine(inside, carry(cuda.shfl_xor_sync(EVERYONE, inside, 2)))
        inside = combine(inside, carry(cuda.shfl_xor_sync(EVERYONE, inside, 4)))
        inside = combine(inside, carry(cuda.shfl_xor_sync(EVERYONE, inside, 8)))
        inside = combine(inside, carry(cuda.shfl_xor_sync(EVERYONE, inside, 16)))
        whole = combine(inside, total)
        if group == 0:
            if last:
                tell(words, uint32(groups + row), WHOLE, bits_of(whole))
            return inside
        if last:
            tell(words, uint32(groups + group * rows + row), OWN, bits_of(whole))

        # c. look until a group says WHOLE and all that lie between say at least OWN
        near = uint32(NOWHERE)
        while near == NOWHERE:
            done = uint32(cuda.ballot_sync(EVERYONE, flag == WHOLE))
            there = uint32(cuda.ballot_sync(EVERYONE, flag != 0))
            if done != 0:
                first = uint32(cuda.ffs(done) - 1)
                between = uint32((uint32(1) << first) - uint32(1))
                if there & between == between:
                    near = first
            if near == NOWHERE and flag != WHOLE:
                flag, bits = look(words, at)
                before = number_of(before, bits)

        # d. from there on, each group to all before it
        upto = carry(cuda.shfl_sync(EVERYONE, before, near))
        while near > 0:
            near -= uint32(1)
            upto = combine(upto, carry(cuda.shfl_sync(EVERYONE, before, near)))
        if last:
            tell(words, uint32(groups + group * rows + row), WHOLE, bits_of(combine(upto, whole)))
        return combine(upto, inside)

    return sum_before
