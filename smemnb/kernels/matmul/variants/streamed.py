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

from ...ptx import load1, store1
from ...unrolled import device, jit, named, unroll
from ..tiling import Tiling
from .loads import Loads, a_by_elements, a_by_quads, b_by_elements, b_by_quads
from .pieces import result_store, tile_place
from .shares import (
    APART,
    FIRST,
    HELPERS,
    LAST,
    SLOT,
    TILE,
    ends_of,
    first_share,
    next_piece,
    tiles_of,
)
from .whole import first_tiles, lane_starts, main_loop, tile_corners


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
    (tall, wide), sizes = tiling.thread, (size * tiling.buffers for size in tiling.sizes)
    a_size, b_size = sizes
    loads = (
        (a_by_quads if wide_a else a_by_elements)(tiling),
        (b_by_quads if wide_b else b_by_elements)(tiling),
    )
    place, corners, count = tile_place(tiling), tile_corners(tiling, exact), tiles_of(tiling)
    multiply, finish = _multiplied(tiling, exact, loads), _finished(tiling, exact)

    @jit(launch_bounds=(tiling.threads, tiling.resident))
    def matmul_in_shares(out, a, b, alpha, beta, sums, flags):
        a_tile = cuda.shared.array(a_size, float32, alignment=16)
        b_tile = cuda.shared.array(b_size, float32, alignment=16)
        share = cuda.shared.array(5, uint32)
        piece = cuda.shared.array(6, uint32)
        acc = cuda.local.array((tall, wide), float32)
        high, across, steps = count(out, a)
        if cuda.threadIdx.x == 0:
            first_share(share, flags, uint32(high * across), steps)

        while True:
            if cuda.threadIdx.x == 0:
                next_piece(share, piece, steps)
            cuda.syncthreads()  # the piece is there before anyone reads it
            if piece[TILE] >= high * across:
                break
            tile_row, tile_col = place(piece[TILE], high, across)
            row, col, row0, col0 = corners(out, tile_row, tile_col)
            multiply(a, b, a_tile, b_tile, acc, piece, steps, row0, col0)

            # all is read and computed again here: the main loop needs the registers
            tile_row, tile_col = place(piece[TILE], high, across)
            row, col, row0, col0 = corners(out, tile_row, tile_col)
            finish(out, acc, piece, sums, flags, (alpha, beta), row, col, row0, col0)
            cuda.syncthreads()  # everyone has read before the next piece and its tiles come

    return named(matmul_in_shares, name)


def _multiplied(tiling: Tiling, exact: bool, loads: tuple[Loads, Loads]) -> Any:
    """A device function: the product of a piece, in `acc`."""
    (tall, wide), (a_quads, b_quads) = tiling.thread, tiling.quads
    slots, starts, part_of = tiling.fragments, lane_starts(tiling), ends_of(tiling)
    begin, loop = first_tiles(tiling, exact, loads), main_loop(tiling, loads)

    @device
    def multiply(a, b, a_tile, b_tile, acc, piece, steps, row0, col0):
        a_part = cuda.local.array((slots, tall), float32)
        b_part = cuda.local.array((slots, wide), float32)
        a_next = cuda.local.array((a_quads, 4), float32)
        b_next = cuda.local.array((b_quads, 4), float32)
        m0, n0 = starts()
        ends = part_of(a, piece[FIRST], piece[LAST], steps)
        on = begin(a, b, row0, col0, ends, a_tile, b_tile, a_next, b_next)
        for i in range(tall):
            for j in range(wide):
                acc[i, j] = float32(0)
        cuda.syncthreads()  # the first tiles are full before anyone reads them
        loop(a, b, a_tile, b_tile, acc, a_part, b_part, a_next, b_next, m0, n0, on)

    return multiply


def _finished(tiling: Tiling, exact: bool) -> Any:
    """A device function: a helper hands its sums over; an owner adds them up and stores."""
    (give, take), store, starts = _rests(tiling), result_store(tiling, exact), lane_starts(tiling)

    @device
    def finish(out, acc, piece, sums, flags, factors, row, col, row0, col0):
        slot = piece[SLOT]
        if piece[FIRST] > uint32(0):
            give(sums, flags, acc, slot)
        else:
            for helper in range(piece[HELPERS]):
                take(sums, flags, acc, uint32(slot + helper * piece[APART]))
            (m0, n0), (alpha, beta) = starts(), factors
            store(out, acc, uint32(row0 + m0), uint32(col0 + n0), alpha, beta, row, col)

    return finish


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
