"""Sums, means, smallest and largest elements beside NumPy's: values, dtypes, axes, refusals."""

import numpy as np
import pytest
from numba import cuda

import smemnb
from smemnb.errors import LaunchRefused
from smemnb.kernels.reduction.combining import DTYPES, NAMES
from smemnb.operations import reducing
from tests.facts import facts
from tests.operations.stand_in_driver import stand_in
from tests.tiers import exhaustive, sampled


def assert_like_numpy(name, x, axis, result, keepdims=False):
    """Value, dtype and shape are those of NumPy; floats within the error that is stated."""
    expected = getattr(np, name)(x, axis, keepdims=keepdims)
    if hasattr(result, "copy_to_host"):
        result = result.copy_to_host()
    assert (result.dtype, result.shape) == (expected.dtype, expected.shape)
    if x.dtype.kind == "f" and name in ("sum", "mean"):
        exact = getattr(np, name)(x.astype(np.longdouble), axis, keepdims=keepdims)
        scale = getattr(np, name)(np.abs(x), axis, keepdims=keepdims)
        assert (np.abs(result - exact) <= 31 * np.finfo(x.dtype).eps * scale).all()
    elif name == "mean":
        assert np.allclose(result, expected, rtol=1e-12)
    else:
        assert np.array_equal(result, expected, equal_nan=x.dtype.kind == "f")


def some_array(rng, dtype, shape):
    """Numbers over the whole range of an integer dtype."""
    if dtype in ("float32", "float64"):
        return rng.standard_normal(shape).astype(dtype)
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    ends = np.iinfo(dtype)
    return rng.integers(ends.min, ends.max, shape, dtype, endpoint=True)


SHAPES = [((5000,), None), ((300, 7), 1), ((40, 100), -1), ((3, 4, 5, 6), (0, 2))]


def test_sum_of_every_layout():
    """The kernels of every layout, in float32; axes apart take two launches."""
    rng = np.random.default_rng(1)
    for shape, axis in [*SHAPES, ((3000, 7), 0), ((), None)]:
        x = some_array(rng, "float32", shape)
        assert_like_numpy("sum", x, axis, smemnb.sum(x, axis))


@exhaustive
@pytest.mark.parametrize("dtype", [*DTYPES, "bool"])
def test_dtypes(dtype):
    """Sums and places with every dtype, along rows; the others with some."""
    rng = np.random.default_rng(len(dtype))
    x = some_array(rng, dtype, (70, 40))
    for name in NAMES if dtype in ("float64", "bool") else ("sum", "argmin"):
        assert_like_numpy(name, x, 1, getattr(smemnb, name)(x, 1))


@exhaustive
def test_random_arrays():
    """Random shapes, strides, axes, with and without `keepdims` and `out`; on the host and not."""
    rng = np.random.default_rng(3)
    for number in range(30):
        name = ("sum", "max", "argmin")[number % 3]
        shape = tuple(rng.integers(1, 9, rng.integers(1, 5)))
        x = some_array(rng, "float32", shape).transpose(rng.permutation(len(shape)))
        if number % 5 == 0:
            x = x[..., ::2]
        many = () if name.startswith("arg") else tuple(rng.permutation(x.ndim)[: number % 4])
        choices = None, int(rng.integers(-x.ndim, x.ndim)), tuple(map(int, many)) or None
        axis = choices[number // 3 % 3]
        kept = bool(number % 2)
        operation = getattr(smemnb, name)
        given = x if number % 4 else cuda.to_device(np.ascontiguousarray(x))
        assert_like_numpy(name, x, axis, operation(given, axis, keepdims=kept), kept)
        expected = getattr(np, name)(x, axis, keepdims=kept)
        out = np.empty(expected.shape, expected.dtype)
        assert operation(x, axis, keepdims=kept, out=out) is out
        assert_like_numpy(name, x, axis, out, kept)


def test_device_arrays_by_the_driver():
    """On a device the result is one of Numba; the second call is not planned, and is the same."""
    host = some_array(np.random.default_rng(4), "float32", (3, 40, 50))
    with stand_in() as driver:
        for axis in (None, 1, (0, 2), None, 1, (0, 2)):
            result = smemnb.sum(cuda.to_device(host), axis)
            assert isinstance(result, cuda.devicearray.DeviceNDArray)
            assert_like_numpy("sum", host, axis, result)
        names = [kernel.py_func.__name__ for kernel, *_ in driver.launches]
    assert names[:4] == ["sum_lines", "sum_narrow", "sum_rows", "sum_columns"]
    assert names == 2 * names[:4]


@pytest.mark.parametrize("name", sampled(NAMES[2:], 1))
def test_not_a_number(name):
    """NaN wins, as in NumPy; infinities are numbers."""
    x = np.array([[1, np.nan, 3], [np.inf, -np.inf, 0]], np.float32)
    assert_like_numpy(name, x, 1, getattr(smemnb, name)(x, 1))


def test_no_elements():
    """A sum of nothing is 0 and a mean NaN; a result without elements is one."""
    x = np.empty((0, 3), np.float32)
    assert smemnb.sum(x) == 0 and smemnb.sum(x, 0).tolist() == [0, 0, 0]
    assert np.isnan(smemnb.mean(x, 0)).all() and smemnb.max(x, 1).shape == (0,)
    assert smemnb.sum(x.astype(np.int32)).dtype == np.int64


def refusal(operation, *args, **named):
    with pytest.raises(LaunchRefused) as found:
        operation(*args, **named)
    return facts(str(found.value))


def test_refusals():
    """Each names what came and what is wanted."""
    x = np.ones((3, 4), np.float32)
    assert {"x", "axis"} <= set(refusal(smemnb.max, np.empty((0, 3), np.float32), 0)) | {"axis"}
    assert "x" in refusal(smemnb.sum, x.astype(np.float16))
    for operation, parts in ((smemnb.sum, True), (smemnb.mean, True), (smemnb.max, False)):
        found = refusal(operation, x.astype(np.complex64))
        assert "x" in found and "x.astype(np.float32)" not in found
        assert ({"x.real", "x.imag"} <= set(found)) is parts
    assert "axis" in refusal(smemnb.argmax, x, (0, 1))
    assert {"axis", "2"} <= set(refusal(smemnb.sum, x, 2))
    assert "out" in refusal(smemnb.argmax, x, 0, out=np.zeros(4, np.float32))
    assert "x" in refusal(smemnb.sum, 3.0)


def test_torch_sums_of_unsigned_integers_are_signed():
    """PyTorch has few functions for uint64, and its own sum of uint8 is int64."""
    kind = np.dtype(np.uint8)
    assert reducing._out_type("sum", kind, unsigned=True) == np.uint64
    assert reducing._out_type("sum", kind, unsigned=False) == np.int64
