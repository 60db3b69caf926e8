"""Sums, products, quotients, roots and fused multiply-adds, rounded once in any direction.

Every operation first gives its exact result as `hi * 2**exponent`, and the sign of what is left
over (`rest`); `rounded` then cuts that to float32 or float64 in direction "rn" (to nearest, ties to
even), "rz" (towards zero), "ru" (up) or "rd" (down). The exact parts are those of Dekker and Knuth;
a fused multiply-add goes through a sum rounded to odd (Boldo, Melquiond 2008).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

Array = Any  # float64 arrays or scalars


class Exact(NamedTuple):
    """`hi * 2**exponent`, plus something of the sign `rest` that is less than half a unit of hi."""

    hi: Array
    rest: Array
    exponent: Array


class Format(NamedTuple):
    """A float format: how it is stored, digits of its mantissa, its smallest and largest number."""

    dtype: np.dtype[Any]
    digits: int
    lowest: int  # the smallest number is 2**lowest
    largest: float


FORMATS = {
    kind: Format(np.dtype(kind), digits, lowest, float(np.finfo(kind).max))
    for kind, digits, lowest in (("f2", 11, -24), ("f4", 24, -149), ("f8", 53, -1074))
}
BFLOAT16 = Format(np.dtype("f4"), 8, -133, (2 - 2.0**-7) * 2.0**127)


def rounded(value: Exact, into: Format, direction: str) -> Array:
    """An exact finite value as the nearest number of a format in one direction."""
    mantissa, exponent = np.frexp(value.hi)
    rest = value.rest * np.sign(mantissa)
    edge = (np.abs(mantissa) == 0.5) & (rest < 0)  # just below a power of two: finer steps there
    exponent = exponent.astype(np.int64) + value.exponent
    step = np.maximum(exponent - edge - into.digits, into.lowest)
    scaled = np.ldexp(np.abs(mantissa), np.maximum(exponent - step, -60))
    whole = np.floor(scaled)
    part = scaled - whole
    under = (part == 0) & (rest < 0)
    whole, part, rest = whole - under, np.where(under, 0.75, part), np.where(under, 0, rest)
    inexact, negative = (part != 0) | (rest != 0), np.signbit(value.hi)
    if direction == "rn":
        tie = (part == 0.5) & ((rest > 0) | ((rest == 0) & (whole % 2 == 1)))
        away = (part > 0.5) | tie
        open_ended = np.True_
    else:
        away = inexact & {"rz": np.False_, "ru": ~negative, "rd": negative}[direction]
        open_ended = {"rz": np.False_, "ru": ~negative, "rd": negative}[direction]
    with np.errstate(all="ignore"):
        size = np.ldexp(whole + away, step).astype(into.dtype)
    size = np.where(np.isinf(size) & ~open_ended, into.largest, size)
    return np.where(negative, -size, size).astype(into.dtype)


def two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """(sum, what rounding took from it), exactly."""
    total = a + b
    other = total - a
    return total, (a - (total - other)) + (b - other)


def two_product(a: Array, b: Array) -> tuple[Array, Array]:
    """(product, what rounding took from it), exactly, for numbers of moderate size."""
    a_high, a_low = _halves(a)
    b_high, b_low = _halves(b)
    product = a * b
    error = ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low
    return product, error


def _halves(a: Array) -> tuple[Array, Array]:
    """The upper 26 digits of a float64, and the rest."""
    large = a * 134217729.0  # 2**27 + 1
    high = large - (large - a)
    return high, a - high


def _parts(a: Array) -> tuple[Array, Array]:
    mantissa, exponent = np.frexp(a)
    return mantissa, exponent.astype(np.int64)


def _sum(a: Array, b: Array) -> Exact:
    large = np.maximum(np.abs(a), np.abs(b)) > 1e300  # a quarter of them, so that the sum fits
    total, rest = two_sum(*(np.where(large, _quarter(part), part) for part in (a, b)))
    return Exact(total, np.sign(rest), np.where(large, 2, 0))


def _quarter(a: Array) -> Array:
    """a / 4, or something as small of the same sign: beside a large number only that counts."""
    return np.where(a == 0, a, np.copysign(np.maximum(np.abs(a) * 0.25, 1e-300), a))


def _product(a: Array, b: Array) -> Exact:
    (x, x_exponent), (y, y_exponent) = _parts(a), _parts(b)
    product, rest = two_product(x, y)
    return Exact(product, np.sign(rest), x_exponent + y_exponent)


def _quotient(a: Array, b: Array) -> Exact:
    (x, x_exponent), (y, y_exponent) = _parts(a), _parts(b)
    quotient = x / y
    product, error = two_product(quotient, y)
    return Exact(quotient, np.sign((x - product) - error) * np.sign(y), x_exponent - y_exponent)


def _root(a: Array) -> Exact:
    x, exponent = _parts(a)
    odd = exponent % 2
    x = np.ldexp(x, odd)
    root = np.sqrt(x)
    square, error = two_product(root, root)
    return Exact(root, np.sign((x - square) - error), (exponent - odd) // 2)


def _fused(a: Array, b: Array, c: Array) -> Exact:
    (x, x_exponent), (y, y_exponent), (z, z_exponent) = _parts(a), _parts(b), _parts(c)
    high, low = two_product(x, y)
    exponent = np.where(high == 0, z_exponent, x_exponent + y_exponent)
    apart = np.where(z == 0, 0, z_exponent - exponent)
    z = np.ldexp(z, np.clip(apart, -200, 200))  # further apart, only the sign of the lesser counts
    total, rest = two_sum(high, z)
    odd, lost = two_sum(rest, low)
    even = _is_even(odd)
    odd = np.where((lost != 0) & even, np.nextafter(odd, np.where(lost > 0, np.inf, -np.inf)), odd)
    total, rest = two_sum(total, odd)
    return Exact(total, np.sign(rest), exponent + np.maximum(apart - 200, 0))


def _operation(
    exact: Callable[..., Exact], plain: Callable[..., Array], *, sums: bool = False
) -> Callable[..., Array]:
    def apply(dtype: np.dtype[Any], direction: str, *operands: Array) -> Array:
        wide = np.broadcast_arrays(*(np.asarray(operand, np.float64) for operand in operands))
        with np.errstate(all="ignore"):
            simple = plain(*(np.asarray(operand, dtype) for operand in operands))
            special: Array = ~np.isfinite(sum(abs(operand) * 1e-300 for operand in wide))
            special |= plain is np.divide and wide[-1] == 0
            special |= plain is np.sqrt and ~(wide[0] > 0)
            value = exact(*(np.where(special, 1.0, operand) for operand in wide))
            result = rounded(value, FORMATS[dtype.str[1:]], direction)
            zero = value.hi == 0
            if sums and direction == "rd":  # x - x is -0 where results are rounded down
                negative = np.signbit(wide[-1]) | np.signbit(_times(wide[:-1]))
                simple = np.where(zero, np.where(negative, -0.0, 0.0), simple)
        whole: Array = np.where(special | zero, simple, result)
        return whole.astype(dtype)[()]

    return apply


def _times(operands: Any) -> Array:
    product = operands[0]
    for operand in operands[1:]:
        product = np.sign(product) * operand
    return product


def _plain_fma(a: Array, b: Array, c: Array) -> Array:
    finite = np.isfinite(a) & np.isfinite(b) & ~np.isfinite(c)
    return np.where(finite, c, a * b + c)


def _is_even(a: Array) -> Array:
    """Whether the last digit of a float64 is 0."""
    bits: Array = np.asarray(a).view(np.int64)
    return bits & 1 == 0


def fused_to_odd(a: Array, b: Array, c: Array) -> Array:
    """a * b + c of float32 or smaller, as a float64 that may be rounded once more.

    The product is exact, and the sum is rounded to an odd last digit where it does not fit.
    """
    with np.errstate(all="ignore"):
        product = np.multiply(a, b, dtype=np.float64)
        total, rest = two_sum(product, np.asarray(c, np.float64))
        nudge = (rest != 0) & _is_even(total) & np.isfinite(total)
        if bool(np.any(nudge)):
            towards = np.where(rest > 0, np.inf, -np.inf)
            total = np.where(nudge, np.nextafter(total, towards), total)
        return total


def fused_float32(a: Array, b: Array, c: Array) -> Array:
    """a * b + c of float32, rounded once to nearest."""
    with np.errstate(all="ignore"):
        return np.asarray(fused_to_odd(a, b, c), np.float32)[()]


OPERATIONS: dict[str, Callable[..., Array]] = {
    "add": _operation(_sum, np.add, sums=True),
    "mul": _operation(_product, np.multiply),
    "div": _operation(_quotient, np.divide),
    "sqrt": _operation(_root, np.sqrt),
    "fma": _operation(_fused, _plain_fma, sums=True),
}
"""Name -> function of (dtype, direction, operands)."""


def converted(value: Array, into: Format, direction: str) -> Array:
    """A float, or an integer of at most 64 bits, in a float format, rounded in one direction."""
    if value.dtype.kind == "f":
        wide = np.asarray(value, np.float64)
        usual = np.isfinite(wide) & (wide != 0)
        exact = Exact(np.where(usual, wide, 1.0), np.zeros_like(wide), 0)
        with np.errstate(all="ignore"):
            plain = wide.astype(into.dtype)
        return np.where(usual, rounded(exact, into, direction), plain).astype(into.dtype)[()]
    value = value.astype(f"{value.dtype.kind}8")
    upper = (value >> value.dtype.type(32)).astype(np.float64) * 2.0**32
    lower = (value & value.dtype.type(0xFFFFFFFF)).astype(np.float64)
    total, rest = two_sum(upper, lower)
    return rounded(Exact(total, np.sign(rest), 0), into, direction)[()]
