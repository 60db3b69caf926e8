"""Small products: the places of elements, and sums rounded as the literature says."""

import math
from fractions import Fraction

import numpy as np
import pytest

from smemnb.rules import tensor_core
from smemnb.rules.tensor_core import (
    AMPERE,
    HOPPER,
    multiplied,
    places_of_a,
    places_of_b,
    places_of_c,
    rounded_to_tf32,
)

SHAPES = [(16, 2), (8, 2), (8, 1), (4, 1), (32, 4), (16, 4)]


@pytest.mark.parametrize(("k", "per_word"), SHAPES)
def test_each_element_has_one_place(k, per_word):
    """a, b and c are dealt out whole, and nothing twice."""
    for places, shape in (
        (places_of_a(k, per_word), (16, k)),
        (places_of_b(k, per_word), (k, 8)),
        (places_of_c(1), (16, 8)),
        (places_of_c(2), (16, 8)),
    ):
        number = places[0] * shape[1] + places[1]
        assert sorted(number.ravel().tolist()) == list(range(shape[0] * shape[1]))


def value_of(bits, exponent_bits, fraction_bits):
    """(exact value, exponent) of a bit pattern, as fractions: unlike the package's integers."""
    fraction = bits & ((1 << fraction_bits) - 1)
    stored = (bits >> fraction_bits) & ((1 << exponent_bits) - 1)
    bias = (1 << (exponent_bits - 1)) - 1
    size = Fraction(fraction, 1 << fraction_bits) + (stored > 0)
    exponent = max(stored, 1) - bias
    negative = bits >> (fraction_bits + exponent_bits) & 1
    return (-1) ** negative * size * Fraction(2) ** exponent, exponent


def cut(number, unit):
    """The multiple of `unit` next to a fraction, toward zero."""
    return math.trunc(number / unit) * unit


def slowly(a, b, c, kind, arithmetic):
    """One element of d: term by term, in fractions."""
    exponent_bits, fraction_bits, unused = {
        "f16": (5, 10, 0), "bf16": (8, 7, 0), "tf32": (8, 10, 13)
    }[kind]  # fmt: skip
    at_once = {"f16": 2, "bf16": 2, "tf32": 4}[kind]
    at_once = arithmetic.bytes_at_once // at_once
    total = c
    for first in range(0, len(a), at_once):
        terms = []
        for x, y in zip(a[first : first + at_once], b[first : first + at_once], strict=True):
            (left, low), (right, high) = (
                value_of(int(z) >> unused, exponent_bits, fraction_bits) for z in (x, y)
            )
            terms.append((left * right, low + high))
        if isinstance(total, np.float16):
            terms.append(value_of(int(total.view(np.uint16)), 5, 10))
        else:
            terms.append(value_of(int(total.view(np.uint32)), 8, 23))
        top = max([exponent for number, exponent in terms if number] + [-126])
        unit = Fraction(2) ** (top - arithmetic.fraction_bits)
        exact = sum(cut(number, unit) for number, _ in terms)
        total = to_nearest(exact) if isinstance(total, np.float16) else toward_zero(exact)
    return total


def toward_zero(exact):
    """The float32 next to a fraction, on the side of zero."""
    if not exact:
        return np.float32(0)
    exponent = math.floor(math.log2(abs(exact)))
    exponent += (abs(exact) >= Fraction(2) ** (exponent + 1)) - (
        abs(exact) < Fraction(2) ** exponent
    )
    return np.float32(float(cut(exact, Fraction(2) ** (max(exponent, -126) - 23))))


def to_nearest(exact):
    """The float16 next to a fraction, ties to even."""
    if not exact:
        return np.float16(0)
    exponent = max(math.floor(math.log2(abs(exact))), -14)
    unit = Fraction(2) ** (exponent - 10)
    with np.errstate(over="ignore"):
        return np.float16(float(round(exact / unit) * unit))


def drawn(rng, kind, shape, spread):
    """Bit patterns of finite numbers whose exponents lie `spread` apart."""
    numbers = rng.standard_normal(shape) * 2.0 ** rng.integers(-spread, spread + 1, shape)
    if kind == "f16":
        return np.clip(numbers, -60000, 60000).astype(np.float16).view(np.uint16)
    bits = numbers.astype(np.float32).view(np.uint32)
    return (bits >> 16).astype(np.uint16) if kind == "bf16" else bits


