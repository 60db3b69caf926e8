"""Functions of a kernel: types against Numba's CUDA inference, values against compiled code."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numba
import numpy as np
import pytest
from oracle import inference
from oracle.inference import REFUSED, result

from smemnb.lockstep.numbers import typing_rules as rules
from smemnb.lockstep.numbers.math_functions import FUNCTIONS, cast, power

REAL = [d for d in rules.SUPPORTED if d.kind != "c"]
UFUNCS = sorted({f for f in FUNCTIONS if isinstance(f, np.ufunc)}, key=lambda f: f.__name__)
MATH = [f for f in FUNCTIONS if getattr(f, "__module__", "") == "math"]
TWO = (math.atan2, math.hypot, math.fmod, math.copysign, math.remainder, math.pow, math.ldexp)
HALF_ONLY_IN_NUMBA_CUDA = np.dtype("f2")


def sample(dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """A lane value of a few ordinary numbers, ndim 3."""
    return np.array([1, 0, 1], dtype).reshape(1, 1, 3)


def types_of(value: Any) -> Any:
    return tuple(v.dtype for v in value) if isinstance(value, tuple) else value.dtype


def differing(function: Any, *groups: Any) -> list[str]:
    """Calls whose result type is not Numba's. What Numba refuses may do anything."""
    found = []
    for dtypes in itertools.product(*groups):
        if inference.IN_TREE and HALF_ONLY_IN_NUMBA_CUDA in dtypes:
            continue
        wanted = result(function, *dtypes)
        if wanted == REFUSED:
            continue
        for values in ([sample(d) for d in dtypes], [d.type(1) for d in dtypes]):
            ours = types_of(FUNCTIONS[function](*values))
            if ours != wanted:
                found.append(f"{', '.join(map(str, dtypes))}: {ours}, Numba {wanted}")
    return found


@pytest.mark.parametrize("function", [f for f in MATH if f not in TWO], ids=lambda f: f.__name__)
def test_math_one_argument(function: Any) -> None:
    assert differing(function, REAL) == []


@pytest.mark.parametrize("function", TWO, ids=lambda f: f.__name__)
def test_math_two_arguments(function: Any) -> None:
    assert differing(function, REAL, REAL) == []


@pytest.mark.parametrize("function", UFUNCS, ids=lambda f: f.__name__)
def test_ufuncs(function: np.ufunc) -> None:
    """NumPy's functions in a kernel: its loops without float16, an int beside a float gives way."""
    assert differing(function, *[REAL] * function.nin) == []


@pytest.mark.parametrize("function", (abs, round, int, float, bool), ids=lambda f: f.__name__)
def test_builtins_one_argument(function: Any) -> None:
    if function is int and inference.IN_TREE:
        pytest.skip("int() is an overload that the in-tree target cannot resolve without a device")
    assert differing(function, REAL) == []


@pytest.mark.first(2)
@pytest.mark.parametrize("function", (min, max, divmod, pow, round), ids=lambda f: f.__name__)
def test_builtins_two_arguments(function: Any) -> None:
    if function in (min, max) and inference.IN_TREE:
        pytest.skip("Numba 0.68's own numba.cuda cannot type min() and max()")
    second = [d for d in REAL if d.kind in "iu"] if function is round else REAL
    assert differing(function, REAL, second) == []


def test_min_of_three() -> None:
    if inference.IN_TREE:
        pytest.skip("Numba 0.68's own numba.cuda cannot type min() and max()")
    some = [np.dtype(c) for c in ("i4", "u4", "i8", "f4", "f8", "u1")]
    assert differing(min, some, some, some) == []


