"""Who does what where blocks share tiles evenly: for one thread of a block, in whole numbers.

There are as many blocks as a GPU holds at once. Tiles that are left over from whole rounds, numbers
0 to `left` - 1, are put end to end, each with its steps along the depth, and that line is cut into
pieces as long as each other, one for a block. Where a piece begins inside a tile, its block helps:
it leaves its sums in global memory. The block with the first step of a tile owns it, and adds what
its helpers leave, in their order. After that every block takes whole tiles in turns.

A piece has at most one helper's part, and begins with it; the helpers of a tile are the blocks that
come next on the line. Blocks are numbered as they start, and stand on the line the other way round:
an owner waits for blocks that started before it, and they for nobody before they have helped.
"""

from __future__ import annotations

from typing import Any

from numba import cuda, uint32, uint64

from ...unrolled import device, smaller
from ..cut import Cut

WHOLE, LEFT, USED, PLACE = range(4)
"""A block's share: its next whole tile; how many tiles are left over, how many blocks share them,
and its own place on the line."""

TILE, BEGIN, END, FIRST, LAST, EACH, SLOT, HELPERS = range(8)
"""A piece: a tile, the first step along the depth, the one behind the last; the same of what is done
of it at a time, and how many steps that are; the slot for the sums of a helper, or of the owner's
first helper, and how many helpers there are."""

CHUNK = 96
"""Steps that are added up one after the other: the sums of longer pieces are put aside and taken up
again, as rounding errors of a long sum grow with its length."""
LEAST_STEPS = 8
"""That a block does of a line at least: with fewer, its ends outweigh its product."""
SNAP = 3
"""A piece that would begin or end so many steps from the end of a tile, does there."""
PARTS_OF = 1.2
"""Steps that it costs an owner to add the sums of a helper."""


def blocks_used(left: int, steps: int, blocks: int) -> int:
    """How many blocks share the line.

    >>> blocks_used(100, 512, 264), blocks_used(1, 16, 264), blocks_used(3, 2048, 264)
    (264, 2, 123)
    """
    parts = max(1, min(steps // LEAST_STEPS, int((steps / PARTS_OF) ** 0.5)))
    return min(blocks, left * parts)


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
def _blocks_used(left, steps, blocks):
    """As `blocks_used`, without fractions: the largest p with p * p * PARTS_OF <= steps."""
    most = uint32(steps // uint32(LEAST_STEPS))
    parts = uint32(1)
    while uint32(parts + uint32(1)) <= most:
        more = uint32(parts + uint32(1))
        if uint32(more * more * uint32(6)) > uint32(steps * uint32(5)):
            break
        parts = more
    return uint32(smaller(uint64(blocks), uint64(left) * uint64(parts)))


@device
def _cut(share, steps, place):
    """Where the piece of a place on the line begins."""
    line = uint64(share[LEFT]) * uint64(steps)
    if place >= share[USED]:
        return line
    at = line * uint64(place) // uint64(share[USED])
    into = at % uint64(steps)
    if into <= uint64(SNAP):
        return at - into
    if uint64(steps) - into <= uint64(SNAP):
        return at + (uint64(steps) - into)
    return at


@device
def first_share(share, line, piece, flags, tiles, steps):
    """A block's share of `tiles` tiles of `steps` steps each; `line`: where it stands, where it ends.
    """
    piece[LAST], piece[END] = uint32(0), uint32(0)
    blocks = uint32(cuda.gridDim.x)
    block = uint32(cuda.atomic.inc(flags, 0, uint32(blocks - uint32(1))))
    left = uint32(tiles % blocks)
    share[WHOLE], share[LEFT] = uint32(left + block), left
    share[USED] = _blocks_used(left, steps, blocks)
    share[PLACE] = uint32(uint32(blocks - uint32(1)) - block)
    line[0] = _cut(share, steps, share[PLACE])
    line[1] = _cut(share, steps, uint32(share[PLACE] + uint32(1)))


@device
def next_piece(share, line, piece, steps):
    """What the block does next; `tile` is beyond the last where nothing is left."""
    if piece[LAST] < piece[END]:
        piece[FIRST] = piece[LAST]
        piece[LAST] = smaller(piece[END], uint32(piece[FIRST] + piece[EACH]))
        return
    at, end = line[0], line[1]
    piece[SLOT], piece[HELPERS] = share[PLACE], uint32(0)
    if at < end:
        tile = uint32(at // uint64(steps))
        before = uint64(tile) * uint64(steps)
        behind = before + uint64(steps)
        stop = smaller(end, behind)
        piece[TILE], piece[BEGIN] = tile, uint32(at - before)
        piece[END] = uint32(stop - before)
        if at == before:
            place = uint32(share[PLACE] + uint32(1))
            piece[SLOT] = place
            while place < share[USED] and _cut(share, steps, place) < behind:
                place = uint32(place + uint32(1))
            piece[HELPERS] = uint32(place - piece[SLOT])
        line[0] = stop
    else:
        piece[TILE], piece[BEGIN], piece[END] = share[WHOLE], uint32(0), steps
        share[WHOLE] = uint32(share[WHOLE] + uint32(cuda.gridDim.x))
    count = uint32(piece[END] - piece[BEGIN])
    chunks = uint32(uint32(count + uint32(CHUNK - 1)) // uint32(CHUNK))
    piece[EACH] = count
    if chunks > uint32(1):
        piece[EACH] = uint32(uint32(count + uint32(chunks - uint32(1))) // chunks)
    piece[FIRST], piece[LAST] = piece[BEGIN], uint32(piece[BEGIN] + piece[EACH])
