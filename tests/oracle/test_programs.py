"""Random programs and chosen expressions: the engine against Numba's compiled code.

`python -m tests.oracle.programs --help` runs many more.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import pytest

from oracle.inference import IN_TREE
from oracle.programs import checking, comparing, shrinking
from oracle.programs import vocabulary as words
from oracle.programs.comparing import Verdict
from oracle.programs.writing import Program

NOT_IN_TREE = re.compile(r"\b(min|max|math\.nextafter|np\.isnat)\(")
"""Functions that Numba 0.68's own numba.cuda does not take."""
QUICK = (1936, 1821, 1799, 1861, 2090, 2155, 2125, 2231, 1338, 2057, 936, 1626)
"""Programs that have as many kinds of statements, operators and functions as the first 40 have."""
MORE = 300


def differences(seeds: Sequence[int]) -> list[str]:
    """What differs in the programs of these seeds."""
    verdicts = checking.check_seeds(seeds)
    least = 0.1 if IN_TREE else 0.6
    assert sum(not verdict.refused for verdict in verdicts) > least * len(seeds)
    return [f"seed {v.seed}: {said}" for v in verdicts for said in v.differences]


def test_random_programs() -> None:
    assert differences(QUICK) == []


@pytest.mark.exhaustive
@pytest.mark.parametrize("first", range(0, MORE, 60))
def test_more_random_programs(first: int) -> None:
    assert differences(range(first, first + 60)) == []


INPUTS = {
    f"{name}_{dtype}": dtype
    for name in "ab"
    for dtype in (*words.INTEGERS, *words.FLOATS, *words.COMPLEX, "bool")
}
INPUTS |= {f"{n}_{date[:4]}_{date.split('[')[1][:-1]}": date for n in "ab" for date in words.DATES}
SCALARS = {"s_bool": "bool", "s_int32": "int32"}


def program(body: str, **outputs: str) -> Program:
    """A program with this body, over the inputs and scalars that it names."""
    inputs = {name: dtype for name, dtype in INPUTS.items() if name in body}
    scalars = {name: dtype for name, dtype in SCALARS.items() if name in body}
    head = f"def kernel({', '.join([*outputs, *inputs, *scalars])}):\n    i = cuda.grid(1)\n"
    return Program(11, f"{head}    {body}\n", outputs, inputs, scalars)


