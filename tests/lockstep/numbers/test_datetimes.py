"""Durations times and through numbers, by hand."""

import ast

import numpy as np
import pytest

from smemnb.lockstep.numbers.math_functions import FUNCTIONS
from smemnb.lockstep.numbers.operators import BINARY, COMPARE

ODD = 2**24 + 1  # no float32
F32, F64 = np.float32, np.float64


def seconds(value):
    return np.timedelta64(value, "s")


@pytest.mark.parametrize(
    ("operator", "left", "right", "result"),
    [
        (ast.Mult, seconds(ODD), F32(1), 2**24),
        (ast.Mult, F32(1), seconds(ODD), 2**24),
        (ast.Mult, seconds(ODD), F64(1), ODD),
        (ast.Mult, seconds(-7), F32(0.5), -3),
        (ast.Div, seconds(ODD), F32(1), 2**24),
        (ast.FloorDiv, seconds(ODD), F32(-1), -(2**24)),
        (ast.FloorDiv, seconds(-7), F32(2), -3),
        (ast.Div, seconds(7), F32(0), "NaT"),
        (ast.Div, seconds(7), F32("nan"), "NaT"),
        (ast.Mult, seconds(7), F32("nan"), "NaT"),
        (ast.Mult, seconds("NaT"), F32(2), "NaT"),
    ],
)
def test_scaled(operator, left, right, result):
    """A float32 makes a float32 of the duration; what comes out is cut to whole units."""
    found = BINARY[operator](left, right)
    assert (found.dtype, str(found)) == (np.dtype("m8[s]"), str(seconds(result)))


def test_scaled_lanes():
    """Lane by lane, a lane's NaT apart."""
    spans = np.array([ODD, 10, "NaT"], "m8[s]")
    found = BINARY[ast.Div](spans, np.array([1, 4, 1], np.float32))
    assert found.astype(np.int64).tolist() == [2**24, 2, np.iinfo(np.int64).min]


@pytest.mark.parametrize(
    ("compute", "left", "right", "result"),
    [
        # 2**53 days are 84375 * 2**63 milliseconds, of which 64 bits keep -2**63
        (BINARY[ast.Add], np.timedelta64(2**53, "D"), np.timedelta64(5, "ms"), 5 - 2**63),
        (BINARY[ast.Sub], np.timedelta64(-7, "ms"), np.timedelta64(2**53, "D"), 2**63 - 7),
        (COMPARE[ast.Lt], np.timedelta64(2**53, "D"), np.timedelta64(5, "ms"), True),
        (COMPARE[ast.Lt], np.timedelta64("NaT", "D"), np.timedelta64(5, "ms"), False),
        (BINARY[ast.Sub], np.datetime64(5, "ms"), np.timedelta64(2, "D"), 5 - 2 * 86_400_000),
    ],
)
def test_wrapped(compute, left, right, result):
    """What leaves 64 bits in the finer unit wraps; the lowest number is a number, not NaT."""
    assert int(compute(left, right).astype(np.int64)) == result


def test_extremes():
    """min and max compare; a NaT beside them compares false, so the first one stays."""
    day, two = np.datetime64("2001-02-03", "s"), np.datetime64("1970-01-02", "s")
    none = np.datetime64("NaT", "s")
    assert [FUNCTIONS[f](day, two) for f in (min, max)] == [two, day]
    assert FUNCTIONS[min](day, none) == day
    assert np.isnat(FUNCTIONS[max](none, day))
    assert [bool(FUNCTIONS[np.isnat](one)) for one in (day, none)] == [False, True]
