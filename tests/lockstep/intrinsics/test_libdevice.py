"""cuda.libdevice: every function has libdevice's types; values against Python's own arithmetic."""

import math
import random
import struct
from fractions import Fraction

import numpy as np
import pytest
from numba.cuda import libdevice, libdevicefuncs

from smemnb.lockstep.intrinsics.libdevice import FUNCTIONS, signature
from tests.lockstep.intrinsics.typed import call, dtypes_of, numba_type, run

NAMES = sorted(name.removeprefix("__nv_") for name in libdevicefuncs.functions)
INF, NAN = math.inf, math.nan


def lib(name, *values):
    """A libdevice function of the engine."""
    return call(f"libdevice.{name}", *values)


@pytest.mark.parametrize("name", NAMES)
def test_types(name):
    """Arguments and results have the types of Numba's table, for numbers and for lane values."""
    declared = libdevicefuncs.create_signature(*libdevicefuncs.functions[f"__nv_{name}"])
    results, arguments = signature(name)
    parts = getattr(declared.return_type, "types", (declared.return_type,))
    assert tuple(map(numba_type, results)) == tuple(parts)
    assert tuple(map(numba_type, arguments)) == declared.args
    assert dtypes_of(lib(name, *(np.int16(1) for _ in arguments))) == results
    lanes = [np.full((1, 1, 32), 1, np.int64) for _ in arguments]
    assert dtypes_of(lib(name, *lanes)) == results


def test_nothing_of_ones_own():
    """The engine has no function that libdevice lacks."""
    assert sorted(FUNCTIONS) == NAMES


# --- rounding in a direction, against fractions ---------------------------------------------------


def nearest(exact, dtype, direction):
    """An exact number as a float, from the definition."""
    digits, lowest, top = (24, -149, 128) if dtype == "f4" else (53, -1074, 1024)
    size = abs(exact)
    power = size.numerator.bit_length() - size.denominator.bit_length() + 1
    while Fraction(2) ** (power - 1) > size:
        power -= 1
    step = Fraction(2) ** max(power - digits, lowest)
    count, rest = divmod(size, step)
    up = {
        "rn": 2 * rest > step or (2 * rest == step and count % 2 == 1),
        "rz": False,
        "ru": rest > 0 and exact > 0,
        "rd": rest > 0 and exact < 0,
    }[direction]
    result = (count + up) * step
    if result < Fraction(2) ** top:
        found = float(result)
    elif direction in ("rn", "ru" if exact > 0 else "rd"):
        found = INF
    else:
        found = float(np.finfo(dtype).max)
    return found if exact > 0 else -found


def numbers(dtype, count, seed):
    """Floats of every size: usual, tiny, huge, and short ones that make ties."""
    rng, info = random.Random(seed), np.finfo(dtype)
    reach = 127 if dtype == "f4" else 1023
    found = []
    for at in range(count):
        sign = rng.choice((-1, 1))
        value = (
            sign * rng.randint(1, 99) * 2.0 ** rng.randint(-20, 20),
            math.ldexp(rng.uniform(1, 2) * sign, rng.randint(-4, 4)),
            math.ldexp(rng.uniform(1, 2) * sign, rng.randint(-reach - 20, reach)),
            sign * float(info.smallest_subnormal) * rng.randint(1, 99),
            sign * float(info.max),
        )[at % 5 if at % 10 else 4]
        found.append(np.dtype(dtype).type(value))
    return np.array(rng.sample(found, count), dtype)


OPERATIONS = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "rcp": lambda a: 1 / a,
    "fma": lambda a, b, c: a * b + c,
}


@pytest.mark.parametrize("direction", ["rn", "rz", "ru", "rd"])
@pytest.mark.parametrize(
    ("name", "dtype"),
    [(f"d{op}", "f8") for op in ("add", "mul", "div", "rcp")]
    + [(f"f{op}", "f4") for op in ("add", "sub", "mul", "div", "rcp")]
    + [("fma", "f8"), ("fmaf", "f4")],
)
def test_rounded_arithmetic(name, dtype, direction):
    """Sums, products, quotients and fused ones are rounded once, in the direction of the name."""
    operation = OPERATIONS["fma" if "fma" in name else name[1:]]
    count = operation.__code__.co_argcount
    operands = [numbers(dtype, 300, seed) for seed in range(count)]
    with np.errstate(all="ignore"):
        if count == 3:  # nearly nothing is left
            operands[2][::3] = np.nan_to_num(-(operands[0] * operands[1]), posinf=1, neginf=1)[::3]
        if count == 2:
            operands[1][::7] = np.nextafter(-operands[0], np.dtype(dtype).type(0))[::7]
    found = lib(f"{name}_{direction}", *operands)
    for at, values in enumerate(zip(*(map(float, o) for o in operands), strict=True)):
        exact = operation(*map(Fraction, values)) if values[-1] or count != 2 else 0
        if exact:
            assert float(found[at]) == nearest(exact, dtype, direction), values