EXPRESSIONS = {
    # through float64 on its way back: low bits beyond 2**53 are rounded away
    "a_int64[i] ** 1": "int64",
    "a_uint64[i] ** 3": "uint64",
    "a_int64[i] ** (b_uint8[i] & 15)": "int64",
    "a_int32[i] ** -1": "int64",
    "a_int32[i] ** -2": "int64",
    "a_float32[i] ** -3": "float32",
    "a_float64[i] ** (b_int8[i] % 5)": "float64",
    "a_float64[i] ** 0": "float64",
    # CPython's constants, not 64-bit ones
    "(255 ** (-4 & 15) >> (-1 & 63)) + a_int8[i]": "int64",
    "7 // 2 * a_float32[i] + 3 ** -1": "float64",
    "(1 << 63 >> 60) + a_int8[i]": "int64",
    "a_int8[i] if (7 << (127 & 63)) - 4 % 9 else 2": "int64",
    # signs of zeros
    "1 / min(a_float64[i] * 0.0, b_float64[i] * 0.0)": "float64",
    "1 / max(a_float32[i] * 0, b_float32[i] * 0)": "float64",
    "1 / np.minimum(a_float64[i] * 0.0, b_float64[i] * 0.0)": "float64",
    "1 / np.fmax(a_float32[i] * 0, b_float32[i] * 0)": "float64",
    # complex numbers
    "a_complex64[i] * b_complex64[i] * a_complex64[i]": "complex64",
    "a_complex128[i] * b_float32[i]": "complex128",
    "a_complex128[i] / (3 - 4j)": "complex128",
    "a_complex64[i] / (0.5 + 2j)": "complex128",
    "complex(a_float64[i], b_float64[i])": "complex128",
    "complex(a_complex64[i])": "complex128",
    "(a_complex64[i] if a_bool[i] else b_float64[i]).real": "float64",
    # one type for both sides, though all threads take one
    "(a_int32[i] if s_int32 == s_int32 else 0.5) // 3 / 2": "float64",
    # from Python 3.12 on, each side of a last store is stored as it is
    "4 if a_bool[i] else a_uint16[i] - 9223372036854775808": "uint64",
    "np.minimum(a_float32[i], (b_float32[i] if s_int32 < 2**31 else b_float64[i]))": "float64",
    "(a_uint8[i] if True else 9) < b_uint8[i] >= 3": "bool",
    "(a_int8[i] and b_float32[i]) * 2": "float64",
    # division, remainder and their signs
    "a_int64[i] // b_int64[i]": "int64",
    "a_int64[i] % b_int64[i]": "int64",
    "a_uint32[i] // b_int8[i]": "int64",
    "a_float64[i] // b_float64[i]": "float64",
    "a_float64[i] % b_float64[i]": "float64",
    "a_float32[i] // b_float32[i]": "float32",
    "divmod(a_float32[i], b_float32[i])[1]": "float32",
    "divmod(a_int16[i], b_int16[i])[0]": "int64",
    "math.fmod(a_float64[i], b_float64[i])": "float64",
    "math.remainder(a_float64[i], b_float64[i])": "float64",
    # rounding
    "round(a_float64[i])": "int64",
    "round(a_float64[i], 2)": "float64",
    "round(a_float32[i], -1)": "float32",
    "math.nextafter(a_float32[i], b_float32[i])": "float32",
    "a_bool[i] // b_float64[i] + a_float32[i] % b_float64[i]": "float64",
    "cmath.log10(a_complex128[i] * 0.0)": "complex128",
    # dates and durations
    "a_date_s[i] - (b_date_D[i] - abs(a_time_s[i]))": "timedelta64[s]",
    "(a_date_D[i] + b_time_ms[i] < b_date_s[i]) ^ (a_time_ms[i] <= b_time_s[i])": "bool",
    "a_time_s[i] * b_float32[i] if np.isnat(b_date_D[i]) else a_time_s[i] // b_int8[i]": (
        "timedelta64[s]"
    ),
    "max(a_time_D[i] / b_float32[i], -b_time_D[i])": "timedelta64[D]",
    "a_time_ms[i] / b_time_D[i]": "float64",
    "math.gamma(a_float64[i] if abs(a_float64[i]) < 1e-300 else 1.0)": "float64",
}


@pytest.fixture(scope="module")
def verdicts() -> dict[str, Verdict]:
    """All expressions, compiled into one module."""
    programs = [program(f"out[i] = {text}", out=dtype) for text, dtype in EXPRESSIONS.items()]
    return dict(zip(EXPRESSIONS, checking.check_programs(programs), strict=True))


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_expressions(expression: str, verdicts: dict[str, Verdict]) -> None:
    """Each over all edges of its types; refused by neither side."""
    verdict = verdicts[expression]
    if IN_TREE and NOT_IN_TREE.search(expression):
        assert verdict.refused
        return
    assert (verdict.refused, verdict.differences, verdict.exact) == ("", [], 1)


BODIES = {
    "a branch that makes a variable a float, and one that leaves it an integer": """
    v = a_uint64[i]
    if a_bool[i]:
        v = b_float64[i]
    else:
        v *= -8
    out[i] = v
""",
    "the same with elif": """
    v = a_int64[i]
    if a_bool[i]:
        v = v * 0.5
    elif b_bool[i]:
        v = v - 1
    else:
        v += 3
    out[i] = v
""",
    "a float32 that becomes a float64, and is a float32 again within a loop": """
    v = -a_float32[i]
    v += ((v % 1e10) + 1)
    for k in range(b_uint8[i] & 3):
        v = a_float32[i]
        v /= b_float32[i]
    out[i] = v
""",
    "a variable of a loop that becomes a float": """
    v = a_int8[i]
    for k in range(b_uint8[i] & 3):
        v = v * 0.5 if k else v + 1
    out[i] = v
""",
}


