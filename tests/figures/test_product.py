import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smemnb.figures import product_map
from smemnb.figures.product import measure
from smemnb.kernels.matmul.tiling import Tiling
from tests.facts import facts


def pieces(box):
    rows, cols = box
    return slice(rows.start, rows.stop), slice(cols.start, cols.stop)


@given(*[st.integers(1, 40)] * 3, st.integers(1, 17), st.integers(1, 17), st.integers(1, 9))
@settings(max_examples=30, deadline=None)
def test_walk_makes_the_product(rows, cols, depth, high, wide, deep):
    """The steps of all blocks, added up, are a @ b."""
    rng = np.random.default_rng(1)
    a, b = rng.integers(-9, 9, (rows, depth)), rng.integers(-9, 9, (depth, cols))
    out = np.zeros((rows, cols), int)
    tile, shape = (high, wide, deep), (rows, cols, depth)
    first = measure(shape, tile)
    for y in range(first.grid[1]):
        for x in range(first.grid[0]):
            for step in range(first.steps):
                found = measure(shape, tile, block=(x, y), step=step)
                out[pieces(found.out)] += a[pieces(found.a)] @ b[pieces(found.b)]
    assert (out == a @ b).all()


def test_pieces():
    found = measure((64, 64, 96), 16, block=(1, 2), step=3)
    assert (found.grid, found.steps) == ((4, 4), 6)
    assert found.out == (range(32, 48), range(16, 32))
    assert found.a == (range(32, 48), range(48, 64))
    assert found.b == (range(48, 64), range(16, 32))
    assert (found.staged, found.products) == ((1536, 1536), 16 * 16 * 96)


def test_ragged_tile():
    found = measure((300, 200, 100), Tiling(), block=(1, 2), step=12)
    assert found.tile == (128, 128, 8)
    assert found.out == (range(256, 300), range(128, 200))
    assert found.along == range(96, 100)


def test_text_and_alt():
    drawn = product_map((64, 64, 96), 16, block=(1, 2), step=3)
    head, makes, staged, total, _ = drawn.text.splitlines()
    assert facts(head) == facts("64 64 64 96 96 64 16 16 16 16 6")
    assert "out[32:48, 16:32]" in makes
    assert "a[32:48, 48:64]" in staged and "b[48:64, 16:32]" in staged
    assert facts(total) == facts("1,536 1,536 24,576 16")
    assert "a[32:48, 48:64]" in drawn.alt


@pytest.mark.parametrize(
    ("more", "said"),
    [({"block": (4, 0)}, "no block"), ({"step": 6}, "steps 0 to 5"), ({"step": -1}, "steps 0")],
)
def test_refused(more, said):
    with pytest.raises(ValueError, match=said):
        product_map((64, 64, 96), 16, **more)


def test_sizes():
    with pytest.raises(ValueError, match="1 or more"):
        product_map((64, 0, 96), 16)
