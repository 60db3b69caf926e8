"""What the functions of a kernel do to lane values: `math`, NumPy's ufuncs, builtins, casts.

`FUNCTIONS` is keyed by the function object that the kernel's name stands for:

    FUNCTIONS[math.sqrt](values)   FUNCTIONS[np.exp](values)   FUNCTIONS[min](a, b, c)

Result types are those of Numba's CUDA inference: math.sqrt of float32 is float32, of an integer
float64; math.floor and math.ceil return floats there; min and max unify their arguments.

**Limits**: values of transcendental functions are NumPy's, within a few units in the last place
of a GPU's. A negative integer power is 0, or +-1 for a base of +-1,
and the lowest int64 for base 0, as Numba returns without raising.
Source: numba-cuda 0.30 (cudaimpl, mathimpl, ufuncs), types compared in tests/lockstep.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache, reduce
from typing import Any

import numpy as np

from ..tables import union
from . import division
from . import typing_rules as rules
from .casts import cast, to_bool, to_float, to_int
from .complex_functions import CMATH
from .powers import power
from .typing_rules import (
    COMPLEXES,
    FLOAT16,
    FLOAT32,
    FLOAT64,
    INT8,
    INT32,
    INT64,
    INTEGERS,
    UINT64,
    DType,
)

__all__ = ["FUNCTIONS", "Implementation", "cast", "power", "to_bool", "to_float", "to_int"]

Implementation = Callable[..., Any]


def _round(value: Any, digits: Any = None) -> Any:
    """round(x): int64, halves to even; round(x, digits): a float, by way of such an int64."""
    number = value.astype(rules._float_for(value.dtype, value.dtype, 4))
    with np.errstate(all="ignore"):
        if digits is None:
            return cast(np.rint(number.astype(FLOAT64)), INT64)
        scale = np.power(10.0, np.abs(digits).astype(FLOAT64))
        scaled = np.where(digits >= 0, number * scale, number / scale)
        whole = cast(np.rint(scaled), INT64)
        result = np.where(digits >= 0, whole / scale, whole * scale)
        result = np.where(np.isfinite(scaled), result, number).astype(number.dtype)
    return result if isinstance(value, np.ndarray) or isinstance(digits, np.ndarray) else result[()]


def _complex(real: Any, imag: Any = None) -> Any:
    """complex(x), complex(x, y): complex64 only if all parts are float32."""
    small = all(part.dtype == FLOAT32 for part in (real, imag) if part is not None)
    dtype = COMPLEXES[not small]
    if imag is None:
        return real.astype(dtype)
    made = np.zeros(np.broadcast_shapes(np.shape(real), np.shape(imag)), dtype)
    made.real, made.imag = real, imag
    return made if made.ndim else made[()]


def _extreme(better: np.ufunc, float_pair: Implementation) -> Implementation:
    """Min or max: two floats by PTX's rule (the number wins over NaN), others by comparing."""

    def implementation(*values: Any) -> Any:
        if len(values) == 1 and isinstance(values[0], tuple):
            values = values[0]
        if values[0].dtype.kind in "mM":  # dates or durations
            dtype = np.result_type(*(v.dtype for v in values))
        else:
            dtype = rules.unify(*(v.dtype for v in values))
        same = [cast(v, dtype) for v in values]
        if len(values) == 2 and all(v.dtype.kind == "f" and v.dtype != FLOAT16 for v in values):
            return float_pair(*same)
        return reduce(lambda acc, v: _select(better(v, acc), v, acc), same)

    return implementation


def _least(a: Any, b: Any) -> Any:
    """PTX's min: a number wins over NaN, -0.0 is below 0.0."""
    result = np.fmin(a, b)
    if not np.any(result == 0):
        return result
    return _select((a == b) & np.signbit(a), a, _select(a == b, b, result))


def _greatest(a: Any, b: Any) -> Any:
    """PTX's max: a number wins over NaN, 0.0 is above -0.0."""
    result = np.fmax(a, b)
    if not np.any(result == 0):
        return result
    return _select((a == b) & np.signbit(a), b, _select(a == b, a, result))


def _select(condition: Any, yes: Any, no: Any) -> Any:
    return np.where(condition, yes, no) if np.ndim(condition) else (yes if condition else no)