BODIES["an operator with an operand that a loop makes an int64"] = """
    v = b_uint16[i]
    for k in range(3):
        out[i] = uint64((a_uint64[i] >> 1) ^ v) & 15
        v = +~k
"""
BODIES["the same, as an augmented assignment to an element"] = """
    v = b_uint16[i]
    last = cuda.local.array(1, uint64)
    last[0] = a_uint64[i] >> 1
    for k in range(3):
        last[0] ^= v
        out[i] = last[0] & 15
        v = +~k
"""


@pytest.mark.parametrize("case", BODIES)
def test_bodies(case: str) -> None:
    """Variables with several types, one on each path."""
    verdict = checking.check_programs([program(BODIES[case].strip(), out="float64")])[0]
    assert (verdict.refused, verdict.differences, verdict.exact) == ("", [], 1)


DEVICE = """@cuda.jit(device=True)
def {name}(p, q):
    return {text}


"""


@pytest.mark.parametrize(
    "text", ["math.sqrt(p if q else 2)", "-(p if q else 2**64 - 1)", "(p if q else 0.1) + q"]
)
def test_returned_condition(text: str) -> None:
    """From Python 3.12 on, what is done to either side before it is returned is compiled twice."""
    one = program("out[i] = device(a_float32[i], b_int8[i])", out="float64")
    one.source = DEVICE.format(name="device", text=text) + one.source
    verdict = checking.check_programs([one])[0]
    assert (verdict.refused, verdict.differences, verdict.exact) == ("", [], 1)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("math.lgamma(b_float64[i])", "float64"),
        ("math.lgamma(-2.7476826467274127)", "float64"),  # 0 in 16 digits of larger terms
        ("cmath.rect(0.001, a_float32[i])", "complex128"),  # a sine in float32
    ],
)
def test_rough_units(text: str, kind: str) -> None:
    """Results that differ by units of their terms, or of a narrower type, are equal."""
    one = program(f"rough[i] = {text}", rough=kind)
    one.seed = 25188  # some of these values cancel
    one.rough = {"rough"}
    verdict = checking.check_programs([one])[0]
    assert (verdict.refused, verdict.differences, verdict.rough) == ("", [], 1)


def test_ended_threads() -> None:
    """Numba ends a thread at a complex division by zero: it is left out."""
    one = program("out[i] = a_complex128[i] / b_complex128[i]", out="complex128")
    zeros = int((comparing.arguments_of(one)[2] == 0).sum())
    verdict = checking.check_programs([one])[0]
    assert (verdict.differences, verdict.undefined, zeros) == ([], zeros, 6)


def test_a_unit_is_not_more() -> None:
    """A wrong lgamma is found, beside the allowance for its terms."""
    notes = comparing.Notes(units={3: comparing._unit_of_lgamma(np.zeros(96), np.full(96, -2.5))})
    one = program("rough[i] = math.lgamma(b_float64[i])", rough="float64")
    one.rough = {"rough"}
    right, wrong = np.full(96, 1e-9), np.full(96, 1e-9 + 1e-12)
    assert comparing.value_differences(one, [wrong], [right], True, "", notes) != []
    near = right + 8 * np.spacing(16.0)
    assert comparing.value_differences(one, [near], [right], True, "", notes) == []


@pytest.mark.exhaustive
def test_a_difference_is_found_and_made_small() -> None:
    """A wrong engine: the oracle's kernel adds 1, the engine's text does not."""
    wrong = program("out[i] = (a_int32[i] * 2 + (b_int32[i] - 7)) if a_bool[i] else 0", out="int64")

    def check(programs: list[Program]) -> list[checking.Verdict]:
        verdicts = checking.check_programs(programs)
        for one, verdict in zip(programs, verdicts, strict=True):
            if "b_int32[i] - 7" in one.source:  # what this check calls different
                verdict.differences = ["differs"]
        return verdicts

    lines = shrinking.shrunk_program(wrong, check, seconds=30).splitlines()
    assert lines[-3:] == ["    out[i] = b_int32[i] - 7", "", "differs"]
