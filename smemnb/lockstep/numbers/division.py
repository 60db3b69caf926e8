"""Floor division and remainder, step by step as a GPU computes them.

Of integers Numba makes 0 where it divides by 0, or the lowest number by -1.

Of floats it compiles CPython's algorithm around LLVM's `frem`, and NVVM turns `frem` into

    |x| - floor(|x| / |y|) * |y|     with the sign of x

whose product and difference become one fused multiply-add. So a remainder is exact while the
quotient is; of a very large quotient it is not, and `x % inf` and `x // inf` are NaN, where
Python gives x or inf and 0 or -1. `math.fmod`, which is libdevice's, is exact.

**Limits**: without fused multiply-adds (`fma=False`) a GPU also rounds the product.
Source: PTX and machine code for compute capability 9.0; the values compared with an H200's.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .typing_rules import FLOAT64

_SPLIT = FLOAT64.type(2**27 + 1)  # halves the 53 bits of a float64
_PLAIN = FLOAT64.type(2.0**51)  # a quotient below keeps a bit behind its point
_LARGE, _SCALE = FLOAT64.type(2.0**990), FLOAT64.type(2.0**64)


def floor_divide(x: Any, y: Any) -> Any:
    """x // y.

    >>> floor_divide(np.float64(-7), np.float64(2)), floor_divide(np.int8(-7), np.int8(2))
    (np.float64(-4.0), np.int8(-4))
    """
    x, y, floats = _alike(x, y)
    return _whole(x, y, cut_rest(x, y)) if floats else _whole_of_integers(x, y)


def remainder(x: Any, y: Any) -> Any:
    """x % y, which has the sign of y.

    >>> remainder(np.float32(-7), np.float32(4)), remainder(np.float32(7), np.float32(-4))
    (np.float32(1.0), np.float32(-1.0))
    """
    x, y, floats = _alike(x, y)
    return _signed(y, cut_rest(x, y)) if floats else np.remainder(x, y)


def divide_with_rest(x: Any, y: Any) -> tuple[Any, Any]:
    """divmod(x, y)."""
    x, y, floats = _alike(x, y)
    if not floats:
        return _whole_of_integers(x, y), np.remainder(x, y)
    rest = cut_rest(x, y)
    return _whole(x, y, rest), _signed(y, rest)


def cut_rest(x: Any, y: Any) -> Any:
    """LLVM's `frem` of two floats of one type, as NVVM expands it."""
    a, b = np.abs(x), np.abs(y)
    quotient = a / b
    times = np.floor(quotient)
    if x.dtype != FLOAT64:  # a product of two float32 numbers is exact in float64
        rest = (a.astype(FLOAT64) - times.astype(FLOAT64) * b.astype(FLOAT64)).astype(x.dtype)
    elif np.all(times < _PLAIN) and np.all(b < np.inf):
        rest = np.remainder(a, b)
        raised = (quotient == times) & (rest + rest > b)  # the quotient was rounded up
        rest = _where(raised, rest - b, rest) if np.any(raised) else rest
    else:
        rest = _fused(a, times, b)
    return _where(x < 0, -rest, rest)


def _alike(x: Any, y: Any) -> tuple[Any, Any, bool]:
    """Both in NumPy's common type, if that is one of floats, and whether it is."""
    if x.dtype != y.dtype and "f" in (x.dtype.kind, y.dtype.kind) and "m" != x.dtype.kind:
        dtype = np.promote_types(x.dtype, y.dtype)
        x, y = x.astype(dtype), y.astype(dtype)
    return x, y, x.dtype.kind == "f"


def _fused(a: Any, times: Any, b: Any) -> Any:
    """a - times * b with one rounding, where times * b is close to a, or times is 0."""
    large = (a > _LARGE) | (times > _LARGE)
    if not np.any(large):
        return _less_product(a, times, b)
    one, more = FLOAT64.type(1), times > b
    of_times, of_b = _where(large & more, _SCALE, one), _where(large & ~more, _SCALE, one)
    scale = of_times * of_b
    return _less_product(a / scale, times / of_times, b / of_b) * scale


def _less_product(a: Any, times: Any, b: Any) -> Any:
    """The same for factors that can be split: the product's rounding error is taken off too."""
    product = times * b
    high, other = _upper(times), _upper(b)
    low, rest = times - high, b - other
    error = low * rest - (((product - high * other) - low * other) - high * rest)
    exact = ~np.isfinite(product) | (times == 0)
    return (a - product) - _where(exact, a.dtype.type(0), error)


def _upper(value: Any) -> Any:
    """The upper 26 bits of each number's 53."""
    wide = value * _SPLIT
    return wide - (wide - value)


def _other_sign(y: Any, rest: Any) -> Any:
    """True where a rest that is not 0 has not the sign of y."""
    return (rest != 0) & ((y < 0) != (rest < 0))


def _whole_of_integers(x: Any, y: Any) -> Any:
    """x // y, and 0 for the lowest number divided by -1, as in Numba."""
    quotient = np.floor_divide(x, y)
    if quotient.dtype.kind != "i":
        return quotient
    lowest = quotient == np.iinfo(quotient.dtype).min
    if not np.any(lowest):
        return quotient
    return _where(lowest & (y == -1), quotient.dtype.type(0), quotient)


def _signed(y: Any, rest: Any) -> Any:
    zero = _where(y < 0, y.dtype.type(-0.0), y.dtype.type(0))
    return _where(rest == 0, zero, _where(_other_sign(y, rest), rest + y, rest))


def _whole(x: Any, y: Any, rest: Any) -> Any:
    quotient = (x - rest) / y
    quotient = _where(_other_sign(y, rest), quotient - 1, quotient)
    whole = np.floor(quotient)
    whole = _where(quotient - whole > 0.5, whole + 1, whole)
    whole = _where(quotient == 0, quotient * quotient * x / y, whole)
    return _where(y == 0, x / y, whole)


def _where(condition: Any, yes: Any, no: Any) -> Any:
    return np.where(condition, yes, no) if np.ndim(condition) else (yes if condition else no)
