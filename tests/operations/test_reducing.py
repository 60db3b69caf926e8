"""Sums, means, smallest and largest elements beside NumPy's: values, dtypes, axes, refusals."""

import numpy as np
import pytest
from numba import cuda

from smemnb.errors import LaunchRefused
from smemnb.kernels.reduction.combining import DTYPES, NAMES
from smemnb.operations import reducing
from tests.facts import facts
from tests.operations.stand_in_driver import stand_in


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
    else:
        assert np.array_equal(result, expected, equal_nan=x.dtype.kind == "f")


def some_array(rng, dtype, shape):
    if dtype in ("float32", "float64"):
        return rng.standard_normal(shape).astype(dtype)
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    ends = np.iinfo(dtype)
    return rng.integers(ends.min, ends.max, shape, dtype, endpoint=True)


CASES = [
    ((1,), None),
    ((5000,), None),
    ((300, 7), 1),
    ((3000, 7), 0),
    ((7, 300), 0),
    ((40, 100), -1),
    ((2, 70, 130), 1),
    ((3, 4, 5, 6), (0, 2)),
]


@pytest.mark.first(12)
@pytest.mark.parametrize("dtype", [*DTYPES, "bool"])
@pytest.mark.parametrize("name", NAMES)
def test_values(name, dtype):
    """Every operation and dtype over the layouts that have kernels of their own."""
    rng = np.random.default_rng(len(name) + len(dtype))
    for shape, axis in CASES:
        if name.startswith("arg") and isinstance(axis, tuple):
            continue
        x = some_array(rng, dtype, shape)
        assert_like_numpy(name, x, axis, getattr(reducing, name)(x, axis))
