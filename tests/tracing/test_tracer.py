"""What `trace` takes, and what it refuses before anything runs."""

import subprocess
import sys

import pytest
from numba import cuda, njit

from smemnb.errors import LaunchRefused
from smemnb.tracing import trace


def scale(out, inp):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = 2 * inp[i]


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: 3, "wants a kernel, that is a function with @cuda.jit; this is of type int"),
        (lambda: "scale", "this is of type str"),
        (lambda: int, "this is of type type"),
        (lambda: len, "this is of type builtin_function_or_method"),
        (lambda: None, "this is of type NoneType"),
        (lambda: njit(scale), "scale is compiled for the CPU"),
        (lambda: cuda.jit(device=True)(scale), "scale is a device function"),
    ],
)
def test_what_is_no_kernel(make, said):
    """Each wrong thing is named, and what is wanted with it."""
    with pytest.raises(LaunchRefused, match=said):
        trace(make())


def test_a_launch_is_no_kernel():
    """trace(kernel[grid, block]) has its brackets in the wrong place."""

    class Launch:  # as numba-cuda's, which needs a device to be made
        dispatcher = cuda.jit(scale)

    with pytest.raises(LaunchRefused, match=r"trace\(kernel\)\[grid, block\]"):
        trace(Launch())


def test_without_brackets():
    """A kernel cannot be called without grid and block."""
    with pytest.raises(LaunchRefused, match=r"scale needs a launch: trace\(scale\)\[grid, block\]"):
        trace(scale)(1, 2)


@pytest.mark.parametrize("brackets", [4, (4,), (1, 2, 3, 4, 5)])
def test_wrong_brackets(brackets):
    """Two to four entries, as Numba has it."""
    with pytest.raises(LaunchRefused, match=r"write trace\(scale\)\[grid, block\]"):
        trace(scale)[brackets]


def test_import_is_cheap():
    """The package imports neither Numba nor Matplotlib; the first launch does."""
    code = "import sys, smemnb.tracing; print({'numba', 'matplotlib'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("set()\n", "")
