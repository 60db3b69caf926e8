"""Findings inside Numba's own functions are reported at the line that calls them."""

import numpy as np
import pytest
from numba import cuda
from numba.cuda.random import (
    xoroshiro128p_dtype,
    xoroshiro128p_normal_float32,
    xoroshiro128p_uniform_float32,
)

from smemnb import trace

RANDOM = cuda.random


@cuda.jit
def one_state_for_all(out, states):
    i = cuda.grid(1)
    out[i] = xoroshiro128p_uniform_float32(states, 0)


@cuda.jit
def one_state_too_far(out, states):
    i = cuda.grid(1)
    out[i] = RANDOM.xoroshiro128p_uniform_float32(states, i + 1)


@cuda.jit
def draw(out, states, i):
    out[i] = xoroshiro128p_normal_float32(states, i // 2)


@cuda.jit
def one_state_for_two(out, states):
    i = cuda.grid(1)
    draw(out, states, i)


@cuda.jit
def a_state_for_each(out, states):
    i = cuda.grid(1)
    out[i] = xoroshiro128p_uniform_float32(states, i)


def found(kernel):
    """The findings of a block of 64 threads with 64 states."""
    states = np.zeros(64, xoroshiro128p_dtype)
    states["s0"] = np.arange(1, 65)
    return trace(kernel)[1, 64](np.zeros(64, np.float32), states).findings


@pytest.mark.parametrize(
    ("kernel", "calling", "kind"),
    [
        (one_state_for_all, one_state_for_all, "race"),
        (one_state_too_far, one_state_too_far, "out_of_range"),
        (one_state_for_two, draw, "race_in_warp"),
    ],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_call(kernel, calling, kind):
    """One finding per kind, at the learner's line, with a cure that names the call."""
    (one,) = found(kernel)
    code = calling.py_func.__code__
    assert (one.kind, one.function, one.other_line) == (kind, code.co_name, None)
    assert one.line == max(line for *_, line in code.co_lines() if line)
    assert "xoroshiro128p_" in one.source and "xoroshiro128p_" in one.cure
    assert "xoroshiro128p_next" in one.cause and "xoroshiro128p_next" not in one.cure


def test_nothing_to_say():
    """What Numba's own functions pay is theirs."""
    assert found(a_state_for_each) == ()
