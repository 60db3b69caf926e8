"""What a tensor core computes: which lane holds which element, and how its sum is rounded.

An instruction `mma.sync` of the shape m16n8kK multiplies a (16 x K) and b (K x 8) and adds c
(16 x 8); a warp's 32 lanes hold all of them in words of 4 bytes, `per_word` elements each. With
group = lane // 4 and place = lane % 4, element j of word r of a lane is

    a     row group + 8 * (r % 2), column per_word * (place + 4 * (r // 2)) + j
    b     row per_word * (place + 4 * r) + j, column group
    c, d  two neighbours of row group, then two of row group + 8: columns 2 * place, 2 * place + 1

Products of float16, bfloat16 and tf32 are exact. `terms` of them and the accumulator are added at
once: all are shifted to the largest exponent among them, with `fraction_bits` bits behind the
binary point, and what falls off is dropped; the exact sum of these is the result, cut off toward
zero to float32, or rounded to nearest for a float16. What is longer than `terms` goes in parts,
each beginning with the result of the part before. Integers are added exactly, modulo 2**32.

Sources: places of elements, PTX ISA, section "Matrix multiply-accumulate operation using mma
instruction". Rounding: M. Fasi, N. Higham, M. Mikaitis, S. Pranesh, "Numerical behavior of NVIDIA
tensor cores", PeerJ CS 7:e330 (2021), for V100, T4 and A100.

**Limits**: the rounding is the literature's and not yet compared with a GPU by this project.
"""

from __future__ import annotations

from functools import cache
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from ..hardware import WARP_LANES

__all__ = ["A_ROWS", "B_COLS", "FORMATS", "HOPPER", "Arithmetic", "Format", "multiplied"]
__all__ += ["places_of_a", "places_of_b", "places_of_c", "rounded_to_tf32"]

A_ROWS: Final = 16
B_COLS: Final = 8
_ROWS_AT_ONCE = 64  # warps whose products are formed at a time: 1 MB of int64 for k = 16

Ints = npt.NDArray[np.int64]
Any_ = npt.NDArray[np.generic]


class Format(NamedTuple):
    """A floating-point format in the high bits of a word: bits of exponent and of fraction."""

    exponent: int
    fraction: int
    unused: int = 0

    @property
    def bias(self) -> int:
        """What is subtracted from the stored exponent."""
        return (1 << (self.exponent - 1)) - 1


FORMATS: Final = {
    "f16": Format(5, 10),
    "bf16": Format(8, 7),
    "tf32": Format(8, 10, unused=13),
    "f32": Format(8, 23),
}


class Arithmetic(NamedTuple):
    """How many products are added at once, and the bits behind the point that are kept of each."""

    terms: dict[str, int]
    fraction_bits: int


HOPPER: Final = Arithmetic({"f16": 16, "bf16": 16, "tf32": 8}, 25)


