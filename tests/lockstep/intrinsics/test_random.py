"""cuda.random: the generator's states and numbers equal those of Numba's own functions."""

import math

import numpy as np
import pytest
from numba import cuda
from numba.cuda import random as numba_random
from numba.cuda.random import (
    xoroshiro128p_normal_float32,
    xoroshiro128p_normal_float64,
    xoroshiro128p_uniform_float32,
    xoroshiro128p_uniform_float64,
)

from tests.lockstep.intrinsics.typed import run

N = 70


def states(seed):
    """States of N generators, as the host makes them."""
    made = np.zeros(N, numba_random.xoroshiro128p_dtype)
    numba_random.init_xoroshiro128p_states_cpu(made, seed, 0)
    return made


def reference(function, seed, turns):
    """(numbers, states) by the function as Numba compiles it for the host."""
    own = states(seed)
    with np.errstate(over="ignore"):
        found = [[function(own, i) for _ in range(turns)] for i in range(N)]
    return np.array(found), own


def uniform32(out, rng):
    i = cuda.grid(1)
    if i < out.shape[0]:
        for k in range(out.shape[1]):
            out[i, k] = xoroshiro128p_uniform_float32(rng, i)


def uniform64(out, rng):
    i = cuda.grid(1)
    if i < out.shape[0]:
        for k in range(out.shape[1]):
            out[i, k] = xoroshiro128p_uniform_float64(rng, i)


def normal32(out, rng):
    i = cuda.grid(1)
    if i < out.shape[0]:
        for k in range(out.shape[1]):
            out[i, k] = xoroshiro128p_normal_float32(rng, i)


def normal64(out, rng):
    i = cuda.grid(1)
    if i < out.shape[0]:
        for k in range(out.shape[1]):
            out[i, k] = xoroshiro128p_normal_float64(rng, i)


@pytest.mark.parametrize("seed", [1, 2**40 + 3])
@pytest.mark.parametrize(
    ("kernel", "function", "dtype"),
    [
        (uniform32, xoroshiro128p_uniform_float32, np.float32),
        (uniform64, xoroshiro128p_uniform_float64, np.float64),
    ],
)
def test_uniform(kernel, function, dtype, seed):
    """Numbers and states after five turns, bit for bit."""
    out, rng = np.zeros((N, 5), dtype), states(seed)
    run(kernel, out, rng, grid=3)
    numbers, after = reference(function, seed, 5)
    assert out.tolist() == numbers.astype(dtype).tolist()
    assert rng.tolist() == after.tolist()


@pytest.mark.parametrize(
    ("kernel", "function", "dtype"),
    [
        (normal32, xoroshiro128p_normal_float32, np.float32),
        (normal64, xoroshiro128p_normal_float64, np.float64),
    ],
)
def test_normal(kernel, function, dtype):
    """States bit for bit; numbers within what a float32 logarithm may differ by."""
    out, rng = np.zeros((N, 4), dtype), states(9)
    run(kernel, out, rng, grid=3)
    numbers, after = reference(function, 9, 4)
    np.testing.assert_allclose(out, numbers, rtol=1e-5, atol=1e-6)
    assert rng.tolist() == after.tolist()


def pi(out, rng):
    i = cuda.grid(1)
    inside = 0
    for _ in range(64):
        x = xoroshiro128p_uniform_float32(rng, i)
        y = xoroshiro128p_uniform_float32(rng, i)
        if x * x + y * y <= 1:
            inside += 1
    cuda.atomic.add(out, 0, inside)


def test_monte_carlo():
    """A sum over all threads' own generators, counted one by one."""
    out, rng, own = np.zeros(1, np.int64), states(4)[:64].copy(), states(4)
    run(pi, out, rng, grid=2)
    draw = xoroshiro128p_uniform_float32
    inside = 0
    with np.errstate(over="ignore"):
        for i in range(64):
            for _ in range(64):
                x, y = draw(own, i), draw(own, i)
                inside += x * x + y * y <= 1
    assert out[0] == inside
    assert abs(4 * inside / 64**2 - math.pi) < 0.1