def compiled(expression: str, *arrays: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The expression of x (and y), element by element, compiled by Numba for the CPU."""
    names = "xy"[: len(arrays)]
    elements = ", ".join(f"{name}s[i]" for name in names)
    namespace: dict[str, Any] = {"math": math}
    exec(
        f"def one({', '.join(names)}):\n    return {expression}\n"
        f"def every(out, {', '.join(f'{n}s' for n in names)}):\n"
        f"    for i in range(len(xs)):\n        out[i] = one({elements})\n",
        namespace,
    )
    jit = numba.njit(error_model="numpy")
    namespace["one"] = jit(namespace["one"])
    out = np.zeros(len(arrays[0]), result_type(namespace["one"], arrays))
    jit(namespace["every"])(out, *arrays)
    return out


def result_type(one: Any, arrays: Any) -> np.dtype[Any]:
    one(*(array.dtype.type(1) for array in arrays))
    return np.dtype(str(one.nopython_signatures[0].return_type))


INTS = [0, 1, 2, 3, 5, 7, 13, 100, -1, -2, -7]
POWERS = [("i8", "i8"), ("i4", "i4"), ("u4", "u4"), ("f4", "i8"), ("f8", "i8"), ("f4", "f4")]


@pytest.mark.first(2)
@pytest.mark.parametrize("base, exponent", POWERS)
def test_power_values(base: str, exponent: str) -> None:
    """Integer exponents give Numba's value bit for bit, wrapping and negative ones too."""
    bases = [1.5, -2.25, 3.0, -1.0, 1.1] if base[0] == "f" else INTS
    exponents = list(range(-3, 9)) if exponent != "u4" else list(range(9))
    if base[0] == "u":
        bases = [b for b in bases if b >= 0]
    pairs = list(itertools.product(bases, exponents))
    x = np.array([p[0] for p in pairs], base)
    y = np.array([p[1] for p in pairs], exponent)
    wanted = compiled("x ** y", x, y)
    ours = power(x, y)
    assert ours.dtype == rules.binary("**", x.dtype, y.dtype).result
    if exponent == "i8":
        assert ours.tobytes() == wanted.astype(ours.dtype).tobytes()
    else:
        np.testing.assert_allclose(ours, wanted, rtol=1e-6)


def test_power_of_a_literal() -> None:
    """x ** 3 of a float32 is rounded after each multiplication, as Numba unrolls it."""
    x = np.random.default_rng(3).random(1000, np.float32)
    ours = power(x, np.int64(3))
    assert ours.tobytes() == (x * (x * x)).tobytes() == compiled("x ** 3", x).tobytes()


def test_zero_to_a_negative_power() -> None:
    """A GPU does not raise: infinity for floats, the lowest int64 for integers."""
    assert power(np.float32(0), np.int64(-1)) == np.inf
    assert power(np.int64(0), np.int64(-1)) == -(2**63)


def test_big_exponents() -> None:
    """Beyond 65536 Numba hands over to math.pow."""
    assert power(np.int64(1), np.int64(100_000)) == 1
    assert power(np.float64(1.00001), np.int64(100_000)) == pytest.approx(2.7182682, rel=1e-7)


@pytest.mark.parametrize("digits", (0, 1, 2, -1, -2))
@pytest.mark.parametrize("dtype", ("f4", "f8"))
def test_round_values(digits: int, dtype: str) -> None:
    """Halves go to the even neighbour, in float32 and float64, before and after the point."""
    x = np.array([0.5, 1.5, 2.5, -0.5, -1.5, 0.125, 2.675, 1234.5678, -250.0, 15.0], dtype)
    # the CPU's float32 version scales in float32, the GPU's in float64 (mul.f64 in the PTX)
    wanted = compiled(f"round(x, {digits})", x.astype("f8")).astype(dtype)
    np.testing.assert_array_equal(FUNCTIONS[round](x, np.int64(digits)), wanted)


def test_round_to_an_integer() -> None:
    x = np.array([0.5, 1.5, 2.5, -0.5, -1.5, 3e18], "f8")
    assert FUNCTIONS[round](x).tolist() == [0, 2, 2, 0, -2, 3 * 10**18]


def test_min_max_of_nan() -> None:
    """Two floats follow PTX (the number wins); three compare one by one as Python does."""
    nan, one = np.float32("nan"), np.float32(1)
    assert FUNCTIONS[min](nan, one) == 1
    assert FUNCTIONS[max](one, nan) == 1
    assert np.isnan(FUNCTIONS[max](nan, one, one))
    assert FUNCTIONS[min]((np.int32(3), np.int32(2), np.int32(5))) == 2


CASTS = [
    # value, from, to, result: PTX cvt.rzi saturates; 8 bits by way of 16; float16 rounds
    (3.99, "f4", "i4", 3),
    (-3.99, "f4", "i4", -3),
    (3e9, "f4", "i4", 2**31 - 1),
    (-3e9, "f8", "i4", -(2**31)),
    (-1.5, "f4", "u4", 0),
    (5e9, "f8", "u4", 2**32 - 1),
    (300.0, "f4", "u1", 44),
    (-3.0, "f4", "u1", 0),
    (200.0, "f4", "i1", -56),
    (40000.0, "f4", "i1", -1),
    (1e30, "f8", "i8", 2**63 - 1),
    (1e30, "f8", "u8", 2**64 - 1),
    (np.nan, "f4", "i4", 0),
    (np.nan, "f8", "i4", -(2**31)),
    (np.nan, "f4", "u8", 2**63),
    (np.inf, "f4", "i4", 2**31 - 1),
    (2.5, "f2", "i4", 2),
    (3.5, "f2", "i4", 4),
    (300.0, "f2", "u1", 255),
    (2**32 + 5, "i8", "i4", 5),
    (-1, "i4", "u8", 2**64 - 1),
    (255, "u1", "i1", -1),
    (0.5, "f4", "?", True),
]


@pytest.mark.parametrize("value, source, target, wanted", CASTS)
def test_casts(value: float, source: str, target: str, wanted: int) -> None:
    scalar = cast(np.dtype(source).type(value), np.dtype(target))
    lanes = cast(np.full((1, 1, 2), value, source), np.dtype(target))
    assert (scalar, scalar.dtype) == (wanted, np.dtype(target))
    assert (lanes.tolist(), lanes.dtype) == ([[[wanted] * 2]], np.dtype(target))


VALUES = {
    math.sqrt: 2.0, math.exp: 1.0, math.log: 10.0, math.sin: 0.5, math.tan: 0.5, math.erf: 0.5,
    math.erfc: 0.5, math.gamma: 4.5, math.lgamma: 4.5, math.floor: -1.5, math.ceil: -1.5,
    math.trunc: -1.5, math.fabs: -1.5, math.degrees: 1.0, math.radians: 90.0, math.atanh: 0.5,
    math.log1p: 1e-9, math.expm1: 1e-9, math.tanh: 0.3,
}  # fmt: skip


@pytest.mark.parametrize("function", VALUES, ids=lambda f: f.__name__)
def test_math_values(function: Any) -> None:
    value = VALUES[function]
    assert FUNCTIONS[function](np.float64(value)) == pytest.approx(function(value), rel=1e-15)
    assert FUNCTIONS[function](np.float32(value)) == pytest.approx(function(value), rel=1e-6)


def test_math_outside_its_domain() -> None:
    """A GPU does not raise: NaN or an infinity comes back."""
    assert np.isnan(FUNCTIONS[math.sqrt](np.float32(-1)))
    assert FUNCTIONS[math.log](np.float64(0)) == -np.inf
    assert np.isnan(FUNCTIONS[math.gamma](np.float64(-1)))
    assert FUNCTIONS[math.gamma](np.float64(200)) == np.inf
    assert FUNCTIONS[math.lgamma](np.float64(0)) == np.inf
    assert FUNCTIONS[math.exp](np.int32(1000)) == np.inf
    assert np.isnan(FUNCTIONS[math.remainder](np.float64(1), np.float64(0)))


@pytest.mark.parametrize(
    "function, numbers, wanted",
    [
        (math.atan2, (1.0, -1.0), math.atan2(1, -1)),
        (math.hypot, (3.0, 4.0), 5.0),
        (math.fmod, (-7.0, 3.0), -1.0),
        (math.remainder, (7.0, 4.0), -1.0),
        (math.copysign, (3.0, -0.0), -3.0),
        (math.pow, (2.0, 0.5), 2**0.5),
        (math.ldexp, (0.75, 4), 12.0),
        (math.frexp, (12.0,), (0.75, 4)),
        (math.modf, (-2.25,), (-0.25, -2.0)),
        (divmod, (-7, 2), (-4, 1)),
        (divmod, (-7.5, 2.0), (-4.0, 0.5)),
        (divmod, (7, 0), (0, 0)),
    ],
)
def test_values(function: Any, numbers: Any, wanted: Any) -> None:
    values = [np.asarray(n)[()] for n in numbers]
    assert FUNCTIONS[function](*values) == wanted