def _divmod(a: Any, b: Any) -> tuple[Any, Any]:
    if a.dtype in INTEGERS and b.dtype in INTEGERS:
        dtype = rules._common_integer(a.dtype, b.dtype)
        if dtype in INTEGERS:
            dtype = INT64 if dtype.kind in "bi" else UINT64
    else:
        dtype = rules._float_for(a.dtype, b.dtype, 4)
    with np.errstate(all="ignore"):
        return division.divide_with_rest(cast(a, dtype), cast(b, dtype))


def _absolute(value: Any) -> Any:
    return np.absolute(value.astype(INT8) if value.dtype.kind == "b" else value)


_HALF = frozenset(
    (math.sqrt, math.exp, math.log, math.log2, math.log10, math.sin, math.cos, math.floor)
    + (math.ceil, math.trunc, math.fabs, math.tanh)
    + ((math.exp2,) if hasattr(math, "exp2") else ())
)
"""Functions of `math` that have a float16 version."""


def _one_float(compute: Implementation, *, half: bool) -> Implementation:
    """A function of one number: integers count as float64, floats keep their type."""

    def implementation(value: Any) -> Any:
        dtype = value.dtype
        if dtype.kind in "biu":
            value = value.astype(FLOAT64)
        elif dtype == FLOAT16 and not half:
            value = value.astype(FLOAT32)
        with np.errstate(all="ignore"):
            result = compute(value)
        return result if result.dtype.kind == "b" else result.astype(value.dtype)

    return implementation


def _two_floats(compute: Implementation, *, integers_wide: bool = False) -> Implementation:
    """A function of two numbers, both cast to the float that holds them."""

    def implementation(a: Any, b: Any) -> Any:
        if integers_wide and a.dtype.kind in "biu" and b.dtype.kind in "biu":
            dtype = FLOAT64
        else:
            dtype = rules._float_for(a.dtype, b.dtype, 4)
        with np.errstate(all="ignore"):
            return compute(a.astype(dtype), b.astype(dtype)).astype(dtype)

    return implementation


def _by_element(function: Callable[..., float], outside: Callable[..., float]) -> Implementation:
    """A function of `math` that NumPy lacks; `outside` answers where Python raises."""

    def one(*numbers: float) -> float:
        try:
            return function(*numbers)
        except (ValueError, OverflowError):
            return outside(*numbers)

    vectorised = np.vectorize(one, otypes=[FLOAT64])
    return lambda *values: vectorised(*(np.asarray(v, FLOAT64) for v in values))[()]


def _gamma_outside(x: float) -> float:
    if -1 < x <= 0:  # Python raises at 0, and so near to it that the result overflows
        return math.copysign(math.inf, x)
    return math.inf if x > 0 else math.nan


def _math_pow(a: Any, b: Any) -> Any:
    """math.pow: a float of the operands, or of the base alone where the exponent fits int32."""
    if _pow_takes_int32(a.dtype, b.dtype):
        wide = FLOAT32 if rules._float_for(a.dtype, a.dtype, 4) == FLOAT32 else FLOAT64
        return power(a.astype(wide), b.astype(INT32))
    return _two_floats(np.power)(a, b)


def _pow_takes_int32(a: DType, b: DType) -> bool:
    return (b.kind == "i" and b.itemsize <= 4) or (b == rules.UINT16 and a == FLOAT32)


def _ldexp(value: Any, exponent: Any) -> Any:
    number = value.astype(rules._float_for(value.dtype, value.dtype, 4))
    with np.errstate(all="ignore"):
        return np.ldexp(number, cast(exponent, INT32))


def _frexp(value: Any) -> tuple[Any, Any]:
    number = value.astype(rules._float_for(value.dtype, value.dtype, 4))
    mantissa, exponent = np.frexp(number)
    return mantissa, exponent.astype(INT32)


def _modf(value: Any) -> tuple[Any, Any]:
    fraction, whole = np.modf(value if value.dtype == FLOAT32 else value.astype(FLOAT64))
    return fraction, whole


