"""Products of any layout without guards: blocks that stay, and share what is left over evenly.

`matmul_balanced_of(cut, ...)` makes the kernel `(out, a, b, alpha, beta, sums, flags)` that
computes out = alpha * a @ b + beta * out in float32, of matrices that lie by rows or by columns;
`out` is not read where beta is 0. The result holds at least one tile. A tile that would reach
beyond the edge is moved back inside: what it shares with its neighbour is computed twice and stored
once. The depth that is left over from whole steps comes first. So nothing in the main loop is
guarded, and its addresses only advance (`advancing`).

There are as many blocks as the GPU holds at once. Tiles left over from whole rounds are shared
evenly along their depth (`even`), which also serves a result of few tiles; then every block takes
whole tiles in turns. What a block does with each piece:

1. Load the tiles of its first step into registers, and store them into shared memory.
2. At each step: load the tiles of the next one into registers, multiply those in shared memory,
   store the loaded ones into the other buffers, meet at a barrier.
3. A helper leaves its sums in global memory and says so; an owner adds those of its helpers, in
   order, and stores the result by rows (`ending`).

(After Stream-K: Osama, Merrill, Cecka, Garland, Owens, "Stream-K: Work-centric Parallel
Decomposition for Dense Matrix-Matrix Multiplication on the GPU", PPoPP 2023.)
"""

from __future__ import annotations

from functools import cache
from typing import Any

from numba import cuda, float32, uint32

from ...ptx import load1, load16, store1
from ...unrolled import device, jit, named, smaller, unroll
from ..cut import QUAD, WARP, Cut
from .advancing import Moves, moves_of
from .ending import ending_elems, stored_by_rows
from .even import (
    BEGIN,
    END,
    FIRST,
    HELPERS,
    LAST,
    MEMBER,
    PIECE,
    PLACE,
    RANK,
    SHARE,
    TEAM,
    TILE,
    ends_of,
    first_share,
    following,
    next_piece,
    tiles_of,
)
from .loads import put
from .pieces import lane_place, outer_product, tile_place

FETCH_B_AT = 2
"""The step of eight before which b is loaded: after a, so that both do not queue at once. Where
neither is turned, both are loaded at the beginning, which is 4 % faster there."""


