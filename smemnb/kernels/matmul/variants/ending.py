"""How a block stores its tile: through shared memory, so that a warp stores whole rows.

A lane's results lie in quads of four columns. Stored from registers, every request of a warp would
touch 16 sectors or more and fill an eighth of each. So each warp puts some of its rows into shared
memory, where the tiles were, and takes them out again in the order of columns: 32 neighbours, 4
sectors, or 5 where rows begin anywhere. Put element by element: quads would keep the results in
aligned quads of registers, and the multiply-adds would wait for register banks all through the main
loop.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from numba import cuda, float32, uint32

from ...ptx import load1, store1
from ...unrolled import device, unroll
from ..cut import QUAD, WARP, Cut

PAD = 1
"""Words after each row that a warp puts down: lanes of other rows store into banks of their own."""


def ending_elems(cut: Cut) -> int:
    """float32 of shared memory that `stored_by_rows` takes."""
    return cut.workers // WARP * QUAD * cut.lanes_down * (cut.warp_cols + PAD)


@cache
def stored_by_rows(cut: Cut, short: str = "") -> Any:
    """A device function: alpha * acc + beta * out, as far as it lies in the block's own tile.

    With `short` "rows" or "cols" the result may end within the tile.
    """
    low, narrow = short == "rows", short == "cols"

    (tall, wide), down, cols = cut.thread, cut.lanes_down, cut.warp_cols
    pitch, across_apart = cols + PAD, QUAD * cut.lanes_across
    rows, side = QUAD * down, min(WARP, cols & -cols)  # of a warp's rows; lanes side by side
    at_once, chunks = WARP // side, cols // side
    warps_across = cut.cols // cols
    warp_rows, warp_elems = cut.warp_rows, rows * pitch

    @device
    def put_row(part, tiles, acc, at, first):
        for j in range(wide):
            place = part * down * pitch + j // 4 * across_apart + j % 4
            store1(tiles, at + place, acc[first + part, j])

    @device
    def take_row(number, tiles, mine, at):
        for chunk in range(chunks):
            place = number * at_once * pitch + chunk * side
            mine[number * chunks + chunk] = load1(tiles, at + place)

    @device
    def add_row(number, mine, out, row, col, keep, begins):
        at_row = uint32(row + (number * at_once % down * QUAD + number * at_once // down))
        if at_row >= begins[0] and (not low or at_row < out.shape[0]):
            line = uint32(at_row * uint32(out.strides[0] // 4) + col)
            for chunk in range(chunks):
                at_col = uint32(col + chunk * side)
                if at_col >= begins[1] and (not narrow or at_col < out.shape[1]):
                    old = load1(out, uint32(line + chunk * side))
                    mine[number * chunks + chunk] += keep * old

    @device
    def store_row(number, mine, out, row, col, begins):
        at_row = uint32(row + (number * at_once % down * QUAD + number * at_once // down))
        line = uint32(at_row * uint32(out.strides[0] // 4) + col)
        mine_too = at_row >= begins[0] and (not low or at_row < out.shape[0])
        for chunk in range(chunks):
            at_col = uint32(col + chunk * side)
            if mine_too and at_col >= begins[1] and (not narrow or at_col < out.shape[1]):
                store1(out, uint32(line + chunk * side), mine[number * chunks + chunk])

    put_rows, take_rows = unroll(4, put_row), unroll(rows // at_once, take_row)
    add_rows, store_rows = unroll(rows // at_once, add_row), unroll(rows // at_once, store_row)
    each = rows // at_once * chunks

    @device
    def some_rows(quad, tiles, out, acc, put_at, take_at, row, col, scale, keep, begins):
        mine = cuda.local.array(each, float32)
        put_rows((tiles, acc, put_at, quad * 4))
        cuda.syncwarp()  # the rows are there before the warp takes them
        take_rows((tiles, mine, take_at))
        for i in range(each):
            mine[i] *= scale
        at_row = uint32(row + quad * rows)
        if keep != float32(0):
            add_rows((mine, out, at_row, col, keep, begins))
        store_rows((mine, out, at_row, col, begins))
        cuda.syncwarp()  # all have taken before the next rows come

    all_rows = unroll(tall // QUAD, some_rows)

    @device
    def store(out, acc, tiles, tid, row0, col0, factors, begins):
        warp, lane = uint32(tid // uint32(WARP)), uint32(tid % uint32(WARP))
        bits = uint32(lane >> uint32(1))
        along = uint32(bits & uint32(cut_across - 1))
        below = uint32((lane & uint32(1)) | (uint32(bits // uint32(cut_across)) << uint32(1)))
        mine = uint32(warp * uint32(warp_elems))
        put_at = uint32(mine + below * uint32(pitch) + along * uint32(QUAD))
        row = uint32(row0 + warp // uint32(warps_across) * uint32(warp_rows))
        col = uint32(col0 + warp % uint32(warps_across) * uint32(cols) + lane % uint32(side))
        take_at = uint32(mine + lane % uint32(side))
        if at_once > 1:
            lower = uint32(lane // uint32(side))
            row = uint32(row + lower * uint32(QUAD))
            take_at = uint32(take_at + lower * uint32(pitch))
        scale, keep = float32(factors[0]), float32(factors[1])
        all_rows((tiles, out, acc, put_at, take_at, row, col, scale, keep, begins))

    cut_across = cut.lanes_across
    return store