_NUMPY_MATH: dict[str, Implementation] = {
    "sqrt": np.sqrt, "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1, "log": np.log,
    "log2": np.log2, "log10": np.log10, "log1p": np.log1p, "sin": np.sin, "cos": np.cos,
    "tan": np.tan, "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "sinh": np.sinh,
    "cosh": np.cosh, "tanh": np.tanh, "asinh": np.arcsinh, "acosh": np.arccosh,
    "atanh": np.arctanh, "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc,
    "fabs": np.absolute, "isnan": np.isnan, "isinf": np.isinf, "isfinite": np.isfinite,
    "degrees": lambda x: x * x.dtype.type(180.0 / math.pi),
    "radians": lambda x: x * x.dtype.type(math.pi / 180.0),
    "erf": _by_element(math.erf, lambda x: math.nan),
    "erfc": _by_element(math.erfc, lambda x: math.nan),
    "gamma": _by_element(math.gamma, _gamma_outside),
    "lgamma": _by_element(math.lgamma, lambda x: math.inf),
}  # fmt: skip


_NOT_OF_BOOL = (np.subtract, np.negative, np.positive, np.sign, np.gcd, np.lcm)


@lru_cache(maxsize=1024)
def _ufunc_casts(ufunc: np.ufunc, dtypes: tuple[DType, ...]) -> tuple[DType, ...] | None:
    """The dtypes a ufunc's operands are cast to: NumPy's loops without those of float16.

    Beside a float, an integer of any size takes the float's type. None: nothing to cast.
    """
    wanted = tuple(FLOAT32 if d == FLOAT16 else d for d in dtypes)
    kinds = {d.kind for d in wanted}
    if kinds & set("fc") and kinds & set("iub") and ufunc is not np.ldexp:
        floats = [d for d in wanted if d.kind in "fc"]
        widest = reduce(np.promote_types, floats)
        wanted = tuple(widest if d.kind in "iub" else d for d in wanted)
    if kinds == {"b"} and ufunc in _NOT_OF_BOOL:
        wanted = (INT8,) * len(wanted)
    loop = ufunc.resolve_dtypes(wanted + (None,) * ufunc.nout)
    small = all(d.itemsize < 4 for d in wanted)
    if FLOAT16 in loop or (ufunc is np.true_divide and small):
        wanted = (FLOAT32, *wanted[1:]) if ufunc is np.ldexp else (FLOAT32,) * len(wanted)
    return None if wanted == dtypes else wanted


_EXTREMES = (np.minimum, np.maximum, np.fmin, np.fmax)


def _ufunc(ufunc: np.ufunc) -> Implementation:
    """A ufunc as Numba compiles it: of two equal values min and max give the first (-0.0, 0.0)."""

    def implementation(*values: Any) -> Any:
        casts = _ufunc_casts(ufunc, tuple(v.dtype for v in values))
        if casts is not None:
            values = tuple(cast(v, d) for v, d in zip(values, casts, strict=True))
        with np.errstate(all="ignore"):
            result = ufunc(*values)
        if ufunc in _EXTREMES and result.dtype.kind == "f" and np.any(result == 0):
            return _select(values[0] == values[1], values[0].astype(result.dtype), result)
        return result

    return implementation


def _registry() -> dict[object, Implementation]:
    found: dict[object, Implementation] = {
        abs: _absolute,
        np.isnat: np.isnat,
        min: _extreme(np.less, _least),
        max: _extreme(np.greater, _greatest),
        round: _round,
        pow: power,
        divmod: _divmod,
        int: to_int,
        float: to_float,
        bool: to_bool,
        complex: _complex,
        math.atan2: _two_floats(np.arctan2, integers_wide=True),
        math.hypot: _two_floats(np.hypot, integers_wide=True),
        math.fmod: _two_floats(np.fmod),
        math.copysign: _two_floats(np.copysign),
        math.nextafter: _two_floats(np.nextafter),
        math.remainder: _two_floats(_by_element(math.remainder, lambda x, y: math.nan)),
        math.pow: _math_pow,
        math.ldexp: _ldexp,
        math.frexp: _frexp,
        math.modf: _modf,
    }
    for name, compute in _NUMPY_MATH.items():
        function = getattr(math, name, None)
        if function is not None:
            found[function] = _one_float(compute, half=function in _HALF)
    missing = {"isnat", "frexp", "modf", "heaviside", "matmul", "matvec", "vecdot", "vecmat"}
    for name, ufunc in vars(np).items():
        if isinstance(ufunc, np.ufunc) and name not in missing | {"bitwise_count", "spacing"}:
            found[ufunc] = _ufunc(ufunc)
    return union(found, CMATH)


FUNCTIONS: dict[object, Implementation] = _registry()
"""What a called function object does to lane values."""
