"""Transposes of arrays of any axes, element sizes and order in memory; what is refused."""

import itertools

import numpy as np
import pytest
from numba import cuda

from smemnb.errors import LaunchRefused
from smemnb.operations import transpose
from smemnb.operations.axes import Axis, Part, parts, permutation
from smemnb.operations.backends.find import array_view
from smemnb.operations.backends.matrix_view import TypeRefused
from smemnb.operations.choice import Layout
from smemnb.operations.transpose_choice import transpose_plan
from tests.operations.test_transposing import scattered
from tests.tiers import sampled


def filled(rng, shape, size):
    """An array of random bits, elements of so many bytes."""
    *rows, cols = shape
    return scattered(rng, int(np.prod(rows)), cols, f"V{size}").reshape(shape)


def assert_axes(x, axes=None, out=None, on_device=False):
    """The result has the bits of numpy.transpose, in row-major order."""
    want = np.swapaxes(x, -1, -2) if axes is None else np.transpose(x, axes)
    given = cuda.to_device(x) if on_device else x
    found = transpose(given, axes=axes, out=out)
    found = found.copy_to_host() if on_device else found
    assert (found.shape, found.dtype) == (want.shape, x.dtype)
    assert found.tobytes() == want.tobytes()


ORDERS = list(itertools.permutations(range(3)))


@pytest.mark.first(1)
@pytest.mark.parametrize("on_device", [False, True], ids=["host", "device"])
@pytest.mark.parametrize("size", sampled(range(1, 17), 5))
def test_sizes(size, on_device):
    """Elements of 1 to 16 bytes, one matrix, and a batch."""
    rng = np.random.default_rng(30 + size)
    assert_axes(filled(rng, (37, 21), size), on_device=on_device)
    assert_axes(filled(rng, (3, 17, 21), size), on_device=on_device)


@pytest.mark.first(1)
@pytest.mark.parametrize("size", [1, 3, 4, 16])
@pytest.mark.parametrize("axes", ORDERS, ids=str)
def test_orders_of_three_axes(axes, size):
    """All six, and the identity is a copy."""
    assert_axes(filled(np.random.default_rng(31), (5, 6, 7), size), axes, on_device=True)


@pytest.mark.exhaustive
def test_random_arrays():
    """150 arrays of two to five axes, of any size, order in memory and order asked for."""
    rng = np.random.default_rng(32)
    for number in range(150):
        ndim = 2 + number % 4
        shape = [int(one) for one in rng.integers(1, (60, 60, 20, 9, 6)[ndim - 2], ndim)]
        x = filled(rng, shape, int(rng.integers(1, 17)))
        x = x.transpose(rng.permutation(ndim)) if number % 3 == 0 else x
        axes = tuple(int(one) for one in rng.permutation(ndim)) if number % 2 else None
        assert_axes(x, axes)


@pytest.mark.first(1)
@pytest.mark.parametrize("kind", ["u1", "u2", "f4", "f8", "c16"])
def test_column_major(kind):
    """The result is the storage as it lies: with contiguous rows, and with rows apart."""
    storage = scattered(np.random.default_rng(33), 19, 44, kind)
    assert_axes(storage.T, on_device=True)
    part = cuda.to_device(storage)[:, 2:41]
    assert transpose(part.T).copy_to_host().tobytes() == storage[:, 2:41].tobytes()


def test_parts_of_wider_arrays():
    """A batch cut out of a larger array, written into another: nothing around is touched."""
    rng = np.random.default_rng(34)
    x, into = filled(rng, (4, 40, 37), 2), filled(rng, (3, 36, 41), 2)
    whole = cuda.to_device(into)
    transpose(cuda.to_device(x)[1:, 1:36, 2:], out=whole[:, :35, 5:40])
    into[:, :35, 5:40] = x[1:, 1:36, 2:].swapaxes(1, 2)
    assert whole.copy_to_host().tobytes() == into.tobytes()


def test_addresses_between_elements():
    """Elements that begin beside multiples of their size, rows of no whole number of them."""
    raw = np.random.default_rng(35).integers(0, 256, 4000, np.uint8)
    device = cuda.to_device(raw)
    address = device.__cuda_array_interface__["data"][0]

    def seen(begin, pitch, kind):
        shown = type("Shown", (), {})()
        strides = (pitch, np.dtype(kind).itemsize)
        shown.__cuda_array_interface__ = {
            "shape": (20, 7), "strides": strides, "typestr": kind, "version": 3,
            "data": (address + begin, False),
        }  # fmt: skip
        return shown, np.ndarray((20, 7), kind, raw, begin, strides)

    for begin, pitch, kind in ((8, 128, "<c16"), (1, 33, "<f4"), (6, 70, "<f8"), (3, 63, "|V9")):
        shown, host = seen(begin, pitch, kind)
        assert transpose(shown).copy_to_host().tobytes() == host.T.tobytes()


