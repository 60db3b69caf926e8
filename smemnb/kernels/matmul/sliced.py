"""Products for results too small to fill a GPU: several groups of warps make one tile.

A slice takes its own part of the depth, with tiles of its own in shared memory, and goes through
the main loop of `wide`. At the end the slices put their results into shared memory, the first one
adds them to its own and stores. With two slices a multiprocessor holds twice as many warps for the
same tiles, which hide what a turn of the loop waits for.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from numba import cuda, float32, uint32

from ..unrolled import device, jit, named, unroll
from .loads import a_by_quads, b_by_quads
from .pieces import result_store, worker_place
from .tiling import Tiling
from .wide import first_tiles, lane_starts, main_loop, tile_corners


@cache
def matmul_sliced_of(tiling: Tiling, name: str = "matmul_sliced") -> Any:
    """The kernel for a tiling of 2 slices or more: whole tiles, a depth of whole tiles per slice.

    Rows of a and b begin at multiples of 16 bytes.
    """
    (tall, wide), (a_quads, b_quads), slots = tiling.thread, tiling.quads, tiling.fragments
    a_size, b_size = (size * tiling.buffers for size in tiling.sizes)
    a_all, b_all, sum_size = _shared_sizes(tiling)
    loads = a_by_quads(tiling), b_by_quads(tiling)
    worker, corners, starts = worker_place(tiling), tile_corners(tiling, True), lane_starts(tiling)
    begin, loop = first_tiles(tiling, True, loads), main_loop(tiling, loads)
    (give, take), store = _added(tiling), result_store(tiling, True)

    @jit(launch_bounds=(tiling.threads, tiling.resident))
    def matmul_in_slices(out, a, b, alpha, beta):
        a_tile = cuda.shared.array(a_all, float32, alignment=16)
        b_tile = cuda.shared.array(b_all, float32, alignment=16)
        sums = cuda.shared.array(sum_size, float32)
        acc = cuda.local.array((tall, wide), float32)
        a_part = cuda.local.array((slots, tall), float32)
        b_part = cuda.local.array((slots, wide), float32)
        a_next = cuda.local.array((a_quads, 4), float32)
        b_next = cuda.local.array((b_quads, 4), float32)
        row, col, row0, col0 = corners(out)
        tid, part = worker()
        m0, n0 = starts()

        at = begin(a, b, row0, col0, a_tile, b_tile, a_next, b_next)
        for i in range(tall):
            for j in range(wide):
                acc[i, j] = float32(0)
        cuda.syncthreads()  # the first tiles are full before anyone reads them
        a_from, b_from = uint32(m0 + part * a_size), uint32(n0 + part * b_size)
        loop(a, b, a_tile, b_tile, acc, a_part, b_part, a_next, b_next, a_from, b_from, at)

        # the other slices hand their results to the first one    shared: 1 wavefront each
        if part > uint32(0):
            give((sums, acc, tid, part))
        cuda.syncthreads()  # all sums are there before they are added
        if part == uint32(0):
            take((sums, acc, tid))
            store(out, acc, uint32(row0 + m0), uint32(col0 + n0), alpha, beta, row, col)

    return named(matmul_in_slices, name)


def _shared_sizes(tiling: Tiling) -> tuple[int, int, int]:
    """Elements of all tiles of a, of all tiles of b, and of what the slices hand over."""
    a_size, b_size = (size * tiling.buffers * tiling.slices for size in tiling.sizes)
    return a_size, b_size, tiling.rows * tiling.cols * (tiling.slices - 1)


def _added(tiling: Tiling) -> tuple[Any, Any]:
    """Put a thread's results into shared memory, and add those of all other slices to them."""
    (tall, wide), workers, others = tiling.thread, tiling.workers, tiling.slices - 1
    per_slice = tiling.rows * tiling.cols

    @device
    def give_row(i, sums, acc, tid, part):
        first = uint32(uint32(part - uint32(1)) * per_slice + tid)
        for j in range(wide):
            sums[uint32(first + (i * wide + j) * workers)] = acc[i, j]

    @device
    def take_row(i, sums, acc, tid):
        for other in range(others):
            for j in range(wide):
                acc[i, j] += sums[uint32(tid + other * per_slice + (i * wide + j) * workers)]

    return unroll(tall, give_row), unroll(tall, take_row)