@pytest.mark.parametrize("direction", ["rn", "rz", "ru", "rd"])
@pytest.mark.parametrize(("name", "dtype"), [("dsqrt", "f8"), ("fsqrt", "f4")])
def test_rounded_roots(name, dtype, direction):
    """The square of a root lies on the right side of the number."""
    x = np.abs(numbers(dtype, 300, 5))
    for value, root in zip(x, lib(f"{name}_{direction}", x), strict=True):
        below, above = (
            np.nextafter(root, root.dtype.type(0)),
            np.nextafter(root, root.dtype.type(INF)),
        )
        low, at, high = (Fraction(float(r)) for r in (below, root, above))
        square = Fraction(float(value))
        holds = {
            "rn": ((low + at) / 2) ** 2 <= square <= ((at + high) / 2) ** 2,
            "rz": at * at <= square < high * high,
            "rd": at * at <= square < high * high,
            "ru": low * low < square <= at * at,
        }
        assert holds[direction], value


@pytest.mark.parametrize("direction", ["rn", "rz", "ru", "rd"])
@pytest.mark.parametrize("name", ["ll2float", "ull2float", "ll2double", "ull2double", "int2float"])
def test_integers_to_floats(name, direction):
    """Integers of 64 bits are rounded once; unsigned ones come as signed ones of equal bits."""
    rng = random.Random(name)
    wide = 31 if name.startswith("int") else 63
    whole = [rng.getrandbits(wide) >> rng.randrange(wide - 1) or 1 for _ in range(200)]
    whole += [-number for number in whole]
    dtype = "f8" if name.endswith("double") else "f4"
    for number in whole:
        given = number + (1 << 64 if name.startswith("u") and number < 0 else 0)
        assert lib(f"{name}_{direction}", np.int64(number)) == nearest(
            Fraction(given), dtype, direction
        )


@pytest.mark.parametrize(
    ("name", "values", "expected"),
    [
        ("double2float_rz", [1e-50, 1 / 3, 1e39], [0.0, 0.3333333134651184, 3.4028234663852886e38]),
        ("double2float_ru", [1e-50, 1 / 3, 1e39], [1.401298464324817e-45, 0.3333333432674408, INF]),
        ("float2int_rn", [2.5, -3.5, 3e9, NAN], [2, -4, 2**31 - 1, 0]),
        ("float2int_ru", [2.5, -3.5, -3e9, INF], [3, -3, -(2**31), 2**31 - 1]),
        ("float2uint_rz", [2.75, -3.5, 3e9], [2, 0, 3_000_000_000 - 2**32]),
        ("double2ll_rd", [2.5, -2.5, 1e30], [2, -3, 2**63 - 1]),
        ("double2hiint", [1.0, -2.0], [0x3FF00000, -0x40000000]),
        ("double2loint", [0.1], [struct.unpack("<i", struct.pack("<d", 0.1)[:4])[0]]),
        ("float_as_int", [-2.5], [struct.unpack("<i", struct.pack("<f", -2.5))[0]]),
        ("int_as_float", [0x40490FDB], [3.1415927410125732]),
        ("double_as_longlong", [1.5], [struct.unpack("<q", struct.pack("<d", 1.5))[0]]),
        ("longlong_as_double", [0x4000000000000000], [2.0]),
        ("float2half_rn", [1.0, 65520.0], [0x3C00, 0x7C00]),
        ("half2float", [0x3C00, 0x3555], [1.0, 0.333251953125]),
        ("isnand", [NAN, 1.0], [1, 0]),
        ("isinff", [INF, 1.0], [1, 0]),
        ("finitef", [INF, 1.0], [0, 1]),
        ("signbitd", [-0.0, 1.0], [1, 0]),
        ("saturatef", [-1.0, 0.25, 7.0, NAN], [0.0, 0.25, 1.0, 0.0]),
        ("round", [0.5, -0.5, 2.5, 0.49999999999999994], [1.0, -1.0, 3.0, 0.0]),
        ("rint", [0.5, 1.5, -2.5], [0.0, 2.0, -2.0]),
        ("llround", [2.5, -2.5], [3, -3]),
        ("llrint", [2.5, -3.5], [2, -4]),
        ("logb", [8.0, 0.75, 0.0, -INF], [3.0, -1.0, -INF, INF]),
        ("ilogb", [8.0, 0.0, INF], [3, -(2**31), 2**31 - 1]),
        ("sinpi", [0.5, 1.0, 1e15 + 0.5], [1.0, 0.0, 1.0]),
        ("cospi", [0.5, 1.0, 2.5], [0.0, -1.0, 0.0]),
        ("exp10", [3.0, -2.0], [1000.0, 0.01]),
        ("rsqrt", [4.0], [0.5]),
        ("rcbrt", [-8.0], [-0.5]),
        ("normcdfinv", [0.0, 0.5, 1.0], [-INF, 0.0, INF]),
        ("tgamma", [5.0, 0.5, -1.0], [24.0, math.gamma(0.5), NAN]),
        ("lgamma", [-2.0, 10.0], [INF, math.lgamma(10.0)]),
    ],
)  # fmt: skip
def test_of_one(name, values, expected):
    """Functions of one number, at the places where they are easily wrong."""
    (argument,) = signature(name)[1]
    found = lib(name, np.array(values, argument))
    assert list(map(repr, found.tolist())) == list(map(repr, expected))


