"""np.finfo and np.iinfo in a kernel: values and types as Numba has them."""

import numpy as np
import pytest
from numba import cuda

from smemnb import simulator
from smemnb.errors import UnsupportedSyntax
from smemnb.lockstep.numbers.type_limits import limits_of
from smemnb.simulator import seam
from smemnb.simulator.inference import infer

pytestmark = pytest.mark.skipif(
    simulator.device() != "lockstep" or not seam.OUT_OF_TREE,
    reason="launches go to a GPU here, or Numba's own numba.cuda has no np.finfo",
)


@cuda.jit
def smallest_steps(out, x):
    limits = np.finfo(np.float32)
    out[0] = limits.eps
    out[1] = np.finfo(np.float64).eps
    out[2] = np.finfo(x.dtype).max
    out[3] = np.iinfo(np.int16).max - np.iinfo(np.int16).min
    out[4] = np.finfo(np.float32).bits


def test_values():
    """Constants, of a type, of an array's type, kept in a variable."""
    out = np.zeros(5)
    smallest_steps[1, 1](out, np.zeros(1, np.float16))
    assert out.tolist() == [2**-23, 2**-52, 65504, 65535, 32]


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
def test_types_of_floats(dtype):
    """A float's largest value has its own type; counts are int64."""
    found = limits_of(np.finfo, np.dtype(dtype))
    assert (found.max.dtype, found.eps.dtype) == (np.dtype(dtype), np.dtype(dtype))
    assert (found.bits.dtype, found.bits) == (np.int64, 8 * np.dtype(dtype).itemsize)


@pytest.mark.parametrize("dtype", ["i1", "u1", "i4", "u4", "i8", "u8"])
def test_types_of_integers(dtype):
    """Integers are int64, but for those that only uint64 holds."""
    found = limits_of(np.iinfo, np.dtype(dtype))
    info = np.iinfo(dtype)
    assert (int(found.min), int(found.max)) == (info.min, info.max)
    assert found.max.dtype == (np.uint64 if dtype == "u8" else np.int64)


def test_as_numba_types_them():
    """Numba's inference gives the same types."""

    def kernel(out):
        a = np.finfo(np.float32).max
        b = np.iinfo(np.int16).max
        c = np.iinfo(np.uint64).max
        out[0] = a + b + c

    types = infer(kernel, (np.zeros(1),)).variables()
    assert (types["a"], types["b"], types["c"]) == ({"float32"}, {"int64"}, {"uint64"})


@cuda.jit
def rounded(out):
    out[0] = np.round(out[0])


@cuda.jit
def rounded_by_python(out):
    out[0] = round(out[0])


def test_round():
    """np.round passes Numba's inference and not its compiler: refused in the reader's line."""
    line = rounded.py_func.__code__.co_firstlineno + 2
    with pytest.raises(UnsupportedSyntax, match=rf"line {line}: np\.round .*round\(x\)"):
        rounded[1, 1](np.array([2.5]))
    out = np.array([2.5])
    rounded_by_python[1, 1](out)
    assert out[0] == 2
