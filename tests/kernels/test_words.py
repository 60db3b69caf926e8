"""Transposes by words, and without a tile: values, what lies around, counts per request."""

import numpy as np
import pytest
from numba import cuda, uint8, uint16, uint64

from smemnb.kernels.transpose.variants import direct, words
from smemnb.kernels.transpose.variants.turned import transpose_turned_of
from smemnb.tracing import trace

TYPES = {1: uint8, 2: uint16}
WORDS = {1: np.uint8, 2: np.uint16}


class Placed:
    """A batch of matrices inside a line of random elements: any beginning, any gaps."""

    def __init__(self, rng, itemsize, shape, begin=0, gap=0):
        count, rows, cols = shape
        self.shape, self.begin, self.pitch = shape, begin, cols + gap
        total = begin + count * rows * self.pitch + 9
        self.host = rng.integers(0, 250, total).astype(WORDS[itemsize])
        self.device = cuda.to_device(self.host)

    def inside(self, line):
        count, rows, cols = self.shape
        line = line[self.begin : self.begin + count * rows * self.pitch]
        return line.reshape(count, rows, self.pitch)[:, :, :cols]

    def after(self, values):
        """Asserts that the inside became this, and what lies around is as it was."""
        self.inside(self.host)[...] = values
        np.testing.assert_array_equal(self.device.copy_to_host(), self.host)


def turned(kernel, itemsize, shape, grid, threads, begins=(0, 0), gaps=(0, 0)):
    """The trace of transposes that were checked; nothing but prices is found."""
    rng = np.random.default_rng([itemsize, *shape, *begins, *gaps])
    count, rows, cols = shape
    inp = Placed(rng, itemsize, shape, begins[0], gaps[0])
    out = Placed(rng, itemsize, (count, cols, rows), begins[1], gaps[1])
    views = out.inside(out.device), inp.inside(inp.device)
    if count == 1:
        views = views[0][0], views[1][0]
    found = trace(kernel)[grid, threads](*views)
    out.after(inp.inside(inp.host).swapaxes(1, 2))
    assert all(one.price for one in found.findings)
    return found


