"""What a tensor core computes: which lane holds which element, and how its sum is rounded.

An instruction `mma.sync` of the shape m16n8kK multiplies a (16 x K) and b (K x 8) and adds c
(16 x 8); a warp's 32 lanes hold all of them in words of 4 bytes, `per_word` elements each. With
group = lane // 4 and place = lane % 4, element j of word r of a lane is

    a     row group + 8 * (r % 2), column per_word * (place + 4 * (r // 2)) + j
    b     row per_word * (place + 4 * r) + j, column group
    c, d  two neighbours of row group, then two of row group + 8: columns 2 * place, 2 * place + 1

Products of float16, bfloat16 and tf32 are exact. As many of them as fill `bytes_at_once` bytes of
a row, and the accumulator, are added at once: all are shifted to the largest exponent among them
(of a product: the sum of its factors' exponents; at least -126), with `fraction_bits` bits behind
the binary point, and what falls off is dropped. The exact sum of these is cut off toward zero to a
float32, or rounded to the nearest float16, ties to even. A longer k goes in parts, each beginning
with the result of the part before. Integers are added exactly, modulo 2**32.

Sources: places of elements, PTX ISA, section "Matrix multiply-accumulate operation using mma
instruction". Rounding: M. Fasi, N. Higham, M. Mikaitis, S. Pranesh, "Numerical behavior of NVIDIA
tensor cores", PeerJ Computer Science 7:e330 (2021), found it for V100, T4 and A100; P. Xie and
others, "MMA-Sim: bit-accurate reference model of tensor cores and matrix cores", arXiv:2511.10909
(2025), has the numbers used here, which its authors compared with GPUs; F. Khattak, M. Mikaitis,
"Accurate models of NVIDIA tensor cores", arXiv:2512.07004 (2025).

The rounding is the literature's, and an H200's: of 10,000 random fragments for each product of
`kernels.ptx.tensor`, infinities and NaNs among them, every bit is equal
(`laboratory.tensor_values`); of wgmma likewise (`laboratory.bulk_values`).

**Limits**: for cc 8.x it is the literature's alone.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from ..hardware import WARP_LANES

__all__ = ["AMPERE", "A_ROWS", "B_COLS", "FORMATS", "HOPPER", "Arithmetic", "Format"]
__all__ += [
    "arithmetic_of",
    "multiplied",
    "places_of_a",
    "places_of_b",
    "places_of_c",
    "rounded_to_tf32",
]

A_ROWS: Final = 16
B_COLS: Final = 8
_AT_ONCE = 32  # products of matrices at a time: 512 KB of float64 for k = 16

Ints = npt.NDArray[np.int64]
Array = npt.NDArray[Any]


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
    """How many bytes of a row are added at once, and the bits kept behind the binary point."""

    bytes_at_once: int
    fraction_bits: int

    def terms(self, kind: str) -> int:
        """Products that are added at once."""
        return self.bytes_at_once // (4 if kind == "tf32" else 2)


AMPERE: Final = Arithmetic(bytes_at_once=16, fraction_bits=24)  # cc 8.0, 8.6 and 8.9
HOPPER: Final = Arithmetic(bytes_at_once=32, fraction_bits=25)  # cc 9.0


def arithmetic_of(cc: tuple[int, int]) -> Arithmetic:
    """How a chip of this compute capability rounds; of one that is not known, as a Hopper.

    >>> arithmetic_of((8, 6)) is AMPERE, arithmetic_of((9, 0)) is HOPPER
    (True, True)
    """
    return AMPERE if cc[0] == 8 else HOPPER


_LEAST_EXPONENT = np.int16(-126)  # of what is shifted to a common exponent
_OF_ZERO = np.int16(-1000)
_NAN: Final[dict[str, Any]] = {
    "float32": np.uint32(0x7FFFFFFF).view(np.float32),
    "float16": np.uint16(0x7FFF).view(np.float16),
}


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


def rounded_to_tf32(number: npt.ArrayLike, *, to_even: bool = False) -> npt.NDArray[np.uint32]:
    """The bits of a float32 rounded to tf32, to nearest; the low 13 are 0.

    Ties go away from zero, as `cvt.rna.tf32` has it: cc 8.0 and 9.0 have no instruction for it, and
    the compiler adds half of the last place to the bits of what is below infinity in size, then
    cuts. So what rounds up past the largest number is infinite, and of a NaN the low 13 bits are
    cut off: one that has no others becomes infinite.

    With `to_even` they go to even, as `cvt.rn.tf32` has it, which is an instruction from cc 9.0 on;
    of any NaN it makes 0x7fffe000, as a GPU of cc 9.0 did (`laboratory.tensor_values`).

    >>> tie = np.float32(1 + 2**-11)
    >>> hex(int(rounded_to_tf32(tie))), hex(int(rounded_to_tf32(tie, to_even=True)))
    ('0x3f802000', '0x3f800000')
    """
    bits = np.ascontiguousarray(np.asarray(number, np.float32)).view(np.uint32)
    bits = bits.reshape(np.shape(number))
    finite = (bits & np.uint32(0x7F800000)) != np.uint32(0x7F800000)
    nearest = bits + np.uint32(1 << 12)
    if to_even:
        nearest = bits + np.uint32((1 << 12) - 1) + ((bits >> np.uint32(13)) & np.uint32(1))
    nearest &= np.uint32(0xFFFFE000)
    kept = bits & np.uint32(0xFFFFE000)
    if to_even:
        nan = (bits & np.uint32(0x7FFFFFFF)) > np.uint32(0x7F800000)
        kept = np.where(nan, np.uint32(0x7FFFE000), kept)
    return np.where(finite, nearest, kept)


def _numbers(bits: Array, kind: str) -> tuple[Array, Array]:
    """Bit patterns as float64, and the exponent of each; that of 0 is less than any other."""
    form = FORMATS[kind]
    if kind == "f16":
        number = bits.view(np.float16).astype(np.float64)
    else:
        whole = bits.astype(np.uint32) << np.uint32(16 if kind == "bf16" else 0)
        whole &= np.uint32((0xFFFFFFFF << form.unused) & 0xFFFFFFFF)
        with np.errstate(invalid="ignore"):  # signalling NaNs
            number = whole.view(np.float32).astype(np.float64)
    stored = (bits >> (form.fraction + form.unused)) & ((1 << form.exponent) - 1)
    exponent = np.maximum(stored.astype(np.int16), 1) - np.int16(form.bias)
    return number, np.where(number == 0, _OF_ZERO, exponent)


def multiplied(
    a: Array, b: Array, c: Array, *, kind: str, arithmetic: Arithmetic = HOPPER
) -> Array:
    """d = a b + c as a tensor core computes it.

    >>> one = np.full((16, 16), 0x3C00, np.uint16)    # 1.0
    >>> multiplied(one, one[:, :8], np.zeros((16, 8), np.float32), kind="f16")[0, 0]
    np.float32(16.0)

    Args:
        a: bit patterns of shape (..., 16, k): uint16 for "f16" and "bf16", uint32 for "tf32" (of
            which the low 13 bits count for nothing); int8 or uint8 for "s8" and "u8".
        b: the same, of shape (..., k, 8).
        c: of shape (..., 16, 8): float32, or float16 for "f16"; int32 for "s8" and "u8".
        kind: the format of a and b.
        arithmetic: how sums are rounded.

    Returns:
        Array of c's dtype, of shape (..., 16, 8).
    """
    if kind in ("s8", "u8"):
        exact = np.matmul(a.astype(np.float64), b.astype(np.float64)).astype(np.int64)
        wrapped: Array = (exact + c.astype(np.int64)).astype(np.int32)
        return wrapped
    lead = np.broadcast_shapes(a.shape[:-2], b.shape[:-2], c.shape[:-2])
    a, b, c = (np.broadcast_to(x, (*lead, *x.shape[-2:])).reshape(-1, *x.shape[-2:])
               for x in (a, b, c))  # fmt: skip
    out = np.empty(c.shape, c.dtype)
    for start in range(0, len(c), _AT_ONCE):
        here = slice(start, start + _AT_ONCE)
        out[here] = _some(a[here], b[here], c[here], kind, arithmetic)
    return out.reshape(*lead, *c.shape[-2:])


def _some(a: Array, b: Array, c: Array, kind: str, arithmetic: Arithmetic) -> Array:
    """`multiplied` of arrays of three axes, part by part of k."""
    # axes: product, k, row, column
    left, low = (np.ascontiguousarray(x.swapaxes(1, 2))[..., None] for x in _numbers(a, kind))
    right, high = (x[:, :, None, :] for x in _numbers(b, kind))
    terms = arithmetic.terms(kind)
    for first in range(0, a.shape[-1], terms):
        part = (slice(None), slice(first, first + terms))
        c = _fused(left[part], right[part], low[part] + high[part], c, arithmetic.fraction_bits)
    return c


def _fused(left: Array, right: Array, exponent: Array, c: Array, fraction_bits: int) -> Array:
    """One sum of products, of these exponents, and accumulator."""
    half = c.dtype == np.float16
    given, own = _numbers(c.view(np.uint16 if half else np.uint32), "f16" if half else "f32")
    top = np.maximum(exponent.max(axis=1), np.maximum(own, _LEAST_EXPONENT))
    with np.errstate(all="ignore"):
        # float64 holds each of these exactly: integers below 2 ** 32 times a power of two
        unit = np.ldexp(1.0, top.astype(np.int32) - fraction_bits)
        cut = left * right
        cut /= unit[:, None]
        total = np.trunc(cut, out=cut).sum(axis=1) + np.trunc(given / unit)
        exact = total * unit
        rounded = exact.astype(c.dtype)
        if not half:
            outward = np.abs(rounded.astype(np.float64)) > np.abs(exact)
            outward &= np.abs(exact) < 2.0**128  # what is larger overflows
            rounded = np.where(outward, np.nextafter(rounded, np.float32(0)), rounded)
        found: Array = np.where(np.isnan(rounded), _NAN[c.dtype.name], rounded)
        return found
