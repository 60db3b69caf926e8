"""libdevice's conversions, and its arithmetic that is rounded in a given direction.

`float2int_rz`, `ull2double_rd`; numbers as their bits, `float_as_int`; `dadd_ru`, `fdiv_rz`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...lanes import cast
from .rounding import FORMATS, OPERATIONS, converted

Function = Callable[..., Any]
DIRECTIONS = ("rn", "rz", "ru", "rd")
_WHOLE = {"rn": np.rint, "rz": np.trunc, "ru": np.ceil, "rd": np.floor}
_INTEGERS = {"int": "i4", "uint": "u4", "ll": "i8", "ull": "u8"}
_FLOATS = {"float": "f4", "double": "f8"}


def _signed(kind: str) -> str:
    return kind.replace("u", "i")


def _to_integer(kind: str, direction: str) -> Function:
    dtype, whole = np.dtype(kind), _WHOLE[direction]
    return lambda x: cast(whole(x), dtype).view(_signed(kind))


def _to_float(source: str, target: str, direction: str) -> Function:
    return lambda x: converted(x.view(source), FORMATS[target], direction)


def _in_direction(operation: str, kind: str, direction: str) -> Function:
    compute, dtype = OPERATIONS[operation], np.dtype(kind)
    return lambda *operands: compute(dtype, direction, *operands)


def _reciprocal(kind: str, direction: str) -> Function:
    one = np.ones((), kind)[()]
    return lambda x: OPERATIONS["div"](one.dtype, direction, one, x)


def _arithmetic() -> dict[str, tuple[str, Function]]:
    found: dict[str, tuple[str, Function]] = {}
    for letter, kind in (("d", "f8"), ("f", "f4")):
        one, two = f"{kind} {kind}", f"{kind} {kind} {kind}"
        for way in DIRECTIONS:
            for name in ("add", "mul", "div"):
                found[f"{letter}{name}_{way}"] = two, _in_direction(name, kind, way)
            found[f"{letter}sqrt_{way}"] = one, _in_direction("sqrt", kind, way)
            found[f"{letter}rcp_{way}"] = one, _reciprocal(kind, way)
            fused = "fma" if letter == "d" else "fmaf"
            found[f"{fused}_{way}"] = f"{two} {kind}", _in_direction("fma", kind, way)
    for way in DIRECTIONS:
        add = _in_direction("add", "f4", way)
        found[f"fsub_{way}"] = "f4 f4 f4", lambda x, y, add=add: add(x, -y)
    found["frsqrt_rn"] = "f4 f4", lambda x: (1.0 / np.sqrt(x.astype("f8"))).astype("f4")
    return found


def _conversions() -> dict[str, tuple[str, Function]]:
    found: dict[str, tuple[str, Function]] = {}
    for way in DIRECTIONS:
        found[f"double2float_{way}"] = "f4 f8", _to_float("f8", "f4", way)
        for integer, kind in _INTEGERS.items():
            for name, number in _FLOATS.items():
                found[f"{name}2{integer}_{way}"] = (
                    f"{_signed(kind)} {number}",
                    _to_integer(kind, way),
                )
                if way == "rn" or name == "float" or integer.endswith("ll"):
                    found[f"{integer}2{name}_{way}"] = (
                        f"{number} {_signed(kind)}",
                        _to_float(kind, number, way),
                    )
    return found


def _joined(high: Any, low: Any) -> Any:
    bits = (high.astype(np.int64) << 32) | (low.astype(np.int64) & 0xFFFFFFFF)
    return bits.view(np.float64)


FUNCTIONS: dict[str, tuple[str, Function]] = {
    **_arithmetic(),
    **_conversions(),
    "double2hiint": ("i4 f8", lambda x: x.view(np.int64) >> 32),
    "double2loint": ("i4 f8", lambda x: x.view(np.int64)),
    "hiloint2double": ("f8 i4 i4", _joined),
    "double_as_longlong": ("i8 f8", lambda x: x.view(np.int64)),
    "longlong_as_double": ("f8 i8", lambda x: x.view(np.float64)),
    "float_as_int": ("i4 f4", lambda x: x.view(np.int32)),
    "int_as_float": ("f4 i4", lambda x: x.view(np.float32)),
    "float2half_rn": ("i2 f4", lambda x: x.astype(np.float16).view(np.int16)),
    "half2float": ("f4 i2", lambda x: x.view(np.float16)),
    **{
        name: (f"i4 {kind}", test)
        for test, names in (
            (np.isfinite, ("isfinited f8", "finitef f4")),
            (np.isinf, ("isinfd f8", "isinff f4")),
            (np.isnan, ("isnand f8", "isnanf f4")),
            (np.signbit, ("signbitd f8", "signbitf f4")),
        )
        for name, kind in (entry.split() for entry in names)
    },
}
"""Name -> (result and argument types, function)."""
