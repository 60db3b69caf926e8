"""NumPy's functions of whole arrays in a kernel, against NumPy on the host."""

import numpy as np
import pytest
from numba import cuda

from smemnb import simulator
from smemnb.errors import SmemnbError

pytestmark = pytest.mark.skipif(
    simulator.device() != "lockstep", reason="launches go to a GPU here"
)


@cuda.jit
def largest(a, b, out):
    np.maximum(a, b, out)


@cuda.jit
def cosine(a, out):
    np.cos(a, out=out)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (np.arange(6.0).reshape(2, 3), np.array([[10.0], [20.0]])),
        (np.array([1, 5, 7], np.int32), np.arange(6.0).reshape(2, 3)),
        (np.asfortranarray(np.arange(6).reshape(2, 3)), 4),
    ],
    ids=["column", "row", "number"],
)
def test_spread_out(a, b):
    """Inputs of fewer axes, with extents of 1, and numbers belong to every element."""
    out = np.zeros((2, 3))
    largest[1, 1](a, b, out)
    assert out.tolist() == np.maximum(a, b).tolist()


def test_cast_to_output():
    """An integer's cosine is a double, stored as the output's type."""
    out = np.zeros(4, np.float32)
    cosine[1, 1](np.arange(4, dtype=np.int32), out)
    assert out.tolist() == np.cos(np.arange(4)).astype(np.float32).tolist()


def test_does_not_fit():
    """Shapes that do not go together are refused with both of them."""
    with pytest.raises(SmemnbError, match=r"shape \(2,\) does not fit into one of \(3,\)"):
        largest[1, 1](np.zeros(2), np.zeros(3), np.zeros(3))
