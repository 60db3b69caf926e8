"""Arrays frozen into a kernel: up to 64 KB of constant memory, counted as ptxas counts them."""

import re

import numpy as np
import pytest
from numba import cuda

from smemnb import simulator
from smemnb.compiled import cubin
from smemnb.errors import LaunchRefused
from smemnb.simulator.inference import infer


def table(size, dtype=np.float32):
    return np.arange(size).astype(dtype)


def one(size, dtype=np.float32):
    a = table(size, dtype)

    @cuda.jit
    def kernel(out):
        out[cuda.grid(1)] = a[cuda.grid(1)]

    return kernel


def two(first, second):
    a, b = table(*first), table(*second)

    @cuda.jit
    def kernel(out):
        i = cuda.grid(1)
        out[i] = a[i] + b[i]

    return kernel


def twice(size):
    a = table(size)

    @cuda.jit
    def kernel(out):
        i = cuda.grid(1)
        out[i] = a[i] + a[i + 1]

    return kernel


def declared(size, *, named_too=False):
    a = table(size)
    if named_too:

        @cuda.jit
        def both(out):
            inside = cuda.const.array_like(a)
            out[cuda.grid(1)] = inside[cuda.grid(1)] + a[cuda.threadIdx.x]

        return both

    @cuda.jit
    def kernel(out):
        inside = cuda.const.array_like(a)
        out[cuda.grid(1)] = inside[cuda.grid(1)]

    return kernel


def in_device_functions(first, second, *, calls=1):
    a, b = table(*first), table(*second)

    @cuda.jit(device=True)
    def looked_up(i):
        return b[i]

    if calls == 2:

        @cuda.jit
        def again(out):
            out[cuda.grid(1)] = looked_up(cuda.grid(1)) + looked_up(cuda.grid(1) + 1)

        return again

    @cuda.jit
    def kernel(out):
        out[cuda.grid(1)] = looked_up(cuda.grid(1)) + a[cuda.grid(1)]

    return kernel


def dissolved(size):
    a = table(size)

    @cuda.jit(device=True, inline="always")
    def looked_up(i):
        return a[i]

    @cuda.jit
    def kernel(out):
        out[cuda.grid(1)] = looked_up(cuda.grid(1)) + looked_up(cuda.grid(1) + 1)

    return kernel


def handed_on(size):
    a = table(size)

    @cuda.jit(device=True)
    def looked_up(array, i):
        return array[i]

    @cuda.jit
    def kernel(out):
        out[cuda.grid(1)] = looked_up(a, cuda.grid(1))

    return kernel


def looped(size, rounds=None):
    a = table(size)
    if rounds is None:

        @cuda.jit
        def whole(out):
            for i in range(a.shape[0]):
                out[0] += a[i]

        return whole

    @cuda.jit
    def kernel(out):
        for i in range(rounds):
            out[0] += a[i]

    return kernel


def views():
    a = np.ones((100, 200), np.float32)

    @cuda.jit
    def kernel(out):
        row = a[cuda.grid(1)]
        out[cuda.grid(1)] = row[3] + a.T[1, cuda.grid(1)]

    return kernel


def hardly_read(how):
    a = table(20000)
    kernels = {}

    @cuda.jit
    def extent(out):
        out[cuda.grid(1)] = a.shape[0]

    @cuda.jit
    def literal(out):
        out[cuda.grid(1)] = a[5]

    @cuda.jit
    def unused(out):
        x = a[cuda.grid(1)]  # noqa: F841
        out[cuda.grid(1)] = 3

    kernels = {"extent": extent, "literal": literal, "unused": unused}
    return kernels[how]


F4, I1, F8 = np.float32, np.int8, np.float64
CASES = [
    ("65536 bytes", lambda: one(16384), None),
    ("65540 bytes", lambda: one(16385), 0x10004),
    ("65537 bytes", lambda: one(65537, I1), 0x10001),
    ("two", lambda: two((8192, F4), (8192, F4)), None),
    ("two and a word", lambda: two((8192, F4), (8193, F4)), 0x10004),
    ("a gap that fits", lambda: two((1, I1), (16383, F4)), None),
    ("a gap", lambda: two((5, I1), (16383, F4)), 0x10004),
    ("no gap", lambda: two((16383, F4), (5, I1)), 0x10001),
    ("a gap of float64", lambda: two((5, I1), (8191, F8)), None),
    ("named twice", lambda: twice(10000), 80000),
    ("array_like", lambda: declared(16384), None),
    ("array_like and a word", lambda: declared(16385), 0x10004),
    ("array_like and named", lambda: declared(10000, named_too=True), 80000),
    ("a device function", lambda: in_device_functions((1, F4), (16383, F4)), None),
    ("behind the kernel's", lambda: in_device_functions((5, I1), (16383, F4)), 0x10004),
    ("before the device's", lambda: in_device_functions((16383, F4), (5, I1)), 0x10001),
    ("called twice", lambda: in_device_functions((1, F4), (10000, F4), calls=2), None),
    ("dissolved twice", lambda: dissolved(10000), 80000),
    ("handed on", lambda: handed_on(20000), 80000),
    ("a loop over it", lambda: looped(20000), 80000),
    ("a long loop", lambda: looped(20000, 256), 80000),
    ("an unrolled loop", lambda: looped(20000, 16), None),
    ("views", views, 160000),
    ("its extent", lambda: hardly_read("extent"), None),
    ("a literal index", lambda: hardly_read("literal"), None),
    ("read in vain", lambda: hardly_read("unused"), None),
]
BY_NAME = pytest.mark.parametrize(
    ("make", "size"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)


def refused_size(act):
    """The bytes of which a refusal speaks; None where there is none."""
    try:
        act()
    except Exception as error:
        return int(re.search(r"constant data \((0x\w+) bytes, 0x10000 max\)", str(error))[1], 16)


@BY_NAME
def test_frozen_bytes(make, size):
    """What is read and stays is counted, once for each place that names it, with its gaps."""
    kernel = make()
    assert refused_size(lambda: infer(kernel.py_func, (np.zeros(32, np.float32),))) == size


@pytest.mark.exhaustive
@pytest.mark.toolchain
@BY_NAME
def test_ptxas_agrees(make, size):
    """NVIDIA's assembler refuses the same kernels for the same number of bytes."""
    kernel = make()
    assert refused_size(lambda: cubin(kernel, (np.zeros(32, np.float32),))) == size


@pytest.mark.skipif(simulator.device() != "lockstep", reason="launches go to a GPU")
def test_a_launch():
    """The launch is refused before it runs, with the lines and the cure."""
    kernel, out = twice(10000), np.zeros(32, np.float32)
    with pytest.raises(LaunchRefused, match=r"40,000 in line \d+, 40,000 in line \d+.*argument"):
        kernel[1, 32](out)
    assert not out.any()
    with pytest.raises(LaunchRefused, match="constant data"):
        cuda.jit("void(float32[::1])")(kernel.py_func)
