"""Floor division and remainder of floats as a GPU computes them."""

from __future__ import annotations

import ast
import math
import random
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from smemnb.lockstep.numbers import division
from smemnb.lockstep.numbers.math_functions import FUNCTIONS
from smemnb.lockstep.numbers.operators import BINARY

INF, NAN = math.inf, math.nan

TABLE = [  # x, y, x // y, x % y: what an H200 gave for infinities, large quotients and zeros
    (7.0, 2.0, 3.0, 1.0),
    (-7.0, 2.0, -4.0, 1.0),
    (7.0, -2.0, -4.0, -1.0),
    (-6.0, 2.0, -3.0, 0.0),
    (6.0, -2.0, -3.0, -0.0),
    (0.0, 3.0, 0.0, 0.0),
    (-0.0, 3.0, -0.0, 0.0),
    (7.0, INF, NAN, NAN),
    (-7.0, INF, NAN, NAN),
    (INF, 3.0, NAN, NAN),
    (7.0, 0.0, INF, NAN),
    (-7.0, 0.0, -INF, NAN),
    (0.0, 0.0, NAN, NAN),
    (NAN, 1.0, NAN, NAN),
    (1.0, NAN, NAN, NAN),
    (1.0, 1e-310, INF, -INF),  # the quotient is beyond a float64
]


def _same(got: Any, wanted: Any) -> bool:
    return repr(float(got)) == repr(float(wanted))


@pytest.mark.parametrize(("x", "y", "whole", "rest"), TABLE)
def test_table(x: float, y: float, whole: float, rest: float) -> None:
    a, b = np.float64(x), np.float64(y)
    with np.errstate(all="ignore"):
        assert _same(BINARY[ast.FloorDiv](a, b), whole)
        assert _same(BINARY[ast.Mod](a, b), rest)
        assert [float(v) for v in map(np.abs, FUNCTIONS[divmod](a, b))] == pytest.approx(
            [abs(whole), abs(rest)], nan_ok=True
        )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_one_rounding(dtype: Any) -> None:
    """|x| - floor(|x| / |y|) * |y|: product and difference exact (as fractions), rounded once."""
    draw = random.Random(5)
    limit = 120 if dtype is np.float32 else 1020
    for _ in range(4000):
        a, b = (dtype(math.ldexp(draw.random(), draw.randint(-limit, limit))) for _ in range(2))
        with np.errstate(all="ignore"):
            times = np.floor(a / b)
            if not np.isfinite(times) or b == 0:
                continue
            exact = Fraction(float(a)) - Fraction(float(times)) * Fraction(float(b))
            for x in (a, -a):
                wanted = math.copysign(1, x) * float(dtype(float(exact)))
                assert float(division.cut_rest(x, b)) == wanted, (x, b)


def test_lanes_each_their_own_way() -> None:
    """Large, small and infinite lanes in one array do what each does alone."""
    x = np.array([1e308, 5e-324, 12.5, INF, 1.7e308, -1e300, 3e10])
    y = np.array([1.7e-5, 1e300, -0.1, 2.0, 1.6e308, 1e300, 7.0])
    with np.errstate(all="ignore"):
        for function in (division.remainder, division.floor_divide, division.cut_rest):
            alone = [function(*pair) for pair in zip(x, y, strict=True)]
            assert list(map(repr, function(x, y).tolist())) == [repr(float(v)) for v in alone]


def test_the_lowest_integer() -> None:
    """By -1 its quotient has no place among the integers: Numba gives 0, and 0 for x // 0."""
    lowest = -(2**63)
    x, y = np.array([lowest, lowest, -7, 7]), np.array([-1, 1, -1, 0])
    with np.errstate(all="ignore"):
        assert BINARY[ast.FloorDiv](x, y).tolist() == [0, lowest, 7, 0]
        assert BINARY[ast.FloorDiv](x[0], y[0]) == 0
        assert [v.tolist() for v in FUNCTIONS[divmod](x, y)] == [[0, lowest, 7, 0], [0, 0, 0, 0]]
        # int32 operands are divided as int64
        assert BINARY[ast.FloorDiv](np.int32(-(2**31)), np.int32(-1)) == 2**31


def test_operands_of_two_types() -> None:
    """A bool or an integer beside a float is that float first."""
    with np.errstate(all="ignore"):
        assert _same(BINARY[ast.FloorDiv](np.bool_(True), np.float64(INF)), NAN)
    assert _same(BINARY[ast.Mod](np.float32(7.5), np.float64(0.5)), 0.0)
    assert BINARY[ast.Mod](np.float32(7.5), np.float64(0.5)).dtype == np.float64
    assert BINARY[ast.FloorDiv](np.timedelta64(7, "s"), np.float64(2)) == np.timedelta64(3, "s")
