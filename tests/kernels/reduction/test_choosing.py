"""Which kernel reduces which array, and that each of them is right: values, counts, no races."""

import numpy as np
import pytest

from smemnb.kernels.reduction.choosing import Lie, launch, launches
from smemnb.kernels.reduction.combining import DTYPES, NAMES, combining
from smemnb.kernels.reduction.variants.finish import THREADS, finish_of
from smemnb.tracing import trace
from tests.tiers import exhaustive

FEW = 4
"""Multiprocessors, so that small arrays are cut in parts."""


def new(shape, dtype):
    return np.zeros(shape, dtype)


def elements(rng, shape, dtype):
    return rng.integers(0, 50, shape).astype(dtype)


def lie_of(x, beyond=0):
    """How a contiguous outer x length x inner array lies."""
    outer, length, inner = x.shape
    return Lie(outer, length, inner, length * inner, inner, 1 if inner > 1 else 0, beyond)


def chosen(name, x, processors=FEW, lie=None):
    """(launch, result) for an array of outer x length x inner elements."""
    of = combining(name, x.dtype.name)
    out = np.zeros(x.shape[0] * x.shape[2], of.out)
    return launch(of, new, out, x.reshape(-1), lie or lie_of(x), processors), out


def assert_right(name, x, out):
    expected = getattr(np, name)(x, 1).reshape(-1)
    assert out.dtype == expected.dtype
    if name == "mean" and x.dtype.kind == "f":
        assert np.allclose(out, expected, rtol=1e-6)
    else:
        assert out.tolist() == expected.tolist()


LAYOUTS = {
    "rows": (40, 100, 1),
    "rows of a few": (300, 7, 1),
    "rows of one": (1, 1, 1),
    "rows element by element": (5, 9, 3),
    "lines": (3, 5000, 1),
    "lines in parts": (1, 70_001, 1),
    "narrow": (2, 9000, 7),
    "columns": (1, 7, 3000),
    "columns in parts": (2, 300, 66),
}
KERNELS = {name: name.split(" ")[0] for name in LAYOUTS}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_choice(layout):
    """Each layout has its kernel, and its parts are as many as there is work for."""
    made, _ = chosen("sum", np.zeros(LAYOUTS[layout], np.float32))
    assert made.kernel.__name__ == f"sum_{KERNELS[layout]}"
    grids = {"lines in parts": 9, "columns in parts": 2 * 3 * 2, "narrow": 2 * 3}
    assert made.grid == grids.get(layout, made.grid)


def test_small_shapes_wait_for_nobody():
    """No tickets for a few KB, and lines of one element are read as one run, by 16 bytes."""
    made, _ = chosen("sum", np.zeros((1, 8, 737), np.float32), 132)
    assert (made.kernel.__name__, made.grid, int(made.args[-1])) == ("sum_columns", 12, 1)
    made, out = chosen("max", x := np.arange(1200, dtype=np.float32).reshape(300, 1, 4), 132)
    assert (made.kernel.__name__, made.grid) == ("max_columns", 5)
    made.start()
    assert out.tolist() == x.reshape(-1).tolist()
    made, _ = chosen("sum", np.zeros((1 << 16, 7, 1), np.float32), 132)
    assert (made.kernel.__name__, made.grid) == ("sum_rows", 256), "a thread for each line"
    made, _ = chosen("min", np.zeros((190, 14550, 1), np.float32), 132)
    assert (made.kernel.__name__, made.grid, int(made.args[-1])) == ("min_lines", 190, 1)
    made, _ = chosen("argmax", np.zeros((1, 951, 21), np.float32), 132)
    assert (made.kernel.__name__, made.grid, int(made.args[-1])) == ("argmax_narrow", 1, 1)
    made, _ = chosen("argmax", np.zeros((1, 84, 3), np.float32), 132)
    assert (made.kernel.__name__, made.grid) == ("argmax_rows", 1)


