"""`base ** exponent` and complex arithmetic, step by step as Numba compiles them.

An integer exponent means repeated squaring in the result's type. numba-cuda returns `1.0 / r` or
`r` from one function, written as one conditional expression. Python before 3.12 compiles that to
one `return`, whose type is float64, and then an integer power passes through float64 on its way
back: beyond 2**53 its low bits are rounded away, and a product of 2**63 or more ends at the
type's largest value. Later Pythons compile two, as does the numba.cuda inside Numba, and integers
are returned as they are. `THROUGH_FLOAT64` says which of the two is installed.

A complex product is four products and two sums, each rounded (NumPy may fuse them); a complex
quotient follows CPython.

**Limits**: complex division by zero, which ends the thread on a GPU, gives NaN; a negative power of
0.0, which ends it with the numba.cuda inside Numba only, gives inf.
Source: numba-cuda 0.30 (cpython/numbers.py, mathimpl.py).
"""

from __future__ import annotations

import dis
from importlib.util import find_spec
from typing import Any

import numpy as np

from . import typing_rules as rules
from .casts import cast
from .typing_rules import FLOAT64, INT64, UINT64


def _in_one_return() -> bool:
    """Whether this Python leaves a returned conditional expression with one `return`."""
    code = compile("lambda r, invert: 1.0 / r if invert else r", "<power>", "eval").co_consts[0]
    return sum(step.opname == "RETURN_VALUE" for step in dis.get_instructions(code)) == 1


THROUGH_FLOAT64 = find_spec("numba_cuda") is not None and _in_one_return()
"""Whether integer powers are rounded to float64 on their way back."""

_MOST_SQUARINGS = 0x10000  # beyond this exponent Numba calls math.pow


def power(base: Any, exponent: Any) -> Any:
    """`base ** exponent`, with an integer exponent by squaring in the result's type, as Numba.

    >>> power(np.int32(3), np.int64(4)), power(np.int64(2), np.int64(-1))
    (np.int64(81), np.int64(0))
    >>> power(np.float32(1.1), np.int64(2)).dtype
    dtype('float32')
    """
    rule = rules.binary("**", base.dtype, exponent.dtype)
    with np.errstate(all="ignore"):
        if exponent.dtype.kind in "biu" and rule.result.kind in "iuf":
            return _repeated_product(cast(base, rule.result), exponent)
        base, exponent = cast(base, rule.cast), cast(exponent, rule.cast)
        if rule.result.kind == "c":
            return _complex_power(base, exponent)
        return np.power(base, exponent)


def _repeated_product(base: Any, exponent: Any) -> Any:
    wide = exponent.astype(INT64 if exponent.dtype.kind in "bi" else UINT64)
    left = np.abs(wide).astype(UINT64)
    if bool(np.any(left > _MOST_SQUARINGS)):
        far = cast(np.power(base.astype(FLOAT64), wide.astype(FLOAT64)), base.dtype)
        if bool(np.all(left > _MOST_SQUARINGS)):
            return far
        near = np.where(left > _MOST_SQUARINGS, 1, wide).astype(wide.dtype)
        return np.where(left > _MOST_SQUARINGS, far, _repeated_product(base, near))
    product, square = base.dtype.type(1), base
    while True:
        odd = (left & UINT64.type(1)).astype(bool)
        product = _where(odd, product * square, product)
        left = left >> UINT64.type(1)
        if not np.any(left):
            break
        square = square * square
    return _finished(base, wide < 0, product)


def _finished(base: Any, negative: Any, product: Any) -> Any:
    """The power from the product: inverted where the exponent is negative."""
    shape = np.broadcast_shapes(np.shape(base), np.shape(negative))
    if np.shape(product) != shape:
        product = np.broadcast_to(product, shape)
    if base.dtype.kind == "f":
        if not np.any(negative):
            return product
        inverse = (1.0 / product.astype(FLOAT64)).astype(base.dtype)
        return _where(negative, inverse, product)
    through = cast(product.astype(FLOAT64), base.dtype) if THROUGH_FLOAT64 else product
    if not np.any(negative):
        return through
    lowest = np.array(1 << 63, UINT64).astype(base.dtype)
    unit = (base == 1) | ((base == -1) if base.dtype.kind == "i" else False)
    inverse = np.where(base == 0, lowest, np.where(unit, product, 0)).astype(base.dtype)
    return _where(negative, inverse if inverse.ndim else inverse[()], through)


def _where(condition: Any, yes: Any, no: Any) -> Any:
    return np.where(condition, yes, no) if np.ndim(condition) else (yes if condition else no)


def _complex_of(real: Any, imag: Any, dtype: rules.DType) -> Any:
    shape = np.broadcast_shapes(np.shape(real), np.shape(imag))
    made = np.empty(shape, dtype)
    made.real, made.imag = real, imag
    return made if shape else made[()]


def multiply(a: Any, b: Any) -> Any:
    """a * b; of complex numbers (a.real b.real - a.imag b.imag) + (...)j, rounded at each step."""
    if a.dtype.kind != "c":
        return np.multiply(a, b)
    real = a.real * b.real - a.imag * b.imag
    return _complex_of(real, a.real * b.imag + a.imag * b.real, a.dtype)


def divide(a: Any, b: Any) -> Any:
    """a / b; of complex numbers by CPython's way, scaled by the larger part of b."""
    if a.dtype.kind != "c":
        return np.true_divide(a, b)
    wide = np.abs(b.real) >= np.abs(b.imag)
    one, two = _where(wide, b.real, b.imag), _where(wide, b.imag, b.real)
    ratio = two / one
    scale = _where(wide, one + two * ratio, two * ratio + one)
    real = _where(wide, a.real + a.imag * ratio, a.real * ratio + a.imag) / scale
    imag = _where(wide, a.imag - a.real * ratio, a.imag * ratio - a.real) / scale
    return _complex_of(real, imag, a.dtype)


def _complex_power(a: Any, b: Any) -> Any:
    length = np.hypot(a.real, a.imag)
    angle = np.arctan2(a.imag, a.real)
    size, phase = np.power(length, b.real), angle * b.real
    turned = b.imag != 0
    size = _where(turned, size / np.exp(angle * b.imag), size)
    phase = _where(turned, phase + b.imag * np.log(length), phase)
    result = _complex_of(size * np.cos(phase), size * np.sin(phase), a.dtype)
    nothing = (a.real == 0) & (b.real == 0)
    result = _where(nothing, a.dtype.type(0), result)
    return _where((b.real == 0) & (b.imag == 0), a.dtype.type(1), result)
