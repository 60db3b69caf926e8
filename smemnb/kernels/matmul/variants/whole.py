"""Register-tiled products by 16 bytes: from rung to rung, one choice of a `Tiling` changes.

`matmul_of(tiling)` makes the kernel `(out, a, b, alpha, beta)` that computes
out = alpha * a @ b + beta * out in float32; `out` is not read where beta is 0. What it does:

1. Bring the first tiles of a and b into shared memory, a turned so that a column lies in a row.
2. For each further pair of tiles: load it into registers, multiply the pair that is in shared
   memory, store the loaded one, meet at a barrier.
3. Store the result.

A thread keeps its part of the result in registers. At each k it reads its rows of a and columns of
b (its fragments) by 16 bytes, and adds their outer product.

With `exact` False the shapes may be any that hold at least one tile. The first tiles are then those
with the depth that is left over, and a tile that would reach beyond the edge is moved back inside;
so nothing in the main loop is guarded.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from numba import cuda, float32, uint32

from ...unrolled import device, jit, named, smaller, unroll
from ..tiling import WARP, Tiling
from .loads import Loads, a_by_elements, a_by_quads, b_by_elements, b_by_quads
from .pieces import (
    block_place,
    fragment_reads,
    lane_place,
    outer_product,
    result_store,
    worker_place,
)


@cache
def matmul_of(
    tiling: Tiling, exact: bool = True, wide_a: bool = True, wide_b: bool = True, name: str = ""
) -> Any:
    """The kernel for a tiling.

    Args:
        tiling: the choices.
        exact: rows, columns and depth are whole tiles; otherwise at least one tile.
        wide_a: rows of a begin at multiples of 16 bytes, and its columns are a multiple of 4.
        wide_b: the same of b.
        name: of the kernel.
    """
    if tiling.slices != 1:
        raise ValueError(f"slices={tiling.slices}: `sliced.matmul_sliced_of` makes those kernels")
    (tall, wide), (a_quads, b_quads) = tiling.thread, tiling.quads
    a_size, b_size = (size * tiling.buffers for size in tiling.sizes)
    slots = tiling.fragments
    loads_a = (a_by_quads if wide_a else a_by_elements)(tiling)
    loads = loads_a, (b_by_quads if wide_b else b_by_elements)(tiling)
    place, corners, starts = block_place(tiling), tile_corners(tiling, exact), lane_starts(tiling)
    begin, loop = first_tiles(tiling, exact, loads), main_loop(tiling, loads)
    store = result_store(tiling, exact)

    @jit(launch_bounds=(tiling.threads, tiling.resident))
    def matmul_in_registers(out, a, b, alpha, beta):
        a_tile = cuda.shared.array(a_size, float32, alignment=16)
        b_tile = cuda.shared.array(b_size, float32, alignment=16)
        acc = cuda.local.array((tall, wide), float32)
        a_part = cuda.local.array((slots, tall), float32)
        b_part = cuda.local.array((slots, wide), float32)
        a_next = cuda.local.array((a_quads, 4), float32)
        b_next = cuda.local.array((b_quads, 4), float32)
        tile_row, tile_col = place()
        row, col, row0, col0 = corners(out, tile_row, tile_col)
        m0, n0 = starts()

        ends = uint32(0), uint32(a.shape[1])
        at = begin(a, b, row0, col0, ends, a_tile, b_tile, a_next, b_next)
        for i in range(tall):
            for j in range(wide):
                acc[i, j] = float32(0)
        cuda.syncthreads()  # the first tiles are full before anyone reads them
        loop(a, b, a_tile, b_tile, acc, a_part, b_part, a_next, b_next, m0, n0, at)
        store(out, acc, uint32(row0 + m0), uint32(col0 + n0), alpha, beta, row, col)

    return named(matmul_in_registers, name)


def tile_corners(tiling: Tiling, exact: bool) -> Any:
    """Where a tile of the result begins, and where it is loaded from.

    What a tile that was moved shares with its neighbour is computed twice and stored once.
    """
    rows, cols = tiling.rows, tiling.cols

    @device
    def corners(out, tile_row, tile_col):
        row, col = uint32(tile_row * rows), uint32(tile_col * cols)
        if exact:
            return row, col, row, col
        last_row, last_col = uint32(out.shape[0] - rows), uint32(out.shape[1] - cols)
        return row, col, smaller(row, last_row), smaller(col, last_col)

    return corners


@cache
def lane_starts(tiling: Tiling) -> Any:
    """(row, column) of this lane's first element in the block's tile."""
    lanes, warp_rows, warp_cols = lane_place(tiling), tiling.warp_rows, tiling.warp_cols
    warps_across, worker = tiling.cols // tiling.warp_cols, worker_place(tiling)

    @device
    def starts():
        tid, _ = worker()
        warp = uint32(tid // uint32(WARP))
        down, across = lanes(uint32(tid % uint32(WARP)))
        m0 = uint32(uint32(warp // uint32(warps_across)) * warp_rows + down * 4)
        return m0, uint32(uint32(warp % uint32(warps_across)) * warp_cols + across * 4)

    return starts


def first_tiles(tiling: Tiling, exact: bool, loads: tuple[Loads, Loads]) -> Any:
    """Fill the first tiles of a part of the depth, `ends` = (its first k, the one behind its last).

    What the main loop needs to go on comes back.
    """
    depth, slices, worker = tiling.depth, tiling.slices, worker_place(tiling)
    a_size, b_size = (size * tiling.buffers for size in tiling.sizes)
    (place_a, fetch_a, some_a, stage_a), (place_b, fetch_b, some_b, stage_b) = loads

    @device
    def begin(a, b, row0, col0, ends, a_tile, b_tile, a_next, b_next):
        (tid, part), k0, k_size = worker(), ends[0], uint32(ends[1] - ends[0])
        a_pitch, b_pitch = uint32(a.strides[0] // 4), uint32(b.strides[0] // 4)
        a_row, a_k, a_step, a_to = place_a(tid, a_pitch)
        b_k, b_col, b_step, b_to = place_b(tid, b_pitch)
        a_at = uint32(uint32(row0 + a_row) * a_pitch + k0 + a_k)
        b_at = uint32(uint32(k0 + b_k) * b_pitch + col0 + b_col)
        first = uint32(depth)
        if slices > 1:
            a_to, b_to = uint32(a_to + part * a_size), uint32(b_to + part * b_size)
        if exact:
            fetch_a(a, a_at, a_step, a_next)
            fetch_b(b, b_at, b_step, b_next)
        else:
            if k_size % uint32(depth) != uint32(0) or k_size == uint32(0):
                first = uint32(k_size % uint32(depth))
            some_a(a, a_at, a_step, a_next, uint32(first - smaller(first, a_k)))
            some_b(b, b_at, b_step, b_next, uint32(first - smaller(first, b_k)))
        stage_a(a_tile, a_next, a_to)
        stage_b(b_tile, b_next, b_to)
        return a_at, b_at, a_step, b_step, a_to, b_to, first, k_size, b_pitch

    return begin


@cache
def _both(loads: tuple[Loads, Loads]) -> tuple[Any, Any]:
    """Fetch and stage, of both matrices."""
    (_, fetch_a, _, stage_a), (_, fetch_b, _, stage_b) = loads

    @device
    def fetch(a, b, a_at, b_at, a_step, b_step, a_next, b_next):
        fetch_a(a, a_at, a_step, a_next)
        fetch_b(b, b_at, b_step, b_next)

    @device
    def stage(a_tile, b_tile, a_next, b_next, a_to, b_to):
        stage_a(a_tile, a_next, a_to)
        stage_b(b_tile, b_next, b_to)

    return fetch, stage


def _steps(tiling: Tiling, stage: Any) -> Any:
    """The product of one pair of tiles: what is done at each k, laid out one after the other."""
    read, multiply = fragment_reads(tiling), outer_product(tiling)
    ahead = tiling.fragments - 1
    stage_at = tiling.depth if tiling.stage_at is None else tiling.stage_at

    @device
    def step(k, a_tile, b_tile, acc, a_part, b_part, a_from, b_from, a_next, b_next, a_to, b_to):
        if k == stage_at:
            stage(a_tile, b_tile, a_next, b_next, a_to, b_to)
        read(k + ahead, a_tile, b_tile, a_part, b_part, a_from, b_from)
        multiply(k, acc, a_part, b_part)

    return unroll(tiling.depth - ahead, step)


@cache
def main_loop(tiling: Tiling, loads: tuple[Loads, Loads]) -> Any:
    """All pairs of tiles, from the one that is in shared memory on."""
    fetch, stage = _both(loads)
    steps, depth, early = _steps(tiling, stage), tiling.depth, tiling.buffers == 2
    read, multiply = fragment_reads(tiling), outer_product(tiling)
    ahead, late, pinned = tiling.fragments - 1, tiling.stage_at is None, tiling.pinned
    a_size, b_size = (size * (tiling.buffers - 1) for size in tiling.sizes)

    @device
    def loop(a, b, a_tile, b_tile, acc, a_part, b_part, a_next, b_next, m0, n0, at):
        a_at, b_at, a_step, b_step, a_to, b_to, done, k_size, b_pitch = at
        a_now, b_now = uint32(0), uint32(0)
        a_on, b_on, more = done, uint32(done * b_pitch), True
        if ahead:
            read(0, a_tile, b_tile, a_part, b_part, m0, n0)
        while more:
            more = done < k_size
            a_new, b_new = uint32(a_size - a_now), uint32(b_size - b_now)
            if more and early:
                a_at, b_at = uint32(a_at + a_on), uint32(b_at + b_on)
                fetch(a, b, a_at, b_at, a_step, b_step, a_next, b_next)
            if pinned:
                cuda.syncwarp()  # no load moves down past it
            a_from, b_from = uint32(a_now + m0), uint32(b_now + n0)
            a_in, b_in = uint32(a_new + a_to), uint32(b_new + b_to)
            steps((a_tile, b_tile, acc, a_part, b_part, a_from, b_from, a_next, b_next, a_in, b_in))
            if not early:
                cuda.syncthreads()  # everyone has read before the next tiles overwrite these
                if more:
                    a_at, b_at = uint32(a_at + a_on), uint32(b_at + b_on)
                    fetch(a, b, a_at, b_at, a_step, b_step, a_next, b_next)
            if late:
                stage(a_tile, b_tile, a_next, b_next, a_in, b_in)
            a_now, b_now, done = a_new, b_new, uint32(done + depth)
            a_on, b_on = uint32(depth), uint32(depth * b_pitch)
            cuda.syncthreads()  # the next tiles are full before anyone reads them
            if ahead:
                read(0, a_tile, b_tile, a_part, b_part, uint32(a_now + m0), uint32(b_now + n0))
                multiply(depth - 1, acc, a_part, b_part)

    return loop