@pytest.mark.parametrize("name", ["sum", "argmax"])
def test_small_arrays_take_no_tickets(name):
    """Parts are put together by a second launch, equal elements and all; large arrays have one."""
    x = elements(np.random.default_rng(6), (2, 33_001, 1), np.float32)
    of = combining(name, "float32")
    out = np.zeros(2, of.out)
    made = launches(of, new, out, x.reshape(-1), lie_of(x), FEW)
    assert [one.kernel.__name__ for one in made] == [f"{name}_lines", f"{name}_parts"]
    assert made[0].args[4].size == 0 and made[0].args[-1] > 1
    for one in made:
        one.start()
    assert_right(name, x, out)
    large = np.broadcast_to(np.float32(1), (1, 1 << 25, 1))
    assert len(launches(of, new, out, large, lie_of(large), FEW)) == 1


def test_parts_beyond_the_threads_of_a_block():
    """600 parts of two lines, in the order of their places: the first of equal ones wins."""
    of, rng = combining("argmax", "float32"), np.random.default_rng(7)
    values = rng.integers(0, 9, (2, 600)).astype(np.float32)
    places = np.tile(np.arange(600, dtype=np.uint32), (2, 1))
    out = np.zeros(2, of.out)
    args = out, values.reshape(-1), places.reshape(-1), np.uint32(600), np.uint32(600)
    finish_of(of)[2, THREADS](*args)
    assert out.tolist() == values.argmax(1).tolist()
    values[:, 599] = 10  # of the last part
    finish_of(of)[2, THREADS](*args)
    assert out.tolist() == [599, 599]


def test_values_of_lines():
    """One representative: a line of several parts whose first element is 4 bytes beyond 16."""
    rng = np.random.default_rng(1)
    for size in (1, 4, 255, 4097, 40_001):
        memory = elements(rng, size + 1, np.float32)
        x = memory[1:].reshape(1, size, 1)
        made, out = chosen("sum", x, lie=lie_of(x, 4))
        made.start()
        assert_right("sum", x, out)


def test_places_of_columns():
    """One representative: argmin by columns, equal elements in many rows."""
    x = elements(np.random.default_rng(2), (2, 300, 66), np.uint8)
    made, out = chosen("argmin", x)
    made.start()
    assert_right("argmin", x, out)
    assert not made.args[4].any(), "tickets are 0 again"


@exhaustive
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ("sum", "argmax"))
def test_values(name, dtype):
    """Lines and columns of every dtype; the operations' own tests look at rows."""
    layout = "lines in parts" if name == "sum" else "columns in parts"
    x = elements(np.random.default_rng(len(dtype)), LAYOUTS[layout], dtype)
    made, out = chosen(name, x)
    made.start()
    assert_right(name, x, out)


@exhaustive
@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts(layout):
    """Every kernel over sizes around those of its blocks, of elements at any address."""
    rng = np.random.default_rng(3)
    outer, length, inner = LAYOUTS[layout]
    name = "argmax" if "parts" in layout else "max"
    for more in (0, 1, 3):
        x = elements(rng, (outer, length + more, inner), np.float32)
        made, out = chosen(name, x)
        made.start()
        assert_right(name, x, out)


@exhaustive
@pytest.mark.parametrize("layout", [name for name in LAYOUTS if "of one" not in name])
def test_no_findings(layout):
    """No races, nothing uninitialised, nothing out of bounds."""
    x = elements(np.random.default_rng(4), LAYOUTS[layout], np.float32)
    made, _ = chosen("argmax" if layout == "columns in parts" else "sum", x)
    found = trace(made.kernel)[made.grid, made.block](*made.args)
    assert [one.kind for one in found.all_findings if one.severity == "error"] == []


@exhaustive
def test_not_a_number_wins():
    """NaN is the largest and the smallest, and the first NaN has the place."""
    x = np.array([[[1], [np.nan], [3], [np.nan], [-7]]], np.float32)
    for name in ("min", "max", "argmin", "argmax"):
        made, out = chosen(name, x)
        made.start()
        assert np.array_equal(out, getattr(np, name)(x, 1)[0], equal_nan=True), name


def test_names():
    """Every operation has its functions for every dtype, and NumPy's dtype of the result."""
    for name in NAMES:
        for dtype in DTYPES:
            expected = getattr(np, name)(np.ones(2, dtype)).dtype
            assert combining(name, dtype).out == expected, (name, dtype)
