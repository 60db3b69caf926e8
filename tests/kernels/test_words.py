"""Transposes by words and by chunks that are cut on both sides: values, what lies around, counts."""

import numpy as np
import pytest
from numba import cuda, float32, uint8, uint16, uint64

from smemnb.kernels.transpose.variants import cut, direct, words
from smemnb.tracing import trace

TYPES = {1: uint8, 2: uint16, 4: float32, 8: uint64}
WORDS = {1: np.uint8, 2: np.uint16, 4: np.float32, 8: np.uint64}


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


def tiles(make, itemsize, tiling, shape, **placed):
    """The same of a kernel of tiles."""
    count, rows, cols = shape
    high, wide = tiling.tile(itemsize)
    kernel = make(TYPES[itemsize], tiling, batched=count > 1)
    grid = -(-cols // wide) * count, -(-rows // high)
    return turned(kernel, itemsize, shape, grid, tiling.threads, **placed)


def runs(itemsize, flat, run, extent, length, count=1, **placed):
    """The same of a narrow or a flat matrix, by words."""
    make = words.transpose_words_flat_of if flat else words.transpose_words_narrow_of
    shape = (count, extent, length) if flat else (count, length, extent)
    blocks = -(-length // run.run(extent, itemsize)) * count
    kernel = make(TYPES[itemsize], run, batched=count > 1)
    return turned(kernel, itemsize, shape, (1, blocks), run.threads, **placed)


SMALL = {
    1: (words.transpose_words_of, words.SMALL),
    2: (words.transpose_words_of, words.SMALL),
    4: (cut.transpose_cut_of, cut.SMALL),
    8: (cut.transpose_cut_of, cut.SMALL),
}
PLACES = [
    {},
    {"begins": (3, 1)},
    {"begins": (1, 5), "gaps": (2, 3)},
    {"gaps": (0, 1)},
]


@pytest.mark.first(3)
@pytest.mark.parametrize("itemsize", SMALL)
@pytest.mark.parametrize("placed", PLACES, ids=str)
@pytest.mark.parametrize("shape", [(1, 133, 71), (1, 5, 9), (2, 66, 35)], ids=str)
def test_tiles(itemsize, placed, shape):
    """Several tiles, less than one, a batch; rows that begin anywhere, with and without gaps."""
    make, tilings = SMALL[itemsize]
    tiles(make, itemsize, tilings[itemsize], shape, **placed)


@pytest.mark.exhaustive
@pytest.mark.parametrize("itemsize", SMALL)
def test_tiles_of_more_shapes(itemsize):
    """10 random shapes, beginnings and gaps, by large and by small tiles."""
    rng = np.random.default_rng([3, itemsize])
    make, small = SMALL[itemsize]
    large = words.LARGE if itemsize <= 2 else cut.LARGE
    for number in range(10):
        shape = 1, int(rng.integers(1, 300)), int(rng.integers(1, 160))
        begins, gaps = rng.integers(0, 17, 2), rng.integers(0, 4, 2) * rng.integers(0, 2, 2)
        tiling = (large, small)[number % 2][itemsize]
        tiles(make, itemsize, tiling, shape, begins=begins.tolist(), gaps=gaps.tolist())


@pytest.mark.first(3)
@pytest.mark.parametrize("itemsize", [1, 2])
@pytest.mark.parametrize("flat", [False, True], ids=["narrow", "flat"])
@pytest.mark.parametrize(
    ("extent", "length", "count"), [(5, 1.3, 1), (8, 2.2, 1), (31, 0.4, 1), (4, 1.1, 2)]
)
def test_runs(itemsize, flat, extent, length, count):
    """Runs and what is left of one, of odd and even columns; batches of whole chunks."""
    length = int(words.SHORT.run(extent, itemsize) * length) // 16 * 16 + 16 * (count > 1) or 16
    length += 3 * (count == 1)
    placed = {} if count > 1 else {"begins": (3, 0)}
    runs(itemsize, flat, words.SHORT, extent, length, count, **placed)


@pytest.mark.exhaustive
@pytest.mark.parametrize("itemsize", [1, 2])
@pytest.mark.parametrize("flat", [False, True], ids=["narrow", "flat"])
def test_runs_of_more_shapes(itemsize, flat):
    """10 random shapes; the result of a flat one begins at a multiple of 16 bytes."""
    rng = np.random.default_rng([5, itemsize, flat])
    for number in range(10):
        run = (words.LONG, words.SHORT)[number % 2]
        extent = int(rng.integers(4 // itemsize, run.most + 1))
        length = int(rng.integers(1, 2 * run.run(extent, itemsize)))
        begins = (int(rng.integers(0, 17)), 0 if flat else int(rng.integers(0, 17)))
        gaps = (int(rng.integers(0, 3)), 0) if flat else (0, int(rng.integers(0, 3)))
        runs(itemsize, flat, run, extent, length, begins=begins, gaps=gaps)


@pytest.mark.parametrize("itemsize", [8, 16])
@pytest.mark.parametrize("shape", [(3, 70), (70, 3), (33, 17)], ids=str)
def test_direct(itemsize, shape):
    """Without a tile: pieces of rows to pieces of rows; every load and store of whole sectors."""
    rows, cols = shape
    parts = itemsize // 8
    host = np.arange(rows * cols * parts, dtype=np.uint64).reshape(rows, cols * parts)
    out = cuda.to_device(np.zeros((cols, rows * parts), np.uint64))
    kernel = direct.transpose_direct_of(uint64, pairs=parts == 2, each=2, down=False)
    found = trace(kernel)[(-(-cols // 16), -(-rows // 32)), 256](out, cuda.to_device(host))
    expected = host.reshape(rows, cols, parts).swapaxes(0, 1).reshape(cols, rows * parts)
    np.testing.assert_array_equal(out.copy_to_host(), expected)
    assert all(one.price for one in found.findings)


def per_request(found, kind, space, width):
    """(requests, wavefronts, sectors) of a kind and width."""
    rows = [row for row in found.lines if (row.kind, row.space, row.width) == (kind, space, width)]
    return tuple(
        sum(getattr(row, name) for row in rows) for name in ("requests", "wavefronts", "sectors")
    )


def test_counts_of_words():
    """A tile of 128x128 bytes inside a matrix: 8 reads of a word for 4 words that are turned.

    144 rows of 9 chunks are loaded, in 41 requests; every lane stores 16 bytes, 16 sectors each.
    """
    tiling = words.LARGE[1]
    found = tiles(words.transpose_words_of, 1, tiling, (1, 128, 128), begins=(0, 0))
    groups, chunks = 36 * 32 // 32, 128 * 8 // 32
    assert per_request(found, "load", "shared", 4)[0] == 8 * groups + 5 * chunks
    assert per_request(found, "store", "shared", 4)[:2] == (4 * groups, 4 * groups)
    assert per_request(found, "store", "global", 16) == (chunks, 0, 16 * chunks)
