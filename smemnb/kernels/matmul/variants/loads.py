"""From global memory to a tile: what each thread loads, when, and where it puts it.

For each matrix there are two ways. By 16 bytes, where rows begin at multiples of 16 bytes: a thread
takes quads of neighbours. Element by element for any rows: neighbouring threads take neighbouring
elements. Either way a thread holds the same number of registers, and the tiles come out the same:
element (m, k) of a at k * a_pitch + m, element (k, n) of b at k * cols + n.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

from numba import float32, uint32

from ...ptx import load1, load16, store1, store16
from ...unrolled import device
from ..tiling import QUAD, Tiling


class Loads(NamedTuple):
    """Device functions for one matrix.

    place(tid, pitch)            (row, column) of the first element, the step between loads, and
                                 where in the tile it goes
    fetch(array, at, step, next)     all loads, into registers
    some(array, at, step, next, there)   the same at the edge: `there` k remain from the first on
    stage(tile, next, to)        registers into the tile
    """

    place: Any
    fetch: Any
    some: Any
    stage: Any


@device
def put(registers, line, first, quad):
    """Put a tuple of four into a line of registers."""
    registers[line, first] = quad[0]
    registers[line, first + 1] = quad[1]
    registers[line, first + 2] = quad[2]
    registers[line, first + 3] = quad[3]


@cache
def _fetch_quads(count: int) -> Any:
    @device
    def fetch(array, at, step, ahead):
        for line in range(count):
            put(ahead, line, 0, load16(array, uint32(at + line * step)))

    return fetch


@cache
def _fetch_elements(count: int) -> Any:
    @device
    def fetch(array, at, step, ahead):
        for line in range(count):
            for part in range(4):
                ahead[line, part] = load1(array, uint32(at + (line * 4 + part) * step))

    return fetch


def _all_or_none(fetch: Any, count: int) -> Any:
    """At the edge of a: a thread's loads share their k, so all of them are there or none."""

    @device
    def some(array, at, step, ahead, there):
        if there > uint32(0):
            fetch(array, at, step, ahead)
        else:
            for line in range(count):
                put(ahead, line, 0, (float32(0), float32(0), float32(0), float32(0)))

    return some


@cache
def a_by_quads(tiling: Tiling) -> Loads:
    """Four k of one row per load; turned on the way into the tile."""
    count, across, pitch_k = tiling.quads[0], tiling.depth // QUAD, tiling.a_pitch
    down = tiling.workers // across
    fetch = _fetch_quads(count)

    @device
    def place(tid, pitch):
        row, k = uint32(tid // uint32(across)), uint32(tid % uint32(across) * 4)
        return row, k, uint32(down * pitch), uint32(k * pitch_k + row)

    @device
    def stage(tile, ahead, to):
        for line in range(count):
            for part in range(4):
                store1(tile, to + (line * down + part * pitch_k), ahead[line, part])

    return Loads(place, fetch, _all_or_none(fetch, count), stage)


@cache
def a_by_elements(tiling: Tiling) -> Loads:
    """One k of one row per load: 8 lanes side by side."""
    count, depth, pitch_k = tiling.quads[0], tiling.depth, tiling.a_pitch
    down = tiling.workers // depth
    fetch = _fetch_elements(count)

    @device
    def place(tid, pitch):
        row, k = uint32(tid // uint32(depth)), uint32(tid % uint32(depth))
        return row, k, uint32(down * pitch), uint32(k * pitch_k + row)

    @device
    def stage(tile, ahead, to):
        for line in range(count):
            for part in range(4):
                store1(tile, to + (line * 4 + part) * down, ahead[line, part])

    return Loads(place, fetch, _all_or_none(fetch, count), stage)


@cache
def b_by_quads(tiling: Tiling) -> Loads:
    """Four columns of one k per load."""
    count, cols, across = tiling.quads[1], tiling.cols, tiling.cols // QUAD
    down = tiling.workers // across

    @device
    def place(tid, pitch):
        k, col = uint32(tid // uint32(across)), uint32(tid % uint32(across) * 4)
        return k, col, uint32(down * pitch), uint32(k * cols + col)

    @device
    def some(array, at, step, ahead, there):
        for line in range(count):
            if uint32(line * down) < there:
                put(ahead, line, 0, load16(array, uint32(at + line * step)))
            else:
                put(ahead, line, 0, (float32(0), float32(0), float32(0), float32(0)))

    @device
    def stage(tile, ahead, to):
        for line in range(count):
            quad = ahead[line, 0], ahead[line, 1], ahead[line, 2], ahead[line, 3]
            store16(tile, to + line * down * cols, quad)

    return Loads(place, _fetch_quads(count), some, stage)


@cache
def b_by_elements(tiling: Tiling) -> Loads:
    """One column of one k per load: a warp takes 32 neighbours."""
    count, cols = tiling.quads[1], tiling.cols
    down = tiling.workers // cols

    @device
    def place(tid, pitch):
        k, col = uint32(tid // uint32(cols)), uint32(tid % uint32(cols))
        return k, col, uint32(down * pitch), uint32(k * cols + col)

    @device
    def some(array, at, step, ahead, there):
        for line in range(count):
            for part in range(4):
                ahead[line, part] = float32(0)
                if uint32((line * 4 + part) * down) < there:
                    ahead[line, part] = load1(array, uint32(at + (line * 4 + part) * step))

    @device
    def stage(tile, ahead, to):
        for line in range(count):
            for part in range(4):
                store1(tile, to + (line * 4 + part) * down * cols, ahead[line, part])

    return Loads(place, _fetch_elements(count), some, stage)
