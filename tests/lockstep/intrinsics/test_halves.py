"""float16 and bfloat16: values by exact arithmetic and the formats' definition, types by Numba."""

import importlib.util
import math
import struct
from fractions import Fraction

import numpy as np
import pytest
from numba import cuda

from smemnb.lockstep.intrinsics.halves import Bfloat16
from smemnb.lockstep.intrinsics.names import IMPLEMENTATIONS
from smemnb.simulator import seam
from tests.lockstep.intrinsics.typed import CONTEXT, call, run

if importlib.util.find_spec("numba.cuda.fp16"):
    from numba.cuda import fp16
else:
    fp16 = cuda.fp16

FORMATS = {"fp16": (11, -24, 16), "bf16": (8, -133, 128)}
"""Name -> digits, exponent of the smallest number, exponent past the largest."""

DIRECTIONS = ["rn", "rz", "ru", "rd"]


def rounded(exact, space, direction="rn"):
    """A fraction as the nearest number of a format, from the definition."""
    digits, lowest, top = FORMATS[space]
    if exact == 0:
        return 0.0
    size = abs(exact)
    power = math.floor(math.log2(size)) + 2
    while Fraction(2) ** (power - 1) > size:
        power -= 1
    step = Fraction(2) ** max(power - digits, lowest)
    count, rest = divmod(size, step)
    outward = "ru" if exact > 0 else "rd"
    tie = 2 * rest == step and count % 2 == 1
    up = (2 * rest > step or tie) if direction == "rn" else rest > 0 and direction == outward
    result = (count + up) * step
    if result >= Fraction(2) ** top:
        largest = float((2 - Fraction(2) ** (1 - digits)) * Fraction(2) ** (top - 1))
        found = math.inf if direction in ("rn", outward) else largest
    else:
        found = float(result)
    return found if exact > 0 else -found


def some(space, seed, count=150):
    """Numbers of a format, of every size."""
    bits = np.random.default_rng(seed).integers(0, 2**16, count).astype(np.uint16)
    bits[::3] = bits[::3] % 1000 + (0x3C00 if space == "fp16" else 0x3F80)
    values = bits.view(np.float16).astype(float) if space == "fp16" else brain(bits)
    return [float(v) for v in values if math.isfinite(v)][:100]


def brain(bits):
    """The values of bfloat16s with these bits."""
    with np.errstate(invalid="ignore"):
        return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32).astype(float)


def packed(space, values):
    """Numbers of a format as a lane value."""
    if space == "fp16":
        return np.array(values, np.float16)
    return Bfloat16(np.array(values, np.float32))


def unpacked(value):
    """A lane value as Python floats."""
    return np.asarray(getattr(value, "number", value)).astype(float).tolist()


OPERATIONS = {
    "hadd": lambda a, b: a + b,
    "hsub": lambda a, b: a - b,
    "hmul": lambda a, b: a * b,
    "hdiv": lambda a, b: a / b,
    "hfma": lambda a, b, c: a * b + c,
    "hmax": max,
    "hmin": min,
    "habs": abs,
    "hneg": lambda a: -a,
    "hrcp": lambda a: 1 / a,
    "hfloor": lambda a: Fraction(math.floor(a)),
    "hceil": lambda a: Fraction(math.ceil(a)),
    "hrint": lambda a: Fraction(round(a)),
    "htrunc": lambda a: Fraction(math.trunc(a)),
}


@pytest.mark.parametrize("space", FORMATS)
@pytest.mark.parametrize("name", OPERATIONS)
def test_arithmetic(space, name):
    """The exact result, rounded once."""
    exact = OPERATIONS[name]
    count = 1 if exact is abs else 2 if exact in (max, min) else exact.__code__.co_argcount
    columns = [some(space, seed) for seed in range(count)]
    rows = [row for row in zip(*columns, strict=False) if all(row)]
    found = call(f"{space}.{name}", *(packed(space, column) for column in zip(*rows, strict=True)))
    assert unpacked(found) == [rounded(exact(*map(Fraction, row)), space) for row in rows]


@pytest.mark.parametrize("space", FORMATS)
@pytest.mark.parametrize("name", ["hadd", "hsub", "hmul", "hfma"])
def test_saturated(space, name):
    """The _sat ones are cut to 0 ... 1."""
    operands = [packed(space, [v, v, -v, math.nan]) for v in (0.75, 0.5, 4.0)][
        : 3 if name == "hfma" else 2
    ]
    plain = unpacked(call(f"{space}.{name}", *operands))
    cut = unpacked(call(f"{space}.{name}_sat", *operands))
    assert cut == [0.0 if math.isnan(v) else min(max(v, 0.0), 1.0) for v in plain]


