"""Who does what where blocks share tiles: for one thread of a block, in whole numbers.

The shared tiles are those that are left over from whole rounds, numbers 0 to `shared` - 1. Blocks
are numbered as they start, helpers first: an owner waits for blocks that run, and they for nobody.
"""

from __future__ import annotations

from typing import Any

from numba import cuda, uint32

from ...unrolled import device, smaller
from ..tiling import Tiling

WHOLE, SHARED, NEXT, PARTS, MINE = range(5)
"""A block's share: its next whole tile; how many tiles are shared, the next of them for it, in how
many parts besides the owner's their depth is cut, and which part is its own (0: an owner)."""

TILE, FIRST, LAST, SLOT, HELPERS, APART = range(6)
"""A piece: a tile, the first step along the depth, the one behind the last; where the sums of the
helpers lie, how many they are, and how far apart."""

PIECE_COST = 6
"""Steps that a piece costs beyond its own: filling the first tiles, handing over the sums."""


def tiles_of(tiling: Tiling) -> Any:
    """(tiles down, tiles across, pairs of tiles along the depth)."""
    rows, cols, depth = tiling.rows, tiling.cols, tiling.depth

    @device
    def count(out, a):
        high = uint32((uint32(out.shape[0]) + uint32(rows - 1)) // uint32(rows))
        across = uint32((uint32(out.shape[1]) + uint32(cols - 1)) // uint32(cols))
        return high, across, uint32((uint32(a.shape[1]) + uint32(depth - 1)) // uint32(depth))

    return count


def ends_of(tiling: Tiling) -> Any:
    """(first k, k behind the last) of some steps; the depth left over belongs to the first one."""
    depth = tiling.depth

    @device
    def ends(a, first, last, steps):
        k_size, begin = uint32(a.shape[1]), uint32(0)
        if first > uint32(0):
            begin = uint32(k_size - uint32(steps - first) * uint32(depth))
        return begin, uint32(k_size - uint32(steps - last) * uint32(depth))

    return ends


@device
def first_share(share, flags, tiles, steps):
    """A block's share of `tiles` tiles, `steps` pairs of tiles along the depth each."""
    blocks = uint32(cuda.gridDim.x)
    block = uint32(cuda.atomic.inc(flags, 0, uint32(blocks - uint32(1))))
    shared = uint32(tiles % blocks)
    if steps < uint32(2):
        shared = uint32(0)
    helpers = uint32(blocks - shared)
    share[WHOLE], share[SHARED] = uint32(shared + block), shared
    share[NEXT], share[PARTS], share[MINE] = shared, uint32(1), uint32(0)
    if shared > uint32(0):
        parts = smaller(uint32(helpers // shared), uint32(steps - uint32(1)))
        if parts > uint32(1):
            share[PARTS] = parts
        if block >= helpers:
            share[NEXT] = uint32(block - helpers)
        elif block < shared * share[PARTS]:
            share[NEXT], share[MINE] = uint32(block % shared), uint32(block // shared + 1)


@device
def cut(share, steps, part):
    """The step at which a part of a shared tile begins."""
    shared, parts = share[SHARED], share[PARTS]
    helpers = uint32(uint32(cuda.gridDim.x) - shared)
    if part > parts:
        return uint32(steps)
    if helpers >= shared:
        return uint32(uint32(steps * part) // uint32(parts + uint32(1)))
    turns = uint32(uint32(shared + helpers - uint32(1)) // helpers)  # owners of a helper
    mine = uint32(uint32(steps + uint32(PIECE_COST)) * turns // uint32(turns + uint32(1)))
    return uint32(smaller(mine, uint32(steps - uint32(1))) * part)


@device
def next_piece(share, piece, steps):
    """What the block does next; `tile` is beyond the last where nothing is left."""
    shared, tile, mine = share[SHARED], share[NEXT], share[MINE]
    if tile < shared:
        piece[TILE] = tile
        piece[FIRST] = cut(share, steps, mine)
        piece[LAST] = cut(share, steps, uint32(mine + uint32(1)))
        piece[SLOT], piece[HELPERS], piece[APART] = tile, share[PARTS], shared
        share[NEXT] = shared
        if mine > uint32(0):
            helpers = uint32(uint32(cuda.gridDim.x) - shared)
            piece[SLOT] = uint32(tile + uint32(mine - uint32(1)) * shared)
            if helpers < shared:
                share[NEXT] = uint32(tile + helpers)
    else:
        piece[TILE], piece[FIRST], piece[LAST] = share[WHOLE], uint32(0), steps
        piece[SLOT], piece[HELPERS], piece[APART] = uint32(0), uint32(0), uint32(0)
        share[WHOLE] = uint32(share[WHOLE] + uint32(cuda.gridDim.x))
