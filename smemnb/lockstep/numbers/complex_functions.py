"""The functions of `cmath`, with NumPy's loops for complex64 and complex128.

A real operand becomes complex first: `cmath.sqrt(-1.0)` is 1j. acosh, log10 and tanh give
complex128 for complex64 too, as Numba infers. `math_functions.FUNCTIONS` has
them all.
"""

from __future__ import annotations

import cmath
from collections.abc import Callable
from typing import Any

import numpy as np

from .casts import cast

Implementation = Callable[..., Any]
_SMALL = (np.dtype(np.float32), np.dtype(np.complex64))


def _complex(value: Any) -> Any:
    value = np.asarray(value)
    small = value.dtype in _SMALL
    return cast(value, np.dtype(np.complex64 if small else np.complex128))


def _of_one(compute: Implementation) -> Implementation:
    def implementation(value: Any) -> Any:
        with np.errstate(all="ignore"):
            return compute(_complex(value))

    return implementation


def _log(value: Any, base: Any = None) -> Any:
    with np.errstate(all="ignore"):
        result = np.log(_complex(value))
        return result if base is None else result / np.log(_complex(base))


def _log10(value: Any) -> Any:
    result = np.array(np.log(value), np.complex128)
    result.real /= np.log(10.0)  # each part: (-inf + 0j) / 2.3 has NaN as its imaginary part
    result.imag /= np.log(10.0)
    return result[()]


def _widened(compute: Implementation) -> Implementation:
    """A function whose constants are float64, and its result complex128."""
    return lambda value: compute(cast(value, np.dtype(np.complex128)))


def _phase(value: Any) -> Any:
    number = _complex(value)
    return np.arctan2(number.imag, number.real)


def _polar(value: Any) -> tuple[Any, Any]:
    return np.abs(_complex(value)), _phase(value)


def _rect(radius: Any, angle: Any) -> Any:
    """`radius * e**(i angle)`; with no angle (inf, NaN) 0 stays 0, and inf is inf + angle i."""
    radius, angle = np.asarray(radius), np.asarray(angle)
    with np.errstate(all="ignore"):
        parts = [_stretched(radius, part) for part in (np.cos(angle), np.sin(angle))]
        alone = ~np.isfinite(angle) & ((radius == 0) | np.isinf(radius))
        rest = np.where(radius == 0, 0, angle)
        parts = [np.where(alone, radius + 0, parts[0]), np.where(alone, rest, parts[1])]
    shape = np.broadcast_shapes(*(part.shape for part in parts))
    result = np.empty(shape, np.result_type(radius, angle, np.complex64))
    result.real, result.imag = parts
    return result[()]


def _stretched(radius: Any, part: Any) -> Any:
    """A cosine or sine times the radius; 0 times inf is 0 here."""
    return np.where((part == 0) & np.isinf(radius), part / radius, part * radius)


def _exp(value: Any) -> Any:
    """As C99 leaves it open: of -inf with no angle it is 0."""
    nothing = np.isneginf(value.real) & ~np.isfinite(value.imag)
    return np.where(nothing, value.dtype.type(0), np.exp(value))


_NUMPY: dict[str, Implementation] = {
    "sqrt": np.sqrt, "exp": _exp, "log10": _log10, "sin": np.sin, "cos": np.cos,
    "tan": np.tan, "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "sinh": np.sinh,
    "cosh": np.cosh, "tanh": _widened(np.tanh), "asinh": np.arcsinh, "acosh": _widened(np.arccosh),
    "atanh": np.arctanh, "isnan": np.isnan, "isinf": np.isinf, "isfinite": np.isfinite,
}  # fmt: skip

CMATH: dict[object, Implementation] = {
    **{getattr(cmath, name): _of_one(compute) for name, compute in _NUMPY.items()},
    cmath.log: _log,
    cmath.phase: _phase,
    cmath.polar: _polar,
    cmath.rect: _rect,
}