@pytest.mark.parametrize("space", FORMATS)
def test_comparisons(space):
    """With a NaN the ordered comparisons are false, != among them, and the unordered ones true."""
    a, b = packed(space, [1, 2, 2, math.nan]), packed(space, [2, 2, 1, 1])
    ordered = {
        "heq": [False, True, False], "hne": [True, False, True], "hlt": [True, False, False],
        "hle": [True, True, False], "hgt": [False, False, True], "hge": [False, True, True],
    }  # fmt: skip
    for name, expected in ordered.items():
        assert call(f"{space}.{name}", a, b).tolist() == [*expected, False]
        assert call(f"{space}.{name}u", a, b).tolist() == [*expected, True]


@pytest.mark.parametrize("space", FORMATS)
def test_extremes_with_nan(space):
    """A NaN loses, but in hmax_nan and hmin_nan; infinities and NaN are distinguished."""
    a, b = packed(space, [math.nan, 3, -math.inf]), packed(space, [2, math.nan, 1])
    assert unpacked(call(f"{space}.hmax", a, b)) == [2.0, 3.0, 1.0]
    assert str(unpacked(call(f"{space}.hmin_nan", a, b))) == "[nan, nan, -inf]"
    assert call(f"{space}.hisinf", a).tolist() == [0, 0, -1]
    assert call(f"{space}.hisnan", a).tolist() == [True, False, False]


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("space", FORMATS)
def test_rounding_in(space, direction):
    """Floats and integers become halves, rounded as the name says."""
    word = {"fp16": "half", "bf16": "bfloat16"}[space]
    rng = np.random.default_rng(12)
    floats = np.concatenate([rng.normal(size=50) * 10.0 ** rng.integers(-9, 5, 50), [1e38, -1e38]])
    values = floats.astype(np.float32)
    found = unpacked(call(f"{space}.float2{word}_{direction}", values))
    assert found == [rounded(Fraction(float(v)), space, direction) for v in values]
    for kind, dtype in (("short", "i2"), ("uint", "u4"), ("ll", "i8"), ("ull", "u8")):
        info = np.iinfo(dtype)
        whole = (
            rng.integers(info.min, info.max, 40, np.dtype(dtype))
            >> np.arange(40).astype(dtype) % 13
        )
        found = unpacked(call(f"{space}.{kind}2{word}_{direction}", whole))
        assert found == [rounded(Fraction(int(v)), space, direction) for v in whole]


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("space", FORMATS)
def test_rounding_out(space, direction):
    """Halves become integers, cut to the ends of their type; NaN becomes 0."""
    word = {"fp16": "half", "bf16": "bfloat16"}[space]
    whole = {"rn": round, "rz": math.trunc, "ru": math.ceil, "rd": math.floor}[direction]
    values = [2.5, -2.5, 0.75, -0.75, 30000.0, -70.0, 3.5]
    values = [rounded(Fraction(v), space) for v in values]
    for kind, dtype in (("short", "i2"), ("ushort", "u2"), ("int", "i4"), ("ll", "i8")):
        info = np.iinfo(dtype)
        found = call(f"{space}.{word}2{kind}_{direction}", packed(space, values))
        assert found.dtype == dtype
        assert found.tolist() == [min(max(whole(v), info.min), info.max) for v in values]
    lost = packed(space, [math.nan, math.inf, -math.inf])
    assert call(f"{space}.{word}2int_{direction}", lost).tolist() == [0, 2**31 - 1, -(2**31)]
    assert call(f"{space}.{word}2char_rz", packed(space, [200, -3.75])).tolist() == [127, -3]
    assert call(f"{space}.{word}2uchar_rz", packed(space, [200, -3.75])).tolist() == [200, 0]


@pytest.mark.parametrize("space", FORMATS)
def test_bits(space):
    """A half as the integer of its bits, and back."""
    word = {"fp16": "half", "bf16": "bfloat16"}[space]
    bits = np.array([0x3C00, 0xBC01, 0x7F80, 0x0001], np.uint16)
    value = call(f"{space}.ushort_as_{word}", bits)
    numbers = bits.view(np.float16).astype(float) if space == "fp16" else brain(bits)
    assert str(unpacked(value)) == str(numbers.tolist())
    assert call(f"{space}.{word}_as_ushort", value).tolist() == bits.tolist()
    assert call(f"{space}.{word}_as_short", value).tolist() == bits.view(np.int16).tolist()
    expected = struct.pack("<e", 1.5) if space == "fp16" else struct.pack("<f", 1.5)[2:]
    assert call(f"{space}.{word}_as_ushort", packed(space, [1.5])).tobytes() == expected


@pytest.mark.parametrize(
    ("name", "function"),
    [("hsqrt", math.sqrt), ("hexp", math.exp), ("hexp2", lambda x: 2.0**x),
     ("hexp10", lambda x: 10.0**x), ("hlog", math.log), ("hlog2", math.log2),
     ("hlog10", math.log10), ("hsin", math.sin),
     ("hcos", math.cos), ("htanh", math.tanh), ("hrsqrt", lambda x: 1 / math.sqrt(x))],
)  # fmt: skip
@pytest.mark.parametrize("space", FORMATS)
def test_functions(space, name, function):
    """Functions of Python's math, rounded to the format."""
    values = [rounded(Fraction(v), space) for v in (0.1, 0.5, 1.0, 1.7, 3.25, 4.0)]
    expected = [rounded(Fraction(function(v)), space) for v in values]
    assert unpacked(call(f"{space}.{name}", packed(space, values))) == expected


