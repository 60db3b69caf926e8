"""One operand of a product without guards: addresses that only advance.

The tile has the depth going down: element (e, k) of the operand lies at k * pitch + e, where e
counts rows of a, or columns of b. In memory neighbours lie either along e, and go straight into the
tile, or along k, and are turned on the way. By quads of 16 bytes where rows begin at multiples of
16 bytes and hold whole quads, else element by element.

A tile lies inside the operand as a whole, so no load of the main loop asks whether it may; an
offset is added to once per step. Of a straight operand the lanes of a warp, or a part of them, take
neighbours of one k, and further loads of the same k lie a constant number of bytes on. Only the
first step of a tile, with the depth that is left over from whole steps, is guarded.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

from numba import cuda, float32, uint32, uint64

from ...ptx import load1, load16, store1, store16
from ...unrolled import device, smaller
from ..cut import QUAD, TURNED_PAD, WARP, Cut
from .loads import put


class Moves(NamedTuple):
    """Device functions for one operand, and what they need.

    place(tid)                       (e, k) of the first element that a thread moves
    offset(array, e, k, pitch)       elements from the operand's first one to there
    on(count, pitch)                 elements from there to the same place `count` steps of k on
    fetch(array, at, pitch, next)    its elements into registers
    some(array, at, pitch, next, k, there)   the same from k on where only the first `there` k of a
                                     step are there; 0 elsewhere
    stage(tile, next, to)            registers into the tile; `to` is k * pitch + e of the first
    """

    place: Any
    offset: Any
    on: Any
    fetch: Any
    some: Any
    stage: Any
    quads: int
    pitch: int
    size: int


@cache
def moves_of(cut: Cut, which: str, along_k: bool, by_quads: bool, short: bool = False) -> Moves:
    """Loads of `a` or `b`: whether neighbours in memory lie along k, and move by quads.

    With `short` the operand has no more e than the tile; what is beyond them is the last one again.
    """
    extent = cut.rows if which == "a" else cut.cols
    made = _turned if along_k else _straight
    width = QUAD if by_quads and extent % 3 else 1
    return made(extent, cut.depth, cut.workers, width, short)


NOTHING = (float32(0), float32(0), float32(0), float32(0))


def _straight(extent: int, depth: int, workers: int, width: int, short: bool) -> Moves:
    """Neighbours in memory lie along e: a line of the tile is a piece of a row."""
    units = extent // width
    side = min(WARP, units & -units)  # lanes side by side
    chunks, lines = extent // (side * width), depth * side // workers
    if not lines:
        raise ValueError(f"{workers} threads are too many for {depth} lines of {extent} elements")
    apart = side * width

    @device
    def place(tid):
        return uint32(tid % uint32(side) * width), uint32(tid // uint32(side) * lines)

    @device
    def left_of(array):
        """How many e further than its first one a thread may go."""
        if not short:
            return uint32(0)
        last, e = uint32(array.shape[1] - width), uint32(cuda.threadIdx.x % uint32(side) * width)
        return uint32(last - smaller(e, last))

    @device
    def further(chunk, left):
        """The e of a chunk, counted from the first one."""
        if short and chunk > 0:
            return smaller(uint32(chunk * apart), left)
        return uint32(chunk * apart)

    @device
    def offset(array, e, k, pitch):
        if short:
            e = smaller(e, uint32(array.shape[1] - width))
        return uint32(k * pitch + e)

    @device
    def on(count, pitch):
        return uint32(count * pitch)

    @device
    def fetch_quads(array, at, pitch, ahead):
        left = left_of(array)
        for line in range(lines):
            begin = uint64(uint32(at + line * pitch))
            for chunk in range(chunks):
                quad = load16(array, begin + uint64(further(chunk, left)))
                put(ahead, line * chunks + chunk, 0, quad)

    @device
    def fetch_elements(array, at, pitch, ahead):
        left = left_of(array)
        for line in range(lines):
            begin = uint64(uint32(at + line * pitch))
            for chunk in range(chunks):
                one = line * chunks + chunk
                ahead[one // 4, one % 4] = load1(array, begin + uint64(further(chunk, left)))

    @device
    def some_quads(array, at, pitch, ahead, k, there):
        left = left_of(array)
        for line in range(lines):
            back = uint32(uint32(k + line) - smaller(uint32(k + line), uint32(there - uint32(1))))
            begin = uint32(at + line * pitch - back * pitch)
            for chunk in range(chunks):
                # loaded in any case, from a k that is there: no load waits behind a branch
                quad = load16(array, uint32(begin + further(chunk, left)))
                if back > uint32(0):
                    quad = NOTHING
                put(ahead, line * chunks + chunk, 0, quad)

    @device
    def some_elements(array, at, pitch, ahead, k, there):
        left = left_of(array)
        for line in range(lines):
            back = uint32(uint32(k + line) - smaller(uint32(k + line), uint32(there - uint32(1))))
            begin = uint32(at + line * pitch - back * pitch)
            for chunk in range(chunks):
                one = line * chunks + chunk
                value = load1(array, uint32(begin + further(chunk, left)))
                if back > uint32(0):
                    value = float32(0)
                ahead[one // 4, one % 4] = value

    @device
    def stage_quads(tile, ahead, to):
        for line in range(lines):
            for chunk in range(chunks):
                one = line * chunks + chunk
                quad = ahead[one, 0], ahead[one, 1], ahead[one, 2], ahead[one, 3]
                store16(tile, to + (line * extent + chunk * apart), quad)

    @device
    def stage_elements(tile, ahead, to):
        for line in range(lines):
            for chunk in range(chunks):
                one = line * chunks + chunk
                store1(tile, to + (line * extent + chunk * apart), ahead[one // 4, one % 4])

    quads = -(-lines * chunks * width // QUAD)
    if width == QUAD:
        moves = fetch_quads, some_quads, stage_quads
    else:
        moves = fetch_elements, some_elements, stage_elements
    return Moves(place, offset, on, *moves, quads, extent, extent * depth)


def _turned(extent: int, depth: int, workers: int, width: int, short: bool) -> Moves:
    """Neighbours in memory lie along k: all k of a step, then the next e."""
    across, pitch_k = depth // width, extent + TURNED_PAD
    down = workers // across  # e that are loaded at once
    lines = extent // down
    if not lines:
        raise ValueError(f"{workers} threads are too many for {extent} lines of {depth} elements")

    @device
    def place(tid):
        return uint32(tid // uint32(across)), uint32(tid % uint32(across) * width)

    @device
    def left_of(array):
        """How many e further than its first one a thread may go."""
        if not short:
            return uint32(0)
        last, e = uint32(array.shape[0] - 1), uint32(cuda.threadIdx.x // uint32(across))
        return uint32(last - smaller(e, last))

    @device
    def further(line, left, pitch):
        """Elements from the e of the first line to that of another."""
        if short and line > 0:
            return uint32(smaller(uint32(line * down), left) * pitch)
        return uint32(line * uint32(down * pitch))

    @device
    def offset(array, e, k, pitch):
        if short:
            e = smaller(e, uint32(array.shape[0] - 1))
        return uint32(e * pitch + k)

    @device
    def on(count, pitch):
        return uint32(count)

    @device
    def fetch_quads(array, at, pitch, ahead):
        left = left_of(array)
        for line in range(lines):
            put(ahead, line, 0, load16(array, uint32(at + further(line, left, pitch))))

    @device
    def fetch_elements(array, at, pitch, ahead):
        left = left_of(array)
        for line in range(lines):
            one = load1(array, uint32(at + further(line, left, pitch)))
            ahead[line // 4, line % 4] = one

    @device
    def some_quads(array, at, pitch, ahead, k, there):
        inside = smaller(k, uint32(there - uint32(QUAD)))
        fetch_quads(array, uint32(at - k + inside), pitch, ahead)
        if k > inside:
            for line in range(lines):
                put(ahead, line, 0, NOTHING)

    @device
    def some_elements(array, at, pitch, ahead, k, there):
        inside = smaller(k, uint32(there - uint32(1)))
        fetch_elements(array, uint32(at - k + inside), pitch, ahead)
        if k > inside:
            for line in range(lines):
                ahead[line // 4, line % 4] = float32(0)

    @device
    def stage_quads(tile, ahead, to):
        for line in range(lines):
            for part in range(4):
                store1(tile, to + (line * down + part * pitch_k), ahead[line, part])

    @device
    def stage_elements(tile, ahead, to):
        for line in range(lines):
            store1(tile, to + line * down, ahead[line // 4, line % 4])

    quads = -(-lines * width // QUAD)
    if width == QUAD:
        moves = fetch_quads, some_quads, stage_quads
    else:
        moves = fetch_elements, some_elements, stage_elements
    return Moves(place, offset, on, *moves, quads, pitch_k, pitch_k * depth)
