"""The words random programs are made of: dtypes, functions, literals, and inputs with edges."""

from __future__ import annotations

import math
import random
from typing import Any, NamedTuple

import numpy as np

BOOL = "bool"
SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
INTEGERS = SIGNED + UNSIGNED
FLOATS = ("float32", "float64")
HALF = "float16"
COMPLEX = ("complex64", "complex128")
UNITS = ("D", "s", "ms")  # of dates and durations, the finer ones last
DATES = tuple(f"{kind}64[{unit}]" for kind in ("datetime", "timedelta") for unit in UNITS)
SCALARS = (BOOL, *INTEGERS, HALF, *FLOATS, *COMPLEX)


class Call(NamedTuple):
    """A function: how it is written, what its arguments are, what kind of value comes back."""

    text: str  # with {0}, {1} for the arguments
    takes: str  # one letter per argument: i integer, f float, n real number, b bool, c complex
    gives: str  # the same letters; x: like the arguments
    rough: bool = False  # true: right to a few units in the last place only


def _all(prefix: str, names: str, takes: str, gives: str, rough: bool = False) -> list[Call]:
    holes = ", ".join(f"{{{at}}}" for at in range(len(takes)))
    return [Call(f"{prefix}.{name}({holes})", takes, gives, rough) for name in names.split()]


EXACT: list[Call] = [
    *_all("math", "sqrt floor ceil trunc fabs", "n", "f"),
    *_all("math", "isnan isinf isfinite", "n", "b"),
    *_all("cmath", "isnan isinf isfinite", "c", "b"),
    *_all("math", "fmod remainder", "ff", "f"),
    Call("math.copysign({0}, min(max({1}, float32(-1.0)), float32(1.0)))", "ff", "f"),
    *_all("np", "isnan", "n", "b"),
    *_all("np", "logical_not", "n", "b"),
    *_all("np", "invert", "i", "i"),
    *_all("np", "conjugate", "n", "n"),
    *_all("np", "maximum minimum fmax fmin", "nn", "n"),
    *_all("np", "divide true_divide", "nn", "f"),
    *_all("math", "nextafter", "ff", "f"),
    *_all("np", "bitwise_and bitwise_or bitwise_xor", "ii", "i"),
    *_all("np", "logical_and logical_or logical_xor", "nn", "b"),
    *_all("np", "equal not_equal less less_equal greater greater_equal", "nn", "b"),
    Call("np.left_shift({0}, {1} & 7)", "ii", "i"),
    Call("np.right_shift({0}, {1} & 7)", "ii", "i"),
    Call("abs({0})", "n", "n"),
    Call("min({0}, {1})", "nn", "n"),
    Call("max({0}, {1})", "nn", "n"),
    Call("min({0}, {1}, {2})", "iii", "i"),
    Call("max({0}, {1}, {2})", "nnn", "n"),
    Call("divmod({0}, {1})[0]", "nn", "n"),
    Call("divmod({0}, {1})[1]", "nn", "n"),
    Call("pow({0}, {1} & 7)", "ni", "n"),
    Call("float({0})", "n", "f"),
    Call("int({0})", "i", "i"),
    Call("bool({0})", "n", "b"),
    Call("math.ldexp({0}, int32({1} & 15))", "fi", "f"),
    Call("math.frexp({0})[0]", "f", "f"),
    Call("math.frexp({0})[1] & 1", "f", "i"),
    Call("math.modf({0})[0]", "f", "f"),
    Call("math.modf({0})[1]", "f", "f"),
    Call("complex({0}, {1})", "ff", "c"),
    Call("({0}).real", "c", "f"),
    Call("({0}).imag", "c", "f"),
    Call("({0}).conjugate()", "c", "c"),
    Call("round(min(max({0}, -1e6), 1e6))", "f", "i"),
    *[Call(f"np.{name}({{0}})", "n", name[0]) for name in ("float32", "float64")],
    *[Call(f"np.{name}({{0}})", "i", name[0]) for name in ("int8", "int16", "int32", "int64")],
    *[Call(f"np.{name}({{0}})", "i", "i") for name in ("uint8", "uint16", "uint32", "uint64")],
]

