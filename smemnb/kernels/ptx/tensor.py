"""Products of small matrices by the tensor cores: mma.sync, and the words that it takes.

    mma_m16n8k16_f32_f16(a, b, c)     float16, sums in float32     a 4 words, b 2, c and d 4 float32
    mma_m16n8k16_f32_bf16(a, b, c)    bfloat16                     the same
    mma_m16n8k16_f16_f16(a, b, c)     float16, sums in float16     c and d 2 words of two float16
    mma_m16n8k8_f32_f16, mma_m16n8k8_f32_bf16, mma_m16n8k8_f16_f16    half as long: a 2 words, b 1
    mma_m16n8k8_f32_tf32(a, b, c)     tf32                         a 4 words, b 2, c and d 4 float32
    mma_m16n8k4_f32_tf32(a, b, c)                                  a 2 words, b 1
    mma_m16n8k32_s32_s8(a, b, c)      int8, sums in int32          a 4 words, b 2, c and d 4 int32
    mma_m16n8k32_s32_u8(a, b, c)      uint8
    mma_m16n8k16_s32_s8, mma_m16n8k16_s32_u8                       a 2 words, b 1
    cvt_rna_tf32(number)              the word of a float32 rounded to tf32, ties away from zero
    to_tf32(number)                   the same by the chip's one instruction (ties: see there)
    cvt_rn_f16x2(low, high)           two float32 as float16, in a word
    cvt_rn_bf16x2(low, high)          two float32 as bfloat16, in a word

d = a b + c for a of 16 x k, b of k x 8 and c of 16 x 8 elements. All 32 lanes of a warp hold them
together, in tuples of uint32 words, the element with the lower column (of b: row) in the lower
bits; which lane holds which element stands in `rules.tensor_core`. `ptx.matrices` loads a out of a
tile of rows, and b out of one that holds b's columns as rows (or `_trans` out of one of b's rows).

All 32 lanes take part, or the engine refuses the call. There, sums are rounded as
`rules.tensor_core` says of the device.

**Limits**: cc 8.0 or higher. The rounding is not yet compared with a GPU. `.satfinite`, sparse
and mixed products (int8 by uint8) are left out.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numba.core import cgutils, types
from numba.core.errors import TypingError
from numba.core.types.misc import unliteral
from numba.cuda.extending import intrinsic

from ...lockstep.protocol import lockstep_implementation
from ...rules import tensor_core
from ...rules.tensor_core import HOPPER, Arithmetic, arithmetic_of
from .asynchronous import _since
from .warp_wide import (
    FLOAT,
    WORD,
    assembled,
    check_tuple,
    device_of,
    need,
    parts_of,
    registers,
    together,
    tuple_of,
)

_PER_WORD = {"f16": 2, "bf16": 2, "tf32": 1, "s8": 4, "u8": 4}
_SUMS = {"f32": (types.float32, 4), "f16": (types.uint32, 2), "s32": (types.int32, 4)}
_ELEMENTS = {"f16": "u2", "bf16": "u2", "tf32": "u4", "s8": "i1", "u8": "u1"}


def _words(k: int, kind: str) -> int:
    """Words of b that a lane holds; of a it holds twice as many."""
    return k // (4 * _PER_WORD[kind])


def _mma(a: Any, b: Any, c: Any, k: int, sums: str, kind: str) -> Any:
    name = f"mma_m16n8k{k}_{sums}_{kind}"
    of_b, (sum_type, of_c) = _words(k, kind), _SUMS[sums]
    check_tuple(name, "a", a, types.uint32, 2 * of_b)
    check_tuple(name, "b", b, types.uint32, of_b)
    check_tuple(name, "c", c, sum_type, of_c)

    def codegen(context, builder, sig, args):
        need(name, (8, 0))
        low = FLOAT if sums == "f32" else WORD
        counts = (2 * of_b, of_b, of_c)
        places = [registers(0, of_c)]
        operands, first = [], of_c
        for given, count in zip(args, counts, strict=True):
            places.append(registers(first, count))
            operands += parts_of(builder, given, count)
            first += count
        text = f"mma.sync.aligned.m16n8k{k}.row.col.{sums}.{kind}.{kind}.{sums} "
        found = assembled(
            builder, f"{text}{', '.join(places)};", [low] * of_c, operands, memory=False
        )
        return context.make_tuple(builder, sig.return_type, found)

    total = tuple_of(sum_type, of_c)
    word = types.uint32
    return total(tuple_of(word, 2 * of_b), tuple_of(word, of_b), total), codegen


@intrinsic
def mma_m16n8k16_f32_f16(typingctx, a, b, c):
    """a b + c of float16, summed in float32."""
    return _mma(a, b, c, 16, "f32", "f16")


@intrinsic
def mma_m16n8k16_f32_bf16(typingctx, a, b, c):
    """a b + c of bfloat16, summed in float32."""
    return _mma(a, b, c, 16, "f32", "bf16")


@intrinsic
def mma_m16n8k16_f16_f16(typingctx, a, b, c):
    """a b + c of float16; c and the result are 2 words of two float16."""
    return _mma(a, b, c, 16, "f16", "f16")


@intrinsic
def mma_m16n8k8_f32_f16(typingctx, a, b, c):
    """a b + c of float16, 8 products to a sum, in float32."""
    return _mma(a, b, c, 8, "f32", "f16")


@intrinsic
def mma_m16n8k8_f32_bf16(typingctx, a, b, c):
    """a b + c of bfloat16, 8 products to a sum, in float32."""
    return _mma(a, b, c, 8, "f32", "bf16")


@intrinsic
def mma_m16n8k8_f16_f16(typingctx, a, b, c):
    """a b + c of float16, 8 products to a sum; c and the result are 2 words of two float16."""
    return _mma(a, b, c, 8, "f16", "f16")


@intrinsic
def mma_m16n8k8_f32_tf32(typingctx, a, b, c):
    """a b + c of tf32 in words (`cvt_rna_tf32`), summed in float32."""
    return _mma(a, b, c, 8, "f32", "tf32")


@intrinsic
def mma_m16n8k4_f32_tf32(typingctx, a, b, c):
    """a b + c of tf32, 4 products to a sum, in float32."""
    return _mma(a, b, c, 4, "f32", "tf32")


@intrinsic
def mma_m16n8k32_s32_s8(typingctx, a, b, c):
    """a b + c of int8, summed in int32, which wraps."""
    return _mma(a, b, c, 32, "s32", "s8")


@intrinsic
def mma_m16n8k32_s32_u8(typingctx, a, b, c):
    """a b + c of uint8, summed in int32, which wraps."""
    return _mma(a, b, c, 32, "s32", "u8")


@intrinsic
def mma_m16n8k16_s32_s8(typingctx, a, b, c):
    """a b + c of int8, 16 products to a sum."""
    return _mma(a, b, c, 16, "s32", "s8")


@intrinsic
def mma_m16n8k16_s32_u8(typingctx, a, b, c):
    """a b + c of uint8, 16 products to a sum."""
    return _mma(a, b, c, 16, "s32", "u8")


def _check_number(name: str, number: Any) -> None:
    if unliteral(number) != types.float32:
        raise TypingError(f"{name} takes a float32; this is {unliteral(number)}")


def _pair(low: Any, high: Any, kind: str) -> Any:
    name = f"cvt_rn_{kind}x2"
    for one in (low, high):
        _check_number(name, one)

    def codegen(context, builder, sig, args):
        need(name, (8, 0))
        text = f"cvt.rn.{kind}x2.f32 $0, $2, $1;"  # the first source goes to the upper half
        return assembled(builder, text, [WORD], args, memory=False)[0]

    return types.uint32(types.float32, types.float32), codegen


@intrinsic
def cvt_rna_tf32(typingctx, number):
    """The word of a float32 rounded to tf32, to nearest, ties away from zero."""
    _check_number("cvt_rna_tf32", number)

    def codegen(context, builder, sig, args):
        need("cvt_rna_tf32", (8, 0))
        return assembled(builder, "cvt.rna.tf32.f32 $0, $1;", [WORD], args, memory=False)[0]

    return types.uint32(types.float32), codegen


@intrinsic
def to_tf32(typingctx, number):
    """The word of a float32 rounded to tf32 as this chip does it best.

    From cc 9.0 on it is one instruction (`cvt.rn.tf32`), to nearest, ties to even. Before, there is
    only `cvt.rna.tf32`, ties away from zero, which ptxas makes of three instructions.
    """
    _check_number("to_tf32", number)

    def codegen(context, builder, sig, args):
        need("to_tf32", (8, 0))
        kept = cgutils.alloca_once(builder, WORD)
        with builder.if_else(_since(builder, 90)) as (then, otherwise):
            for branch, how in ((then, "rn"), (otherwise, "rna")):
                with branch:
                    text = f"cvt.{how}.tf32.f32 $0, $1;"
                    word = assembled(builder, text, [WORD], args, memory=False)[0]
                    builder.store(word, kept)
        return builder.load(kept)

    return types.uint32(types.float32), codegen


@intrinsic
def cvt_rn_f16x2(typingctx, low, high):
    """Two float32 rounded to float16, to nearest even, as a word: the first in its lower half."""
    return _pair(low, high, "f16")


@intrinsic
def cvt_rn_bf16x2(typingctx, low, high):
    """Two float32 rounded to bfloat16, to nearest even, as a word: the first in its lower half."""
    return _pair(low, high, "bf16")


@cache
def _where(places: Callable[..., Any], *shape: int) -> Any:
    """Which element of a lane's words stands at each row and column."""
    row, col = places(*shape)
    found = np.zeros((int(row.max()) + 1, int(col.max()) + 1), np.int64)
    found[row.ravel(), col.ravel()] = np.arange(row.size)
    return found


