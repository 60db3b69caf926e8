"""Products whose tiles do not come out even: blocks that stay, and share the tiles of one round.

1024 tiles for 264 blocks at a time are 3.88 rounds, so 4: in the last one an eighth of the blocks
has nothing to do. Here there are as many blocks as the GPU holds at once, and what is left over
from whole rounds is done first, shared: 232 blocks own a tile each, and 32 help. An owner
multiplies the first part of the depth; a helper does the rest for several owners in turn, puts each
result into global memory and says so; the owner adds it and stores. Then every block takes whole
tiles in turns. Where owners are fewer than helpers, each tile's depth is cut for several of them.

(After Stream-K: Osama, Merrill, Cecka, Garland, Owens, "Stream-K: Work-centric Parallel
Decomposition for Dense Matrix-Matrix Multiplication on the GPU", PPoPP 2023. There shares of the
depth are one line over all tiles; here all owners go through the same part of the depth at the same
time, so that the L2 cache serves what neighbours load.)
"""

from __future__ import annotations

from functools import cache
from typing import Any

from numba import cuda, float32, uint32

from ..ptx import load1, store1
from ..unrolled import device, jit, named, smaller, unroll
from .loads import a_by_elements, a_by_quads, b_by_elements, b_by_quads
from .pieces import result_store, tile_place
from .tiling import Tiling
from .wide import first_tiles, lane_starts, main_loop, tile_corners

WHOLE, SHARED, NEXT, PARTS, MINE = range(5)
"""A block's share: its next whole tile; how many tiles are shared, the next of them for it, in how
many parts besides the owner's their depth is cut, and which part is its own (0: an owner)."""

TILE, FIRST, LAST, SLOT, HELPERS, APART = range(6)
"""A piece: a tile, the first step along the depth, the one behind the last; where the sums of the
helpers lie, how many they are, and how far apart."""

PIECE_COST = 6
"""Steps that a piece costs beyond its own: filling the first tiles, handing over the sums."""


@cache
def matmul_streamed_of(
    tiling: Tiling, exact: bool = True, wide_a: bool = True, wide_b: bool = True, name: str = ""
) -> Any:
    """The kernel `(out, a, b, alpha, beta, sums, flags)` for a tiling of one slice.

    Launched with a grid of at most as many blocks as stay on the GPU at once. `sums` holds
    `tiling.rows * tiling.cols` float32 for each block, `flags` one uint32 for each and one more,
    all 0; they are 0 again at the end.

    Args:
        tiling: the choices.
        exact: rows, columns and depth are whole tiles; otherwise at least one tile.
        wide_a: rows of a begin at multiples of 16 bytes, and its columns are a multiple of 4.
        wide_b: the same of b.
        name: of the kernel.
    """
    (tall, wide), (a_quads, b_quads) = tiling.thread, tiling.quads
    a_size, b_size = (size * tiling.buffers for size in tiling.sizes)
    slots = tiling.fragments
    loads = (
        (a_by_quads if wide_a else a_by_elements)(tiling),
        (b_by_quads if wide_b else b_by_elements)(tiling),
    )
    place, corners, starts = tile_place(tiling), tile_corners(tiling, exact), lane_starts(tiling)
    begin, loop = first_tiles(tiling, exact, loads), main_loop(tiling, loads)
    (give, take), store = _rests(tiling), result_store(tiling, exact)
    count, ends_of, (first_share, next_piece) = _tiles(tiling), _ends(tiling), _shares()

    @jit(launch_bounds=(tiling.threads, tiling.resident))
    def matmul_in_shares(out, a, b, alpha, beta, sums, flags):
        a_tile = cuda.shared.array(a_size, float32, alignment=16)
        b_tile = cuda.shared.array(b_size, float32, alignment=16)
        share = cuda.shared.array(5, uint32)
        piece = cuda.shared.array(6, uint32)
        acc = cuda.local.array((tall, wide), float32)
        a_part = cuda.local.array((slots, tall), float32)
        b_part = cuda.local.array((slots, wide), float32)
        a_next = cuda.local.array((a_quads, 4), float32)
        b_next = cuda.local.array((b_quads, 4), float32)
        high, across, steps = count(out, a)
        if cuda.threadIdx.x == 0:
            first_share(share, flags, uint32(high * across), steps)

        while True:
            if cuda.threadIdx.x == 0:
                next_piece(share, piece, steps)
            cuda.syncthreads()  # the piece is there before anyone reads it
            tile = piece[TILE]
            if tile >= high * across:
                break
            tile_row, tile_col = place(tile, high, across)
            row, col, row0, col0 = corners(out, tile_row, tile_col)
            m0, n0 = starts()
            ends = ends_of(a, piece[FIRST], piece[LAST], steps)
            on = begin(a, b, row0, col0, ends, a_tile, b_tile, a_next, b_next)
            for i in range(tall):
                for j in range(wide):
                    acc[i, j] = float32(0)
            cuda.syncthreads()  # the first tiles are full before anyone reads them
            loop(a, b, a_tile, b_tile, acc, a_part, b_part, a_next, b_next, m0, n0, on)

            # all is read and computed again here: the main loop needs the registers
            tile, slot = piece[TILE], piece[SLOT]
            if piece[FIRST] > uint32(0):
                give(sums, flags, acc, slot)
            else:
                for helper in range(piece[HELPERS]):
                    take(sums, flags, acc, uint32(slot + helper * piece[APART]))
                tile_row, tile_col = place(tile, high, across)
                row, col, row0, col0 = corners(out, tile_row, tile_col)
                m0, n0 = starts()
                store(out, acc, uint32(row0 + m0), uint32(col0 + n0), alpha, beta, row, col)
            cuda.syncthreads()  # everyone has read before the next piece and its tiles come

    return named(matmul_in_shares, name)


