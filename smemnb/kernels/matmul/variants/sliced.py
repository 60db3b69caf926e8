"""Products for results too small to fill a GPU: several groups of warps make one tile.

A slice takes its own part of the depth, with tiles of its own in shared memory, and goes through
the main loop of `wide`. At the end half of the slices put their results into shared memory, where
the tiles were, and the other half add them to their own, until one is left, which stores. With four
slices a multiprocessor holds four times as many warps for the same tiles, which hide what a turn of
the loop waits for.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from numba import cuda, float32, uint32

from ...unrolled import device, jit, named, unroll
from ..tiling import Tiling
from .loads import a_by_quads, b_by_quads
from .pieces import block_place, result_store, worker_place
from .whole import first_tiles, lane_starts, main_loop, tile_corners


@cache
def matmul_sliced_of(tiling: Tiling, name: str = "matmul_sliced") -> Any:
    """The kernel for a tiling of 4 slices: whole tiles, a depth of whole tiles per slice.

    Rows of a and b begin at multiples of 16 bytes.
    """
    (tall, wide), (a_quads, b_quads), slots = tiling.thread, tiling.quads, tiling.fragments
    a_size, b_size = (size * tiling.buffers for size in tiling.sizes)
    a_all, b_all = (size * tiling.slices for size in (a_size, b_size))
    if tiling.slices != 4 or min(a_all, b_all) < tiling.rows * tiling.cols:
        raise ValueError("4 slices, whose tiles have room for a result each, are what is added")
    loads = a_by_quads(tiling), b_by_quads(tiling)
    place, worker, slices = block_place(tiling), worker_place(tiling), tiling.slices
    corners, starts = tile_corners(tiling, True), lane_starts(tiling)
    begin, loop = first_tiles(tiling, True, loads), main_loop(tiling, loads)
    add, store = _added(tiling), result_store(tiling, True)

    @jit(launch_bounds=(tiling.threads, tiling.resident))
    def matmul_in_slices(out, a, b, alpha, beta):
        a_tile = cuda.shared.array(a_all, float32, alignment=16)
        b_tile = cuda.shared.array(b_all, float32, alignment=16)
        acc = cuda.local.array((tall, wide), float32)
        a_part = cuda.local.array((slots, tall), float32)
        b_part = cuda.local.array((slots, wide), float32)
        a_next = cuda.local.array((a_quads, 4), float32)
        b_next = cuda.local.array((b_quads, 4), float32)
        tile_row, tile_col = place()
        row, col, row0, col0 = corners(out, tile_row, tile_col)
        (tid, part), (m0, n0) = worker(), starts()
        k_size = uint32(uint32(a.shape[1]) // uint32(slices))
        ends = uint32(part * k_size), uint32(uint32(part + uint32(1)) * k_size)
        at = begin(a, b, row0, col0, ends, a_tile, b_tile, a_next, b_next)
        for i in range(tall):
            for j in range(wide):
                acc[i, j] = float32(0)
        cuda.syncthreads()  # the first tiles are full before anyone reads them
        a_from, b_from = uint32(m0 + part * a_size), uint32(n0 + part * b_size)
        loop(a, b, a_tile, b_tile, acc, a_part, b_part, a_next, b_next, a_from, b_from, at)

        cuda.syncthreads()  # everyone has read before sums overwrite the tiles
        add(a_tile, b_tile, acc, tid, part)
        if part == uint32(0):
            store(out, acc, uint32(row0 + m0), uint32(col0 + n0), alpha, beta, row, col)

    return named(matmul_in_slices, name)


def _added(tiling: Tiling) -> Any:
    """A device function: two slices hand their results to the other two, then one of those."""
    (tall, wide), workers = tiling.thread, tiling.workers

    @device
    def give_row(i, sums, acc, tid):
        for j in range(wide):
            sums[uint32(tid + (i * wide + j) * workers)] = acc[i, j]  # 1 wavefront

    @device
    def take_row(i, sums, acc, tid):
        for j in range(wide):
            acc[i, j] += sums[uint32(tid + (i * wide + j) * workers)]

    give, take = unroll(tall, give_row), unroll(tall, take_row)

    @device
    def add(a_tile, b_tile, acc, tid, part):
        if part == uint32(2):
            give((a_tile, acc, tid))
        elif part == uint32(3):
            give((b_tile, acc, tid))
        cuda.syncthreads()  # the sums are there before they are added
        if part == uint32(0):
            take((a_tile, acc, tid))
        elif part == uint32(1):
            take((b_tile, acc, tid))
            give((b_tile, acc, tid))
        cuda.syncthreads()  # and those of the last slice
        if part == uint32(0):
            take((b_tile, acc, tid))

    return add
