import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import cuda

from smemnb import trace
from smemnb.figures import grid_map
from smemnb.figures.grid import measure
from tests.facts import facts


@cuda.jit
def owners(out):
    """Number of the thread and of the block that takes each element."""
    col, row = cuda.grid(2)
    if row < out.shape[0] and col < out.shape[1]:
        tid = cuda.threadIdx.y * cuda.blockDim.x + cuda.threadIdx.x
        out[row, col] = tid + 1024 * (cuda.blockIdx.y * cuda.gridDim.x + cuda.blockIdx.x)


@pytest.mark.first(1)
@pytest.mark.parametrize(
    ("grid", "block", "shape"), [((3, 2), (16, 8), (12, 35)), ((1, 2), (32, 4), (8, 40))]
)
def test_elements_are_those_of_a_launch(grid, block, shape):
    """Each thread takes what `cuda.grid(2)` gives it, and nobody else does."""
    out = np.full(shape, -1, np.int32)
    trace(owners)[grid, block](out)
    seen = np.full(shape, -1, np.int32)
    for number in range(grid[0] * grid[1]):
        found = measure(grid, block, shape, at=(number % grid[0], number // grid[0]))
        for thread in range(found.threads):
            place = found.element(thread)
            if place is not None:
                seen[place] = 1024 * number + thread
        assert found.left_out == (out == -1).sum()
    assert (seen == out).all()


def test_ragged_block():
    found = measure((3, 2), (32, 8), (12, 70), at=(2, 1), warp=1)
    assert (found.rows, found.cols) == (range(8, 12), range(64, 70))
    assert found.lanes == (*((9, col) for col in range(64, 70)), *[None] * 26)
    assert (found.idle, found.left_out, found.warps) == (696, 0, 8)


def test_short_last_warp():
    """40 threads are two warps, the second of 8 lanes; a row of 10 takes four rows' turns."""
    found = measure(1, (10, 4), (4, 10), warp=1)
    assert found.lanes == tuple((3, col) for col in range(2, 10))


def test_one_dimension():
    found = measure(4, 128, 500, at=3, warp=3)
    assert found.lanes[:20] == tuple((0, i) for i in range(480, 500))
    assert found.lanes[20:] == (None,) * 12
    assert found == measure((4,), (128,), (500,), at=(3,), warp=3)


def test_grid_that_is_too_small():
    assert measure(1, (16, 16), (20, 30)).left_out == 600 - 256


@given(*[st.integers(1, 40)] * 4, st.integers(1, 6), st.integers(1, 6))
@settings(max_examples=40, deadline=None)
def test_threads_and_elements(rows, cols, x, y, across, down):
    """Threads with an element, and elements with a thread, are as many."""
    if x * y > 1024:
        return
    found = measure((across, down), (x, y), (rows, cols))
    assert across * down * x * y - found.idle == rows * cols - found.left_out


def test_text_and_alt():
    drawn = grid_map((3, 3), (16, 16), (40, 35), at=(2, 0), warp=3)
    head, block, warp, launch = drawn.text.splitlines()
    assert facts(head) == facts("grid 3 3 16 16 40 35")
    assert facts(block) == facts("2 0 0 15 32 34 48 256")
    assert facts(warp) == facts("3 8 0 2 6 32 34 16 18 7 32 34 26")
    assert facts(launch) == facts("2,304 904 0")
    assert set(facts("40 35 904 32 34")) <= set(facts(drawn.alt))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (((2, 2, 2), 32, 64), "grid is"),
        ((2, 0, 64), "block is 0"),
        ((2, (64, 32), (9, 9)), "2,048 threads"),
        ((2, 32, (4, 4, 4)), "shape is"),
    ],
)
def test_refused(arguments, said):
    with pytest.raises(ValueError, match=said):
        grid_map(*arguments)


def test_no_such_block_or_warp():
    with pytest.raises(ValueError, match="no block of a grid"):
        grid_map((2, 2), 32, (4, 64), at=(2, 0))
    with pytest.raises(ValueError, match="warps 0 to 1"):
        grid_map((2, 2), 64, (4, 64), warp=2)
