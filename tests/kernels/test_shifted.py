"""Transposes of rows that begin anywhere, by 16 bytes: values, whole sectors, what is loaded."""

import numpy as np
import pytest
from numba import float32, uint8, uint16, uint64

from smemnb.kernels.rung import Rung
from smemnb.kernels.transpose.ladder import fastest
from smemnb.kernels.transpose.variants.shifted import SHAPES, transpose_shifted_of
from smemnb.tracing import trace

WORDS = {uint8: np.uint8, uint16: np.uint16, float32: np.float32, uint64: np.uint64}


def traced(dtype, rows, cols):
    """The trace of a transpose whose result was checked."""
    shape = SHAPES[dtype.bitwidth // 8]
    rung = Rung(transpose_shifted_of(dtype), "", (shape.threads, 1), shape.tile)
    inp = np.random.default_rng([rows, cols]).integers(1, 250, (rows, cols)).astype(WORDS[dtype])
    out = np.zeros((cols, rows), WORDS[dtype])
    found = trace(rung.kernel)[rung.grid(rows, cols), rung.block](out, inp)
    np.testing.assert_array_equal(out, inp.T)
    assert all(one.price for one in found.findings)
    return found


SIZES = [(1, 1), (131, 67), (31, 121), (32, 120), (33, 119), (99, 249), (7, 3), (129, 1), (1, 300)]


@pytest.mark.first(1)
@pytest.mark.parametrize("shape", [(75, 260), (40, 35)])
@pytest.mark.parametrize("dtype", [uint16, float32, uint64], ids=str)
def test_values(dtype, shape):
    """A tile inside, and edges; nothing is read or written outside, no races."""
    traced(dtype, *shape)


@pytest.mark.exhaustive
@pytest.mark.parametrize("shape", SIZES)
@pytest.mark.parametrize("dtype", WORDS, ids=str)
def test_values_of_more_shapes(dtype, shape):
    """Around the edges of tiles and sectors."""
    traced(dtype, *shape)


@pytest.mark.exhaustive
def test_random_values():
    """40 shapes of up to four tiles."""
    rng = np.random.default_rng(1)
    for _ in range(40):
        dtype = list(WORDS)[rng.integers(4)]
        traced(dtype, *(int(extent) for extent in rng.integers(1, 280, 2)))


def test_sectors_of_a_tile_inside():
    """67 x 251: the tile at (32, 120) has all around it, the others lie at an edge.

    It loads 40 rows of 512 bytes and stores 120 rows of 128 bytes, both from sectors' edges on:
    16 sectors per request of 32 chunks.
    """
    found = traced(float32, 67, 251)
    inside = [row for row in found.lines if row.space == "global" and row.width == 16]
    counts = {(row.kind, row.requests, row.sectors) for row in inside}
    assert ("load", 40, 40 * 16) in counts
    assert ("store", 30, 30 * 16) in counts


def test_choice():
    """Large matrices with odd rows; small ones go element by element; so do odd beginnings."""

    class Shown:
        def __init__(self, rows, cols, address=0):
            self.shape, self.strides = (rows, cols), (4 * cols, 4)
            self.dtype = np.dtype(np.float32)
            self.__cuda_array_interface__ = {"data": (address, False)}

    def name(*of):
        return fastest(Shown(*of[:2][::-1]), Shown(*of)).name

    assert name(8191, 8193) == "transpose_shifted"
    assert name(8191, 8193, 4) == "transpose_turned"
    assert name(99, 101) == "transpose_turned"
    assert name(8192, 8192) == "transpose_fastest"
