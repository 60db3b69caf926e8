from dataclasses import replace

import pytest

from smemnb.figures import register_map
from smemnb.figures.registers import CELL, EDGE, _side, measure
from smemnb.kernels.matmul.tiling import Tiling
from smemnb.kernels.matmul.variants.pieces import lane_place
from tests.facts import facts

TALL = Tiling(warp_rows=32, warp_cols=64, lanes_down=4)


@pytest.mark.parametrize(
    "given",
    [
        ((16, 16), (4, 4)),
        ((32, 8), (8, 1)),
        (Tiling(), None),
        (TALL, None),
        (replace(TALL, interleaved=True), None),
    ],
)
@pytest.mark.parametrize("way", ["together", "apart"])
def test_every_element_has_one_thread(given, way):
    ways = {"rows": way, "cols": way} if given[1] else {}
    found = measure(*given, **ways)
    rows, cols = found.shape
    high, wide = found.results
    assert len(found.owners) == rows * cols == len(found.rows) * high * wide
    assert set(found.owners) == {(row, col) for row in range(rows) for col in range(cols)}


@pytest.mark.parametrize(
    ("results", "each"),
    [((8, 1), "1.125"), ((32, 1), "1.03125"), ((16, 8), "0.1875"), ((3, 2), "0.833")],
)
def test_reads_have_the_places_they_need(results, each):
    """A quotient that ends is printed whole."""
    assert register_map((2, 2), results).text.split(" reads each")[0].split()[-1] == each


def test_apart_and_together():
    apart = measure((16, 16), (4, 4), thread=17)
    assert apart.rows[17] == apart.cols[17] == (1, 17, 33, 49)
    near = measure((16, 16), (4, 4), rows="together", thread=35)
    assert (near.rows[35], near.cols[35]) == ((8, 9, 10, 11), (3, 19, 35, 51))


def test_tiling():
    """Quads of neighbours, as far apart as the lanes of the warp reach."""
    found = measure(TALL, thread=32 + 9)
    assert found.rows[41] == (4, 5, 6, 7, 20, 21, 22, 23)
    assert found.cols[41] == (68, 69, 70, 71, 100, 101, 102, 103)
    assert found.warp == 1


@pytest.mark.parametrize("interleaved", [False, True])
def test_lanes_are_where_the_kernels_have_them(interleaved):
    """The same places as the device function of the package's products gives."""
    tiling = replace(TALL, interleaved=interleaved)
    place = lane_place(tiling).py_func
    found = measure(tiling)
    for lane in range(32):
        down, across = (int(one) for one in place(lane))
        assert (found.rows[lane][0], found.cols[lane][0]) == (4 * down, 4 * across)


def test_text_and_alt():
    drawn = register_map((16, 16), (4, 4), thread=17)
    head, thread, first, reads, _ = drawn.text.splitlines()
    assert facts(head) == facts("256 64 64 4 4")
    assert facts(thread) == facts("17 0 17 1 17 33 49 1 17 33 49")
    assert facts(first) == facts("0 0 0 15 1 16 31")
    assert facts(reads) == facts("4 4 16 0.5")
    assert set(facts("17 33 49")) <= set(facts(drawn.alt))


def test_refused():
    with pytest.raises(TypeError, match="results is missing"):
        register_map((16, 16))
    with pytest.raises(TypeError, match="come with a Tiling"):
        register_map(Tiling(), (4, 4))
    with pytest.raises(ValueError, match="threads 0 to 255"):
        register_map((16, 16), (4, 4), thread=256)
    with pytest.raises(ValueError, match="no way"):
        register_map((16, 16), (4, 4), rows="mixed")
    with pytest.raises(ValueError, match="1 or more"):
        register_map((16, 0), (4, 4))


def test_a_strip_has_elements_that_can_be_seen():
    """Rows of a low tile, and columns of a narrow one, have the height or width of a number."""
    assert _side(measure((16, 2), (1, 4))) == (EDGE / 64, CELL)
    assert _side(measure((2, 16), (4, 1))) == (CELL, EDGE / 64)
    assert _side(measure((32, 8), (8, 1))) == (EDGE / 64, EDGE / 64)