@pytest.mark.parametrize(
    "shape", [(0, 4, 5), (3, 0, 5), (3, 4, 0), (1, 1, 1), (2, 1, 9), (2, 9, 1)]
)
def test_degenerate_shapes(shape):
    """None, one; on the host and on a device."""
    x = filled(np.random.default_rng(36), shape, 4)
    for on_device in (False, True):
        assert_axes(x, on_device=on_device)


def test_repeated_matrices():
    """A batch that is one matrix several times."""
    x = np.broadcast_to(np.arange(12, dtype=np.float32).reshape(3, 4), (5, 3, 4))
    assert_axes(x)


def shown(array, axes):
    """The parts of a transpose of a host array into a new one."""
    view = array_view("x", array)
    order = permutation(axes, array.ndim, "x")
    shape = [array.shape[at] for at in order]
    steps = np.empty(shape, array.dtype).strides
    return parts(view, order, steps)


def test_axes_that_are_one():
    """What follows each other is one axis; the last two of four become a batch of matrices."""
    x = np.zeros((2, 3, 4, 5), np.float32)
    one = Axis(1, 0, 0)
    assert shown(x, None) == [
        Part(0, 0, 4, Axis(6, 80, 80), Axis(4, 20, 4), Axis(5, 4, 16), is_run=False)
    ]
    assert shown(x, (2, 3, 0, 1)) == [
        Part(0, 0, 4, one, Axis(6, 80, 4), Axis(20, 4, 24), is_run=False)
    ]
    assert shown(x, (0, 1, 2, 3)) == [Part(0, 0, 4, one, one, Axis(120, 4, 4), is_run=True)]


def test_short_runs_are_elements():
    """Pixels of three float32 change places whole: elements of 12 bytes; longer ones are runs."""
    (pixels,) = shown(np.zeros((30, 40, 3), np.float32), (1, 0, 2))
    assert (pixels.itemsize, pixels.rows.extent, pixels.cols.extent) == (12, 30, 40)
    (runs,) = shown(np.zeros((30, 40, 5), np.float32), (1, 0, 2))
    assert runs.is_run
    assert (runs.batch, runs.rows) == (Axis(30, 800, 20), Axis(40, 20, 600))


def test_one_launch_per_place():
    """Where no axes join, the longest is the batch, and each place along the others a launch."""
    found = shown(np.zeros((2, 3, 4, 5), np.float32)[:, :2, :3], None)
    assert [(part.at_in, part.at_out, part.batch) for part in found] == [
        (0, 0, Axis(2, 240, 120)),
        (80, 60, Axis(2, 240, 120)),
    ]


X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)


@pytest.mark.parametrize(
    ("named", "error", "words"),
    [
        ({"axes": (0, 1)}, LaunchRefused, "axes"),
        ({"axes": (0, 1, 1)}, LaunchRefused, "axes"),
        ({"axes": (0, 1, 3)}, LaunchRefused, "axes"),
        ({"axes": 1}, TypeRefused, "axes"),
        ({"axes": (0.0, 1, 2)}, TypeRefused, "axes"),
        ({"rung": "transpose_turned"}, LaunchRefused, "rung"),
        ({"out": np.zeros((2, 3, 4), np.float32)}, LaunchRefused, "out"),
        ({"out": np.zeros((2, 4, 3), np.int32)}, TypeRefused, "out"),
        ({"out": np.zeros((2, 4, 6), np.float32)[:, :, ::2]}, LaunchRefused, "out"),
        ({"out": np.zeros((2, 4, 3), np.float32)[::-1]}, LaunchRefused, "out"),
        ({"out": X.reshape(2, 4, 3)}, LaunchRefused, "out"),
        ({"out": np.broadcast_to(np.zeros(3, np.float32), (2, 4, 3))}, LaunchRefused, "out"),
    ],
)
def test_refused(named, error, words):
    """Each argument by its name, before anything is written."""
    before = X.tobytes()
    with pytest.raises(error, match=f"`{words}`"):
        transpose(X, **named)
    assert before == X.tobytes()


def test_only_real_overlap_is_refused():
    """`out` between the matrices of `x` shares none of their memory."""
    memory = np.arange(48, dtype=np.float32)
    both = memory.reshape(4, 3, 4)
    expected = both[::2].swapaxes(1, 2).copy()
    out = memory.reshape(4, 4, 3)[1::2]
    assert transpose(both[::2], out=out) is out
    assert out.tobytes() == expected.tobytes()


@pytest.mark.exhaustive
def test_plans_of_batches():
    """Matrices stand side by side in the grid; those that begin anywhere are told by the first."""
    x = cuda.to_device(np.zeros((5, 64, 128), np.float32))
    assert_axes(x.copy_to_host(), on_device=True)
    for begin, name in ((0, "transpose_fastest"), (4, "transpose_turned")):
        plan = transpose_plan(None, 4, Layout(128, 64, 256, begin), Layout(64, 128, 512, 0), 5)
        high, wide = plan.tile
        assert (plan.name, plan.grid) == (name, (128 // high * (64 // wide) * 5, 1))