WORDS = [0, 1, -1, 0x12345678, -0x7EDCBA98, 2**31 - 1, -(2**31), 77]


def unsigned(value, bits=32):
    """The bits of an integer as a number."""
    return value % (1 << bits)


def signed(value, bits=32):
    """A number's lowest bits as a signed integer."""
    value %= 1 << bits
    return value - (1 << bits) if value >> (bits - 1) else value


def permuted(x, y, selector):
    data = struct.pack("<II", unsigned(x), unsigned(y))
    chosen = bytes(data[unsigned(selector) >> (4 * at) & 7] for at in range(4))
    return struct.unpack("<i", chosen)[0]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("hadd", lambda x, y: (x + y) // 2),
        ("rhadd", lambda x, y: (x + y + 1) // 2),
        ("uhadd", lambda x, y: signed((unsigned(x) + unsigned(y)) // 2)),
        ("urhadd", lambda x, y: signed((unsigned(x) + unsigned(y) + 1) // 2)),
        ("umax", lambda x, y: signed(max(unsigned(x), unsigned(y)))),
        ("umin", lambda x, y: signed(min(unsigned(x), unsigned(y)))),
        ("max", max),
        ("mulhi", lambda x, y: x * y >> 32),
        ("umulhi", lambda x, y: signed(unsigned(x) * unsigned(y) >> 32)),
        ("mul64hi", lambda x, y: x * y >> 64),
        ("umul64hi", lambda x, y: signed(unsigned(x, 64) * unsigned(y, 64) >> 64, 64)),
        ("ullmax", lambda x, y: signed(max(unsigned(x, 64), unsigned(y, 64)), 64)),
        ("mul24", lambda x, y: signed(signed(x, 24) * signed(y, 24))),
        ("umul24", lambda x, y: signed(unsigned(x, 24) * unsigned(y, 24))),
        ("sad", lambda x, y, z: signed(abs(x - y) + z)),
        ("usad", lambda x, y, z: signed(abs(unsigned(x) - unsigned(y)) + unsigned(z))),
        ("byte_perm", permuted),
        ("brev", lambda x: signed(int(f"{unsigned(x):032b}"[::-1], 2))),
        ("brevll", lambda x: signed(int(f"{unsigned(x, 64):064b}"[::-1], 2), 64)),
        ("clz", lambda x: 32 - unsigned(x).bit_length()),
        ("clzll", lambda x: 64 - unsigned(x, 64).bit_length()),
        ("ffs", lambda x: (x & -x).bit_length()),
        ("ffsll", lambda x: (x & -x).bit_length()),
        ("popc", lambda x: unsigned(x).bit_count()),
        ("popcll", lambda x: unsigned(x, 64).bit_count()),
    ],
)
def test_integers(name, expected):
    """Integer functions against Python's integers."""
    (result,), arguments = signature(name)
    rows = [WORDS[at:] + WORDS[:at] for at in range(3)][: len(arguments)]
    if result == np.int64:
        rows = [[word * 0x100000001 + at for at, word in enumerate(row)] for row in rows]
        rows = [[signed(word, 64) for word in row] for row in rows]
    found = lib(name, *(np.array(row, d) for row, d in zip(rows, arguments, strict=True)))
    assert found.tolist() == [expected(*words) for words in zip(*rows, strict=True)]


def test_several_results():
    """What C fills pointers with comes as a tuple."""
    mantissa, exponent = lib("frexp", np.array([10.0, 0.0]))
    assert (mantissa.tolist(), exponent.tolist()) == ([0.625, 0.0], [4, 0])
    fraction, whole = lib("modf", np.array([-2.75]))
    assert (fraction.tolist(), whole.tolist()) == ([-0.75], [-2.0])
    x, y = np.array([10.0, -10.0, 29.0, 5.0, 1e300]), np.array([3.0, 3.0, -3.0, 2.0, 7.0])
    rest, quotient = lib("remquo", x, y)
    exact = [round(Fraction(a) / Fraction(b)) for a, b in zip(x, y, strict=True)]
    assert rest.tolist() == [math.remainder(a, b) for a, b in zip(x, y, strict=True)]
    assert [abs(q) for q in quotient.tolist()] == [abs(q) % 8 for q in exact]
    assert [q < 0 for q in quotient.tolist()] == [q < 0 and q % 8 != 0 for q in exact]
    sine, cosine = lib("sincospif", np.float32(0.25))
    assert (sine, cosine) == (np.float32(math.sqrt(0.5)), np.float32(math.sqrt(0.5)))


def integral(f, a, b, steps=4000):
    """Simpson's rule."""
    h = (b - a) / steps
    inner = sum((4 if k % 2 else 2) * f(a + k * h) for k in range(1, steps))
    return (f(a) + f(b) + inner) * h / 3


@pytest.mark.parametrize(
    ("n", "x"),
    [(n, x) for x in (0.5, 3.0, 20.0, 60.0, 300.0) for n in (0, 1, 2, 7) if n < 4 * x],
)
def test_bessel_functions(n, x):
    """J against its integral; Y by the Wronskian J(n+1) Y(n) - J(n) Y(n+1) = 2 / (pi x)."""
    j = integral(lambda t: math.cos(n * t - x * math.sin(t)), 0, math.pi) / math.pi
    assert lib("jn", np.int32(n), np.float64(x)) == pytest.approx(j, abs=1e-13)
    (j0, j1), (y0, y1) = (
        [lib(f, np.int32(k), np.float64(x)) for k in (n, n + 1)] for f in ("jn", "yn")
    )
    assert (j1 * y0 - j0 * y1) * math.pi * x / 2 == pytest.approx(1, abs=1e-11)


def test_named_bessel_functions():
    """j0, j1, y0 and y1 are the functions of these orders."""
    x = np.array([0.25, 5.0, 70.0])
    for kind in "jy":
        for n in (0, 1):
            assert lib(f"{kind}{n}", x).tolist() == lib(f"{kind}n", np.int32(n), x).tolist()


@pytest.mark.parametrize("y", [1e-300, 1e-12, 0.1, 0.5, 0.9, 0.999999, 1 - 2**-53])
def test_inverse_error_functions(y):
    """erf and erfc of their inverses give the number back, within what a last place moves it."""
    x = lib("erfinv", np.float64(y))
    slope = 2 / math.sqrt(math.pi) * math.exp(-x * x)
    assert math.erf(x) == pytest.approx(y, abs=2 * math.ulp(x) * slope + math.ulp(y))
    z = lib("erfcinv", np.float64(y))
    assert math.erfc(z) == pytest.approx(y, rel=1e-12)


def test_scaled_error_function_and_normal_distribution():
    """erfcx through erfc where that is not 0, by its series beyond; normcdf through erfc."""
    x = np.array([-3.0, 0.0, 2.0, 5.0])
    expected = [math.exp(v * v) * math.erfc(v) for v in x]
    np.testing.assert_allclose(lib("erfcx", x), expected, rtol=1e-13)
    large = 1e4
    series = (1 - 1 / (2 * large**2)) / (large * math.sqrt(math.pi))
    assert lib("erfcx", np.float64(large)) == pytest.approx(series, rel=1e-15)
    expected = [0.5 * math.erfc(-v / math.sqrt(2)) for v in (-2.0, 0.0, 1.5)]
    np.testing.assert_allclose(lib("normcdf", np.array([-2.0, 0.0, 1.5])), expected, rtol=1e-14)


def several(out, x):
    mantissa, exponent = libdevice.frexp(x[0])
    out[0] = mantissa
    out[1] = exponent
    out[2] = libdevice.dadd_ru(x[0], x[1])
    out[3] = libdevice.umulhi(-1, 2)


def test_in_a_kernel():
    """Called by their names in a kernel that Numba has typed."""
    out, x = np.zeros(4), np.array([12.0, 1e-20])
    run(several, out, x)
    assert out.tolist() == [0.75, 4.0, math.nextafter(12.0, 13.0), 1.0]