def _matrix(words: Any, kind: Any, places: Any) -> Any:
    """The matrix of a warp's words: (blocks, warps, rows, columns) of the elements' dtype."""
    words = [np.asarray(word).astype(np.uint32) for word in words]
    shape = np.broadcast_shapes(*(word.shape for word in words), (1, 1, 32))
    whole = np.stack([np.broadcast_to(word, shape) for word in words], axis=2)
    elements = whole[..., None].view(kind)
    return elements.reshape(*shape[:2], -1)[..., places]


def _per_lane(matrix: Any, per_word: int) -> Any:
    """The words of each lane, out of the matrix of a warp."""
    row, col = tensor_core.places_of_c(per_word)
    found = np.ascontiguousarray(matrix[..., row, col])
    return tuple(found[..., at, :, :] for at in range(row.shape[0]))


def shape_of(name: str) -> tuple[int, str, str]:
    """k, the type of sums and the type of elements, by the name of a product.

    >>> shape_of("mma_m16n8k8_f32_tf32")
    (8, 'f32', 'tf32')
    """
    _, shape, sums, kind = name.split("_")
    return int(shape.removeprefix("m16n8k")), sums, kind


def words_of(name: str) -> tuple[int, int, int]:
    """Words of a, b and c that a lane holds, by the name of a product.

    >>> words_of("mma_m16n8k16_f16_f16"), words_of("mma_m16n8k8_f32_bf16")
    ((4, 2, 2), (2, 1, 4))
    """
    k, sums, kind = shape_of(name)
    of_b = _words(k, kind)
    return 2 * of_b, of_b, _SUMS[sums][1]