def tiles(itemsize, tiling, shape, **placed):
    """The same by words."""
    count, rows, cols = shape
    high, wide = tiling.tile(itemsize)
    kernel = words.transpose_words_of(TYPES[itemsize], tiling, batched=count > 1)
    grid = -(-cols // wide) * count, -(-rows // high)
    return turned(kernel, itemsize, shape, grid, tiling.threads, **placed)


PLACES = [
    {},
    {"begins": (3, 1)},
    {"begins": (1, 5), "gaps": (2, 3)},
    {"gaps": (0, 1)},
]


SIZES = pytest.mark.parametrize("itemsize", [1, 2])
BATCH = pytest.param((2, 66, 35), marks=pytest.mark.exhaustive)


@pytest.mark.first(1)
@SIZES
@pytest.mark.parametrize("tile", [(64, 64), (64, 32)], ids=str)
@pytest.mark.parametrize("shape", [(1, 133, 71), (1, 128, 64), BATCH], ids=str)
def test_elements(itemsize, tile, shape):
    """One by one: whole tiles without guards, and those at edges."""
    count, rows, cols = shape
    kernel = transpose_turned_of(TYPES[itemsize], tile, 8, batched=count > 1, whole=True)
    grid = -(-cols // tile[1]) * count, -(-rows // tile[0])
    turned(kernel, itemsize, shape, grid, (32, 8), begins=(1, 3))


@pytest.mark.first(1)
@SIZES
@pytest.mark.parametrize("placed", PLACES, ids=str)
@pytest.mark.parametrize("shape", [(1, 133, 71), (1, 5, 9), BATCH], ids=str)
def test_values(itemsize, placed, shape):
    """Several tiles, less than one, a batch; rows that begin anywhere, with and without gaps."""
    tiles(itemsize, words.SHAPES[itemsize], shape, **placed)


@pytest.mark.exhaustive
@SIZES
def test_values_of_more_shapes(itemsize):
    """8 random shapes, beginnings and gaps."""
    rng = np.random.default_rng([3, itemsize])
    for _ in range(8):
        shape = 1, int(rng.integers(1, 300)), int(rng.integers(1, 160))
        begins, gaps = rng.integers(0, 17, 2), rng.integers(0, 4, 2) * rng.integers(0, 2, 2)
        tiling = words.SHAPES[itemsize]
        tiles(itemsize, tiling, shape, begins=begins.tolist(), gaps=gaps.tolist())


@pytest.mark.first(1)
@pytest.mark.parametrize("itemsize", [8, 16])
@pytest.mark.parametrize("shape", [direct.WIDE, direct.TALL], ids=str)
@pytest.mark.parametrize(("rows", "cols"), [(3, 70), (70, 3), (33, 17)])
def test_direct(itemsize, shape, rows, cols):
    """Without a tile: pieces of rows to pieces of rows."""
    parts = itemsize // 8
    host = np.arange(rows * cols * parts, dtype=np.uint64).reshape(rows, cols * parts)
    out = cuda.to_device(np.zeros((cols, rows * parts), np.uint64))
    kernel = direct.transpose_direct_of(uint64, shape, pairs=parts == 2)
    (high, wide), threads = shape.tile, shape.threads
    found = trace(kernel)[(-(-cols // wide), -(-rows // high)), threads](out, cuda.to_device(host))
    expected = host.reshape(rows, cols, parts).swapaxes(0, 1).reshape(cols, rows * parts)
    np.testing.assert_array_equal(out.copy_to_host(), expected)
    assert all(one.price for one in found.findings)


def per_request(found, kind, space, width):
    """(requests, wavefronts, sectors) of a kind and width."""
    rows = [row for row in found.lines if (row.kind, row.space, row.width) == (kind, space, width)]
    return tuple(
        sum(getattr(row, name) for row in rows) for name in ("requests", "wavefronts", "sectors")
    )


@pytest.mark.exhaustive
def test_counts_of_words():
    """A tile of 128x128 bytes inside a matrix: 8 reads of a word for 4 words that are turned.

    144 rows of 9 chunks are loaded, in 41 requests; every lane stores 16 bytes, 16 sectors each.
    """
    found = tiles(1, words.Shape(128, 128, 256, 5), (1, 128, 128))
    groups, chunks = 36 * 32 // 32, 128 * 8 // 32
    assert per_request(found, "load", "shared", 4)[0] == 8 * groups + 5 * chunks
    assert per_request(found, "store", "shared", 4)[:2] == (4 * groups, 4 * groups)
    assert per_request(found, "store", "global", 16) == (chunks, 0, 16 * chunks)


@pytest.mark.first(2)
@pytest.mark.parametrize("itemsize", [8, 16])
@pytest.mark.parametrize("flat", [False, True], ids=["narrow", "flat"])
@pytest.mark.parametrize(("extent", "length"), [(3, 400), (10, 51), (2, 257), (32, 17)])
def test_runs(itemsize, flat, extent, length):
    """A run of whole columns or rows without a tile, and what is left of one."""
    rows, cols = (extent, length) if flat else (length, extent)
    parts = itemsize // 8
    host = np.arange(rows * cols * parts, dtype=np.uint64).reshape(rows, cols * parts)
    out = cuda.to_device(np.zeros((cols, rows * parts), np.uint64))
    kernel = direct.transpose_direct_run_of(uint64, flat=flat, pairs=parts == 2)
    blocks = -(-length // direct.run(extent))
    found = trace(kernel)[(1, blocks), direct.THREADS](out, cuda.to_device(host))
    expected = host.reshape(rows, cols, parts).swapaxes(0, 1).reshape(cols, rows * parts)
    np.testing.assert_array_equal(out.copy_to_host(), expected)
    assert all(one.price for one in found.findings)
