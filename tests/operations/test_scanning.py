"""Running sums and largest elements beside NumPy's: values, dtypes, axes, `out`, refusals."""

import numpy as np
import pytest
from numba import cuda

from smemnb import cummax, cumsum
from smemnb.errors import LaunchRefused
from smemnb.operations import workspace
from smemnb.operations.scanning import COMPARED, SUMMED
from tests.facts import facts
from tests.operations.stand_in_driver import stand_in
from tests.tiers import exhaustive


def some_array(rng, dtype, shape):
    if dtype in ("float32", "float64"):
        return rng.standard_normal(shape).astype(dtype)
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    ends = np.iinfo(dtype)
    return rng.integers(ends.min, ends.max, shape, dtype, endpoint=True)


def assert_like_numpy(x, axis, result, exclusive=False):
    """Value, dtype and shape are those of NumPy; floats within the error that is stated."""
    expected = np.cumsum(x, axis)
    if exclusive:
        at = 0 if axis is None else axis
        expected = np.roll(expected, 1, at)
        if expected.size:
            np.moveaxis(expected, at, 0)[0] = 0
    assert (result.dtype, result.shape) == (expected.dtype, expected.shape)
    if x.dtype.kind == "f":
        exact = np.cumsum(x.astype(np.longdouble), axis)
        scale = np.cumsum(np.abs(x).astype(np.longdouble), axis)
        if exclusive:
            exact, scale = (np.roll(one, 1, at) for one in (exact, scale))
            for one in (exact, scale):
                np.moveaxis(one, at, 0)[0] = 0
        assert (np.abs(result - exact) <= 40 * np.finfo(x.dtype).eps * scale).all()
    else:
        assert (result == expected).all()


CASES = [((1,), None), ((5000,), 0), ((300, 7), 1), ((3, 40, 5), 1)]


def test_both_ways_along_a_matrix():
    """Rows and columns, inclusive and exclusive; and the largest so far."""
    x = some_array(np.random.default_rng(4), "float32", (5, 7))
    assert_like_numpy(x, 1, cumsum(x, 1))
    assert_like_numpy(x, 0, cumsum(x, 0, exclusive=True), exclusive=True)
    assert (cummax(x, -1) == np.maximum.accumulate(x, -1)).all()


@exhaustive
@pytest.mark.parametrize(
    ("dtype", "exclusive"),
    [(dtype, bool(at % 2)) for at, dtype in enumerate((*SUMMED, "float32"))],
)
def test_cumsum(dtype, exclusive):
    """Every dtype over the layouts that have kernels of their own."""
    rng = np.random.default_rng(len(dtype))
    for shape, axis in CASES:
        x = some_array(rng, dtype, shape)
        assert_like_numpy(x, axis, cumsum(x, axis, exclusive=exclusive), exclusive)


@exhaustive
@pytest.mark.parametrize("dtype", COMPARED)
def test_cummax(dtype):
    """The largest so far, of the dtype of the elements."""
    rng = np.random.default_rng(2)
    for shape, axis in CASES:
        x = some_array(rng, dtype, shape)
        result = cummax(x, axis)
        expected = np.maximum.accumulate(x, axis or 0)
        assert result.dtype == x.dtype and (result == expected).all()


def test_empty_arrays_and_numbers():
    """Nothing gives nothing of the same shape; a number is an array of one element."""
    x = np.empty((0, 3), np.float32)
    assert cumsum(x, 0).shape == (0, 3) and cumsum(x).shape == (0,)
    assert cumsum(np.empty((3, 0), np.int8), 1).dtype == np.int64
    assert cumsum(np.full((), 3, np.float32)).tolist() == [3]


@exhaustive
def test_not_a_number_stays():
    """From where it stands on; smaller numbers after it do not hide it."""
    x = np.array([1, 5, np.nan, 7, 2], np.float32)
    for found, expected in (
        (cumsum(x), np.cumsum(x)),
        (cummax(x), np.maximum.accumulate(x)),
    ):
        assert np.array_equal(found, expected, equal_nan=True)


@exhaustive
def test_arrays_with_gaps_and_axes_in_any_order():
    """They are copied first; the result is contiguous."""
    x = np.arange(2 * 6 * 5, dtype=np.int64).reshape(2, 6, 5)
    for one in (x.transpose(2, 0, 1), x[:, ::2, 1:], x[::-1]):
        for axis in (None, 0, 2):
            result = cumsum(one, axis)
            assert (result == np.cumsum(one, axis)).all() and result.flags.c_contiguous


@exhaustive
@pytest.mark.parametrize(
    ("shape", "names"),
    [
        ((20000,), ("scan_sum_tile_sums", "scan_sum_after")),
        ((300, 7), ("scan_sum_cut_columns",)),  # on signals that are kept
    ],
)
def test_device_arrays_out_and_repeated_calls(shape, names):
    """By the driver: launched again from addresses alone, with memory that is kept."""
    host = np.random.default_rng(3).integers(-9, 20, shape).astype(np.float32)
    expected = host.cumsum(0, dtype=np.float64)
    with stand_in() as driver:
        for _ in range(3):
            x = cuda.to_device(host)
            assert (cumsum(x, 0).copy_to_host() == expected).all()
            out = cuda.device_array(host.shape, np.float32)
            assert cumsum(x, 0, out=out) is out
            assert (out.copy_to_host() == expected).all()
        assert tuple(kernel.py_func.__name__ for kernel, *_ in driver.launches) == 6 * names
        assert len(workspace._kept) == 1


def test_refusals():
    """Each names the argument, what came and what is wanted; `out` stays as it is."""

    def refusal(*args, **named):
        with pytest.raises(LaunchRefused) as found:
            cumsum(*args, **named)
        return set(facts(str(found.value)))

    x, kept = np.ones((3, 4), np.float32), np.full((3, 4), 7, np.float32)
    assert {"x", "x.astype(np.float32)"} <= refusal(x.astype(np.float16))
    found = refusal(x.astype(np.complex64))
    assert {"x", "x.real", "x.imag"} <= found and "x.astype(np.float32)" not in found
    assert {"axis", "2"} <= refusal(x, 2, out=kept)
    assert "axis" in refusal(x, (0,), out=kept)
    assert {"out", "3", "4"} <= refusal(x, 1, out=kept[:2])
    assert "out" in refusal(x, 1, out=np.zeros((3, 4)))
    assert {"out", "x"} <= refusal(kept, 1, out=kept)
    assert "out" in refusal(x, out=kept)
    assert (kept == 7).all()
    with pytest.raises(LaunchRefused):
        cummax(x.astype(np.int8))


def test_engine_refuses_hours(monkeypatch):
    """An estimate above the limit is refused before anything runs."""
    monkeypatch.setenv("SMEMNB_ENGINE_SECONDS", "0.0001")
    with pytest.raises(LaunchRefused, match="SMEMNB_ENGINE_SECONDS"):
        cumsum(np.ones(5000, np.float32))


@exhaustive
@pytest.mark.parametrize("seed", range(8))
def test_drawn_arrays(seed):
    """Any shape, axis and dtype."""
    rng = np.random.default_rng(seed)
    dtype = str(rng.choice(SUMMED))
    axes = int(rng.integers(1, 4))
    shape = tuple(int(2 ** rng.uniform(0, 12 / axes)) for _ in range(axes))
    axis = None if rng.integers(4) == 0 else int(rng.integers(-axes, axes))
    x = some_array(rng, dtype, shape).transpose(rng.permutation(axes))
    assert_like_numpy(x, axis, cumsum(x, axis))