@pytest.mark.parametrize("arithmetic", [HOPPER, AMPERE], ids=["hopper", "ampere"])
@pytest.mark.parametrize(
    ("kind", "sums", "k"),
    [("f16", "f32", 16), ("f16", "f16", 16), ("bf16", "f32", 16), ("tf32", "f32", 8),
     ("f16", "f32", 8), ("tf32", "f32", 4)],
)  # fmt: skip
@pytest.mark.parametrize("spread", [0, 12])
def test_rounding(kind, sums, k, arithmetic, spread):
    """Bit by bit what fractions give, term by term: near numbers and numbers far apart."""
    rng = np.random.default_rng(spread)
    spread //= 1 + (sums == "f16")  # so that no part of a sum overflows
    a, b = drawn(rng, kind, (2, 16, k), spread), drawn(rng, kind, (2, k, 8), spread)
    dtype = {"f32": np.float32, "f16": np.float16}[sums]
    c = (rng.standard_normal((2, 16, 8)) * 2.0 ** rng.integers(-12, 4, (2, 16, 8))).astype(dtype)
    a[0, 0], c[0, 0] = 0, 0
    found = multiplied(a, b, c, kind=kind, arithmetic=arithmetic)
    assert found.dtype == dtype
    for product, row, col in [(0, 0, 3), *np.ndindex(2, 16, 8)][::3]:
        wanted = slowly(a[product, row], b[product, :, col], c[product, row, col], kind, arithmetic)
        assert found[product, row, col] == wanted


def test_what_is_too_small_is_dropped():
    """Beside 1.0, 25 bits are kept on a Hopper and 24 on an Ampere; nothing is rounded up."""
    one, small = np.float16(1.0).view(np.uint16), np.float16(2.0**-13).view(np.uint16)
    a, b = np.zeros((16, 16), np.uint16), np.zeros((16, 8), np.uint16)
    a[:, 0] = b[0] = one
    a[:, 1:5], b[1:5] = small, np.float16(2.0**-12).view(np.uint16)  # four times 2 ** -25
    c = np.zeros((16, 8), np.float32)
    for arithmetic, wanted in ((HOPPER, 1.0 + 2.0**-23), (AMPERE, 1.0)):
        assert set(multiplied(a, b, c, kind="f16", arithmetic=arithmetic).ravel()) == {wanted}


def test_cut_off_toward_zero():
    """1 + 1.5 units in the last place keeps one of them; IEEE addition would round to two."""
    a, b = np.zeros((16, 16), np.uint16), np.zeros((16, 8), np.uint16)
    a[:, 0] = b[0] = np.float16(1.0).view(np.uint16)
    for sign in (1, -1):
        c = np.full((16, 8), sign * 1.5 * 2.0**-23, np.float32)
        a[:, 0] = np.float16(sign).view(np.uint16)
        assert set(multiplied(a, b, c, kind="f16").ravel()) == {np.float32(sign * (1 + 2.0**-23))}


def test_infinities_and_nans():
    """inf and -inf, and inf times 0, give the one NaN; overflow of a sum gives infinity."""
    inf, big = (np.float16(x).view(np.uint16) for x in (np.inf, 60000.0))
    a, b = np.zeros((16, 16), np.uint16), np.ones((16, 8), np.uint16)
    c = np.zeros((16, 8), np.float32)
    a[0, 0] = inf
    a[1, 1], b[1, 0] = inf, 0
    c[2, 0], c[3, 0], c[3, 1] = np.inf, -np.inf, np.nan
    a[3, 0] = inf
    found = multiplied(a, b, c, kind="f16").view(np.uint32)
    assert [hex(x) for x in found[:3, 0]] == ["0x7f800000", "0x7fffffff", "0x7f800000"]
    assert [hex(x) for x in found[3, :2]] == ["0x7fffffff", "0x7fffffff"]
    a[:], b[:] = big, big
    half = np.zeros((16, 8), np.float16)
    assert np.isposinf(multiplied(a, b, half, kind="f16")).all()
    assert set(multiplied(a, b, half.astype(np.float32), kind="f16").ravel()) == {16 * 6e4**2}


def test_integers_wrap():
    """int32 sums wrap as they do on a GPU without .satfinite."""
    a, b = np.full((16, 32), -128, np.int8), np.full((32, 8), -128, np.int8)
    c = np.full((16, 8), 2**31 - 1, np.int32)
    assert set(multiplied(a, b, c, kind="s8").ravel().tolist()) == {2**31 - 1 + 32 * 2**14 - 2**32}
    a, b = np.full((16, 32), 255, np.uint8), np.full((32, 8), 255, np.uint8)
    assert set(multiplied(a, b, c * 0, kind="u8").ravel().tolist()) == {32 * 255**2}


@pytest.mark.parametrize(
    ("number", "wanted"),
    [(1.0, 1.0), (1 + 2**-11, 1 + 2**-10), (-1 - 2**-11, -1 - 2**-10), (1 + 2**-12, 1.0),
     (1 + 2**-11 - 2**-23, 1.0), (np.inf, np.inf), (3.4028234e38, np.inf), (0.0, 0.0)],
)  # fmt: skip
def test_tf32(number, wanted):
    """To nearest in 10 bits, ties away from zero."""
    assert rounded_to_tf32(np.float32(number)).view(np.float32) == np.float32(wanted)
    assert tensor_core.rounded_to_tf32(np.float32(np.nan)) == 0x7FC00000
