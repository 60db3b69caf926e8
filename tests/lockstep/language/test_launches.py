"""Language through Numba's own launch syntax: *args, defaults, debug, overloads."""

from collections import namedtuple

import numpy as np
import pytest
from numba import cuda, types
from numba.extending import overload, register_jitable

from smemnb.errors import TypingRefused

Pair = namedtuple("Pair", "left right")


@cuda.jit
def sum_of_all(out, *arrays):
    i = cuda.grid(1)
    for array in arrays:
        out[i] += array[i]


def test_starred_kernel():
    """Numba has no *args in kernels, though it has them in device functions."""
    out = np.zeros(4)
    with pytest.raises(TypingRefused, match="is launched with 3 arguments"):
        sum_of_all[1, 4](out, np.arange(4.0), np.full(4, 5.0))
    assert out.tolist() == [0] * 4


def test_named_tuple_of_arrays():
    """A named tuple keeps its fields."""

    @cuda.jit
    def kernel(out, pair):
        i = cuda.grid(1)
        left, _ = pair
        out[i] = left[i] + pair.right[i] * len(pair)

    out = np.zeros(3)
    kernel[1, 3](out, Pair(np.arange(3.0), np.ones(3)))
    assert out.tolist() == [2, 3, 4]


def test_debug_of_a_launch():
    """@cuda.jit(debug=True) raises the kernel's exception; arrays are as they were."""

    @cuda.jit(debug=True, opt=False)
    def kernel(out):
        i = cuda.grid(1)
        if i == 5:
            raise IndexError("five")
        out[i] = 1

    out = np.zeros(8)
    with pytest.raises(IndexError, match=r"tid=\[0, 0, 1\] ctaid=\[0, 0, 1\]: five"):
        kernel[2, 4](out)
    assert out.tolist() == [0] * 8


def area(shape):
    """Known to Numba by its overloads."""


@overload(area, target="generic")
def _(shape):
    if isinstance(shape, types.UniTuple):
        return lambda shape: shape[0] * shape[1]
    if isinstance(shape, types.Float):

        def disc(shape):
            x = shape * 2
            return x * x

        return disc
    return None


def test_overload_by_type():
    """The implementation is chosen by the types of the arguments of each call."""

    @cuda.jit
    def kernel(out):
        i = cuda.grid(1)
        out[i] = area((i, 3)) * 1000 + area(i + 0.5)

    out = np.zeros(3)
    kernel[1, 3](out)
    assert out.tolist() == [1.0, 3009.0, 6025.0]


def of_both(value):
    """Known to Numba by two overloads that fit."""


@overload(of_both, target="generic")
def _(value):
    return lambda value: value + 100


@overload(of_both, target="cuda")
def _(value):
    return lambda value: value + 7


def test_overload_for_this_target():
    """An overload for CUDA goes before one for every target."""

    @cuda.jit
    def kernel(out):
        i = cuda.grid(1)
        out[i] = of_both(i)

    out = np.zeros(3)
    kernel[1, 3](out)
    assert out.tolist() == [7, 8, 9]


@register_jitable
def clamped(value, low=0, high=4):
    if value < low:
        return low
    return high if value > high else value


def test_registered_with_defaults():
    """register_jitable functions are their own implementation, with their defaults."""

    @cuda.jit
    def kernel(out):
        i = cuda.grid(1)
        out[i] = clamped(i - 2) + clamped(i, high=1) * 10

    out = np.zeros(8)
    kernel[1, 8](out)
    assert out.tolist() == [0, 10, 10, 11, 12, 13, 14, 14]


def test_inline_always_is_typed():
    """A dissolved function's variables have the types that Numba infers for them."""

    @cuda.jit(device=True, inline="always")
    def mean_of(a, b):
        total = a
        total = (total + b) / 2
        return total

    @cuda.jit
    def kernel(out, n):
        i = cuda.grid(1)
        out[i] = mean_of(i, n)

    out = np.zeros(3)
    kernel[1, 3](out, 4)
    assert out.tolist() == [2, 2.5, 3]


def test_declared_callee_casts():
    """A device function with a signature casts its arguments and its result."""

    @cuda.jit("int32(float32, int16)", device=True)
    def declared(a, b):
        return a * b

    @cuda.jit
    def kernel(out):
        i = cuda.grid(1)
        out[i] = declared(i + 0.75, 2)

    out = np.zeros(3)
    kernel[1, 3](out)
    assert out.tolist() == [1, 3, 5]