ROUGH: list[Call] = [
    *_all(
        "math",
        "exp expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh asinh acosh "
        "atanh erf erfc gamma lgamma degrees radians",
        "n", "f", True,
    ),
    *_all("math", "atan2 hypot", "nn", "f", True),
    *_all("math", "pow", "fn", "f", True),
    *_all(
        "np",
        "log log2 log10 sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh arccosh arctanh "
        "deg2rad rad2deg radians degrees",
        "n", "f", True,
    ),
    *_all("np", "arctan2 hypot", "ff", "f", True),
    Call("{0} ** {1}", "ff", "f", True),
    Call("round({0}, 2)", "f", "f", True),
    Call("abs({0})", "c", "f", True),
    *_all("cmath", "acos asin asinh atan atanh cos cosh exp log sin sinh sqrt tan", "c", "c", True),
    *[Call(f"cmath.{n}(complex128({{0}}))", "c", "c", True) for n in ("acosh", "log10", "tanh")],
    *_all("cmath", "phase", "c", "f", True),
    Call("cmath.polar({0})[0]", "c", "f", True),
    Call("cmath.polar({0})[1]", "c", "f", True),
    Call("cmath.rect({0}, {1})", "ff", "c", True),
]  # fmt: skip

INT_LITERALS = (0, 1, 2, 3, 5, 7, 10, 31, 100, 127, 128, 255, 256, 1000, 32767, 65536, 2**31 - 1,
                2**31, 2**32 - 1, 2**32, 2**40 + 1, 2**63 - 1, 2**63, 2**64 - 1)  # fmt: skip
FLOAT_LITERALS = ("0.0", "1.0", "0.5", "2.0", "3.25", "0.1", "1e-3", "1e10", "1e300", "1e-310",
                  "math.pi", "np.inf", "math.inf", "np.nan", "np.pi", "1e-45")  # fmt: skip
COMPLEX_LITERALS = ("1j", "(1.5+2j)", "0.5j", "(0.25-1j)")


def edges(dtype: str) -> list[Any]:
    """The values at which arithmetic of this dtype turns strange."""
    kind = np.dtype(dtype)
    if kind.kind == "b":
        return [False, True]
    if kind.kind in "mM":
        return [np.iinfo(np.int64).min, 0, 1, -1, 86399, -86400, 10**6]  # the first is NaT
    if kind.kind in "iu":
        info = np.iinfo(kind)
        return [0, 1, info.min, info.max, info.max - 1, info.min + 1, 2, info.max // 2 + 1]
    if kind.kind == "c":
        return [0, 1, 1j, complex(-0.0, 2), complex(3, -4), complex(1e-3, 1e3), -1.5]
    tiny = np.finfo(kind).smallest_subnormal
    huge = np.finfo(kind).max
    # fmt: off
    return [0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan, tiny, -tiny, huge, -huge, 0.5,
            1.5, 2.5, -0.5, np.finfo(kind).smallest_normal, 2.0**11 + 1, 2.0**24 + 1, 2.0**53]
    # fmt: on


def array(dtype: str, size: int, seed: int) -> np.ndarray[Any, Any]:
    """`size` values: edges in a third of the places, small and medium numbers elsewhere."""
    draw, kind = random.Random(f"{dtype} {seed}"), np.dtype(dtype)
    some = edges(dtype)
    values = [
        draw.choice(some) if draw.random() < 0.33 else _plain(draw, kind) for _ in range(size)
    ]
    if kind.kind in "mM":
        return np.array(values, np.int64).view(kind)
    with np.errstate(all="ignore"):
        return np.array(values, kind)


def _plain(draw: random.Random, kind: np.dtype[Any]) -> Any:
    """A small or medium number."""
    if kind.kind == "b":
        return draw.random() < 0.5
    if kind.kind in "iu":
        low = 0 if kind.kind == "u" else -100
        wide = min(np.iinfo(kind).max, 10**6)
        return draw.randint(max(low * wide // 100, low), wide if draw.random() < 0.2 else 100)
    if kind.kind in "mM":
        return draw.randint(-(10**6), 10**6) if draw.random() < 0.3 else draw.randint(-9, 9)
    if kind.kind == "c":
        return complex(draw.uniform(-4, 4), draw.uniform(-4, 4))
    some = (draw.uniform(-8, 8), draw.randint(-50, 50) / 4, draw.uniform(-1e5, 1e5))
    return draw.choice(some)
