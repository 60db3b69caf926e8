"""One operand of a guarded product, from global memory to its tile in shared memory.

The tile has the depth going down: element (e, k) of the operand lies at k * pitch + e, where e
counts rows of a, or columns of b. In memory neighbours lie either along e, and go straight into the
tile, or along k, and are turned on the way. Either way a thread moves quads of 16 bytes where rows
begin at multiples of 16 bytes and hold whole quads, and single elements elsewhere; both take
`quads` lines of four registers.

Sizes of tiles and numbers of threads are powers of two, so what a thread moves in one line lies a
constant number of e and k away from what it moves in the first.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

from numba import float32, uint32

from ...ptx import load1, load16, store1, store16
from ...unrolled import device
from ..cut import QUAD, TURNED_PAD, Cut
from .loads import put


class Operand(NamedTuple):
    """Device functions for one operand, and what they need.

    place(tid)                         (e, k) of the first element that a thread moves
    fetch(array, e, k, size, end, next)    its elements into registers; 0 beyond size and end
    stage(tile, next, begin, e, k)     registers into the tile that begins there
    """

    place: Any
    fetch: Any
    stage: Any
    quads: int
    pitch: int
    size: int


@cache
def operand_of(cut: Cut, which: str, along_k: bool, by_quads: bool) -> Operand:
    """Loads of `a` or `b`: whether neighbours in memory lie along k, and move by quads."""
    extent = cut.rows if which == "a" else cut.cols
    made = _turned if along_k else _straight
    return made(extent, cut.depth, cut.workers, by_quads)


def _straight(extent: int, depth: int, workers: int, by_quads: bool) -> Operand:
    """Neighbours in memory lie along e: a line of the tile is a piece of a row."""
    width = QUAD if by_quads else 1
    units, pitch = extent // width, extent
    moves = extent * depth // (workers * width)

    @device
    def place(tid):
        return uint32(tid % uint32(units) * width), uint32(tid // uint32(units))

    @device
    def fetch_quads(array, e, k, size, end, ahead):
        pitch_k = uint32(array.strides[0] // 4)
        for line in range(moves):
            at_e = uint32(e + line * workers % units * width)
            at_k = uint32(k + line * workers // units)
            if at_e < size and at_k < end:
                put(ahead, line, 0, load16(array, uint32(at_k * pitch_k + at_e)))
            else:
                put(ahead, line, 0, (float32(0), float32(0), float32(0), float32(0)))

    @device
    def fetch_elements(array, e, k, size, end, ahead):
        pitch_k = uint32(array.strides[0] // 4)
        for line in range(moves):
            at_e = uint32(e + line * workers % units)
            at_k = uint32(k + line * workers // units)
            ahead[line // 4, line % 4] = float32(0)
            if at_e < size and at_k < end:
                ahead[line // 4, line % 4] = load1(array, uint32(at_k * pitch_k + at_e))

    @device
    def stage_quads(tile, ahead, begin, e, k):
        for line in range(moves):
            at_e = uint32(e + line * workers % units * width)
            at_k = uint32(k + line * workers // units)
            quad = ahead[line, 0], ahead[line, 1], ahead[line, 2], ahead[line, 3]
            store16(tile, uint32(begin + at_k * pitch + at_e), quad)

    @device
    def stage_elements(tile, ahead, begin, e, k):
        for line in range(moves):
            at_e = uint32(e + line * workers % units)
            at_k = uint32(k + line * workers // units)
            store1(tile, uint32(begin + at_k * pitch + at_e), ahead[line // 4, line % 4])

    fetch, stage = (fetch_quads, stage_quads) if by_quads else (fetch_elements, stage_elements)
    return Operand(place, fetch, stage, moves * width // QUAD, pitch, pitch * depth)


def _turned(extent: int, depth: int, workers: int, by_quads: bool) -> Operand:
    """Neighbours in memory lie along k: eight of them, a sector, then the next e."""
    width = QUAD if by_quads else 1
    group = min(8, depth) // width  # moves that fill a sector
    units, pitch = group * extent, extent + TURNED_PAD
    moves = extent * depth // (workers * width)

    @device
    def place(tid):
        inside = uint32(tid % uint32(units))
        sector, move = uint32(tid // uint32(units)), uint32(inside % uint32(group))
        return uint32(inside // uint32(group)), uint32(uint32(sector * group + move) * width)

    @device
    def fetch_quads(array, e, k, size, end, ahead):
        pitch_e = uint32(array.strides[0] // 4)
        for line in range(moves):
            at_e = uint32(e + line * workers % units // group)
            at_k = uint32(k + line * workers // units * (group * width))
            if at_e < size and at_k < end:
                put(ahead, line, 0, load16(array, uint32(at_e * pitch_e + at_k)))
            else:
                put(ahead, line, 0, (float32(0), float32(0), float32(0), float32(0)))

    @device
    def fetch_elements(array, e, k, size, end, ahead):
        pitch_e = uint32(array.strides[0] // 4)
        for line in range(moves):
            at_e = uint32(e + line * workers % units // group)
            at_k = uint32(k + line * workers // units * group)
            ahead[line // 4, line % 4] = float32(0)
            if at_e < size and at_k < end:
                ahead[line // 4, line % 4] = load1(array, uint32(at_e * pitch_e + at_k))

    @device
    def stage_quads(tile, ahead, begin, e, k):
        for line in range(moves):
            at_e = uint32(e + line * workers % units // group)
            at_k = uint32(k + line * workers // units * (group * width))
            for part in range(4):
                store1(tile, uint32(begin + (at_k + part) * pitch + at_e), ahead[line, part])

    @device
    def stage_elements(tile, ahead, begin, e, k):
        for line in range(moves):
            at_e = uint32(e + line * workers % units // group)
            at_k = uint32(k + line * workers // units * group)
            store1(tile, uint32(begin + at_k * pitch + at_e), ahead[line // 4, line % 4])

    fetch, stage = (fetch_quads, stage_quads) if by_quads else (fetch_elements, stage_elements)
    return Operand(place, fetch, stage, moves * width // QUAD, pitch, pitch * depth)
