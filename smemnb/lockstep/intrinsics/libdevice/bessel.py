"""Bessel functions: J by its integral, both kinds by Hankel's series for large arguments.

Orders above 1 of Y, and of J where the argument is larger than the order, follow by the recurrence
F(n + 1) = 2 n / x F(n) - F(n - 1). Results are within 1e-13, relative to the largest value nearby.
Formulas: Abramowitz and Stegun, chapter 9.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

FAR = 50.0  # from here on, Hankel's series converges to the last place
EULER = 0.5772156649015329
Array = Any


def bessel_j(order: Any, x: Any) -> Array:
    """J of an integer order, NaN for negative orders."""
    wide = np.abs(np.asarray(x, np.float64))
    n = np.asarray(order, np.int64)
    with np.errstate(all="ignore"):
        far = (wide > FAR) & (n < wide)
        near = _by_integral(np.maximum(n, 0), np.where(far | ~np.isfinite(wide), 0.0, wide))
        if bool(far.any()):
            place = np.where(far, wide, 2 * FAR)
            zero, one = (_hankel(k, place)[0] for k in (0, 1))
            near = np.where(far, _by_recurrence(zero, one, np.where(far, n, 0), place), near)
    odd = (n % 2 == 1) & np.signbit(x)
    result = np.where(np.isinf(wide), 0.0, np.where(odd, -near, near))
    return np.where((n < 0) | np.isnan(wide), np.nan, result)


def bessel_y(order: Any, x: Any) -> Array:
    """Y of an integer order, NaN for negative orders and arguments."""
    wide, n = np.asarray(x, np.float64), np.asarray(order, np.int64)
    usual = np.isfinite(wide) & (wide > 0)
    place = np.where(usual, wide, 1.0)
    with np.errstate(all="ignore"):
        zero, one = (_low_y(k, place) for k in (0, 1))
        result: Array = _by_recurrence(zero, one, np.maximum(n, 0), place)
    result = np.where(wide == 0, -np.inf, np.where(np.isposinf(wide), 0.0, result))
    return np.where((n < 0) | np.isnan(wide) | (wide < 0), np.nan, result)


def _by_integral(n: Array, x: Array) -> Array:
    """The mean of cos(n t - x sin t) over a full turn; the trapezoid rule is exact for it."""
    count = int(1.5 * np.max(x) + np.max(n)) + 60
    total: Array = np.zeros(np.broadcast_shapes(n.shape, x.shape))
    for k in range(count):
        angle = 2 * math.pi * k / count
        total = total + np.cos(n * angle - x * math.sin(angle))
    return total / count


def _hankel(n: int, x: Array) -> tuple[Array, Array]:
    """(J, Y) of order 0 or 1 for a large argument."""
    even, odd, term = np.zeros_like(x), np.zeros_like(x), np.ones_like(x)
    for k in range(1, 30):
        if k % 2:
            even = even + term * (1 if k % 4 == 1 else -1)
        else:
            odd = odd + term * (1 if k % 4 == 2 else -1)
        term = term * (4 * n * n - (2 * k - 1) ** 2) / (k * 8 * x)
    cosine, sine = np.cos(x), np.sin(x)
    c, s = (cosine + sine, sine - cosine) if n == 0 else (sine - cosine, -(cosine + sine))
    size = 1 / np.sqrt(math.pi * x)
    return size * (even * c - odd * s), size * (even * s + odd * c)


def _by_recurrence(zero: Array, one: Array, n: Array, x: Array) -> Array:
    """F(n) from F(0) and F(1)."""
    result: Array = np.where(n == 0, zero, one)
    for k in range(1, int(np.max(n))):
        zero, one = one, 2 * k / x * one - zero
        result = np.where(n == k + 1, one, result)
    return result


_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(80)


def _low_y(n: int, x: Array) -> Array:
    """Y of order 0 or 1."""
    middle = _y_by_integral(n, np.clip(x, 2.0, FAR))
    near = _y_by_series(n, np.minimum(x, 2.0))
    far = _hankel(n, np.maximum(x, FAR))[1]
    return np.where(x < 2, near, np.where(x > FAR, far, middle))


def _y_by_integral(n: int, x: Array) -> Array:
    """Two integrals: over half a turn, and over what decays as exp(-x sinh t)."""
    total = np.zeros_like(x)
    for node, weight in zip((_NODES + 1) / 2, _WEIGHTS / 2, strict=True):
        angle = math.pi * node
        total = total + weight * np.sin(x * math.sin(angle) - n * angle)
    end = np.arcsinh(100 / x)
    tail = np.zeros_like(x)
    for node, weight in zip((_NODES + 1) / 2, _WEIGHTS / 2, strict=True):
        t = end * node
        growth = np.exp(n * t) + (-1) ** n * np.exp(-n * t)
        tail = tail + weight * growth * np.exp(-x * np.sinh(t))
    return total - tail * end / math.pi


def _y_by_series(n: int, x: Array) -> Array:
    square, log = x * x / 4, np.log(x / 2)
    term = np.ones_like(x) if n == 0 else x / 2
    function, total, harmonic = np.zeros_like(x), np.zeros_like(x), 0.0
    for k in range(25):
        harmonics = 2 * harmonic if n == 0 else 2 * harmonic + 1 / (k + 1)
        function, total = function + term, total + term * (harmonics - 2 * EULER)
        term = -term * square / ((k + 1) * (k + 1 + n))
        harmonic += 1 / (k + 1)
    result = (2 * log * function - total) / math.pi
    return result - (2 / (math.pi * x) if n else 0.0)
