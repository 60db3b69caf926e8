"""Floats of 16 bits: cuda.fp16 (float16) and cuda.bf16 (bfloat16), operation by operation.

Each computes in float64 and rounds once, but transcendental functions, which are NumPy's. A
bfloat16, which NumPy does not have, is a `Bfloat16`: its value as a float32.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..lanes import LaneValue, Mask, Selectable, cast, chosen
from ..watch import Site
from .libdevice.rounding import BFLOAT16, FORMATS, Format, converted, fused_to_odd

if TYPE_CHECKING:
    from ..batch import Batch

Function = Callable[..., Any]


class Bfloat16(Selectable):
    """A lane value of bfloat16; `number` is its value as a float32."""

    dtype = np.dtype("V2")

    def __init__(self, number: LaneValue) -> None:
        self.number = number

    def selected(self, mask: Mask, old: Any) -> Bfloat16:
        """This where the mask holds, `old` elsewhere."""
        return Bfloat16(chosen(mask, self.number, old.number))

    def astype(self, dtype: np.dtype[Any]) -> LaneValue:
        """The value as a number of another type."""
        return cast(self.number, dtype)

    @staticmethod
    def operate(symbol: str, left: Any, right: Any) -> Any:
        """Python's operators, of which one side is a bfloat16."""
        if symbol not in _OPERATORS:
            raise TypeError(f"{symbol} of a bfloat16")
        name, is_half = _OPERATORS[symbol]
        with np.errstate(all="ignore"):
            found = name(_BRAIN.read(left), _BRAIN.read(right))
        return _BRAIN.write(found) if is_half else found

    def mapped(self, function: Function) -> LaneValue:
        """A function of one number, computed in float32 and rounded."""
        return _BRAIN.write(np.asarray(function(self.number)).astype(np.float32)[()])


_OPERATORS: dict[str, tuple[Function, bool]] = {
    "+": (np.add, True), "-": (np.subtract, True), "*": (np.multiply, True),
    "/": (np.divide, True), "==": (np.equal, False), "!=": (np.not_equal, False),
    "<": (np.less, False), "<=": (np.less_equal, False), ">": (np.greater, False),
    ">=": (np.greater_equal, False),
}  # fmt: skip


def _saturated(x: Any) -> Any:
    return np.fmin(np.fmax(x, 0.0), 1.0)


def _rectified(x: Any) -> Any:
    return np.where(x < 0, 0.0, x)


def _unordered(compare: Function) -> Function:
    return lambda a, b: compare(a, b) | np.isnan(a) | np.isnan(b)


def _ordered_not_equal(a: Any, b: Any) -> Any:
    return (a != b) & ~np.isnan(a) & ~np.isnan(b)


def _infinity(x: Any) -> Any:
    return np.where(np.isinf(x), np.where(x > 0, 1, -1), 0).astype(np.int32)


_ONE: dict[str, Function] = {
    "habs": np.absolute, "hneg": np.negative, "hceil": np.ceil, "hfloor": np.floor,
    "hrint": np.rint, "htrunc": np.trunc, "hcos": np.cos, "hsin": np.sin, "hexp": np.exp,
    "hexp2": np.exp2, "hexp10": lambda x: np.power(10.0, x), "hlog": np.log, "hlog2": np.log2,
    "hlog10": np.log10, "hrcp": np.reciprocal, "hsqrt": np.sqrt, "htanh": np.tanh,
    "htanh_approx": np.tanh, "hrsqrt": lambda x: 1.0 / np.sqrt(x),
}  # fmt: skip

_TWO: dict[str, Function] = {
    "hadd": np.add, "hsub": np.subtract, "hmul": np.multiply, "hdiv": np.divide,
    "hmax": np.fmax, "hmin": np.fmin, "hmax_nan": np.maximum, "hmin_nan": np.minimum,
}  # fmt: skip

_COMPARE: dict[str, Function] = {
    "heq": np.equal, "hge": np.greater_equal, "hgt": np.greater, "hle": np.less_equal,
    "hlt": np.less, "hne": _ordered_not_equal,
}  # fmt: skip

_INTEGERS = {"short": "i2", "ushort": "u2", "int": "i4", "uint": "u4", "ll": "i8", "ull": "u8"}
_WHOLE = {"rn": np.rint, "rz": np.trunc, "ru": np.ceil, "rd": np.floor}


def _arithmetic() -> dict[str, tuple[int, bool, Function]]:
    """Name -> (operands, whether the result is a half, function of float64)."""
    found: dict[str, tuple[int, bool, Function]] = {}
    for name, function in _ONE.items():
        found[name] = 1, True, function
    for name, function in _TWO.items():
        found[name] = 2, True, function
    for name in ("hadd", "hsub", "hmul"):
        found[f"{name}_rn"] = found[name]
        found[f"{name}_sat"] = 2, True, lambda a, b, f=_TWO[name]: _saturated(f(a, b))
    for name, function in _COMPARE.items():
        plain = np.not_equal if name == "hne" else function
        found[name], found[f"{name}u"] = (2, False, function), (2, False, _unordered(plain))
    found["hfma"] = 3, True, fused_to_odd
    found["hfma_sat"] = 3, True, lambda a, b, c: _saturated(fused_to_odd(a, b, c))
    found["hfma_relu"] = 3, True, lambda a, b, c: _rectified(fused_to_odd(a, b, c))
    found["hisnan"] = 1, False, np.isnan
    found["hisinf"] = 1, False, _infinity
    return found


