"""Transposes of 1 and 2 bytes by words: values, what lies around, counts, choices refused."""

import numpy as np
import pytest
from numba import float32, uint8, uint16

from smemnb.kernels.transpose.variants.packed import WORDS, Words, transpose_packed_of
from smemnb.tracing import trace
from tests.kernels.test_strips import Placed, per_request

TYPES = {1: uint8, 2: uint16}
SIZES = pytest.mark.parametrize("itemsize", TYPES)
FEW = {1: Words(32, 32, 256, 4), 2: Words(32, 32, 256, 4)}
SHAPES = pytest.mark.parametrize("shapes", [WORDS, FEW], ids=["large", "few"])


def turned(itemsize, shapes, rows, cols, count=1, begins=(0, 0), gaps=(0, 0)):
    """The trace of a transpose that was checked."""
    rng = np.random.default_rng([itemsize, rows, cols])
    inp = Placed(rng, itemsize, (count, rows, cols), begins[0], gaps[0])
    out = Placed(rng, itemsize, (count, cols, rows), begins[1], gaps[1])
    words = shapes[itemsize]
    kernel = transpose_packed_of(TYPES[itemsize], words, batched=count > 1)
    high, wide = words.tile(itemsize)
    views = (out.view, inp.view) if count > 1 else (out.view[0], inp.view[0])
    grid = -(-cols // wide) * count, -(-rows // high)
    found = trace(kernel)[grid, words.threads](*views)
    out.after(inp.values.swapaxes(1, 2))
    assert all(one.price for one in found.findings)
    return found


@pytest.mark.first(1)
@SIZES
@SHAPES
@pytest.mark.parametrize(
    ("more", "begins", "gaps"), [((3, 5), (0, 2), (0, 3)), ((-1, 7), (1, 1), (1, 0))]
)
def test_values(itemsize, shapes, more, begins, gaps):
    """Two tiles down, one across and a piece; any beginnings, rows that lie apart."""
    high, wide = shapes[itemsize].tile(itemsize)
    turned(itemsize, shapes, 2 * high + more[0], wide + more[1], 1, begins, gaps)


@SIZES
@pytest.mark.parametrize("shape", [(1, 1), (1, 300), (300, 1), (2, 3), (33, 31)])
def test_small_values(itemsize, shape):
    """Less than a tile, less than a word."""
    turned(itemsize, FEW, *shape)


@pytest.mark.exhaustive
@SIZES
@SHAPES
def test_random_values(itemsize, shapes):
    """25 shapes of up to four tiles, with any beginnings and gaps."""
    rng = np.random.default_rng([5, itemsize])
    high, wide = shapes[itemsize].tile(itemsize)
    for _ in range(25):
        rows, cols = int(rng.integers(1, 2 * high)), int(rng.integers(1, 2 * wide))
        begins, gaps = rng.integers(0, 17, 2), rng.integers(0, 6, 2) * rng.integers(0, 2, 2)
        turned(itemsize, shapes, rows, cols, 1, begins.tolist(), gaps.tolist())


@pytest.mark.exhaustive
@SIZES
def test_batches(itemsize):
    """Three matrices, of which each begins anywhere and has two tiles across."""
    turned(itemsize, FEW, 101, 131, 3)


@pytest.mark.first(1)
@SIZES
def test_counts(itemsize):
    """Whole tiles: every access to the tile takes one wavefront; stores are of whole sectors.

    A tile stores 7/8 of what it holds, so 28 of 32 lanes on average: 3.5 sectors per request.
    """
    words = WORDS[itemsize]
    high, wide = words.tile(itemsize)
    found = turned(itemsize, WORDS, 2 * high, 2 * wide)
    shared = per_request(found, "shared", 4)
    tiles, held = 4, words.across * words.down * (4 // itemsize)
    assert shared["store"][:2] == (tiles * held // 32,) * 2
    assert shared["load"][:2] == (2 * tiles * held // 32,) * 2
    stored = per_request(found, "global", 4)["store"]
    assert stored == (tiles * held // 32, 0, 4 * high * wide * itemsize // 32)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Words(48, 64, 512, 3), "across=48"),
        (lambda: Words(32, 40, 256, 3), "down=40"),
        (lambda: Words(32, 64, 96, 3), "threads=96"),
        (lambda: Words(32, 64, 2048, 1), "threads=2048"),
        (lambda: transpose_packed_of(uint8, Words(64, 64, 512, 3)), "down=64"),
        (lambda: transpose_packed_of(float32), "float32"),
    ],
)
def test_refused(make, said):
    """What does not come out even, or is too large, is named."""
    with pytest.raises(ValueError, match=said):
        make()
