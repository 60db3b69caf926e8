"""From the tiles of a stage into the registers of a warp, and the multiplication there.

A warp makes its part of the result by mma of 16 x 8, each over 32 bytes of the depth. Which lane
holds which numbers is the instruction's (PTX ISA, "Matrix Fragments for mma"); `ldmatrix` brings
four blocks of 8 lines of 16 bytes into just these places, turned where an operand lies across the
depth. Blocks of 4-byte numbers cannot be turned: they are read word by word, lane 4 g + q those of
row or column g and of depth q, which is one word of each bank by the swizzle of `copies`.

tf32 operands are rounded to the nearest, ties away from 0, after they are read; the instruction
itself would cut their last 13 bits off.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from numba import cuda, uint16, uint32

from ...ptx import load1
from ...ptx.matrices import ldmatrix_x4, ldmatrix_x4_trans
from ...ptx.tensor import (
    mma_m16n8k8_f32_tf32,
    mma_m16n8k16_f32_bf16,
    mma_m16n8k16_f32_f16,
    to_tf32,
)
from ...ptx.word_numbers import single_of
from ...unrolled import device
from ..tensor_cut import CHUNK, MMA_COLS, MMA_ROWS, STEP, WARP, Kind, TensorCut
from .copies import Lines

MMA = {
    "f16": mma_m16n8k16_f32_f16,
    "bf16": mma_m16n8k16_f32_bf16,
    "tf32": mma_m16n8k8_f32_tf32,
}


class Reads(NamedTuple):
    """Device functions that read an operand's fragments.

    Attributes:
        many: words of `places`.
        place: `(places, first)`: where this lane reads in a tile, for the part of the tile that
            begins at row or column `first`.
        read: `(step, tile, stage, places, fragments)`: the fragments of a step along the depth,
            into half `step % 2` of `fragments`.
    """

    many: int
    place: Any
    read: Any


def reads_of(cut: TensorCut, kind: Kind, lines: Lines, *, left: bool) -> Reads:
    """How a warp reads its part of the left or the right operand."""
    if lines.along:
        return _along(cut, kind, lines, left=left)
    if kind.per_word == 1:
        return _by_words(cut, lines, left=left)
    return _turned(cut, kind, lines, left=left)


def _blocks(cut: TensorCut, *, left: bool) -> int:
    """Blocks of 16 rows or columns of a warp."""
    return (cut.warp_rows if left else cut.warp_cols) // MMA_ROWS


@device
def _identity(word):
    return word


@device
def _to_tf32(word):
    return to_tf32(single_of(word))


def _put_of(left: bool) -> Any:
    """Where the four words of a block of 16 go: one fragment of a, or two of b."""
    if left:

        @device
        def put(fragments, half, block, words):
            fragments[half, block, 0] = words[0]
            fragments[half, block, 1] = words[1]
            fragments[half, block, 2] = words[2]
            fragments[half, block, 3] = words[3]

    else:

        @device
        def put(fragments, half, block, words):
            fragments[half, block * 2, 0] = words[0]
            fragments[half, block * 2, 1] = words[1]
            fragments[half, block * 2 + 1, 0] = words[2]
            fragments[half, block * 2 + 1, 1] = words[3]

    return put


def _along(cut: TensorCut, kind: Kind, lines: Lines, *, left: bool) -> Reads:
    """Along the depth: the lines of a block are rows of a, or columns of b."""
    words, swizzled, blocks, steps = lines.words, lines.swizzled, _blocks(cut, left=left), cut.steps
    put, exact = _put_of(left), _to_tf32 if kind.per_word == 1 else _identity
    other = 1 if left else 2  # blocks of 8 x 16 bytes: a goes down first, b along the depth

    @device
    def place(places, first):
        lane = uint32(cuda.threadIdx.x % WARP)
        low, high = uint32(lane // uint32(8) % uint32(2)), uint32(lane // uint32(16))
        if other == 1:
            down, deep = low, high
        else:
            down, deep = high, low
        line = uint32(first + lane % uint32(8) + down * uint32(8))
        for step in range(steps):
            chunk = uint32(uint32(step * 2) + deep)
            places[step] = uint32(line * uint32(words) + swizzled(chunk, line) * uint32(CHUNK))

    @device
    def read(step, tile, stage, places, fragments):
        from_ = uint32(stage + places[step])
        for block in range(blocks):
            w0, w1, w2, w3 = ldmatrix_x4(tile, from_ + block * MMA_ROWS * words)
            put(fragments, step % 2, block, (exact(w0), exact(w1), exact(w2), exact(w3)))

    return Reads(steps, place, read)


def _turned(cut: TensorCut, kind: Kind, lines: Lines, *, left: bool) -> Reads:
    """Across the depth, 16 bits: the lines of a block are of the depth, and it is turned."""
    words, swizzled, blocks, deep = lines.words, lines.swizzled, _blocks(cut, left=left), lines.deep
    chunks, put = lines.chunks, _put_of(left)
    other = 1 if left else 2

    @device
    def place(places, first):
        lane = uint32(cuda.threadIdx.x % WARP)
        low, high = uint32(lane // uint32(8) % uint32(2)), uint32(lane // uint32(16))
        if other == 1:
            aside, down = low, high
        else:
            aside, down = high, low
        k = uint32(lane % uint32(8) + down * uint32(8))
        for block in range(blocks):
            chunk = uint32(uint32(first // uint32(8)) + uint32(block * 2) + aside)
            panel, within = uint32(chunk // uint32(chunks)), uint32(chunk % uint32(chunks))
            line = uint32(panel * uint32(deep) + k)
            places[block] = uint32(line * uint32(words) + swizzled(within, k) * uint32(CHUNK))

    @device
    def read(step, tile, stage, places, fragments):
        halves = cuda.shared.array(0, uint16, alignment=128)  # the same memory
        for block in range(blocks):
            at = uint32(uint32(stage + places[block]) * uint32(2))
            found = ldmatrix_x4_trans(halves, at + step * 16 * words * 2)
            put(fragments, step % 2, block, found)

    return Reads(blocks, place, read)


def _by_words(cut: TensorCut, lines: Lines, *, left: bool) -> Reads:
    """Across the depth, 32 bits: word by word, four for a block of 16."""
    words, swizzled, blocks, deep = lines.words, lines.swizzled, _blocks(cut, left=left), lines.deep
    put = _put_of(left)
    groups, panel_words = words // 8, lines.deep * words  # a panel is 8 * groups wide

    @device
    def place(places, first):
        lane = uint32(cuda.threadIdx.x % WARP)
        g, q = uint32(lane // uint32(4)), uint32(lane % uint32(4))
        panel = uint32(first // uint32(words))
        for group in range(groups):
            chunk = uint32(uint32(group * 2) + g // uint32(4))
            within = uint32(swizzled(chunk, q) * uint32(CHUNK) + g % uint32(4))
            places[group] = uint32(uint32(panel * uint32(deep) + q) * uint32(words) + within)

    @device
    def read(step, tile, stage, places, fragments):
        for block in range(blocks):
            group, panel = block * 2 % groups, block * 2 // groups
            more = panel * panel_words + step * STEP * words
            at = uint32(stage + places[group])
            aside = uint32(stage + places[group + 1])
            w0 = _to_tf32(load1(tile, at + more))
            w1 = _to_tf32(load1(tile, aside + more))
            w2 = _to_tf32(load1(tile, at + (more + 4 * words)))
            w3 = _to_tf32(load1(tile, aside + (more + 4 * words)))
            if left:
                put(fragments, step % 2, block, (w0, w1, w2, w3))
            else:
                put(fragments, step % 2, block, (w0, w2, w1, w3))

    return Reads(groups, place, read)


def multiplied_of(cut: TensorCut, kind: Kind) -> Any:
    """A device function: the mma of one step, back and forth along the columns."""
    down, across = cut.warp_rows // MMA_ROWS, cut.warp_cols // MMA_COLS
    mma = MMA[kind.name]

    @device
    def multiplied(half, acc, a_part, b_part):
        for i in range(down):
            for j in range(across):
                at = j if i % 2 == 0 else across - 1 - j
                a0, a1 = a_part[half, i, 0], a_part[half, i, 1]
                a = a0, a1, a_part[half, i, 2], a_part[half, i, 3]
                b = b_part[half, at, 0], b_part[half, at, 1]
                c = acc[i, at, 0], acc[i, at, 1], acc[i, at, 2], acc[i, at, 3]
                d0, d1, d2, d3 = mma(a, b, c)
                acc[i, at, 0] = d0
                acc[i, at, 1] = d1
                acc[i, at, 2] = d2
                acc[i, at, 3] = d3

    return multiplied
