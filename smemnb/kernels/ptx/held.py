"""Kernels that run one of these instructions and hand out what each lane then holds.

    rows_of_lanes(count, turned)   ldmatrix: the numbers of the elements that each lane gets
    parts_of_product(name)         mma.sync: rows and columns of each lane's elements of a, b and d
    products_of(name)              mma.sync of words in memory, a fragment per warp
    conversions                    cvt of numbers in memory

`figures.fragment_map` draws what the first two say of one warp; nothing of it is written down
anywhere else than in the instructions' own implementations. The others are compared with the rule
on a GPU (`laboratory.tensor_values`).

A product's a and b are loaded by ldmatrix out of tiles of their rows and columns, so the elements
are those that it multiplies. Of d the place is computed: a and b are 0 but for their first two
columns and rows, which make d[row, col] = row + 16 * col.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from numba import cuda, float32, int32, uint16, uint32

from . import matrices, tensor
from .accesses import load16, store16


@cache
def rows_of_lanes(count: int, *, turned: bool) -> Any:
    """A kernel: `out` (words, 32) of what each lane gets of `inp`, rows of 8 elements of uint16."""
    load = getattr(matrices, f"ldmatrix_x{count}{'_trans' if turned else ''}")

    @cuda.jit
    def held(out, inp):
        tile = cuda.shared.array(256, uint16, alignment=16)
        tx = uint32(cuda.threadIdx.x)
        store16(tile, uint32(tx * 8), load16(inp, uint32(tx * 8)))
        cuda.syncwarp()
        words = load(tile, uint32(tx * 8))
        for at in range(count):
            out[at, tx] = words[at]

    return held


@cache
def parts_of_product(name: str) -> Any:
    """A kernel: words of a, b and d of each lane, out of tiles of 4-byte words.

    `a` has 16 rows and `b`, whose rows are b's columns, 8; all begin with their lowest column.
    """
    of_a, of_b, of_d = tensor.words_of(name)
    load_a, load_b = (getattr(matrices, f"ldmatrix_x{count}") for count in (of_a, of_b))
    pitch = 4 * of_b  # words of a row
    product, none = tensor.PRODUCTS[name], _NOTHING[name.split("_")[2]]

    @cuda.jit
    def held(words_a, words_b, words_d, a, b):
        a_tile = cuda.shared.array(128, uint32, alignment=16)
        b_tile = cuda.shared.array(64, uint32, alignment=16)
        tx = uint32(cuda.threadIdx.x)
        for at in range(tx, 16 * pitch, 32):
            a_tile[at] = a[at]
        for at in range(tx, 8 * pitch, 32):
            b_tile[at] = b[at]
        cuda.syncwarp()
        left = load_a(a_tile, uint32(tx % 16 * pitch + tx // 16 % of_b * 4))
        right = load_b(b_tile, uint32(tx % 8 * pitch + tx // 8 % of_b * 4))
        d = product(left, right, none())
        for at in range(of_a):
            words_a[at, tx] = left[at]
        for at in range(of_b):
            words_b[at, tx] = right[at]
        for at in range(of_d):
            words_d[at, tx] = d[at]

    return held


@cuda.jit(device=True)
def _no_floats():
    zero = float32(0)
    return zero, zero, zero, zero


@cuda.jit(device=True)
def _no_halves():
    return uint32(0), uint32(0)


@cuda.jit(device=True)
def _no_integers():
    zero = int32(0)
    return zero, zero, zero, zero


_NOTHING = {"f32": _no_floats, "f16": _no_halves, "s32": _no_integers}


@cache
def products_of(name: str) -> Any:
    """A kernel that multiplies a fragment per warp: words (words, 32 * warps) in and out."""
    of_a, of_b, of_c = tensor.words_of(name)
    product = tensor.PRODUCTS[name]
    take_a, take_b, take_c = (_TAKEN[count] for count in (of_a, of_b, of_c))

    @cuda.jit
    def products(out, a, b, c):
        lane = cuda.grid(1)
        d = product(take_a(a, lane), take_b(b, lane), take_c(c, lane))
        for at in range(of_c):
            out[at, lane] = d[at]

    return products


@cuda.jit(device=True)
def _one(words, lane):
    return (words[0, lane],)


@cuda.jit(device=True)
def _two(words, lane):
    return words[0, lane], words[1, lane]


@cuda.jit(device=True)
def _four(words, lane):
    return words[0, lane], words[1, lane], words[2, lane], words[3, lane]


_TAKEN = {1: _one, 2: _two, 4: _four}


@cuda.jit
def conversions(words, x, y):
    """Each conversion of each pair of numbers."""
    at = cuda.grid(1)
    words[0, at] = tensor.cvt_rna_tf32(x[at])
    words[1, at] = tensor.cvt_rn_f16x2(x[at], y[at])
    words[2, at] = tensor.cvt_rn_bf16x2(x[at], y[at])
    words[3, at] = tensor.to_tf32(x[at])