def _tiles(tiling: Tiling) -> Any:
    """(tiles down, tiles across, pairs of tiles along the depth)."""
    rows, cols, depth = tiling.rows, tiling.cols, tiling.depth

    @device
    def count(out, a):
        high = uint32((uint32(out.shape[0]) + uint32(rows - 1)) // uint32(rows))
        across = uint32((uint32(out.shape[1]) + uint32(cols - 1)) // uint32(cols))
        return high, across, uint32((uint32(a.shape[1]) + uint32(depth - 1)) // uint32(depth))

    return count


def _shares() -> tuple[Any, Any]:
    """For one thread of a block: what it does of the shared tiles, and the next piece of all.

    shared = tiles that are left over from whole rounds, numbers 0 to shared - 1. Blocks are
    numbered as they start, helpers first: an owner waits for blocks that run, and they for nobody.
    """

    @device
    def first_share(share, flags, tiles, steps):
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

    return first_share, next_piece


def _ends(tiling: Tiling) -> Any:
    """(first k, k behind the last) of some steps; the depth left over belongs to the first one."""
    depth = tiling.depth

    @device
    def ends(a, first, last, steps):
        k_size, begin = uint32(a.shape[1]), uint32(0)
        if first > uint32(0):
            begin = uint32(k_size - uint32(steps - first) * uint32(depth))
        return begin, uint32(k_size - uint32(steps - last) * uint32(depth))

    return ends


def _rests(tiling: Tiling) -> tuple[Any, Any]:
    """Put a part's result into a slot, and add it to the owner's."""
    (tall, wide), threads, size = tiling.thread, tiling.threads, tiling.rows * tiling.cols

    @device
    def give_row(i, sums, acc, at):
        for j in range(wide):
            store1(sums, uint32(at + (i * wide + j) * threads), acc[i, j])

    @device
    def take_row(i, sums, acc, at):
        for j in range(wide):
            acc[i, j] += load1(sums, uint32(at + (i * wide + j) * threads))

    give_rows, take_rows = unroll(tall, give_row), unroll(tall, take_row)

    @device
    def give(sums, flags, acc, slot):
        give_rows((sums, acc, uint32(slot * uint32(size) + cuda.threadIdx.x)))
        cuda.threadfence()  # every thread's sums are in memory ...
        cuda.syncthreads()  # ... before one says so
        if cuda.threadIdx.x == 0:
            cuda.atomic.exch(flags, slot + 1, uint32(1))

    @device
    def take(sums, flags, acc, slot):
        if cuda.threadIdx.x == 0:
            while cuda.atomic.exch(flags, slot + 1, uint32(0)) == 0:
                pass
        cuda.syncthreads()  # the sums are there before anyone reads them
        cuda.threadfence()
        take_rows((sums, acc, uint32(slot * uint32(size) + cuda.threadIdx.x)))

    return give, take
