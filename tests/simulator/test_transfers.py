"""Arguments as the engine gets them, and the way back."""

from collections import namedtuple

import numpy as np
import pytest
from numba import cuda

from smemnb.simulator.transfers import Prepared

Pair = namedtuple("Pair", "left right")


def prepared(*values):
    made = Prepared()
    for i, value in enumerate(values):
        made.add(f"arg{i}", value)
    return made


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        (3, np.int64),
        (-(2**63), np.int64),
        (2**63, np.uint64),
        (True, np.bool_),
        (1.5, np.float64),
        (1j, np.complex128),
        (np.float32(1), np.float32),
        (np.float16(1), np.float16),
        (np.uint8(1), np.uint8),
    ],
)
def test_numbers(value, dtype):
    """A number reaches the engine as a NumPy scalar of Numba's type."""
    (given,) = prepared(value).values
    assert (type(given), given) == (dtype, value)


def test_copies():
    """The engine writes into a copy; the array changes at the end only."""
    out = np.zeros(3, np.int32)
    made = prepared(out)
    made.values[0][:] = 7
    assert out.tolist() == [0] * 3
    made.finish()
    assert out.tolist() == [7] * 3


def test_nested():
    """Arrays in tuples and named tuples are copied in and back, too."""
    pair = Pair(np.zeros(2), np.ones(2))
    made = prepared((pair, 4))
    (inner, number) = made.values[0]
    assert (type(inner), type(number)) == (Pair, np.int64)
    inner.left[:] = 5
    made.finish()
    assert pair.left.tolist() == [5, 5]


def test_out_is_not_copied_in():
    """`cuda.Out` gives memory of all-ones bits, in the array's own layout."""
    array = np.zeros((2, 3), np.int32, order="F")
    (given,) = prepared(cuda.Out(array)).values
    assert given.tolist() == [[-1] * 3] * 2
    assert given.flags.f_contiguous


def test_in_is_not_copied_back():
    """`cuda.In` leaves the array alone."""
    array = np.zeros(2)
    made = prepared(cuda.In(array))
    made.values[0][:] = 5
    made.finish()
    assert array.tolist() == [0, 0]


def test_zero_dimensional():
    """An array of no axes is an array: written in a kernel, copied back."""
    array = np.array(3.0)
    made = prepared(array)
    made.values[0][()] = 4
    made.finish()
    assert array[()] == 4