@cache
def matmul_balanced_of(
    cut: Cut,
    a_columns: bool = False,
    b_columns: bool = False,
    wide_a: bool = False,
    wide_b: bool = False,
    short: str = "",
    teams: bool = False,
    name: str = "matmul_balanced",
) -> Any:
    """The kernel for a cut of one slice whose blocks stay and share tiles.

    Launched with a grid of at most as many blocks as stay on the GPU at once. `sums` holds twice
    `cut.rows * cut.cols` float32 for each block, `flags` one uint32 for each and one more, all 0;
    they are 0 again at the end. With a depth of at most `even.CHUNK` steps half the sums will do.

    Args:
        cut: the choices.
        a_columns: a lies by columns; the array passed is a.T, which lies by rows.
        b_columns: the same of b.
        wide_a: rows of the array passed begin at multiples of 16 bytes, and hold whole quads.
        wide_b: the same of b.
        short: "rows" or "cols" of a result that has no more of them than a tile.
        teams: tiles of a column (or row) of tiles are shared in step (`even`): of a result that has
            no more tiles than there are blocks, and at most `cut.band` tiles down or across.
        name: of the kernel.
    """
    made = _Pieces(cut, a_columns, b_columns, wide_a, wide_b, short)
    (tall, wide), elems, k_axis = cut.thread, made.elems, made.k_axis
    count, place, corners = tiles_of(cut, k_axis), _placed(cut, teams), _tile_corners(cut, short)
    finish, part_of = _finished(cut, short), ends_of(cut)

    @device
    def plan_ahead(plan):
        share, piece, now, steps = plan
        if cuda.threadIdx.x == 0:
            following(share, piece, now, steps)

    multiply = made.multiplied(plan_ahead)

    @jit(launch_bounds=(cut.threads, cut.resident))
    def matmul_in_even_shares(out, a, b, alpha, beta, sums, flags):
        tiles = cuda.shared.array(elems, float32, alignment=16)
        share = cuda.shared.array(SHARE, uint32)
        piece = cuda.shared.array(16, uint32)
        acc = cuda.local.array((tall, wide), float32)
        high, across, steps = count(out, a)
        if cuda.threadIdx.x == 0:
            team = smaller(high, across) if teams else uint32(1)
            first_share(share, flags, uint32(high * across), steps, team)
            next_piece(share, piece, uint32(0), steps)
        cuda.syncthreads()  # the first piece is there before anyone reads it

        now = uint32(0)
        while piece[now + TILE] < high * across:
            tile_row, tile_col = place(piece[now + TILE], high, across)
            row, col, row0, col0 = corners(out, tile_row, tile_col)
            ends = part_of(uint32(a.shape[k_axis]), piece[now + FIRST], piece[now + LAST], steps)
            multiply(a, b, tiles, acc, ends, row0, col0, (share, piece, now, steps))

            # all is read and computed again here: the main loop needs the registers
            cuda.syncthreads()  # everyone has read the tiles before results overwrite them
            tile_row, tile_col = place(piece[now + TILE], high, across)
            row, col, row0, col0 = corners(out, tile_row, tile_col)
            own = sums, flags, uint32(share[PLACE] * share[TEAM] + share[MEMBER]), share[TEAM]
            finish(out, acc, tiles, piece, now, own, (alpha, beta), (row, col), row0, col0)
            now = uint32(uint32(PIECE) - now)
            cuda.syncthreads()  # everyone has read before the next tiles and pieces come

    return named(matmul_in_even_shares, name)


@cache
def matmul_inside_of(
    cut: Cut,
    a_columns: bool = False,
    b_columns: bool = False,
    wide_a: bool = False,
    wide_b: bool = False,
    batched: bool = False,
    short: str = "",
    name: str = "matmul_inside",
) -> Any:
    """The same without sharing, `(out, a, b, alpha, beta)`: a block for each tile.

    The grid is (tiles, 1), or (tiles, 1, matrices) of arrays whose first axis counts matrices.
    """
    made = _Pieces(cut, a_columns, b_columns, wide_a, wide_b, short)
    (tall, wide), elems, k_axis = cut.thread, made.elems, made.k_axis
    count, place, corners = tiles_of(cut, k_axis), tile_place(cut), _tile_corners(cut, short)
    multiply, store = made.multiplied(_nothing), stored_by_rows(cut, short)

    @device
    def product(out, a, b, alpha, beta):
        tiles = cuda.shared.array(elems, float32, alignment=16)
        acc = cuda.local.array((tall, wide), float32)
        high, across, _ = count(out, a)
        tile_row, tile_col = place(uint32(cuda.blockIdx.x), high, across)
        row, col, row0, col0 = corners(out, tile_row, tile_col)
        ends = uint32(0), uint32(a.shape[k_axis])
        multiply(a, b, tiles, acc, ends, row0, col0, ends)

        # all is computed again here: the main loop needs the registers
        cuda.syncthreads()  # everyone has read the tiles before results overwrite them
        tile_row, tile_col = place(uint32(cuda.blockIdx.x), high, across)
        row, col, row0, col0 = corners(out, tile_row, tile_col)
        tid = uint32(cuda.threadIdx.x)
        store(out, acc, tiles, tid, row0, col0, (alpha, beta), (row, col))

    if batched:

        @jit(launch_bounds=(cut.threads, cut.resident))
        def matmul_of_batch(out, a, b, alpha, beta):
            one = cuda.blockIdx.z
            product(out[one], a[one], b[one], alpha, beta)

        return named(matmul_of_batch, name)

    @jit(launch_bounds=(cut.threads, cut.resident))
    def matmul_of_tiles(out, a, b, alpha, beta):
        product(out, a, b, alpha, beta)

    return named(matmul_of_tiles, name)


