"""Which kernels a convolution takes, and that each is right where another one would be taken."""

import numpy as np
import pytest

from smemnb.kernels.stencil import choosing
from smemnb.kernels.stencil.choosing import MODES, Geometry, Window, convolution, cut, pieces
from smemnb.kernels.stencil.variants.framed import inside
from smemnb.tracing import trace
from tests.kernels.stencil.reference import weighed
from tests.tiers import exhaustive


def new(shape, dtype):
    return np.zeros(shape, dtype)


def launches(shape, size, dtype=np.float32, mode="reflect", befores=None, seed=1):
    """out and inp as stacks, and what is launched for them."""
    rng = np.random.default_rng(seed)
    inp = rng.integers(0, 9, shape).astype(dtype)
    weights = rng.integers(-3, 4, size).astype(np.float64)
    weights.flat[:2] = 1, 2
    befores = befores or [n // 2 for n in size]
    out, window = np.zeros(shape, dtype), Window(weights, *befores, mode, 2.0)
    return out, inp, window, convolution(new, out.ravel(), inp.ravel(), Geometry(*shape), window, 4)


def check(shape, size, dtype=np.float32, mode="reflect", befores=None):
    """The result is right, and no error is found."""
    out, inp, window, found = launches(shape, size, dtype, mode, befores)
    for one in found:
        report = trace(one.kernel)[one.grid, one.block](*one.args)
        assert {kind.kind for kind in report.findings if kind.severity == "error"} == set()
    before = window.up, window.left
    np.testing.assert_array_equal(out, weighed(inp, window.weights, before, mode, 2.0))


@pytest.mark.parametrize(("share", "shape"), [(-1.0, (2, 21, 72)), (2.0, (2, 21, 72))])
def test_with_and_without_a_frame(share, shape, monkeypatch):
    """The same picture by tiles and a frame, and by strips; both have an inside and edges."""
    monkeypatch.setattr(choosing, "FRAMED", share)
    check(shape, (3, 5))


@exhaustive
@pytest.mark.parametrize("share", [-1.0, 2.0])
@pytest.mark.parametrize("mode", MODES)
def test_random_pictures(share, mode, monkeypatch):
    """Any shape, also smaller than the window; rows of whole chunks or not; windows to one side."""
    monkeypatch.setattr(choosing, "FRAMED", share)
    rng = np.random.default_rng(MODES.index(mode))
    for number in range(2):
        size = tuple(int(one) for one in rng.integers(1, 7, 2))
        befores = [int(rng.integers(0, n)) for n in size]
        images, rows, cols = (int(one) for one in rng.integers(1, (4, 40, 200)))
        cols = -(-cols // 4) * 4 if (number + MODES.index(mode)) % 2 else cols
        check((images, rows, cols), size, (np.float32, np.float64)[number], mode, befores)


def test_choice():
    """Tiles and a frame where most of a picture is inside; strips where it is not, or of ints."""
    for shape, dtype, name in (
        ((1, 40, 256), np.float32, "framed"),
        ((1, 40, 255), np.float32, "framed"),
        ((1, 40, 12), np.float32, "sliding"),
        ((1, 4, 256), np.float32, "sliding"),
        ((1, 40, 256), np.uint8, "sliding"),
    ):
        (one,) = launches(shape, (3, 3), dtype)[3]
        assert one.kernel.py_func.__module__.endswith(name)


def test_lines():
    """A line of any length goes by 16 bytes: 4 elements for a thread, the ends one by one."""
    for cols, size in ((1003, (1, 3)), (520, (1, 9))):
        (one,) = launches((1, 1, cols), size, np.float32)[3]
        assert one.kernel.py_func.__module__.endswith("framed")
        part = inside(1, cols, size, 0, size[1] // 2, 4)
        assert cols - part.cols < 16 and one.grid == part.blocks[1] + 1
        check((1, 1, cols), size)


def test_many_weights():
    """15x15 in three launches, those of a column times a row in one, 40 x 40 of them in pieces."""
    assert len(launches((1, 40, 64), (15, 15))[3]) == 3
    window = Window(np.outer(np.arange(1.0, 16), np.arange(1.0, 16)), 7, 7, "reflect", 0.0)
    inp = np.zeros(40 * 64, np.float32)
    assert len(convolution(new, inp, inp, Geometry(1, 40, 64), window, 4)) == 1
    window = Window(np.outer(np.arange(1.0, 41), np.arange(1.0, 41)), 20, 20, "reflect", 0.0)
    assert len(convolution(new, inp, inp, Geometry(1, 40, 64), window, 4)) == 6
    assert len(list(pieces((40, 40)))) == 3 * 8


def test_pieces_cover_the_weights():
    """Each weight is in one piece, and none has more than a kernel takes."""
    for size in ((1, 1), (15, 15), (31, 7), (7, 31), (1, 100), (100, 1), (64, 64)):
        seen = np.zeros(size, int)
        for rows, cols in pieces(size):
            seen[rows, cols] += 1
            assert seen[rows, cols].size <= choosing.MOST_TAPS
        assert (seen == 1).all()
    assert cut(31, 15) == [(0, 11), (11, 10), (21, 10)]


def test_inside_is_inside():
    """No window of the inside reaches beyond an edge, and no more of the picture would be whole."""
    rng = np.random.default_rng(2)
    for _ in range(200):
        rows, cols = (int(one) for one in rng.integers(1, 60, 2))
        size = tuple(int(one) for one in rng.integers(1, 9, 2))
        up, left = int(rng.integers(-3, size[0] + 3)), int(rng.integers(-3, size[1] + 3))
        wide = int(rng.choice([1, 2, 4]))
        found = inside(rows, cols, size, up, left, wide)
        if found.rows:
            assert found.row - up >= 0 and found.col - left >= 0
            assert found.row + found.rows - up + size[0] - 1 <= rows
            assert found.col + found.cols - left + size[1] - 1 <= cols
            assert found.row + found.rows <= rows and found.col + found.cols <= cols
            assert found.col % wide == 0
