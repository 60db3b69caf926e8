import numpy as np
import pytest

from smemnb import replay
from smemnb.figures import phase_map
from smemnb.figures.phases import MOST, measure
from tests.facts import facts
from tests.figures.replay.kernels import product_of, two_buffers


@pytest.fixture(scope="module")
def double():
    return replay(two_buffers)[1, 64](np.zeros(64, np.float32), np.zeros((5, 64), np.float32))


@pytest.fixture(scope="module")
def single():
    a, b = np.zeros((2, 16, 16), np.float32)
    return replay(product_of())[(2, 2), (8, 8)](np.zeros((16, 16), np.float32), a, b)


def test_two_buffers(double):
    """One buffer is filled while the other is read, and they swap in each phase."""
    found = measure(double.run)
    one, other = (buffer for buffer in found.buffers if buffer.space == "shared")
    assert (one.name, other.name) == ("tile[0]", "tile[1]")
    assert one.stored == (64, 0, 64, 0, 64, 0, 0)
    assert one.loaded == (0, 64, 0, 64, 0, 64, 0)
    assert other.stored == (0, 64, 0, 64, 0, 0, 0)
    assert other.loaded == (0, 0, 64, 0, 64, 0, 0)
    assert found.overlapping == 4


def test_one_buffer(single):
    """Phases that fill and phases that read take turns."""
    found = measure(single.run)
    tiles = [buffer for buffer in found.buffers if buffer.space == "shared"]
    assert [buffer.name for buffer in tiles] == ["a_tile", "b_tile"]
    for buffer in tiles:
        assert buffer.stored == (64, 0, 64, 0, 0) and buffer.loaded == (0, 64, 0, 64, 0)
    assert found.overlapping == 0


def test_global_memory_has_no_parts(double):
    """The rows of `a` are touched one by one, yet it is one array."""
    found = measure(double.run)
    (a,) = (buffer for buffer in found.buffers if buffer.name == "a")
    assert a.loaded == (64, 64, 64, 64, 64, 0, 0)


def test_long_runs_are_cut():
    rows = MOST + 3
    run = replay(two_buffers)[1, 64](np.zeros(64, np.float32), np.zeros((rows, 64), np.float32)).run
    found = measure(run)
    assert (len(found.barriers), found.left_out) == (MOST, rows + 2 - MOST)


def test_text_and_alt(double, single):
    drawn = phase_map(single, double)
    said = drawn.text.splitlines()
    assert facts(said[0]) == facts("product 5 0")
    (filled,) = (line for line in said if line.startswith("tile[1]") and "store" in line)
    assert facts(filled).count("64") == 2
    assert "tile[1]" in drawn.alt and "a_tile" in drawn.alt


def test_refused(double):
    with pytest.raises(ValueError, match="1 to 3 replays"):
        phase_map()
    with pytest.raises(ValueError, match="1 to 3 replays"):
        phase_map(*[double] * 4)