@cache
def places_of_a(k: int, per_word: int) -> tuple[Ints, Ints]:
    """Row and column of each element of a, as arrays of shape (words, 32 lanes, per_word).

    >>> row, col = places_of_a(16, 2)
    >>> row[1, 5].tolist(), col[1, 5].tolist()
    ([9, 9], [2, 3])
    """
    word, lane, at = np.ogrid[: 2 * k // (4 * per_word), :WARP_LANES, :per_word]
    row = lane // 4 + 8 * (word % 2)
    col = per_word * (lane % 4 + 4 * (word // 2)) + at
    return _whole(row, col)


@cache
def places_of_b(k: int, per_word: int) -> tuple[Ints, Ints]:
    """Row and column of each element of b, as arrays of shape (words, 32 lanes, per_word).

    >>> row, col = places_of_b(8, 1)
    >>> row[:, 5].tolist(), col[:, 5].tolist()
    ([[1], [5]], [[1], [1]])
    """
    word, lane, at = np.ogrid[: k // (4 * per_word), :WARP_LANES, :per_word]
    return _whole(per_word * (lane % 4 + 4 * word) + at, lane // 4)


@cache
def places_of_c(per_word: int = 1) -> tuple[Ints, Ints]:
    """Row and column of each element of c or d: 4 words of one, or 2 words of two float16.

    >>> row, col = places_of_c()
    >>> row[:, 5, 0].tolist(), col[:, 5, 0].tolist()
    ([1, 1, 9, 9], [2, 3, 2, 3])
    """
    word, lane, at = np.ogrid[: 4 // per_word, :WARP_LANES, :per_word]
    element = word * per_word + at
    return _whole(lane // 4 + 8 * (element // 2), 2 * (lane % 4) + element % 2)


def _whole(row: Ints, col: Ints) -> tuple[Ints, Ints]:
    row, col = np.broadcast_arrays(row, col)
    return row, col


def rounded_to_tf32(number: npt.ArrayLike) -> npt.NDArray[np.uint32]:
    """The bits of a float32 rounded to tf32: to nearest, ties away from zero; the low 13 are 0.

    >>> hex(int(rounded_to_tf32(np.float32(1 + 2**-11))))
    '0x3f802000'
    """
    bits = np.ascontiguousarray(np.asarray(number, np.float32)).view(np.uint32)
    bits = bits.reshape(np.shape(number))
    finite = (bits & np.uint32(0x7F800000)) != np.uint32(0x7F800000)
    nearest = (bits + np.uint32(1 << 12)) & np.uint32(0xFFFFE000)
    nan = (bits & np.uint32(0x7FFFFFFF)) > np.uint32(0x7F800000)
    return np.where(finite, nearest, np.where(nan, np.uint32(0x7FFFFFFF), bits))


class _Parts(NamedTuple):
    """Numbers as signed significands (integers) times 2 ** exponent, and which are none."""

    significand: Ints
    exponent: Ints
    infinite: npt.NDArray[np.bool_]
    nan: npt.NDArray[np.bool_]


def _parts(bits: Any_, form: Format) -> _Parts:
    """Bit patterns taken apart; the exponent is that of the leading bit's place."""
    whole = bits.astype(np.int64) >> form.unused
    fraction = whole & ((1 << form.fraction) - 1)
    stored = (whole >> form.fraction) & ((1 << form.exponent) - 1)
    last = stored == (1 << form.exponent) - 1
    normal = stored > 0
    significand = fraction + (normal.astype(np.int64) << form.fraction)
    negative = (whole >> (form.fraction + form.exponent)) & 1 == 1
    exponent = np.maximum(stored, 1) - form.bias
    return _Parts(
        np.where(negative, -significand, significand),
        exponent,
        last & (fraction == 0),
        last & (fraction != 0),
    )


def multiplied(
    a: Any_, b: Any_, c: Any_, *, kind: str, arithmetic: Arithmetic = HOPPER
) -> npt.NDArray[np.generic]:
    """d = a b + c as a tensor core computes it.

    >>> one = np.full((16, 16), 0x3C00, np.uint16)    # 1.0
    >>> multiplied(one, one[:, :8], np.zeros((16, 8), np.float32), kind="f16")[0, 0]
    np.float32(16.0)

    Args:
        a, b: bit patterns of shape (..., 16, k) and (..., k, 8): uint16 for "f16" and "bf16",
            uint32 for "tf32" (of which the low 13 bits count for nothing); int8 or uint8 for
            "s8" and "u8".
        c: of shape (..., 16, 8): float32, or float16 for "f16"; int32 for "s8" and "u8".
        kind: the format of a and b.
        arithmetic: how sums are rounded.

    Returns:
        Array of c's dtype, of shape (..., 16, 8).
    """
    if kind in ("s8", "u8"):
        exact = np.matmul(a.astype(np.float64), b.astype(np.float64)).astype(np.int64)
        return (exact + c.astype(np.int64)).astype(np.int32)
    lead = np.broadcast_shapes(a.shape[:-2], b.shape[:-2], c.shape[:-2])
    a, b, c = (np.broadcast_to(x, (*lead, *x.shape[-2:])).reshape(-1, *x.shape[-2:])
               for x in (a, b, c))  # fmt: skip
    out = np.empty(c.shape, c.dtype)
    for start in range(0, len(c), _ROWS_AT_ONCE):
        here = slice(start, start + _ROWS_AT_ONCE)
        out[here] = _some(a[here], b[here], c[here], kind, arithmetic)
    return out.reshape(*lead, *c.shape[-2:])


def _some(a: Any_, b: Any_, c: Any_, kind: str, arithmetic: Arithmetic) -> Any_:
    """`multiplied` of arrays of three axes, part by part of k."""
    terms, dtype = arithmetic.terms[kind], c.dtype
    total = c.astype(np.float32)
    for first in range(0, a.shape[-1], terms):
        part = slice(first, first + terms)
        total = _fused(a[:, :, part], b[:, part, :], total, kind, arithmetic.fraction_bits, dtype)
    return total.astype(dtype)


def _fused(
    a: Any_, b: Any_, c: npt.NDArray[np.float32], kind: str, fraction_bits: int, result: Any
) -> npt.NDArray[np.float32]:
    """One sum of products and accumulator, as float32 (of a float16 result: rounded to it)."""
    form, wide = FORMATS[kind], FORMATS["f32"]
    left, right = _parts(a[:, :, :, None], form), _parts(b[:, None, :, :], form)
    given = _parts(c.view(np.uint32)[:, :, None, :], wide)
    significand = left.significand * right.significand
    exponent = left.exponent + right.exponent
    top = np.where(significand != 0, exponent, -(1 << 20)).max(axis=2, keepdims=True)
    top = np.maximum(top, np.where(given.significand != 0, given.exponent, -(1 << 20)))
    kept = fraction_bits - 2 * form.fraction
    total = _aligned(significand, kept - (top - exponent)).sum(axis=2)
    total += _aligned(given.significand, fraction_bits - wide.fraction - (top - given.exponent))[
        :, :, 0
    ]
    scale = np.where(total != 0, top[:, :, 0] - fraction_bits, 0)
    exact = np.ldexp(total.astype(np.float64), scale)
    with np.errstate(all="ignore"):
        if result == np.float16:
            rounded = exact.astype(np.float16).astype(np.float32)
        else:
            rounded = exact.astype(np.float32)
            outward = np.abs(rounded.astype(np.float64)) > np.abs(exact)
            rounded = np.where(outward, np.nextafter(rounded, np.float32(0)), rounded)
        return _specials(rounded, left, right, given, c)


def _aligned(significand: Ints, left: Ints) -> Ints:
    """Significands shifted left by so many bits; what falls off on the right is dropped."""
    size = np.abs(significand)
    moved = (size << np.clip(left, 0, 40)) >> np.clip(-left, 0, 62)
    return np.where(significand < 0, -moved, moved)


def _specials(
    number: npt.NDArray[np.float32], left: _Parts, right: _Parts, given: _Parts, c: Any_
) -> npt.NDArray[np.float32]:
    """The result where infinities and NaNs take part."""
    parts = (left, right, given)
    if not any(one.infinite.any() or one.nan.any() for one in parts):
        return number
    infinite = (left.infinite | right.infinite) & ~(left.nan | right.nan)
    zero = ((left.significand == 0) & right.infinite) | ((right.significand == 0) & left.infinite)
    sign = np.sign(left.significand) * np.sign(right.significand)
    up = (infinite & (sign > 0)).any(axis=2) | (np.isposinf(c))
    down = (infinite & (sign < 0)).any(axis=2) | (np.isneginf(c))
    nan = (left.nan | right.nan | zero).any(axis=2) | np.isnan(c) | (up & down)
    number = np.where(up, np.float32(np.inf), np.where(down, np.float32(-np.inf), number))
    return np.where(nan, np.float32(np.nan), number)
