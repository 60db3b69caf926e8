"""Products of any shape, of matrices that lie by rows or by columns.

`matmul_guarded_of(cut, ...)` makes the kernel `(out, a, b, alpha, beta, sums, flags)` that computes
out = alpha * a @ b + beta * out in float32; `out` is not read where beta is 0. Every load and every
store is guarded, so a tile may reach beyond the matrices, as far as it likes. Where the result has
too few tiles for a GPU, the depth is cut, in two ways that go together:

- the slices of a block, groups of warps, take its steps along the depth in turns, and add their
  sums in shared memory;
- `gridDim.y` blocks, the parts of a tile, have a run of steps each. Every one puts its sums into
  global memory; the one that comes last adds them all, in the order of the parts. So the result is
  the same in each run, whoever is last.

The grid is (tiles, parts, matrices of a batch). What a block does:

1. Load the tiles of its first step into registers, and store them into shared memory.
2. At each step: load the tiles of the next one into registers, multiply those in shared memory,
   store the loaded ones into the other buffers, meet at a barrier.
3. Add up slices and parts, store the result.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from numba import cuda, float32, uint32

from ...ptx import load1, load16, store1, store16
from ...unrolled import device, jit, named, smaller, unroll
from ..cut import QUAD, WARP, Cut
from .loads import put
from .operands import Operand, operand_of
from .pieces import lane_place, outer_product, tile_place


@cache
def matmul_guarded_of(
    cut: Cut,
    a_columns: bool = False,
    b_columns: bool = False,
    wide_a: bool = True,
    wide_b: bool = True,
    wide_out: bool = True,
    batched: bool = False,
    name: str = "matmul_guarded",
) -> Any:
    """The kernel for a cut.

    With more than one part, `sums` holds `cut.rows * cut.cols` float32 for each block and `flags`
    one uint32 for each tile, all 0 before and after; with one part neither is touched.

    Args:
        cut: the choices.
        a_columns: a lies by columns; the array passed is a.T, which lies by rows.
        b_columns: the same of b.
        wide_a: rows of the array passed begin at multiples of 16 bytes, and hold whole quads.
        wide_b: the same of b.
        wide_out: the same of out.
        batched: the arrays have a first axis, along which `gridDim.z` counts.
        name: of the kernel.

    Raises:
        ValueError: rows or columns are not powers of two.
    """
    if cut.rows % 3 == 0 or cut.cols % 3 == 0:
        raise ValueError(f"a tile of {cut.rows}x{cut.cols}: guarded kernels take powers of two")
    (tall, wide), slots, slices, worker = cut.thread, cut.fragments, cut.slices, _worker(cut)
    left = operand_of(cut, "a", not a_columns, wide_a)
    right = operand_of(cut, "b", b_columns, wide_b)
    elems = max(2 * slices * (left.size + right.size), cut.sum_elems)
    begin, loop = _first_tiles(cut, left, right), _main_loop(cut, left, right)
    corner, ends = _tile_corner(cut), _part_ends(cut)
    finish = _added_slices(cut) if slices > 1 else _from_registers(cut, wide_out)
    a_axis, (a_quads, b_quads) = 0 if a_columns else 1, (left.quads, right.quads)

    @device
    def multiply(out, a, b, alpha, beta, sums, flags):
        tiles = cuda.shared.array(elems, float32, alignment=16)
        acc = cuda.local.array((tall, wide), float32)
        a_part = cuda.local.array((slots, tall), float32)
        b_part = cuda.local.array((slots, wide), float32)
        a_next = cuda.local.array((a_quads, 4), float32)
        b_next = cuda.local.array((b_quads, 4), float32)
        tid, turn = worker()
        row0, col0 = corner(out)
        first, last = ends(uint32(a.shape[a_axis]))

        size = uint32(out.shape[0]), uint32(out.shape[1])
        at = begin(a, b, tiles, a_next, b_next, (tid, turn, row0, col0), size, (first, last))
        for i in range(tall):
            for j in range(wide):
                acc[i, j] = float32(0)
        cuda.syncthreads()  # the first tiles are full before anyone reads them
        loop(a, b, tiles, acc, a_part, b_part, a_next, b_next, (tid, turn), size, (first, last), at)
        finish(out, acc, tiles, (alpha, beta), sums, flags, tid, row0, col0)

    if batched:

        @jit(launch_bounds=(cut.threads, cut.resident))
        def matmul_of_batch(out, a, b, alpha, beta, sums, flags):
            one = cuda.blockIdx.z
            multiply(out[one], a[one], b[one], alpha, beta, sums, flags)

        return named(matmul_of_batch, name)

    @jit(launch_bounds=(cut.threads, cut.resident))
    def matmul_of_any_shape(out, a, b, alpha, beta, sums, flags):
        multiply(out, a, b, alpha, beta, sums, flags)

    return named(matmul_of_any_shape, name)


def _worker(cut: Cut) -> Any:
    """(number of this thread in its slice, number of the slice)."""
    workers = cut.workers

    @device
    def of_a_slice():
        tx = uint32(cuda.threadIdx.x)
        return uint32(tx % uint32(workers)), uint32(tx // uint32(workers))

    @device
    def of_the_block():  # one slice: what is a constant takes no register
        return uint32(cuda.threadIdx.x), uint32(0)

    return of_a_slice if cut.slices > 1 else of_the_block


def _tile_corner(cut: Cut) -> Any:
    """The first row and column of this block's tile."""
    rows, cols, place = cut.rows, cut.cols, tile_place(cut)

    @device
    def corner(out):
        high = uint32(uint32(out.shape[0] + (rows - 1)) // uint32(rows))
        across = uint32(uint32(out.shape[1] + (cols - 1)) // uint32(cols))
        tile_row, tile_col = place(uint32(cuda.blockIdx.x), high, across)
        return uint32(tile_row * uint32(rows)), uint32(tile_col * uint32(cols))

    return corner


def _part_ends(cut: Cut) -> Any:
    """The first k of this block's part of the depth, and the one behind its last."""
    depth = cut.depth

    @device
    def ends(k_size):
        parts, part = uint32(cuda.gridDim.y), uint32(cuda.blockIdx.y)
        steps = uint32(uint32(k_size + uint32(depth - 1)) // uint32(depth))
        each, more = uint32(steps // parts), uint32(steps % parts)
        first = uint32(uint32(part * each + smaller(part, more)) * uint32(depth))
        count = uint32(each + uint32(1)) if part < more else each
        return first, smaller(uint32(first + count * uint32(depth)), k_size)

    return ends


def _first_tiles(cut: Cut, left: Operand, right: Operand) -> Any:
    """Fill the first buffers; return where this thread loads from, and where it stores to."""
    depth, a_place, b_place = cut.depth, left.place, right.place
    a_fetch, b_fetch, a_stage, b_stage = left.fetch, right.fetch, left.stage, right.stage
    a_size, b_size = left.size, right.size
    b_begin = 2 * cut.slices * left.size

    @device
    def begin(a, b, tiles, a_next, b_next, who, size, ends):
        tid, turn, row0, col0 = who
        (a_e, a_k), (b_e, b_k) = a_place(tid), b_place(tid)
        row, col = uint32(row0 + a_e), uint32(col0 + b_e)
        k = uint32(ends[0] + turn * uint32(depth))
        a_fetch(a, row, uint32(k + a_k), size[0], ends[1], a_next)
        b_fetch(b, col, uint32(k + b_k), size[1], ends[1], b_next)
        a_to, b_to = uint32(turn * uint32(2 * a_size)), uint32(b_begin + turn * uint32(2 * b_size))
        a_stage(tiles, a_next, a_to, a_e, a_k)
        b_stage(tiles, b_next, b_to, b_e, b_k)
        return row, col, a_e, a_k, b_e, b_k, a_to, b_to

    return begin


def _main_loop(cut: Cut, left: Operand, right: Operand) -> Any:
    """All steps of this slice, from the one that is in shared memory on."""
    depth, slices, ahead = cut.depth, cut.slices, cut.fragments - 1
    a_fetch, b_fetch, a_stage, b_stage = left.fetch, right.fetch, left.stage, right.stage
    a_size, b_size, starts = left.size, right.size, _lane_starts(cut)
    read, multiply = _fragment_reads(cut, left.pitch, right.pitch), outer_product(cut)

    @device
    def step(k, tiles, acc, a_part, b_part, a_from, b_from):
        read(k + ahead, tiles, a_part, b_part, a_from, b_from)
        multiply(k, acc, a_part, b_part)

    steps = unroll(depth - ahead, step)

    @device
    def loop(a, b, tiles, acc, a_part, b_part, a_next, b_next, who, size, ends, at):
        row, col, a_e, a_k, b_e, b_k, a_to, b_to = at
        m0, n0 = starts(who[0])
        a_old, b_old = uint32(0), uint32(0)
        first = ends[0]  # of the step of slice 0: all slices make as many rounds
        k = uint32(first + who[1] * uint32(depth))
        while True:
            first, k = uint32(first + slices * depth), uint32(k + slices * depth)
            more = first < ends[1]
            if more:
                a_fetch(a, row, uint32(k + a_k), size[0], ends[1], a_next)
                b_fetch(b, col, uint32(k + b_k), size[1], ends[1], b_next)
            cuda.syncwarp()  # no load moves down past it, to where its value is stored
            a_from, b_from = uint32(a_to + a_old + m0), uint32(b_to + b_old + n0)
            read(0, tiles, a_part, b_part, a_from, b_from)
            steps((tiles, acc, a_part, b_part, a_from, b_from))
            multiply(depth - 1, acc, a_part, b_part)
            if not more:
                break
            a_old, b_old = uint32(a_size - a_old), uint32(b_size - b_old)
            a_stage(tiles, a_next, uint32(a_to + a_old), a_e, a_k)
            b_stage(tiles, b_next, uint32(b_to + b_old), b_e, b_k)
            cuda.syncthreads()  # the next tiles are full before anyone reads them

    return loop


def _lane_starts(cut: Cut) -> Any:
    """(row, column) in the tile of the first element of a thread of a slice."""
    warps_across, place = cut.cols // cut.warp_cols, lane_place(cut)
    warp_rows, warp_cols = cut.warp_rows, cut.warp_cols

    @device
    def starts(tid):
        warp = uint32(tid // uint32(WARP))
        down, across = place(uint32(tid % uint32(WARP)))
        m0 = uint32(warp // uint32(warps_across) * warp_rows + down * QUAD)
        return m0, uint32(warp % uint32(warps_across) * warp_cols + across * QUAD)

    return starts


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


# --- the end: parts, factors, stores ------------------------------------------------------------


@device
def _is_last(flags, tiles):
    """Whether this block is the last of its tile's parts, with its sums in global memory."""
    cuda.threadfence()  # every thread's sums are in memory ...
    cuda.syncthreads()  # ... before one says so, and the tiles are read by all
    if cuda.threadIdx.x == 0:
        tile = uint32(cuda.blockIdx.x + cuda.blockIdx.z * cuda.gridDim.x)
        before = cuda.atomic.inc(flags, tile, uint32(cuda.gridDim.y - 1))  # back to 0 at the last
        tiles[0] = float32(1) if before == uint32(cuda.gridDim.y - 1) else float32(0)
    cuda.syncthreads()  # all threads know it
    last = tiles[0] != float32(0)
    cuda.threadfence()
    return last


@device
def _slot(size):
    """Where the sums of this tile's first part begin."""
    tile = uint32(cuda.blockIdx.x + cuda.blockIdx.z * cuda.gridDim.x)
    return uint32(uint32(tile * uint32(cuda.gridDim.y)) * uint32(size))


def _from_registers(cut: Cut, by_quads: bool) -> Any:
    """Add the parts, and store from where the product was made: each thread its own elements."""
    (tall, wide), threads, size = cut.thread, cut.threads, cut.rows * cut.cols
    starts, store = _lane_starts(cut), _result_store(cut, by_quads)

    @device
    def give(i, sums, acc, at):
        for j in range(wide):
            store1(sums, uint32(at + (i * wide + j) * threads), acc[i, j])

    @device
    def take(i, sums, acc, at):
        for j in range(wide):
            acc[i, j] += load1(sums, uint32(at + (i * wide + j) * threads))

    give_all, take_all = unroll(tall, give), unroll(tall, take)

    @device
    def finish(out, acc, tiles, factors, sums, flags, tid, row0, col0):
        parts = uint32(cuda.gridDim.y)
        if parts > uint32(1):
            at = uint32(_slot(size) + tid)
            give_all((sums, acc, uint32(at + cuda.blockIdx.y * uint32(size))))
            if not _is_last(flags, tiles):
                return
            for i in range(tall):
                for j in range(wide):
                    acc[i, j] = float32(0)
            for part in range(parts):
                take_all((sums, acc, uint32(at + uint32(part) * uint32(size))))
        m0, n0 = starts(tid)
        store(out, acc, uint32(row0 + m0), uint32(col0 + n0), factors)

    return finish


def _result_store(cut: Cut, by_quads: bool) -> Any:
    """Store a thread's elements, as far as they lie in the result."""
    (tall, wide), apart = cut.thread, QUAD * cut.lanes_down
    across_apart, quads = QUAD * cut.lanes_across, cut.wide // QUAD

    @device
    def quad_row(i, out, acc, row, col, scale, keep):
        at_row = uint32(row + (i // 4 * apart + i % 4))
        if at_row < out.shape[0]:
            line = uint32(at_row * uint32(out.strides[0] // 4))
            for quad in range(quads):
                at_col = uint32(col + quad * across_apart)
                if at_col < out.shape[1]:
                    v0, v1 = scale * acc[i, quad * 4], scale * acc[i, quad * 4 + 1]
                    v2, v3 = scale * acc[i, quad * 4 + 2], scale * acc[i, quad * 4 + 3]
                    if keep != float32(0):
                        old = load16(out, uint32(line + at_col))
                        v0, v1 = v0 + keep * old[0], v1 + keep * old[1]
                        v2, v3 = v2 + keep * old[2], v3 + keep * old[3]
                    store16(out, uint32(line + at_col), (v0, v1, v2, v3))

    @device
    def element_row(i, out, acc, row, col, scale, keep):
        at_row = uint32(row + (i // 4 * apart + i % 4))
        if at_row < out.shape[0]:
            line = uint32(at_row * uint32(out.strides[0] // 4))
            for j in range(wide):
                at_col = uint32(col + (j // 4 * across_apart + j % 4))
                if at_col < out.shape[1]:
                    value = scale * acc[i, j]
                    if keep != float32(0):
                        value += keep * load1(out, uint32(line + at_col))
                    # smemnb: allow[uncoalesced] once per result, where rows begin anywhere
                    store1(out, uint32(line + at_col), value)

    store_rows = unroll(tall, quad_row if by_quads else element_row)

    @device
    def store(out, acc, row, col, factors):
        store_rows((out, acc, row, col, float32(factors[0]), float32(factors[1])))

    return store


def _added_slices(cut: Cut) -> Any:
    """Add slices in shared memory, then parts; neighbouring threads store neighbouring columns."""
    (tall, wide), threads, size = cut.thread, cut.threads, cut.rows * cut.cols
    cols, slices, workers, starts = cut.cols, cut.slices, cut.workers, _lane_starts(cut)
    each, apart, across_apart = size // threads, QUAD * cut.lanes_down, QUAD * cut.lanes_across

    @device
    def give_row(i, tiles, acc, at):
        for quad in range(wide // 4):
            first = quad * 4
            values = acc[i, first], acc[i, first + 1], acc[i, first + 2], acc[i, first + 3]
            place = at + ((i // 4 * apart + i % 4) * cols + quad * across_apart)
            store16(tiles, uint32(place), values)

    give = unroll(tall, give_row)

    @device
    def finish(out, acc, tiles, factors, sums, flags, tid, row0, col0):
        tx, parts = uint32(cuda.threadIdx.x), uint32(cuda.gridDim.y)
        mine = cuda.local.array(each, float32)
        m0, n0 = starts(tid)
        cuda.syncthreads()  # everyone has read before sums overwrite the tiles
        turn = uint32(tx // uint32(workers))
        give((tiles, acc, uint32(uint32(turn * uint32(size)) + uint32(m0 * cols) + n0)))
        cuda.syncthreads()  # the sums of all slices are there
        for i in range(each):
            mine[i] = float32(0)
            for other in range(slices):
                mine[i] += load1(tiles, uint32(tx + (i * threads + other * size)))

        if parts > uint32(1):
            at = uint32(_slot(size) + tx)
            for i in range(each):
                own = uint32(at + cuda.blockIdx.y * uint32(size))
                store1(sums, uint32(own + i * threads), mine[i])
            if not _is_last(flags, tiles):
                return
            for i in range(each):
                mine[i] = float32(0)
            for part in range(parts):
                for i in range(each):
                    from_part = uint32(at + uint32(part) * uint32(size))
                    mine[i] += load1(sums, uint32(from_part + i * threads))

        scale, keep = float32(factors[0]), float32(factors[1])
        for i in range(each):
            place = uint32(tx + i * threads)
            row, col = uint32(row0 + place // uint32(cols)), uint32(col0 + place % uint32(cols))
            if row < out.shape[0] and col < out.shape[1]:
                line = uint32(row * uint32(out.strides[0] // 4))
                value = scale * mine[i]
                if keep != float32(0):
                    value += keep * load1(out, uint32(line + col))
                store1(out, uint32(line + col), value)

    return finish
