"""Inputs of float64 in kernels that work with float32 else."""

import numpy as np
import pytest
from numba import complex64, cuda, float32, float64

from smemnb.tracing import trace


def noted(kernel, *args):
    """Line within the kernel and array of each note."""
    first = kernel.py_func.__code__.co_firstlineno
    findings = trace(kernel)[1, 32](*args).findings
    return [(one.line - first, one.cure.split(".astype")[0].split()[-1]) for one in findings
            if one.kind == "float64_array"]  # fmt: skip


def single(count=32):
    """A float32 array."""
    return np.zeros(count, np.float32)


def double(count=32):
    """A float64 array, as np.random.rand gives it."""
    return np.random.default_rng(1).random(count)


@cuda.jit
def scaled(out, inp, factor):
    i = cuda.grid(1)
    out[i] = factor * inp[i]


@cuda.jit
def staged(out, inp):
    tile = cuda.shared.array(32, float32)
    tx = cuda.threadIdx.x
    tile[tx] = inp[tx]
    cuda.syncthreads()
    out[tx] = 2 * tile[31 - tx]


@cuda.jit
def multiplied(out, a, b):
    tx = cuda.threadIdx.x
    acc = float32(0)
    for k in range(4):
        left = a[(tx + k) % 32]
        acc += left * b[k]
    out[tx] = acc


@cuda.jit(device=True)
def weight(values, i):
    return values[i] * values[i]


@cuda.jit
def by_function(out, inp):
    tx = cuda.threadIdx.x
    out[tx] = weight(inp, tx)


def test_arithmetic():
    """An operand that is an element of the array; through a variable too."""
    assert noted(scaled, single(), double(), np.float32(2)) == [(3, "inp")]
    assert noted(multiplied, single(), double(), double()) == [(6, "a"), (6, "b")]
    assert noted(multiplied, single(), single(), double()) == [(6, "b")]


def test_stores_into_float32():
    """A tile of float32 takes each element rounded."""
    assert noted(staged, single(), double()) == [(4, "inp")]
    assert noted(staged, double(), double()) == []  # out is stored to in float64


def test_device_functions():
    """The line is the function's."""
    (found,) = trace(by_function)[1, 32](single(), double()).findings
    assert (found.kind, found.severity, found.function) == ("float64_array", "note", "weight")


@cuda.jit
def in_double(out, inp):
    i = cuda.grid(1)
    out[i] = float64(2) * inp[i]


@cuda.jit
def tile_of_double(out, inp):
    tile = cuda.shared.array(32, float64)
    tx = cuda.threadIdx.x
    tile[tx] = inp[tx]
    cuda.syncthreads()
    out[tx] = tile[31 - tx]


@cuda.jit
def summed(out, inp):
    cuda.atomic.add(out, 0, inp[cuda.grid(1)])


@cuda.jit
def places(out, inp):
    i = cuda.grid(1)
    if i < inp.shape[0]:
        out[i] = i


@pytest.mark.parametrize(
    ("kernel", "args"),
    [
        (scaled, lambda: (single(), single(), np.float32(2))),
        (scaled, lambda: (double(), double(), 2.0)),  # all is float64
        (scaled, lambda: (double(), single(), np.float32(2))),  # summed up in float64, on purpose
        (in_double, lambda: (single(), double())),  # says so
        (tile_of_double, lambda: (single(), double())),
        (summed, lambda: (double(), single())),
        (places, lambda: (single(), double())),  # no element is used
        (scaled, lambda: (np.zeros(32, np.int64), double(), 2)),
    ],
)
def test_no_note(kernel, args):
    """Where float64 is meant, or nothing is float32, nothing is said."""
    assert noted(kernel, *args()) == []


def test_complex_numbers():
    """complex128 beside complex64."""

    @cuda.jit
    def turned(out, inp):
        i = cuda.grid(1)
        out[i] = inp[i] * complex64(1j)

    assert noted(turned, np.zeros(32, np.complex64), np.ones(32, np.complex128)) == [(3, "inp")]
