"""`convolve`: scipy's definition, dtypes, axes, edges, weights in pieces, refusals."""

import numpy as np
import pytest
from numba import cuda

from smemnb.errors import LaunchRefused
from smemnb.kernels.stencil.variants.edges import MODES
from smemnb.operations.convolving import ALSO, convolve
from tests.facts import facts
from tests.kernels.stencil.reference import convolved
from tests.operations.stand_in_driver import stand_in
from tests.tiers import exhaustive

DTYPES = ("f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8")


def exact(rng, shape, weights, dtype):
    """Elements and weights of which every sum is exact in float32: multiples of 1/4, not large."""
    dtype = np.dtype(dtype)
    x = rng.integers(0, 30, shape).astype(dtype)
    values = rng.integers(-8 if dtype.kind != "u" else 0, 9, weights) / 4
    return x, values


def assert_convolved(x, values, *rest, **named):
    """The result has the bits of the definition, the shape and the dtype of x."""
    found, expected = convolve(x, values, *rest, **named), convolved(x, values, *rest, **named)
    assert found.dtype == x.dtype and found.shape == x.shape
    np.testing.assert_array_equal(found, expected)


def origins(rng, size):
    """Any origin that keeps the window on its element, for each axis."""
    return tuple(int(rng.integers(n // 2 - (n % 2 == 0) - n + 1, (n + 1) // 2)) for n in size)


def test_examples():
    """Numbers worked out by hand, for each mode."""
    x, values = np.float32([1, 2, 4]), [1, 10, 100]  # x[i + 1] + 10 x[i] + 100 x[i - 1]
    expected = {
        "reflect": [112, 124, 244],
        "constant": [712, 124, 247],
        "nearest": [112, 124, 244],
        "mirror": [212, 124, 242],
        "wrap": [412, 124, 241],
    }
    for mode, wanted in expected.items():
        assert convolve(x, values, mode, 7).tolist() == wanted
    for also, mode in ALSO.items():
        assert convolve(x, values, also, 7).tolist() == expected[mode]
    assert convolve(x, values, origin=1).tolist() == [124, 244, 442]
    assert convolve(np.int16([-3, 3]), [0.5]).tolist() == [-1, 1]  # cut towards 0


@pytest.mark.parametrize(
    ("mode", "shape", "size", "dtype"),
    [
        (MODES[0], (37,), (4,), "f4"),
        (MODES[1], (20, 36), (3, 3), "f4"),
        pytest.param(MODES[2], (2, 9, 7), (2, 4), "u1", marks=exhaustive),
        pytest.param(MODES[3], (3, 21), (5,), "f8", marks=exhaustive),
        (MODES[4], (7, 8), (3, 3), "i4"),
    ],
)
def test_one_of_each(mode, shape, size, dtype):
    """Each mode and some dtypes, one axis and two, stacks, even sizes, origins."""
    rng = np.random.default_rng(1)
    x, values = exact(rng, shape, size, dtype)
    assert_convolved(x, values, mode, 2.5, origins(rng, size))


@exhaustive
def test_random():
    """15 problems: any shape, smaller than the window too, any dtype, mode and origin."""
    rng = np.random.default_rng(2)
    for number in range(15):
        axes = int(rng.integers(1, 3))
        size = tuple(rng.integers(1, 7, axes))
        shape = tuple(rng.integers(1, 14, int(rng.integers(axes, 4))))
        x, values = exact(rng, shape, size, DTYPES[number % 10])
        origin = origins(rng, size) if number % 3 else 0
        assert_convolved(x, values, MODES[number % 5], float(number % 4), origin)


@exhaustive
@pytest.mark.parametrize(
    ("size", "dtype"),
    [
        ((15, 9), "f4"),  # two pieces
        ((17, 17), "i4"),  # sums in float64 between the pieces
        ((1, 40), "f8"),
        ((40,), "f4"),
    ],
)
def test_many_weights(size, dtype):
    """Weights of more than one kernel, and windows larger than the array."""
    rng = np.random.default_rng(3)
    for shape in ((13, 24), (40, 5))[: 1 if size == (1, 40) else 2]:
        x, values = exact(rng, shape, size, dtype)
        values.flat[:2] = 1, 2  # no column times a row
        assert_convolved(x, values, "mirror" if size[0] % 2 else "constant", 3.0)


@pytest.mark.parametrize("size", [(9, 9), pytest.param((21, 17), marks=exhaustive)])
@pytest.mark.parametrize("mode", ["constant", pytest.param("reflect", marks=exhaustive)])
def test_a_column_times_a_row(size, mode):
    """In one launch or, of longer ones, in two: the values that all products would give."""
    rng = np.random.default_rng(4)
    x = rng.integers(-5, 6, (23, 36)).astype(np.float32)
    down, across = (rng.integers(1, 4, n) * 1.0 for n in size)
    assert_convolved(x, np.outer(down, across), mode, 2.0)


@exhaustive
def test_error_bound():
    """Sums of float32: within what the docstring says of them, of products too."""
    rng = np.random.default_rng(5)
    x = rng.standard_normal((60, 64)).astype(np.float32)
    for values, roundings in (
        (rng.standard_normal((5, 5)), 25 + 2),
        (np.outer(rng.standard_normal(9), rng.standard_normal(8)), 9 + 8 + 12),
    ):
        size = convolved(abs(x.astype(np.float64)), abs(values))
        error = abs(convolve(x, values) - convolved(x.astype(np.float64), values))
        assert (error <= roundings * 2.0**-24 * size).all()


def test_nan_goes_where_windows_take_it():
    """Into 3x3 results, by a weight of 0 too, and nowhere else."""
    x = np.zeros((7, 8), np.float32)
    x[3, 4] = np.nan
    found = np.isnan(convolve(x, np.zeros((3, 3))))
    assert found.sum() == 9 and found[2:5, 3:6].all()


def test_empty_and_strides():
    """No elements, elements apart, backwards, Fortran's order: as NumPy's own."""
    assert convolve(np.empty((0, 5), np.float32), np.ones((3, 3))).shape == (0, 5)
    x = np.arange(96, dtype=np.float32).reshape(8, 12)
    for part in (x[::2, 1:9:3], x[::-1], np.asfortranarray(x)):
        assert_convolved(part, np.arange(9).reshape(3, 3))
    out = np.zeros((8, 24), np.float32)
    assert convolve(x, [1, 2, 3], out=out[:, ::2]) is not None
    np.testing.assert_array_equal(out[:, ::2], convolved(x, [1, 2, 3]))
    assert not out[:, 1::2].any()


def test_device_arrays_by_the_driver():
    """Weights go to the driver one by one; a call like one before is not planned again."""
    rng = np.random.default_rng(6)
    host, values = exact(rng, (40, 52), (3, 5), "f4")
    with stand_in() as driver:
        for _ in range(2):
            out = cuda.device_array(host.shape, np.float32)
            assert convolve(cuda.to_device(host), values, "wrap", out=out) is out
            np.testing.assert_array_equal(out.copy_to_host(), convolved(host, values, "wrap"))
        found = convolve(cuda.to_device(host), 2 * values, "wrap")
        np.testing.assert_array_equal(found.copy_to_host(), convolved(host, 2 * values, "wrap"))
        names = [kernel.py_func.__name__ for kernel, *_ in driver.launches]
        assert names == ["stencil_3x5"] * 3


def refusal(*args, **named):
    with pytest.raises(LaunchRefused) as found:
        convolve(*args, **named)
    return set(facts(str(found.value)))


def test_refusals():
    """Each names the argument, what came and what is wanted; `out` stays as it is."""
    x, three = np.ones((3, 4), np.float32), [1, 2, 3]
    for dtype in (np.float16, bool):
        assert {"x", "x.astype(np.float32)"} <= refusal(x.astype(dtype), three)
    for dtype in (np.complex64, np.complex128):
        found = refusal(x.astype(dtype), three)
        assert {"x", "x.real", "x.imag"} <= found and "x.astype(np.float32)" not in found
    assert "weights" in refusal(x, [1j])
    assert "weights" in refusal(x, [[1, 2], [3]])
    assert "weights" in refusal(x, "box")
    assert {"weights", "0"} <= refusal(x, [])
    assert "weights" in refusal(x, 3.0)
    assert "weights" in refusal(x, np.ones((2, 2, 2)))
    assert {"weights", "x"} <= refusal(np.ones(3, np.float32), np.ones((2, 2)))
    assert {"weights", "weights.get()", "weights.cpu()"} <= refusal(x, cuda.to_device(np.ones(3)))
    for mode in ("full", "same", "valid"):
        assert {"mode", "scipy.ndimage.convolve", "np.convolve"} <= refusal(x, three, mode)
    assert "mode" in refusal(x, three, 0)
    assert "cval" in refusal(x, three, "constant", "0")
    assert "cval" in refusal(x, three, "constant", 1j)
    assert {"origin", "2", "3", "-1", "1"} <= refusal(x, three, origin=2) | {"-1"}
    assert {"origin", "0"} <= refusal(x, [1, 2], origin=1)
    assert "origin" in refusal(x, three, origin=0.5)
    assert "origin" in refusal(x, three, origin=(0, 0))
    kept = np.full((3, 4), 7.0, np.float32)
    assert {"out", "3", "4"} <= refusal(x, three, out=kept[:2]) | {"3", "4"}
    assert "out" in refusal(x, three, out=np.ones((3, 4)))
    assert {"out", "x"} <= refusal(x, three, out=x)
    assert (kept == 7).all() and (x == 1).all()


def test_engine_refuses_hours(monkeypatch):
    """An estimate above the limit is refused before anything runs."""
    monkeypatch.setenv("SMEMNB_ENGINE_SECONDS", "0.001")
    assert "SMEMNB_ENGINE_SECONDS" in refusal(np.ones((300, 300), np.float32), np.ones((3, 3)))
