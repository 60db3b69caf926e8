"""Who does what where blocks share tiles evenly: for one thread of a block, in whole numbers.

There are as many blocks as a GPU holds at once. Tiles that are left over from whole rounds, numbers
0 to `left` - 1, are put end to end, each with its steps along the depth, and that line is cut into
pieces as long as each other, one for a block. Where a piece begins inside a tile, its block helps
the one with the tile's first step, the owner. After that every block takes whole tiles in turns.

The sums of a tile's pieces are added as a tree, always the same one: of the pieces in their order,
number 0 being the owner's, every fourth adds those of the three that follow to its own, then every
sixteenth those that are 4, 8 and 12 further, and so on; the others leave theirs in global memory.

A piece has at most one helper's part, and begins with it; the helpers of a tile are the blocks that
come next on the line. Blocks are numbered as they start, and stand on the line the other way round:
each waits for blocks that started before it.

**Teams.** Tiles of one column of tiles (or row, if those are shorter) read the same part of an
operand. Put end to end, their pieces are at different steps of the depth at any time, and where the
operand is larger than L2 each of them reads it from memory. With teams the line is of whole columns
of tiles, and a piece of it is done by as many blocks as a column has tiles, a tile for each: so
they read the same steps at the same time. For results of no more tiles than there are blocks.

**Limits.** Steps of all tiles that are left over: less than 2**32.
"""

from __future__ import annotations

from typing import Any

from numba import cuda, uint32

from ...unrolled import device, smaller
from ..cut import Cut

WHOLE, LINE, USED, PLACE, LONG, MORE, AT, STOP, TEAM, MEMBER = range(10)
SHARE = 10
"""A block's share: its next whole tile; the line's steps, how many blocks share it, its own place
among them; a piece's steps, and how many pieces have one more; where it stands on the line, and
where it ends there; blocks of a team, its number there."""

TILE, BEGIN, END, FIRST, LAST, EACH, RANK, HELPERS = range(8)
PIECE = 8
"""A piece: a tile, the first step along the depth, the one behind the last; the same of what is
done of it at a time, and how many steps that are; its number among the tile's pieces, 0 for the
owner's, and how many helpers the owner has. Two of them are kept in turns: the next one is worked
out while the first tiles of this one are on their way."""

CHUNK = 96
"""Steps that are added up one after the other: the sums of longer pieces are put aside and taken up
again, as rounding errors of a long sum grow with its length, and libraries cut their depth."""
LEAST_STEPS = 12
"""That a block does of a line at least: with fewer, its ends outweigh its product."""
SNAP = 3
"""A piece that would begin or end so many steps from the end of a tile, does there."""


