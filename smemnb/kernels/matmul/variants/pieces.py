"""The pieces of a register-tiled product: device functions, made once for each `Tiling`."""

from __future__ import annotations

from functools import cache
from typing import Any

from numba import cuda, float32, uint32

from ...ptx import load1, load16, store1
from ...unrolled import device, smaller, unroll
from ..tiling import QUAD, Tiling
from .loads import put


@cache
def lane_place(tiling: Tiling) -> Any:
    """(row, column) of a lane among the lanes of its warp."""
    across = tiling.lanes_across
    bits = across.bit_length() - 1

    @device
    def in_rows(lane):
        return uint32(lane // uint32(across)), uint32(lane % uint32(across))

    @device
    def interleaved(lane):  # bit 0 counts rows, the next ones columns, the rest rows again
        down = uint32((lane & uint32(1)) | ((lane >> uint32(1 + bits)) << uint32(1)))
        return down, uint32((lane >> uint32(1)) & uint32(across - 1))

    return interleaved if tiling.interleaved else in_rows


@cache
def worker_place(tiling: Tiling) -> Any:
    """(number of a thread in its slice, number of the slice)."""
    workers = tiling.workers

    @device
    def alone():
        return uint32(cuda.threadIdx.x), uint32(0)

    @device
    def in_slices():
        tid = uint32(cuda.threadIdx.x)
        return uint32(tid % uint32(workers)), uint32(tid // uint32(workers))

    return in_slices if tiling.slices > 1 else alone


@cache
def tile_place(tiling: Tiling) -> Any:
    """(row, column) of a tile among `high` x `wide` tiles of the result, by its number."""
    band = tiling.band

    @device
    def in_rows(number, high, wide):
        return uint32(number // wide), uint32(number % wide)

    @device
    def in_bands(number, high, wide):
        # `band` tiles down, then the next column of them; the last band may be lower
        per_band = uint32(wide * uint32(band))
        first = uint32(number // per_band * uint32(band))
        rest = uint32(number % per_band)
        height = smaller(uint32(band), uint32(high - first))
        return uint32(first + rest % height), uint32(rest // height)

    return in_bands if band else in_rows


@cache
def block_place(tiling: Tiling) -> Any:
    """(row, column) of this block among the tiles of the result."""
    place, bands = tile_place(tiling), tiling.band > 0

    @device
    def of_block():
        if not bands:
            return uint32(cuda.blockIdx.y), uint32(cuda.blockIdx.x)
        wide, high = uint32(cuda.gridDim.x), uint32(cuda.gridDim.y)
        return place(uint32(cuda.blockIdx.y * wide + cuda.blockIdx.x), high, wide)

    return of_block


@cache
def fragment_reads(tiling: Tiling) -> Any:
    """Read column k of the tile of a, and row k of the tile of b, for this lane."""
    tall, wide = tiling.thread
    quads_a, quads_b = tall // QUAD, wide // QUAD
    apart_a, apart_b = QUAD * tiling.lanes_down, QUAD * tiling.lanes_across
    a_pitch, cols, slots = tiling.a_pitch, tiling.cols, tiling.fragments

    @device
    def read(k, a_tile, b_tile, a_part, b_part, a_at, b_at):
        slot = k % slots
        for quad in range(quads_a):
            at = a_at + (k * a_pitch + quad * apart_a)
            put(a_part, slot, quad * 4, load16(a_tile, at))
        for quad in range(quads_b):
            at = b_at + (k * cols + quad * apart_b)
            put(b_part, slot, quad * 4, load16(b_tile, at))

    return read


@cache
def outer_product(tiling: Tiling) -> Any:
    """Add the product of the two fragments of step k."""
    (tall, wide), turn, slots = tiling.thread, tiling.turn, tiling.fragments

    @device
    def in_rows(k, acc, a_part, b_part):
        for i in range(tall):
            for j in range(wide):
                acc[i, j] += a_part[k % slots, i] * b_part[k % slots, j]

    @device
    def to_and_fro(k, acc, a_part, b_part):
        for i in range(tall):
            for step in range(wide):
                j = step if i // turn % 2 == 0 else wide - 1 - step
                acc[i, j] += a_part[k % slots, i] * b_part[k % slots, j]

    return to_and_fro if turn else in_rows


def result_store(tiling: Tiling, exact: bool) -> Any:
    """Store alpha * acc + beta * out; with `exact` False only what lies in the block's own tile.

    Element by element: for stores of 16 bytes the compiler keeps the result in quads of registers,
    and then multiplications wait for register banks all through the main loop.
    """
    (tall, wide), apart = tiling.thread, QUAD * tiling.lanes_down
    across_apart = QUAD * tiling.lanes_across

    @device
    def store_row(i, out, acc, row, col, scale, keep, first_row, first_col):
        down = i // 4 * apart + i % 4
        if exact or row + down >= first_row:
            line = uint32(uint32(row + down) * uint32(out.strides[0] // 4) + col)
            for j in range(wide):
                across = j // 4 * across_apart + j % 4
                if exact or col + across >= first_col:
                    value = scale * acc[i, j]
                    if keep != float32(0):
                        value += keep * load1(out, line + across)
                    # smemnb: allow[uncoalesced] once per result; stores of 16 bytes would hold acc
                    # in aligned quads, and the multiply-adds would wait for register banks
                    store1(out, line + across, value)

    store_rows = unroll(tall, store_row)

    @device
    def store(out, acc, row, col, alpha, beta, first_row, first_col):
        scale, keep = float32(alpha), float32(beta)
        store_rows((out, acc, row, col, scale, keep, first_row, first_col))

    return store
