"""libdevice's functions of floats: each for float64, and with an f behind its name for float32.

**Limits**: transcendental functions are NumPy's, within a few units in the last place; the `fast_`
ones are as exact as the others here.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from . import bessel, special
from .rounding import OPERATIONS, fused_float32

Function = Callable[..., Any]
F64 = np.dtype("f8")


def by_float64(compute: Function) -> Function:
    """A function that computes in float64, whatever float it is given."""

    def apply(*values: Any) -> Any:
        return compute(*(v.astype(F64) if v.dtype.kind == "f" else v for v in values))

    return apply


def sine_pi(x: Any) -> Any:
    """sin(pi x), exact at multiples of 1/2."""
    rest = x - 2.0 * np.rint(x / 2.0)
    rest = np.where(np.abs(rest) > 0.5, np.copysign(1.0, rest) - rest, rest)
    return np.sin(math.pi * rest)


def cosine_pi(x: Any) -> Any:
    """cos(pi x), exact at multiples of 1/2."""
    return np.sin(math.pi * (0.5 - np.abs(x - 2.0 * np.rint(x / 2.0))))


def rounded_away(x: Any) -> Any:
    """The nearest integer, halves away from zero."""
    whole = np.trunc(x)
    return np.where(np.abs(x - whole) >= 0.5, whole + np.copysign(x.dtype.type(1), x), whole)


def remainder(x: Any, y: Any) -> Any:
    """x - n y with the integer n nearest to x / y, exactly."""
    size = np.abs(y)
    small = size < np.finfo(x.dtype).tiny * 4
    rest = np.where(size < np.finfo(x.dtype).max / 2, np.fmod(np.abs(x), 2 * size), np.abs(x))
    half = size * x.dtype.type(0.5)
    past = np.where(small, rest + rest > size, rest > half)
    once = rest - size
    twice = past & np.where(small, once + once >= size, once >= half)
    rest = np.where(twice, once - size, np.where(past, once, rest))
    rest = np.where(np.isnan(x) | np.isnan(y) | np.isinf(x) | (y == 0), np.nan, rest)
    return np.where(np.signbit(x), -rest, rest).astype(x.dtype)


def remainder_quotient(x: Any, y: Any) -> tuple[Any, Any]:
    """(remainder, the last three bits of the quotient with its sign)."""
    rest = remainder(x, y)
    cycle = np.where(np.abs(y) < np.finfo(x.dtype).max / 8, np.fmod(np.abs(x), 8 * np.abs(y)), x)
    count = np.rint((np.abs(cycle) - np.where(np.signbit(x), -rest, rest)) / np.abs(y))
    count = np.where(np.isfinite(count), count, 0).astype(np.int64) & 7
    return rest, np.where(np.signbit(x) ^ np.signbit(y), -count, count)


def exponent_of(x: Any) -> Any:
    """The exponent of a float, as a float: logb."""
    exponent = np.frexp(x)[1] - 1
    return np.where(x == 0, -np.inf, np.where(np.isfinite(x), exponent, np.abs(x)))


def integer_exponent(x: Any) -> Any:
    """The exponent of a float, as an int32: ilogb."""
    exponent = np.frexp(x)[1] - 1
    lost = np.where(np.isinf(x), 2**31 - 1, -(2**31))
    return np.where(np.isfinite(x) & (x != 0), exponent, lost)


def fused(a: Any, b: Any, c: Any) -> Any:
    """a * b + c rounded once, of float32 or float64."""
    if a.dtype == F64:
        return OPERATIONS["fma"](F64, "rn", a, b, c)
    return fused_float32(a, b, c)


def _difference(x: Any, y: Any) -> Any:
    return np.where(x <= y, x.dtype.type(0), x - y)


def _scaled(x: Any, exponent: Any) -> Any:
    return np.ldexp(x, exponent)


def _ten_to(x: Any) -> Any:
    return np.power(10.0, x)


ONE: dict[str, Function] = {
    "acos": np.arccos, "acosh": np.arccosh, "asin": np.arcsin, "asinh": np.arcsinh,
    "atan": np.arctan, "atanh": np.arctanh, "cbrt": by_float64(np.cbrt), "ceil": np.ceil,
    "cos": np.cos,
    "cosh": np.cosh, "cospi": by_float64(cosine_pi), "erf": special.erf, "erfc": special.erfc,
    "erfcinv": special.erfcinv, "erfcx": special.erfcx, "erfinv": special.erfinv, "exp": np.exp,
    "exp10": by_float64(_ten_to), "exp2": np.exp2, "expm1": np.expm1, "fabs": np.absolute,
    "floor": np.floor, "j0": lambda x: bessel.bessel_j(0, x),
    "j1": lambda x: bessel.bessel_j(1, x), "lgamma": special.lgamma, "log": np.log,
    "log10": np.log10, "log1p": np.log1p, "log2": np.log2, "logb": exponent_of,
    "nearbyint": np.rint, "normcdf": special.normcdf, "normcdfinv": special.normcdfinv,
    "rcbrt": by_float64(lambda x: 1.0 / np.cbrt(x)), "rint": np.rint, "round": rounded_away,
    "rsqrt": by_float64(lambda x: 1.0 / np.sqrt(x)), "sin": np.sin, "sinh": np.sinh,
    "sinpi": by_float64(sine_pi), "sqrt": np.sqrt, "tan": np.tan, "tanh": np.tanh,
    "tgamma": special.gamma, "trunc": np.trunc, "y0": lambda x: bessel.bessel_y(0, x),
    "y1": lambda x: bessel.bessel_y(1, x),
}  # fmt: skip

MORE: dict[str, tuple[str, Function]] = {
    "atan2": ("F F F", np.arctan2),
    "copysign": ("F F F", np.copysign),
    "fdim": ("F F F", _difference),
    "fmax": ("F F F", np.fmax),
    "fmin": ("F F F", np.fmin),
    "fmod": ("F F F", np.fmod),
    "hypot": ("F F F", np.hypot),
    "nextafter": ("F F F", np.nextafter),
    "pow": ("F F F", np.power),
    "remainder": ("F F F", remainder),
    "fma": ("F F F F", fused),
    "ldexp": ("F F i4", _scaled),
    "scalbn": ("F F i4", _scaled),
    "powi": ("F F i4", by_float64(lambda x, n: np.power(x, n.astype(F64)))),
    "jn": ("F i4 F", bessel.bessel_j),
    "yn": ("F i4 F", bessel.bessel_y),
    "ilogb": ("i4 F", integer_exponent),
    "llrint": ("i8 F", np.rint),
    "llround": ("i8 F", rounded_away),
    "frexp": ("F,i4 F", np.frexp),
    "modf": ("F,F F", np.modf),
    "remquo": ("F,i4 F F", remainder_quotient),
    "sincos": ("F,F F", lambda x: (np.sin(x), np.cos(x))),
    "sincospi": ("F,F F", by_float64(lambda x: (sine_pi(x), cosine_pi(x)))),
}
"""Name -> (results, arguments; F is the float), function."""


def _quick_quotient(x: Any, y: Any) -> Any:
    lost = (np.abs(y) > 2.0**126) & np.isfinite(y)
    return np.where(lost, np.where(np.isinf(x), np.nan, 0.0), x / y)


_QUICK: dict[str, Function] = {
    name: ONE[name] for name in ("cos", "exp10", "exp", "log10", "log2", "log", "sin", "tan")
}


def _table() -> dict[str, tuple[str, Function]]:
    found: dict[str, tuple[str, Function]] = {}
    for suffix, kind in (("", "f8"), ("f", "f4")):
        for name, function in ONE.items():
            found[name + suffix] = f"{kind} {kind}", function
        for name, (types, function) in MORE.items():
            found[name + suffix] = types.replace("F", kind), function
    for name, function in _QUICK.items():
        found[f"fast_{name}f"] = "f4 f4", function
    found["fast_powf"] = "f4 f4 f4", np.power
    found["fast_fdividef"] = "f4 f4 f4", _quick_quotient
    found["fast_sincosf"] = "f4,f4 f4", MORE["sincos"][1]
    found["saturatef"] = "f4 f4", lambda x: np.fmin(np.fmax(x, 0), 1)
    return found


FUNCTIONS = _table()
"""Name -> (result and argument types, function)."""