def blocks_used(left: int, steps: int, blocks: int) -> int:
    """How many blocks share the line.

    >>> blocks_used(100, 512, 264), blocks_used(1, 24, 264), blocks_used(5, 7, 264)
    (264, 2, 5)
    """
    return min(blocks, left * max(1, steps // LEAST_STEPS))


def tiles_of(cut: Cut, k_axis: int) -> Any:
    """(tiles down, tiles across, steps along the depth)."""
    rows, cols, depth = cut.rows, cut.cols, cut.depth

    @device
    def count(out, a):
        high = uint32((uint32(out.shape[0]) + uint32(rows - 1)) // uint32(rows))
        across = uint32((uint32(out.shape[1]) + uint32(cols - 1)) // uint32(cols))
        return high, across, uint32((uint32(a.shape[k_axis]) + uint32(depth - 1)) // uint32(depth))

    return count


def ends_of(cut: Cut) -> Any:
    """(first k, k behind the last) of some steps; the depth left over belongs to the first one."""
    depth = cut.depth

    @device
    def ends(k_size, first, last, steps):
        begin = uint32(0)
        if first > uint32(0):
            begin = uint32(k_size - uint32(steps - first) * uint32(depth))
        return begin, uint32(k_size - uint32(steps - last) * uint32(depth))

    return ends


@device
def _cut(share, steps, place):
    """Where the piece of a place on the line begins."""
    if place >= share[USED]:
        return uint32(share[LINE])
    at = uint32(place * share[LONG] + smaller(place, uint32(share[MORE])))
    into = uint32(at % steps)
    if into <= uint32(SNAP):
        return uint32(at - into)
    if uint32(steps - into) <= uint32(SNAP):
        return uint32(at + uint32(steps - into))
    return at


@device
def _place_of(share, steps, at):
    """The place whose piece has a step of the line."""
    longer = uint32(uint32(share[MORE]) * uint32(share[LONG] + uint32(1)))
    if at < longer:
        place = uint32(at // uint32(share[LONG] + uint32(1)))
    else:
        place = uint32(uint32(share[MORE]) + uint32(at - longer) // uint32(share[LONG]))
    while _cut(share, steps, place) > at:
        place = uint32(place - uint32(1))
    while _cut(share, steps, uint32(place + uint32(1))) <= at:
        place = uint32(place + uint32(1))
    return place


@device
def first_share(share, flags, tiles, steps, team):
    """A block's share of `tiles` tiles of `steps` steps each, in teams of `team` blocks."""
    blocks = uint32(cuda.gridDim.x)
    block = uint32(cuda.atomic.inc(flags, 0, uint32(blocks - uint32(1))))
    left = uint32(tiles % blocks)
    place = uint32(uint32(blocks - uint32(1)) - block)
    share[TEAM], share[MEMBER] = uint32(1), uint32(0)
    if team > uint32(1):
        share[TEAM], share[MEMBER] = team, uint32(place % team)
        place, left = uint32(place // team), uint32(tiles // team)
        blocks = uint32(blocks // team)
    share[WHOLE], share[PLACE] = uint32(left + block), place
    if team > uint32(1):
        share[WHOLE] = tiles  # there are no whole ones
    share[AT], share[STOP] = uint32(0), uint32(0)
    if left > uint32(0):
        parts = uint32(steps // uint32(LEAST_STEPS))
        if parts == uint32(0):
            parts = uint32(1)
        if parts > blocks:
            parts = blocks
        used = smaller(blocks, uint32(left * parts))
        line = uint32(left * steps)
        share[LINE], share[USED] = line, used
        share[LONG], share[MORE] = uint32(line // used), uint32(line % used)
        share[AT] = _cut(share, steps, place)
        share[STOP] = _cut(share, steps, uint32(place + uint32(1)))


@device
def next_piece(share, piece, to, steps):
    """What the block does next, put at `to`; `tile` is beyond the last where nothing is left."""
    at, end = share[AT], share[STOP]
    tile, begin, stop = uint32(share[WHOLE]), uint32(0), uint32(steps)
    rank, helpers = uint32(0), uint32(0)
    if at < end:
        tile = uint32(at // steps)
        before = uint32(tile * steps)
        tile = uint32(tile * share[TEAM] + share[MEMBER])
        behind = uint32(before + steps)
        until, place = smaller(uint32(end), behind), uint32(share[PLACE])
        begin, stop = uint32(at - before), uint32(until - before)
        owner, last = place, place
        if at > before:
            owner = _place_of(share, steps, before)
        if until < behind:
            last = _place_of(share, steps, uint32(behind - uint32(1)))
        rank, helpers = uint32(place - owner), uint32(last - owner)
        share[AT] = until
    else:
        share[WHOLE] = uint32(tile + cuda.gridDim.x)
    each, most = uint32(stop - begin), uint32(CHUNK)
    first = each
    if each > most:
        chunks = uint32(uint32(each + uint32(most - uint32(1))) // most)
        each = uint32(uint32(each + uint32(chunks - uint32(1))) // chunks)
        # the first chunk is shorter in some blocks, so that not all put sums aside at once
        first = uint32(each - uint32(each * uint32(share[PLACE] % uint32(8))) // uint32(16))
    piece[to + TILE] = tile
    piece[to + BEGIN], piece[to + END] = begin, stop
    piece[to + FIRST], piece[to + LAST] = begin, smaller(stop, uint32(begin + first))
    piece[to + EACH], piece[to + RANK], piece[to + HELPERS] = each, rank, helpers


@device
def following(share, piece, now, steps):
    """The same of what comes behind the piece at `now`: its next chunk, or the next piece."""
    to = uint32(uint32(PIECE) - now)
    if piece[now + LAST] < piece[now + END]:
        first = uint32(piece[now + LAST])
        piece[to + TILE], piece[to + BEGIN] = piece[now + TILE], piece[now + BEGIN]
        piece[to + END], piece[to + FIRST] = piece[now + END], first
        piece[to + LAST] = smaller(uint32(piece[now + END]), uint32(first + piece[now + EACH]))
        piece[to + EACH], piece[to + RANK] = piece[now + EACH], piece[now + RANK]
        piece[to + HELPERS] = piece[now + HELPERS]
    else:
        next_piece(share, piece, to, steps)
