"""The functions of cmath, against cmath itself."""

import cmath

import numpy as np
import pytest

from smemnb.lockstep.numbers.complex_functions import CMATH
from smemnb.lockstep.numbers.math_functions import FUNCTIONS

POINTS = [0.5 + 0.25j, -1.5 + 2j, 3 - 4j, -0.75 - 0.125j, 2j, 1.25]


@pytest.mark.parametrize("function", CMATH, ids=lambda f: f.__name__)
def test_values(function):
    """Each function gives what cmath gives, as complex128, complex64 or from a float."""
    if function is cmath.rect:
        got = FUNCTIONS[function](np.abs(POINTS), np.angle(POINTS))
        assert np.allclose(got, POINTS, rtol=1e-15, atol=1e-15)
        return
    wanted = np.array([function(point) for point in POINTS])
    got = np.array(FUNCTIONS[function](np.array(POINTS)))
    assert np.allclose(got.T if function is cmath.polar else got, wanted, rtol=1e-14)
    small = np.array(FUNCTIONS[function](np.array(POINTS, np.complex64)))
    wide = function in (cmath.acosh, cmath.log10, cmath.tanh)
    assert small.dtype in ((np.complex128,) if wide else (np.complex64, np.float32, np.bool_))
    assert np.allclose(FUNCTIONS[function](np.float64(2.5)), function(2.5), rtol=1e-15)


def test_log_base():
    """A base may be given."""
    got = FUNCTIONS[cmath.log](np.array(POINTS), np.complex128(3 + 1j))
    assert np.allclose(got, [cmath.log(point, 3 + 1j) for point in POINTS], rtol=1e-14)


@pytest.mark.parametrize("angle", [0.0, -0.0, np.inf, 2.0])
@pytest.mark.parametrize("radius", [0.0, 2.0, np.inf])
def test_rect_of_infinities(radius, angle):
    """Infinite radii and angles as in cmath, which raises where the radius is a number."""
    got = FUNCTIONS[cmath.rect](np.float64(radius), np.float64(angle))
    try:
        wanted = cmath.rect(radius, angle)
    except ValueError:
        assert np.isnan(got.real) or np.isinf(radius)
        return
    if np.isfinite(angle):
        assert (str(got.real), str(got.imag)) == (str(wanted.real), str(wanted.imag))
    else:
        assert got.real == wanted.real


def test_rect_keeps_the_angle_of_no_direction():
    """An infinite radius with an infinite angle has that angle as its imaginary part."""
    got = FUNCTIONS[cmath.rect](np.float32(-np.inf), np.float32(-np.inf))
    assert (str(got), got.dtype) == ("(-inf-infj)", np.complex64)


def test_log10_of_zero():
    """Each part is divided for itself, so that no NaN comes up."""
    assert str(FUNCTIONS[cmath.log10](np.complex64(0))) == "(-inf+0j)"


def test_exp_of_nothing():
    """exp(-inf + inf j) is +0, whatever the sign of the angle."""
    for angle in (np.inf, -np.inf, np.nan):
        got = FUNCTIONS[cmath.exp](np.complex128(complex(-np.inf, angle)))
        assert str(complex(got)) == "0j"