def computed(name: str, a: Any, b: Any, c: Any, arithmetic: Arithmetic = HOPPER) -> Any:
    """The words of d, by the name of a product, as the engine computes them.

    Args:
        name: such as "mma_m16n8k16_f32_f16".
        a: tuple of arrays (..., warps, 32) of uint32, a word each.
        b: the same.
        c: the same, of the sums' type.
        arithmetic: how sums are rounded.

    Returns:
        Tuple of arrays (..., warps, 32), as long as c.
    """
    k, sums, kind = shape_of(name)
    per_word, wide = _PER_WORD[kind], 2 if sums == "f16" else 1
    left = _matrix(a, _ELEMENTS[kind], _where(tensor_core.places_of_a, k, per_word))
    right = _matrix(b, _ELEMENTS[kind], _where(tensor_core.places_of_b, k, per_word))
    element = {"f32": np.float32, "f16": np.float16, "s32": np.int32}[sums]
    if sums != "f16":
        c = [np.asarray(one).astype(element).view(np.uint32) for one in c]
    given = _matrix(c, element, _where(tensor_core.places_of_c, wide))
    found = tensor_core.multiplied(left, right, given, kind=kind, arithmetic=arithmetic)
    words = _per_lane(found, wide)
    return tuple((one.view(np.uint32) if wide == 2 else one)[..., 0] for one in words)


