"""Narrow and flat transposes by strips: values, what lies around, counts per request."""

import numpy as np
import pytest
from numba import cuda, float32, uint8, uint16, uint64

from smemnb.kernels.transpose.variants.strips import (
    LARGE,
    transpose_flat_of,
    transpose_narrow_of,
)
from smemnb.tracing import trace

TYPES = {1: uint8, 2: uint16, 4: float32, 8: uint64, 16: uint64}
WORDS = {1: np.uint8, 2: np.uint16, 4: np.float32, 8: np.uint64, 16: np.uint64}
SIZES = pytest.mark.parametrize("itemsize", TYPES)


class Placed:
    """A batch of matrices inside a line of random elements: any beginning, any gaps."""

    def __init__(self, rng, itemsize, shape, begin=0, gap=0, apart=0):
        count, rows, cols = shape
        parts = 2 if itemsize == 16 else 1
        self.pitch, self.step = cols + gap, rows * (cols + gap) + apart
        total = begin + count * self.step + 9
        self.host = rng.integers(0, 250, total * parts).astype(WORDS[itemsize])
        self.device = cuda.to_device(self.host)
        self.shape, self.parts, self.begin = shape, parts, begin
        self.view = self.inside(self.device)

    def inside(self, line):
        count, rows, cols = self.shape
        begin = self.begin * self.parts
        line = line[begin : begin + count * self.step * self.parts]
        matrices = line.reshape(count, self.step * self.parts)
        matrices = matrices[:, : rows * self.pitch * self.parts]
        if count > 1 and self.step != rows * self.pitch:
            raise AssertionError("matrices that lie apart are views of a wider array")
        return matrices.reshape(count, rows, self.pitch * self.parts)[:, :, : cols * self.parts]

    @property
    def values(self):
        """The elements, the parts of each along the last axis."""
        return self.inside(self.host).reshape(*self.shape, self.parts)

    def after(self, values):
        """Asserts that the inside became this, and what lies around is as it was."""
        self.inside(self.host)[...] = values.reshape(*self.shape[:2], -1)
        np.testing.assert_array_equal(self.device.copy_to_host(), self.host)


def turned(itemsize, flat, extent, length, count=1, begins=(0, 0), gaps=(0, 0)):
    """The trace of the transposes of matrices of so many columns, or rows, checked."""
    rng = np.random.default_rng([itemsize, flat, extent, length])
    rows, cols = (extent, length) if flat else (length, extent)
    inp = Placed(rng, itemsize, (count, rows, cols), begins[0], gaps[0])
    out = Placed(rng, itemsize, (count, cols, rows), begins[1], gaps[1])
    make = transpose_flat_of if flat else transpose_narrow_of
    kernel = make(TYPES[itemsize], extent % 2 == 0, pairs=itemsize == 16, batched=count > 1)
    blocks = -(-length // LARGE.strip(extent, itemsize)) * count
    views = (out.view, inp.view) if count > 1 else (out.view[0], inp.view[0])
    found = trace(kernel)[(1, blocks), LARGE.threads](*views)
    out.after(inp.values.swapaxes(1, 2))
    assert all(one.price for one in found.findings)
    return found


def per_request(found, space, width):
    """{kind: (requests, wavefronts, sectors)} of a width."""
    rows = [row for row in found.lines if (row.space, row.width) == (space, width)]
    return {
        kind: tuple(
            sum(getattr(row, name) for row in rows if row.kind == kind)
            for name in ("requests", "wavefronts", "sectors")
        )
        for kind in {row.kind for row in rows}
    }


@pytest.mark.first(3)
@SIZES
@pytest.mark.parametrize("flat", [False, True], ids=["narrow", "flat"])
@pytest.mark.parametrize(
    ("extent", "length", "begins", "gaps"),
    [
        (3, 2.1, (0, 0), (0, 0)),
        (4, 1.1, (1, 3), (0, 3)),
        (5, 0.3, (0, 1), (2, 0)),
        (1, 0.01, (3, 0), (0, 0)),
    ],
)
def test_values(itemsize, flat, extent, length, begins, gaps):
    """Strips and what is left of one, any beginnings, rows that lie apart on either side."""
    turned(itemsize, flat, extent, 1 + int(LARGE.strip(extent, itemsize) * length), 1, begins, gaps)


@pytest.mark.exhaustive
@SIZES
@pytest.mark.parametrize("flat", [False, True], ids=["narrow", "flat"])
def test_values_of_more_shapes(itemsize, flat):
    """30 random shapes of 1 to 64 columns or rows, beginnings and gaps."""
    rng = np.random.default_rng([7, itemsize, flat])
    for _ in range(30):
        extent = int(rng.integers(1, 65))
        length = int(rng.integers(1, 3 * LARGE.strip(extent, itemsize)))
        begins, gaps = rng.integers(0, 17, 2), rng.integers(0, 4, 2) * rng.integers(0, 2, 2)
        turned(itemsize, flat, extent, length, 1, begins.tolist(), gaps.tolist())


@pytest.mark.first(1)
@SIZES
@pytest.mark.parametrize("flat", [False, True], ids=["narrow", "flat"])
def test_batches(itemsize, flat):
    """Three matrices of more than a strip, of odd lengths: the second begins anywhere."""
    turned(itemsize, flat, 3, LARGE.strip(3, itemsize) + 7, 3)


@pytest.mark.parametrize("flat", [False, True], ids=["narrow", "flat"])
@pytest.mark.parametrize(
    ("extent", "gathered"), [(3, 252), (4, 128), (6, 168), (7, 180), (8, 128), (64, 128)]
)
def test_counts_of_whole_strips(flat, extent, gathered):
    """float32, a strip whose runs begin at multiples of 16 bytes: 16 sectors per request.

    A request of 32 lanes by columns takes 1 wavefront at best. Of 3 columns a warp has 8 chunks
    each, and 8 more of the first, which lie in the same banks; where an even number of columns
    leaves chunks out, some of 8 meet.
    """
    length = LARGE.strip(extent, 4)
    found = turned(4, flat, extent, length)
    chunks = extent * length // 4
    wide = per_request(found, "global", 16)
    assert (wide["store"][0], wide["store"][2]) == (-(-chunks // 32), chunks // 2)
    # one pass more, of 8 warps: chunks beyond the strip are the last one once more
    assert wide["load"][0] == LARGE.passes * LARGE.threads // 32 + 8
    kind = "store" if flat else "load"
    requests, wavefronts, _ = per_request(found, "shared", 4)[kind]
    assert (requests, wavefronts) == (4 * -(-chunks // 32), gathered)