@pytest.mark.parametrize("name", sorted(n for n in IMPLEMENTATIONS if n.startswith("fp16.")))
def test_types(name):
    """Results have the types of Numba's declarations."""
    bare = name.removeprefix("fp16.")
    target = getattr(fp16, bare, None) or getattr(fp16, f"__{bare}", None)
    if target is None:
        pytest.skip("this numba.cuda does not have it")
    with seam.target_override("cuda"):
        CONTEXT.refresh()
        attribute = bare if hasattr(fp16, bare) else f"__{bare}"
        function = CONTEXT.resolve_getattr(seam.types.Module(fp16), attribute)
    ((case,),) = [template.cases for template in function.templates if hasattr(template, "cases")]
    dtypes = [seam.numpy_support.as_dtype(kind) for kind in case.args]
    found = call(name, *(np.ones(2, dtype) for dtype in dtypes))
    assert seam.numpy_support.from_dtype(found.dtype) == case.return_type


def in_float16(out, x):
    i = cuda.threadIdx.x
    a, b = x[i], x[31 - i]
    out[0, i] = cuda.fp16.hfma(a, b, a)
    out[1, i] = cuda.fp16.hmax(a, b)
    out[2, i] = cuda.fp16.hlt(a, b)


def test_in_a_kernel():
    """float16 arrays through a kernel that Numba has typed."""
    x = np.random.default_rng(13).normal(size=32).astype(np.float16)
    out = np.zeros((3, 32), np.float32)
    run(in_float16, out, x)
    a, b = x.astype(float), x[::-1].astype(float)
    fused = [
        rounded(Fraction(p) * Fraction(q) + Fraction(p), "fp16") for p, q in zip(a, b, strict=True)
    ]
    assert out[0].tolist() == fused
    assert out[1].tolist() == np.maximum(a, b).tolist()
    assert out[2].tolist() == (a < b).astype(float).tolist()


def test_bfloat16_operators():
    """Operators and casts of bfloat16 numbers, printed as their values."""
    bf16 = pytest.importorskip("numba.cuda.bf16")

    def kernel(out, x):
        i = cuda.threadIdx.x
        a, b = bf16.bfloat16(x[i]), bf16.bfloat16(x[31 - i])
        out[0, i] = np.float32(a * b + a)
        out[1, i] = a < b
        out[2, i] = a == a

    x, out = np.random.default_rng(15).normal(size=32).astype(np.float32), np.zeros((3, 32))
    run(kernel, out, x)
    halves = [rounded(Fraction(float(v)), "bf16") for v in x]
    for i, (a, b) in enumerate(zip(halves, halves[::-1], strict=True)):
        product = rounded(Fraction(a) * Fraction(b), "bf16")
        assert out[:, i].tolist() == [rounded(Fraction(product) + Fraction(a), "bf16"), a < b, 1]


def test_bfloat16_in_a_kernel():
    """bfloat16 values in variables, chosen lane by lane."""
    bf16 = pytest.importorskip("numba.cuda.bf16")

    def kernel(out, x):
        i = cuda.threadIdx.x
        a = bf16.float2bfloat16(x[i])
        if i % 3 == 0:
            a = bf16.hneg(bf16.hadd(a, bf16.int2bfloat16_rn(np.int32(257))))
        out[i] = bf16.bfloat162float(a)

    x, out = np.random.default_rng(14).normal(size=32).astype(np.float32), np.zeros(32)
    run(kernel, out, x)
    for i in range(32):
        value = rounded(Fraction(float(x[i])), "bf16")
        if i % 3 == 0:
            value = -rounded(Fraction(value) + 256, "bf16")
        assert out[i] == value


def test_bfloat16_alone():
    """Signs, functions of math, and isinstance, of one bfloat16."""
    bf16 = pytest.importorskip("numba.cuda.bf16")

    def kernel(out, x):
        i = cuda.threadIdx.x
        a = bf16.bfloat16(x[i])
        out[0, i] = np.float32(-a)
        out[1, i] = np.float32(+a)
        out[2, i] = np.float32(math.floor(a))
        out[3, i] = np.float32(math.cos(a))
        out[4, i] = isinstance(a, bf16.bfloat16)
        out[5, i] = isinstance(x[i], bf16.bfloat16)

    x, out = np.random.default_rng(16).normal(size=32).astype(np.float32), np.zeros((6, 32))
    run(kernel, out, x)
    for i, value in enumerate(rounded(Fraction(float(v)), "bf16") for v in x):
        cosine = rounded(Fraction(math.cos(value)), "bf16")
        assert out[:, i].tolist() == [-value, value, math.floor(value), cosine, 1, 0]