PRODUCTS = {
    one.__name__: one
    for one in (
        mma_m16n8k16_f32_f16,
        mma_m16n8k16_f32_bf16,
        mma_m16n8k16_f16_f16,
        mma_m16n8k8_f32_f16,
        mma_m16n8k8_f32_bf16,
        mma_m16n8k8_f16_f16,
        mma_m16n8k8_f32_tf32,
        mma_m16n8k4_f32_tf32,
        mma_m16n8k32_s32_s8,
        mma_m16n8k32_s32_u8,
        mma_m16n8k16_s32_s8,
        mma_m16n8k16_s32_u8,
    )
}
"""All products by name."""


def _engine(name: str) -> Callable[..., Any]:
    def run(batch: Any, mask: Any, site: Any, a: Any, b: Any, c: Any) -> Any:
        return computed(name, a, b, c, arithmetic_of(device_of(batch.launch)))

    return together((8, 0), run)


for _name, _one in PRODUCTS.items():
    lockstep_implementation(_one)(_engine(_name))


@lockstep_implementation(cvt_rna_tf32)
def _(batch: Any, mask: Any, site: Any, number: Any) -> Any:
    return tensor_core.rounded_to_tf32(number)


@lockstep_implementation(to_tf32)
def _(batch: Any, mask: Any, site: Any, number: Any) -> Any:
    return tensor_core.rounded_to_tf32(number, to_even=device_of(batch.launch) >= (9, 0))


@lockstep_implementation(cvt_rn_f16x2)
def _(batch: Any, mask: Any, site: Any, low: Any, high: Any) -> Any:
    with np.errstate(all="ignore"):
        halves = [_half(one) for one in (low, high)]
    return halves[0].astype(np.uint32) | (halves[1].astype(np.uint32) << np.uint32(16))


def _half(number: Any) -> Any:
    """The bits of a float32 rounded to float16, to nearest even; any NaN becomes 0x7fff."""
    half = np.asarray(number).astype(np.float16)
    return np.where(np.isnan(half), np.uint16(0x7FFF), half.view(np.uint16))


def _brain(number: Any) -> Any:
    """The bits of a float32 rounded to bfloat16, to nearest even."""
    bits = np.asarray(number).astype(np.float32).view(np.uint32)
    even = (bits >> np.uint32(16)) & np.uint32(1)
    nearest = (bits + np.uint32(0x7FFF) + even) >> np.uint32(16)
    nan = (bits & np.uint32(0x7FFFFFFF)) > np.uint32(0x7F800000)
    return np.where(nan, np.uint32(0x7FFF), nearest)


@lockstep_implementation(cvt_rn_bf16x2)
def _(batch: Any, mask: Any, site: Any, low: Any, high: Any) -> Any:
    return _brain(low) | (_brain(high) << np.uint32(16))
