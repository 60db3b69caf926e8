"""Results of a tensor product: scaled, rounded once, and stored by 16 bytes.

A lane holds pairs of neighbours of 8 rows. Each warp puts 16 rows of its part into shared memory,
where the tiles were, and takes them back by whole rows, which are stored by 16 bytes, or element by
element where rows of `out` do not begin at multiples of 16 bytes. Only the warp itself waits.
Rows are 16 bytes (of 16-bit numbers) or 32 bytes apart modulo 128, so that the pairs of 8 rows
are put into different banks.
"""

from __future__ import annotations

from typing import Any

from numba import cuda, float32, uint16, uint32

from ...ptx import load1, load16, store1, store16
from ...ptx.tensor import cvt_rn_bf16x2, cvt_rn_f16x2
from ...ptx.wide_words import store_words
from ...ptx.word_numbers import store2, widened_pair
from ...unrolled import device, unroll
from ..tensor_cut import MMA_COLS, MMA_ROWS, PAD, WARP, TensorCut

SINGLE = "float32"
ROUNDED = {"f16": cvt_rn_f16x2, "bf16": cvt_rn_bf16x2}


def ending_of(cut: TensorCut, result: str, wide: bool) -> Any:
    """A device function `(out, acc, row, col, alpha, beta, begin)`: store this warp's results.

    `row` and `col` are where its part begins in `out`, `begin` is the word of shared memory from
    which on the block may use it. `result` is "float32", or the kind of
    16-bit numbers that `out`, an array of uint16, holds the bits of.
    """
    if result == SINGLE:
        put, take = _put_singles(cut), _take_singles(cut, wide)
    else:
        put, take = _put_halves(cut, result), _take_halves(cut, wide)

    @device
    def block(i, out, acc, row, col, alpha, beta, begin):
        put(out, i, acc, row, col, alpha, beta, begin)
        cuda.syncwarp()  # the rows are there before any lane takes them
        take(out, uint32(row + i * MMA_ROWS), col, begin)
        cuda.syncwarp()  # they are taken before the next ones come

    blocks = unroll(cut.warp_rows // MMA_ROWS, block)

    @device
    def ending(out, acc, row, col, alpha, beta, begin):
        blocks((out, acc, row, col, alpha, beta, begin))

    return ending


def _put_singles(cut: TensorCut) -> Any:
    across, pitch = cut.warp_cols // MMA_COLS, cut.warp_cols + PAD
    own = MMA_ROWS * pitch

    @device
    def weighed(out, at_row, at_col, value, beta):
        if at_row < out.shape[0] and at_col < out.shape[1]:
            pitch_out = uint32(out.strides[0] // 4)
            value += beta * load1(out, uint32(at_row * pitch_out + at_col))
        return value

    @device
    def put(out, i, acc, row, col, alpha, beta, begin):
        kept = cuda.shared.array(0, float32, alignment=128)
        lane, warp = uint32(cuda.threadIdx.x % WARP), uint32(cuda.threadIdx.x // WARP)
        g, q = uint32(lane // uint32(4)), uint32(lane % uint32(4) * uint32(2))
        to = uint32(begin + warp * uint32(own) + g * uint32(pitch) + q)
        down = uint32(row + uint32(i * MMA_ROWS) + g)
        if beta == float32(0):
            for j in range(across):
                for half in range(2):
                    pair = alpha * acc[i, j, half * 2], alpha * acc[i, j, half * 2 + 1]
                    store2(kept, to + (half * 8 * pitch + j * MMA_COLS), pair)
            return
        for j in range(across):
            for half in range(2):
                under, aside = uint32(down + half * 8), uint32(col + q + j * MMA_COLS)
                low = weighed(out, under, aside, alpha * acc[i, j, half * 2], beta)
                high = weighed(out, under, uint32(aside + 1), alpha * acc[i, j, half * 2 + 1], beta)
                store2(kept, to + (half * 8 * pitch + j * MMA_COLS), (low, high))

    return put


def _take_singles(cut: TensorCut, wide: bool) -> Any:
    cols, pitch = cut.warp_cols, cut.warp_cols + PAD
    own, quads = MMA_ROWS * pitch, MMA_ROWS * cut.warp_cols // 4 // WARP

    @device
    def by_quads(out, row, col, begin):
        kept = cuda.shared.array(0, float32, alignment=128)
        lane, warp = uint32(cuda.threadIdx.x % WARP), uint32(cuda.threadIdx.x // WARP)
        pitch_out = uint32(out.strides[0] // 4)
        for turn in range(quads):
            quad = uint32(lane + uint32(turn * WARP))
            down, aside = uint32(quad // uint32(cols // 4)), uint32(quad % uint32(cols // 4) * 4)
            if uint32(row + down) < out.shape[0] and uint32(col + aside) < out.shape[1]:
                values = load16(
                    kept, uint32(begin + warp * uint32(own) + down * uint32(pitch) + aside)
                )
                store16(out, uint32(uint32(row + down) * pitch_out + col + aside), values)

    @device
    def one_by_one(out, row, col, begin):
        kept = cuda.shared.array(0, float32, alignment=128)
        lane, warp = uint32(cuda.threadIdx.x % WARP), uint32(cuda.threadIdx.x // WARP)
        pitch_out = uint32(out.strides[0] // 4)
        for turn in range(MMA_ROWS * cols // WARP):
            place = uint32(lane + uint32(turn * WARP))
            down, aside = uint32(place // uint32(cols)), uint32(place % uint32(cols))
            if uint32(row + down) < out.shape[0] and uint32(col + aside) < out.shape[1]:
                value = load1(
                    kept, uint32(begin + warp * uint32(own) + down * uint32(pitch) + aside)
                )
                store1(out, uint32(uint32(row + down) * pitch_out + col + aside), value)

    return by_quads if wide else one_by_one


def _put_halves(cut: TensorCut, result: str) -> Any:
    across, pitch = cut.warp_cols // MMA_COLS, (cut.warp_cols + PAD) // 2
    own, rounded, widened = MMA_ROWS * pitch, ROUNDED[result], widened_pair(result)

    @device
    def weighed(out, at_row, at_col, value, beta):
        if at_row < out.shape[0] and at_col < out.shape[1]:
            pitch_out = uint32(out.strides[0] // 2)
            word = uint32(load1(out, uint32(at_row * pitch_out + at_col)))
            value += beta * widened(word)[0]
        return value

    @device
    def put(out, i, acc, row, col, alpha, beta, begin):
        kept = cuda.shared.array(0, uint32, alignment=128)
        lane, warp = uint32(cuda.threadIdx.x % WARP), uint32(cuda.threadIdx.x // WARP)
        g, q = uint32(lane // uint32(4)), uint32(lane % uint32(4))
        to = uint32(begin + warp * uint32(own) + g * uint32(pitch) + q)
        down = uint32(row + uint32(i * MMA_ROWS) + g)
        first = uint32(col + q * uint32(2))
        if beta == float32(0):
            for j in range(across):
                for half in range(2):
                    low, high = alpha * acc[i, j, half * 2], alpha * acc[i, j, half * 2 + 1]
                    place = to + (half * 8 * pitch + j * (MMA_COLS // 2))
                    store1(kept, place, rounded(low, high))
            return
        for j in range(across):
            for half in range(2):
                under, aside = uint32(down + half * 8), uint32(first + j * MMA_COLS)
                low = weighed(out, under, aside, alpha * acc[i, j, half * 2], beta)
                high = weighed(out, under, uint32(aside + 1), alpha * acc[i, j, half * 2 + 1], beta)
                store1(kept, to + (half * 8 * pitch + j * (MMA_COLS // 2)), rounded(low, high))

    return put


def _take_halves(cut: TensorCut, wide: bool) -> Any:
    cols, pitch = cut.warp_cols, (cut.warp_cols + PAD) // 2
    own, chunks = MMA_ROWS * pitch, MMA_ROWS * cut.warp_cols // 8 // WARP

    @device
    def by_chunks(out, row, col, begin):
        kept = cuda.shared.array(0, uint32, alignment=128)
        lane, warp = uint32(cuda.threadIdx.x % WARP), uint32(cuda.threadIdx.x // WARP)
        pitch_out = uint32(out.strides[0] // 2)
        for turn in range(chunks):
            chunk = uint32(lane + uint32(turn * WARP))
            down, aside = uint32(chunk // uint32(cols // 8)), uint32(chunk % uint32(cols // 8))
            into = uint32(col + aside * uint32(8))
            if uint32(row + down) < out.shape[0] and into < out.shape[1]:
                at = uint32(begin + warp * uint32(own) + down * uint32(pitch) + aside * uint32(4))
                store_words(out, uint32(uint32(row + down) * pitch_out + into), load16(kept, at))

    @device
    def one_by_one(out, row, col, begin):
        kept = cuda.shared.array(0, uint16, alignment=128)
        lane, warp = uint32(cuda.threadIdx.x % WARP), uint32(cuda.threadIdx.x // WARP)
        pitch_out = uint32(out.strides[0] // 2)
        for turn in range(MMA_ROWS * cols // WARP):
            place = uint32(lane + uint32(turn * WARP))
            down, aside = uint32(place // uint32(cols)), uint32(place % uint32(cols))
            if uint32(row + down) < out.shape[0] and uint32(col + aside) < out.shape[1]:
                at = uint32(
                    begin * uint32(2) + warp * uint32(own * 2) + down * uint32(pitch * 2) + aside
                )
                store1(out, uint32(uint32(row + down) * pitch_out + col + aside), load1(kept, at))

    return by_chunks if wide else one_by_one