class _Half:
    """One of the two formats: how lane values are converted to float64 and from it."""

    def __init__(self, space: str, word: str, into: Format) -> None:
        self.space, self.word, self.into = space, word, into

    def read(self, value: Any) -> Any:
        """The number in a lane value, as float64."""
        if not isinstance(value, Bfloat16):
            value = converted(value, self.into, "rn") if self.into is BFLOAT16 else value
            return cast(value, self.into.dtype).astype(np.float64)
        return value.number.astype(np.float64)

    def write(self, number: Any, direction: str = "rn") -> Any:
        """A number as a lane value of this format, rounded."""
        number = np.asarray(number)
        if self.into is not BFLOAT16 and direction == "rn" and number.dtype.kind == "f":
            with np.errstate(all="ignore"):
                return number.astype(np.float16)[()]
        half = converted(number, self.into, direction)
        return Bfloat16(half) if self.into is BFLOAT16 else half

    def operation(self, operands: int, compute: Function, *, is_half: bool) -> Function:
        """The implementation of an operation of float64."""

        def implementation(batch: Batch, mask: Mask, site: Site, *values: Any) -> Any:
            with np.errstate(all="ignore"):
                numbers = [self.read(value) for value in values[:operands]]
                result = compute(*numbers)
                return self.write(result) if is_half else np.asarray(result)[()]

        return implementation

    def from_number(self, kind: str, direction: str) -> Function:
        """The implementation of a conversion of a number to this format."""
        return lambda batch, mask, site, value: self.write(cast(value, np.dtype(kind)), direction)

    def to_integer(self, kind: str, direction: str) -> Function:
        """The implementation of a conversion to an integer."""
        dtype, whole = np.dtype(kind), _WHOLE[direction]
        info = np.iinfo(dtype)

        def implementation(batch: Batch, mask: Mask, site: Site, value: Any) -> Any:
            number = whole(self.read(value))
            if dtype.itemsize == 1:
                number = np.clip(np.nan_to_num(number, nan=0.0), info.min, info.max)
            return cast(np.asarray(number, np.float32)[()], dtype)

        return implementation

    def bits(self, kind: str) -> Function:
        """The implementation of `half_as_short` and its kind."""

        def implementation(batch: Batch, mask: Mask, site: Site, value: Any) -> Any:
            number = self.read(value)
            if self.into is BFLOAT16:
                whole = number.astype(np.float32).view(np.uint32) >> np.uint32(16)
                return whole.astype(np.uint16).view(kind)
            return number.astype(np.float16).view(kind)

        return implementation

    def from_bits(self, kind: str) -> Function:
        """The implementation of `short_as_half` and its kind."""

        def implementation(batch: Batch, mask: Mask, site: Site, value: Any) -> Any:
            bits = cast(value, np.dtype(kind)).view(np.uint16)
            if self.into is BFLOAT16:
                return Bfloat16((bits.astype(np.uint32) << np.uint32(16)).view(np.float32))
            return bits.view(np.float16)

        return implementation

    def constructor(self, batch: Batch, mask: Mask, site: Site, value: Any) -> Any:
        """The implementation of the type called with a number."""
        return self.write(self.read(value))

    def table(self) -> dict[str, Function]:
        """Qualified name -> implementation."""
        word = self.word
        found = {
            name: self.operation(operands, compute, is_half=is_half)
            for name, (operands, is_half, compute) in _arithmetic().items()
        }
        found[f"{word}2float"] = lambda batch, mask, site, x: self.read(x).astype(np.float32)
        found[f"double2{word}"] = self.from_number("f8", "rn")
        found[f"float2{word}"] = self.from_number("f4", "rn")
        found[f"{word}2char_rz"] = self.to_integer("i1", "rz")
        found[f"{word}2uchar_rz"] = self.to_integer("u1", "rz")
        for way in _WHOLE:
            found[f"float2{word}_{way}"] = self.from_number("f4", way)
            for name, kind in _INTEGERS.items():
                found[f"{name}2{word}_{way}"] = self.from_number(kind, way)
                found[f"{word}2{name}_{way}"] = self.to_integer(kind, way)
        for name, kind in (("short", "i2"), ("ushort", "u2")):
            found[f"{word}_as_{name}"] = self.bits(kind)
            found[f"{name}_as_{word}"] = self.from_bits(kind)
        return {f"{self.space}.{name}": implementation for name, implementation in found.items()}


_BRAIN = _Half("bf16", "bfloat16", BFLOAT16)

IMPLEMENTATIONS: dict[str, tuple[Function, str]] = {
    name: (implementation, "half")
    for kind in (_Half("fp16", "half", FORMATS["f2"]), _BRAIN)
    for name, implementation in kind.table().items()
} | {"bf16.bfloat16": (_BRAIN.constructor, "half")}
