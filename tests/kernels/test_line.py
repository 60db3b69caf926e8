"""Transposes of one row or one column: values, counts per request, and where they are chosen."""

import numpy as np
import pytest
from numba import cuda, uint8, uint16, uint32, uint64

from smemnb.kernels.transpose.ladder import fastest
from smemnb.kernels.transpose.variants.line import THREADS, transpose_line_of
from smemnb.tracing import trace

TYPES = {1: uint8, 2: uint16, 4: uint32, 8: uint64, 16: uint64}
SIZES = pytest.mark.parametrize("itemsize", TYPES)


def copied(itemsize, elements, column):
    """The trace of a line's transpose, checked; what lies behind it stays."""
    parts, word = (2, np.uint64) if itemsize == 16 else (1, np.dtype(f"u{itemsize}"))
    rng = np.random.default_rng([itemsize, elements, column])
    inp = rng.integers(0, 250, elements * parts + 3).astype(word)
    out = np.zeros_like(inp)
    device = cuda.to_device(out)
    tall, long = (elements, parts), (1, elements * parts)
    source = cuda.to_device(inp)[: elements * parts].reshape(tall if column else long)
    target = device[: elements * parts].reshape(long if column else tall)
    kernel = transpose_line_of(TYPES[itemsize], pairs=itemsize == 16)
    blocks = max(1, -(-elements * itemsize // (16 * THREADS)))
    found = trace(kernel)[(1, blocks), THREADS](target, source)
    out[: elements * parts] = inp[: elements * parts]
    np.testing.assert_array_equal(device.copy_to_host(), out)
    assert found.findings == ()
    return found


@SIZES
@pytest.mark.parametrize("column", [False, True], ids=["row", "column"])
def test_values(itemsize, column):
    """Less than a chunk, a chunk, a block and one element more, a row of blocks."""
    each = 16 // itemsize
    for elements in sorted({1, each, each + 1, THREADS * each, THREADS * each + 1}):
        copied(itemsize, elements, column)


@SIZES
def test_counts(itemsize):
    """A block moves 256 chunks: 8 requests of 16 sectors on either side."""
    found = copied(itemsize, THREADS * 16 // itemsize, False)
    assert {
        (row.kind, row.width): (row.requests, row.sectors) for row in found.lines if row.requests
    } == {("load", 16): (8, 128), ("store", 16): (8, 128)}


class Shown:
    def __init__(self, shape, strides, itemsize, begins=0):
        self.shape, self.strides = shape, strides
        self.dtype = np.dtype("V16") if itemsize == 16 else np.dtype(f"u{itemsize}")
        self.__cuda_array_interface__ = {"data": (begins, False)}


@SIZES
def test_choice(itemsize):
    """Lines without gaps that begin at multiples of 16 bytes; others are strips or runs."""
    row, column = (1, 5000), (5000, 1)

    def name(gap=1, begins=0):
        long = Shown(row, (5000 * itemsize, itemsize), itemsize, begins)
        tall = Shown(column, (gap * itemsize, itemsize), itemsize)
        return fastest(long, tall).name, fastest(tall, long).name

    others = {
        4: ("transpose_narrow", "transpose_direct_flat"),
        8: ("transpose_direct_narrow", "transpose_direct_flat"),
    }.get(itemsize, ("transpose_narrow", "transpose_flat"))
    assert name() == ("transpose_line",) * 2
    assert name(gap=2) == others
    if itemsize < 16:
        assert name(begins=itemsize) == others