BRANCHES = 4
"""Sums that become one in a round of the tree, a block's own counted."""


@device
def _nothing(plan):
    pass


class _Pieces:
    """What both kernels have in common: how they multiply, and what that needs."""

    def __init__(
        self,
        cut: Cut,
        a_columns: bool,
        b_columns: bool,
        wide_a: bool,
        wide_b: bool,
        short: str,
    ) -> None:
        if cut.slices != 1:
            raise ValueError(f"slices={cut.slices}: kernels without guards have one")
        left = moves_of(cut, "a", not a_columns, wide_a, short == "rows")
        right = moves_of(cut, "b", b_columns, wide_b, short == "cols")
        self.elems = max(2 * (left.size + right.size), ending_elems(cut))
        self.k_axis = 0 if a_columns else 1
        late = 0 if a_columns and not b_columns else FETCH_B_AT
        self._choices = cut, left, right, late

    def multiplied(self, meanwhile: Any) -> Any:
        """The device function that multiplies; `meanwhile(plan)` runs during the first loads."""
        return _multiplied(*self._choices, meanwhile)


def _placed(cut: Cut, teams: bool) -> Any:
    """(row, column) of a tile by its number: of teams, by the shorter side of the result."""
    in_bands = tile_place(cut)

    @device
    def in_teams(number, high, across):
        if across < high:
            return uint32(number // across), uint32(number % across)
        return uint32(number % high), uint32(number // high)

    return in_teams if teams else in_bands


def _tile_corners(cut: Cut, short: str) -> Any:
    """Where a tile of the result begins, and where it is computed: moved back inside the edge."""
    rows, cols = cut.rows, cut.cols

    @device
    def corners(out, tile_row, tile_col):
        row, col = uint32(tile_row * uint32(rows)), uint32(tile_col * uint32(cols))
        last_row, last_col = uint32(0), uint32(0)
        if short != "rows":
            last_row = uint32(out.shape[0] - rows)
        if short != "cols":
            last_col = uint32(out.shape[1] - cols)
        return row, col, smaller(row, last_row), smaller(col, last_col)

    return corners


@cache
def _lane_starts(cut: Cut) -> Any:
    """(row, column) in the tile of a thread's first element."""
    warps_across, place = cut.cols // cut.warp_cols, lane_place(cut)
    warp_rows, warp_cols = cut.warp_rows, cut.warp_cols

    @device
    def starts(tid):
        warp = uint32(tid // uint32(WARP))
        down, across = place(uint32(tid % uint32(WARP)))
        m0 = uint32(warp // uint32(warps_across) * warp_rows + down * QUAD)
        return m0, uint32(warp % uint32(warps_across) * warp_cols + across * QUAD)

    return starts


def _multiplied(cut: Cut, left: Moves, right: Moves, late: int, meanwhile: Any) -> Any:
    """A device function: the product of a part of the depth, `ends`, in `acc`."""
    (tall, wide), slots, a_quads, b_quads = cut.thread, cut.fragments, left.quads, right.quads
    starts, loop = _lane_starts(cut), _main_loop(cut, left, right, late)
    begin = _first_tiles(cut, left, right, meanwhile)

    @device
    def multiply(a, b, tiles, acc, ends, row0, col0, plan):
        a_part = cuda.local.array((slots, tall), float32)
        b_part = cuda.local.array((slots, wide), float32)
        a_next = cuda.local.array((a_quads, 4), float32)
        b_next = cuda.local.array((b_quads, 4), float32)
        on = begin(a, b, row0, col0, ends, tiles, a_next, b_next, plan)
        for i in range(tall):
            for j in range(wide):
                acc[i, j] = float32(0)
        m0, n0 = starts(uint32(cuda.threadIdx.x))
        cuda.syncthreads()  # the first tiles are full before anyone reads them
        loop(a, b, tiles, acc, a_part, b_part, a_next, b_next, m0, n0, on)

    return multiply


def _first_tiles(cut: Cut, left: Moves, right: Moves, meanwhile: Any) -> Any:
    """Fill the first buffers with the first step of a piece, from `ends` = (first k, behind last).

    What the main loop needs comes back: where each thread loads the step before the next one and
    how far it goes on, where it stores, and how many steps are left.
    """
    depth, b_begin = cut.depth, 2 * left.size
    (a_place, a_offset, a_on, _, a_some, a_stage, *_), a_pitch_k = left, left.pitch
    (b_place, b_offset, b_on, _, b_some, b_stage, *_), b_pitch_k = right, right.pitch

    @device
    def begin(a, b, row0, col0, ends, tiles, a_next, b_next, plan):
        tid, k_size = uint32(cuda.threadIdx.x), uint32(ends[1] - ends[0])
        a_pitch, b_pitch = uint32(a.strides[0] // 4), uint32(b.strides[0] // 4)
        (a_e, a_k), (b_e, b_k) = a_place(tid), b_place(tid)
        a_at = a_offset(a, uint32(row0 + a_e), uint32(ends[0] + a_k), a_pitch)
        b_at = b_offset(b, uint32(col0 + b_e), uint32(ends[0] + b_k), b_pitch)
        first = uint32(k_size % uint32(depth))
        if first == uint32(0):
            first = smaller(uint32(depth), k_size)
        a_some(a, a_at, a_pitch, a_next, a_k, first)
        b_some(b, b_at, b_pitch, b_next, b_k, first)
        meanwhile(plan)
        a_to = uint32(a_k * uint32(a_pitch_k) + a_e)
        b_to = uint32(b_k * uint32(b_pitch_k) + b_e + uint32(b_begin))
        a_stage(tiles, a_next, a_to)
        b_stage(tiles, b_next, b_to)
        # the main loop goes on by whole steps, also to its first one
        a_at = uint32(a_at + a_on(first, a_pitch) - a_on(uint32(depth), a_pitch))
        b_at = uint32(b_at + b_on(first, b_pitch) - b_on(uint32(depth), b_pitch))
        return a_at, b_at, a_pitch, b_pitch, a_to, b_to, uint32(uint32(k_size - first))

    return begin


def _main_loop(cut: Cut, left: Moves, right: Moves, late: int) -> Any:
    """All steps of a piece, from the one that is in shared memory on."""
    depth, stage_at, b_begin = cut.depth, cut.depth - 2, 2 * left.size
    a_fetch, b_fetch, a_stage, b_stage = left.fetch, right.fetch, left.stage, right.stage
    a_size, b_size, a_on, b_on = left.size, right.size, left.on, right.on
    read, multiply = _fragment_reads(cut, left.pitch, right.pitch), outer_product(cut)

    @device
    def step(k, b, tiles, acc, a_part, b_part, from_, next_, into, b_at, b_pitch, more):
        if k == late:
            if more:
                b_fetch(b, b_at, b_pitch, next_[1])
            cuda.syncwarp()  # no load moves down past it
        if k == stage_at:
            a_stage(tiles, next_[0], into[0])
            b_stage(tiles, next_[1], into[1])
        read(k + 1, tiles, a_part, b_part, from_[0], from_[1])
        multiply(k, acc, a_part, b_part)

    steps = unroll(depth - 1, step)

    @device
    def loop(a, b, tiles, acc, a_part, b_part, a_next, b_next, m0, n0, at):
        a_at, b_at, a_pitch, b_pitch, a_to, b_to, rest = at
        a_step, b_step = a_on(uint32(depth), a_pitch), b_on(uint32(depth), b_pitch)
        a_now, b_now, more = uint32(0), uint32(0), True
        b_from = uint32(n0 + uint32(b_begin))
        read(0, tiles, a_part, b_part, m0, b_from)
        while more:
            more = rest > uint32(0)
            a_at, b_at = uint32(a_at + a_step), uint32(b_at + b_step)
            if more:
                a_fetch(a, a_at, a_pitch, a_next)
            cuda.syncwarp()  # no load moves down past it, to where its value is stored
            from_ = uint32(a_now + m0), uint32(b_now + b_from)
            a_now, b_now = uint32(uint32(a_size) - a_now), uint32(uint32(b_size) - b_now)
            into = uint32(a_now + a_to), uint32(b_now + b_to)
            next_ = a_next, b_next
            steps((b, tiles, acc, a_part, b_part, from_, next_, into, b_at, b_pitch, more))
            rest = uint32(rest - uint32(depth))
            cuda.syncthreads()  # the next tiles are full before anyone reads them
            read(0, tiles, a_part, b_part, uint32(a_now + m0), uint32(b_now + b_from))
            multiply(depth - 1, acc, a_part, b_part)

    return loop


def _fragment_reads(cut: Cut, a_pitch: int, b_pitch: int) -> Any:
    """Read what this lane multiplies at depth k: its rows of a, its columns of b."""
    quads_a, quads_b, slots = cut.tall // QUAD, cut.wide // QUAD, cut.fragments
    apart_a, apart_b = QUAD * cut.lanes_down, QUAD * cut.lanes_across

    @device
    def read(k, tiles, a_part, b_part, a_from, b_from):
        slot = k % slots
        for quad in range(quads_a):
            put(a_part, slot, quad * 4, load16(tiles, a_from + (k * a_pitch + quad * apart_a)))
        for quad in range(quads_b):
            put(b_part, slot, quad * 4, load16(tiles, b_from + (k * b_pitch + quad * apart_b)))

    return read


def _finished(cut: Cut, short: str) -> Any:
    """A device function: sums are put aside, left for the owner, or added up and stored."""
    (tall, wide), threads, size = cut.thread, cut.threads, cut.rows * cut.cols
    store = stored_by_rows(cut, short)

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
    def finish(out, acc, tiles, piece, now, own, factors, begins, row0, col0):
        (sums, flags, place, team), tid = own, uint32(cuda.threadIdx.x)
        rank, helpers = uint32(piece[now + RANK]), uint32(piece[now + HELPERS])
        is_whole = piece[now + LAST] == piece[now + END]
        aside = uint32(cuda.gridDim.x + place)
        slot, takes = aside, piece[now + FIRST] > piece[now + BEGIN]
        child, further = uint32(BRANCHES), uint32(0)
        while True:
            if takes:
                take_rows((sums, acc, uint32(slot * uint32(size) + tid)))
            child = uint32(child + uint32(1))
            if child >= uint32(BRANCHES):  # the next round: its children, so much further each
                child, further = uint32(1), uint32(further * uint32(BRANCHES))
                if further == uint32(0):
                    further = uint32(1)
                on_its_way = rank % uint32(further * uint32(BRANCHES)) != uint32(0)
                if not is_whole or on_its_way or rank + further > helpers:
                    break
                mine = uint32(uint32(tid + uint32(1)) * further)
                if tid < uint32(BRANCHES - 1) and rank + mine <= helpers:
                    while cuda.atomic.exch(flags, place + mine * team + 1, uint32(0)) == 0:
                        pass
                cuda.syncthreads()  # the sums are there before anyone reads them
                cuda.threadfence()
            slot = uint32(place + uint32(child * further) * team)
            takes = rank + child * further <= helpers
        if is_whole and rank == uint32(0):
            store(out, acc, tiles, tid, row0, col0, factors, begins)
            return
        slot = aside
        if is_whole:
            slot = place
        give_rows((sums, acc, uint32(slot * uint32(size) + tid)))
        if is_whole:
            cuda.threadfence()  # every thread's sums are in memory ...
            cuda.syncthreads()  # ... before one says so
            if tid == uint32(0):
                cuda.atomic.exch(flags, slot + 1, uint32(1))

    return finish
