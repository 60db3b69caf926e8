"""Host constants as an index: slices, None, `...`, and tuples with them, as Numba freezes them."""

import numpy as np
import pytest
from numba import cuda

from smemnb.errors import SmemnbError
from smemnb.simulator import device

# the engine is asked; on a GPU the launches would be Numba's own
pytestmark = pytest.mark.skipif(device() != "lockstep", reason="launches go to a GPU")

PART, EVERY, LAST, ALL = slice(2, 6), slice(1, None, 3), slice(-3, None), slice(None)
AXIS, DOTS = None, ...
CORNER, ROW, COLUMN = (PART, slice(0, 2)), (1, ...), (ALL, 1)
NEW, CELL, DOWN = (None, 1), (2, 1), slice(5, 0, -2)


def made(part, cell):
    @cuda.jit
    def closure(out, a):
        view = a[part]
        for i in range(view.shape[0]):
            out[i] = view[i, 0] + a[cell]

    return closure


@cuda.jit
def by_global(out, a):
    for i in range(a[PART].shape[0]):
        out[i] = a[PART][i, 1]


@cuda.jit
def by_step(out, a):
    view = a[EVERY]
    for i in range(view.shape[0]):
        out[i] = view[i, 1]


@cuda.jit
def by_negative_bound(out, a):
    view = a[LAST]
    for i in range(len(view)):
        out[i] = view[i, 0]


@cuda.jit
def backwards(out, a):
    view = a[DOWN]
    for i in range(len(view)):
        out[i] = view[i, 2]


@cuda.jit
def by_new_axis(out, a):
    view = a[1][AXIS]
    out[0] = view.ndim
    out[1] = view[0, 2]
    out[2] = a[0][np.newaxis].shape[1]


@cuda.jit
def by_dots(out, a):
    out[0] = a[DOTS].shape[1]
    out[1] = a[ROW][2]


@cuda.jit
def by_tuples(out, a):
    view = a[CORNER]
    out[0] = view.shape[0] * 10 + view.shape[1]
    out[1] = view[1, 1]
    out[2] = a[COLUMN][3]
    out[3] = a[CELL]
    out[4] = a[NEW].shape[0] + a[NEW][0, 2]


@cuda.jit
def beside_numbers(out, a):
    i = cuda.grid(1)
    out[0] = a[PART, i][1]
    out[1] = a[i, PART].shape[0]
    out[2] = a[1:3, 2][0]


@cuda.jit
def in_a_variable(out, a):
    part = PART
    cell = CELL
    out[0] = a[part].shape[0] + a[cell]


@cuda.jit
def stored(out, a):
    view = out[PART]
    view[0] = a[1, 1]
    out[LAST] = 4
    out[CELL[0]] += 1


@cuda.jit
def bounds(out, a):
    out[0] = PART.start * 100 + PART.stop * 10 + PART.step
    out[1] = EVERY.step + DOWN.step
    out[2] = ALL.start


@cuda.jit(device=True)
def column_of(a, part, i):
    return a[part][i, 1]


@cuda.jit(device=True)
def size_of(a, at):
    return a[at].size


@cuda.jit
def as_an_argument(out, a):
    out[0] = column_of(a, PART, 0) + column_of(a, EVERY, 1)
    out[1] = size_of(a, 3) + size_of(a, PART)


CASES = [
    (made(PART, CELL), lambda a: a[2:6, 0] + a[2, 1]),
    (by_global, lambda a: a[2:6, 1]),
    (by_step, lambda a: a[1::3, 1]),
    (by_negative_bound, lambda a: a[-3:, 0]),
    (backwards, lambda a: a[5:0:-2, 2]),
    (by_new_axis, lambda a: [2, a[1, 2], 4]),
    (by_dots, lambda a: [4, a[1, 2]]),
    (by_tuples, lambda a: [42, a[3, 1], a[3, 1], a[2, 1], 1 + a[1, 2]]),
    (beside_numbers, lambda a: [a[3, 0], 2, a[1, 2]]),
    (in_a_variable, lambda a: [4 + a[2, 1]]),
    (stored, lambda a: [0, 0, a[1, 1] + 1, 0, 0, 0, 0, 4, 4, 4]),
    (bounds, lambda a: [261, 1, 0]),
    (as_an_argument, lambda a: [a[2, 1] + a[4, 1], 20]),
]


@pytest.mark.parametrize(("kernel", "expected"), CASES, ids=lambda value: value.__name__)
def test_values(kernel, expected):
    """A constant index gives what the same index gives in NumPy."""
    a, out = np.arange(32.0).reshape(8, 4) ** 2, np.zeros(10)
    kernel[1, 1](out, a)
    wanted = np.asarray(expected(a), float)
    np.testing.assert_array_equal(out[: len(wanted)], wanted)
    assert not out[len(wanted) :].any()


TOO_MANY = (PART, 1, 1)


@cuda.jit
def too_many(out, a):
    out[0] = a[TOO_MANY][0]


def test_refused():
    """A constant with more parts than the array has axes is refused with the line."""
    with pytest.raises(SmemnbError, match="line"):
        too_many[1, 1](np.zeros(1), np.zeros((3, 3)))
