"""An operand on its way from global memory into the tile of a stage, 16 bytes per copy.

Operands are seen as words of 4 bytes, so all types move alike. A tile has lines of at most 8 chunks
of 16 bytes. Where an operand lies along the depth, a line is a row of the tile (of its transpose,
for b); where it lies across, a line is one k of a panel of up to 128 bytes, and panels follow each
other. Chunk c of line l is stored at place `c ^ swizzle(l)`, so that the eight chunks that a warp
reads at once come from different banks:

    lines of 8 chunks      c ^ l % 8
    lines of 4 chunks      c ^ l // 2 % 4
    lines across, tf32     c ^ l % 4 * 2, as those are read word by word (`fragments`)

What lies outside of the operand, or behind the part of the depth that is asked for, is 0.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from numba import cuda, int32, uint32

from ...ptx.asynchronous import copy16
from ...unrolled import device, smaller
from ..tensor_cut import CHUNK, LINE, Kind, TensorCut


class Lines(NamedTuple):
    """How the tile of an operand is laid out.

    Attributes:
        along: whether the operand lies along the depth.
        chunks: of a line.
        words: of a line.
        deep: lines of a panel across: numbers along the depth.
        swizzled: device function `(chunk, line)`: the place of a chunk in its line.
    """

    along: bool
    chunks: int
    words: int
    deep: int
    swizzled: Any


def lines_of(cut: TensorCut, kind: Kind, extent: int, along: bool) -> Lines:
    """The lines of a tile of `extent` rows or columns."""
    chunks = cut.depth // CHUNK if along else min(LINE, extent // kind.per_word // CHUNK)
    every, most = (LINE // chunks, chunks - 1) if chunks < LINE else (1, LINE - 1)

    if kind.per_word == 1 and not along:

        @device
        def swizzled(chunk, line):
            return uint32(chunk ^ uint32(uint32(line % uint32(4)) * uint32(2)))

    else:

        @device
        def swizzled(chunk, line):
            return uint32(chunk ^ uint32(uint32(line // uint32(every)) % uint32(most + 1)))

    return Lines(along, chunks, chunks * CHUNK, cut.depth * kind.per_word, swizzled)


class Copies(NamedTuple):
    """Device functions that copy an operand.

    Attributes:
        begin: `(array, first, k_first, k_behind)`: the state of this thread before its first step:
            its offset in the array, its place in a tile, and how many elements of the operand, how
            much of the depth, are left from there. `first` is the first row or column of the tile.
        send: `(array, tile, stage, pitch, state)`: its copies of a step, on their way.
        on: `(pitch, state)`: the state before the next step.
    """

    begin: Any
    send: Any
    on: Any


def copies_of(cut: TensorCut, kind: Kind, lines: Lines, extent: int) -> Copies:
    """How the threads of a block copy a tile of `extent` rows or columns."""
    return _along(cut, kind, lines, extent) if lines.along else _across(cut, kind, lines, extent)


def _along(cut: TensorCut, kind: Kind, lines: Lines, extent: int) -> Copies:
    chunks, words, per_word, swizzled = lines.chunks, lines.words, kind.per_word, lines.swizzled
    apart = cut.threads // chunks  # lines from one copy of a thread to its next
    turns = extent // apart

    @device
    def begin(array, first, k_first, k_behind):
        tid = uint32(cuda.threadIdx.x)
        line, chunk = uint32(tid // uint32(chunks)), uint32(tid % uint32(chunks))
        pitch = uint32(array.strides[0] // 4)
        k_word = uint32(uint32(k_first // uint32(per_word)) + chunk * uint32(CHUNK))
        at = uint32(uint32(first + line) * pitch + k_word)
        to = uint32(line * uint32(words) + swizzled(chunk, line) * uint32(CHUNK))
        behind = uint32(uint32(k_behind + uint32(per_word - 1)) // uint32(per_word))
        e_left = int32(int32(array.shape[0]) - int32(first + line))
        return at, to, e_left, int32(int32(behind) - int32(k_word))

    @device
    def send(array, tile, stage, pitch, state):
        at, to, e_left, k_left = state
        step = uint32(uint32(apart) * pitch)
        into, is_deep = uint32(stage + to), k_left > int32(0)
        for turn in range(turns):
            present = is_deep and int32(turn * apart) < e_left
            copy16(tile, into + turn * apart * words, array, uint32(at + turn * step), present)

    @device
    def on(pitch, state):
        at, to, e_left, k_left = state
        return uint32(at + uint32(words)), to, e_left, int32(k_left - int32(words))

    return Copies(begin, send, on)


def _across(cut: TensorCut, kind: Kind, lines: Lines, extent: int) -> Copies:
    chunks, words, per_word, swizzled = lines.chunks, lines.words, kind.per_word, lines.swizzled
    deep, apart = lines.deep, cut.threads // lines.chunks
    panels = extent // per_word // words
    turns = panels * deep // apart

    @device
    def begin(array, first, k_first, k_behind):
        tid = uint32(cuda.threadIdx.x)
        line, chunk = uint32(tid // uint32(chunks)), uint32(tid % uint32(chunks))
        panel, k = uint32(line // uint32(deep)), uint32(line % uint32(deep))
        pitch = uint32(array.strides[0] // 4)
        word = uint32(
            uint32(first // uint32(per_word)) + panel * uint32(words) + chunk * uint32(CHUNK)
        )
        at = uint32(uint32(k_first + k) * pitch + word)
        to = uint32(line * uint32(words) + swizzled(chunk, k) * uint32(CHUNK))
        # a of whole words may be deeper than b has lines, by the zeros behind its rows
        behind = smaller(k_behind, uint32(array.shape[0]))
        k_left = int32(int32(behind) - int32(k_first + k))
        return at, to, int32(int32(array.shape[1]) - int32(word)), k_left

    @device
    def send(array, tile, stage, pitch, state):
        at, to, e_left, k_left = state
        into = uint32(stage + to)
        for turn in range(turns):
            panel, k = turn * apart // deep, turn * apart % deep
            present = int32(panel * words) < e_left and int32(k) < k_left
            from_ = uint32(at + uint32(uint32(k) * pitch) + uint32(panel * words))
            copy16(tile, into + turn * apart * words, array, from_, present)

    @device
    def on(pitch, state):
        at, to, e_left, k_left = state
        return uint32(at + uint32(uint32(deep) * pitch)), to, e_left, int32(k_left - int32(deep))

    return Copies(begin, send, on)
