"""The roofline chart: its numbers, its axes, and a picture with every point at its place."""

import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smemnb.figures.roofline import (
    BOTTOM,
    FAR,
    HEIGHT,
    LEFT,
    RIGHT,
    RUNG,
    TOP,
    WIDTH,
    Point,
    Roofline,
    _axes,
    _common,
    _labels,
    _leader,
    roofline_chart,
)
from smemnb.figures.sheet import SCALE
from tests.facts import facts

LINE = Roofline("DRAM", 4.8, 66.9)
POINTS = [Point("naive", 0.25, 1.37), Point("tiled", 4.0, 7.56), Point("wide", 64.0, 38.3)]


def test_text_and_alt():
    """Roofline, intensity and share of the roof of each point, by hand: 4 x 4.8 = 19.2."""
    drawing = roofline_chart(LINE, POINTS, "measured (NVIDIA H200)")
    roof, _, *points, where = [line.split() for line in repr(drawing).splitlines()]
    assert facts(" ".join(roof)) == facts("4.8 66.9 13.9")
    assert points == [  # FLOP/byte, bound, TFLOP/s, of the bound
        ["naive", "0.25", "1.2", "1.37", "1.14"],
        ["tiled", "4", "19.2", "7.56", "0.39"],
        ["wide", "64", "66.9", "38.3", "0.57"],
    ]
    assert " ".join(where) == "measured (NVIDIA H200)"
    for word in ("DRAM", "naive", "tiled", "wide", "measured (NVIDIA H200)"):
        assert word in drawing.alt


def test_axes_are_by_factors():
    """Twice as much is as far everywhere, and every point has room."""
    axes = _axes(LINE, POINTS)
    assert axes.x(2) - axes.x(1) == pytest.approx(axes.x(64) - axes.x(32))
    assert axes.y(1) - axes.y(2) == pytest.approx(axes.y(16) - axes.y(32))
    assert axes.left < 0.25 and axes.right > 64 and axes.low < 1.37 and axes.high > 66.9


def test_picture_has_a_mark_per_point():
    """Three squares of 8 x 8 pixels, but for what their edges blend into; a small file."""
    from PIL import Image

    png = roofline_chart(LINE, POINTS, "here").png
    seen = Image.open(io.BytesIO(png)).convert("RGB").tobytes()
    wanted = tuple(int(RUNG[i : i + 2], 16) for i in (1, 3, 5))
    dark = sum(tuple(seen[i : i + 3]) == wanted for i in range(0, len(seen), 3))
    assert 3 * 49 <= dark / SCALE**2 <= 3 * 81
    assert len(png) < 40_000


WORDS = st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=40)
NUMBERS = st.floats(1e-4, 1e5)
PLACES = st.builds(Point, WORDS, NUMBERS, NUMBERS)


def outside(label):
    """Pixels by which a label leaves the axes."""
    past = (LEFT - label.left, label.right - (WIDTH - RIGHT))
    return max(*past, TOP - label.top, label.bottom - (HEIGHT - BOTTOM))


@settings(max_examples=60, deadline=None)
@given(NUMBERS, NUMBERS, st.lists(PLACES, min_size=1, max_size=12))
def test_labels_lie_inside_the_axes(tb_per_s, tflops, points):
    """For any roofline and any points: no label lies across an axis or its numbers."""
    line = Roofline("DRAM", tb_per_s, tflops)
    labels = _labels(_axes(line, points), line, points)
    assert len(labels) == 2 + len(points)
    assert max(map(outside, labels)) <= 1e-6


def test_labels_of_a_point_in_a_corner():
    """matmul_naive of chapter 05 lies just above the lower axis, and a long name is cut."""
    points = [
        Point("matmul_naive", 0.25, 1.37),
        Point("matmul_tiled", 4.0, 7.56),
        Point("m" * 300, 8.0, 7.81),
    ]
    labels = _labels(_axes(LINE, points), LINE, points)
    assert max(map(outside, labels)) <= 1e-6
    words = {label.words for label in labels}
    assert {"4.8 TB/s", "66.9 TFLOP/s", "matmul_naive", "matmul_tiled"} < words
    (cut,) = words - {"4.8 TB/s", "66.9 TFLOP/s", "matmul_naive", "matmul_tiled"}
    assert cut.startswith("mmm") and cut.endswith("m...")


@pytest.mark.parametrize(
    "points",
    [POINTS, [Point("one", 4.0, 7.5), Point("other", 4.0, 7.5), Point("third", 4.1, 7.6)]],
    ids=["apart", "at one place"],
)
def test_labels_stand_apart(points):
    """No label covers another one, also where marks lie at one place."""
    labels = _labels(_axes(LINE, points), LINE, points)
    shared = [
        _common(one.box, other.box) for i, one in enumerate(labels) for other in labels[i + 1 :]
    ]
    assert sum(shared) == 0


def test_points_that_cover_one_another():
    """matmul_tiled and matmul_tiled_32 in shared memory: each label apart, with a line to its own.

    The lines do not cross, and a point that stands alone has none.
    """
    line = Roofline("shared memory", 33.5, 66.9)
    points = [Point("tiled", 0.25, 7.56), Point("tiled_32", 0.25, 7.81), Point("wide", 0.5, 1.0)]
    axes = _axes(line, points)
    labels = {label.words: label for label in _labels(axes, line, points)}
    for point in points[:2]:
        label = labels[point.label]
        assert label.mark == (axes.x(point.flop_per_byte), axes.y(point.tflops))
        assert max(label.left - label.mark[0], label.mark[0] - label.right) == FAR
    assert labels["wide"].mark is None
    low, high = _leader(labels["tiled"]), _leader(labels["tiled_32"])
    assert low[2] == high[2] and low[1] > high[1] and low[3] > high[3]


@pytest.mark.parametrize(
    "points, said",
    [
        ([], "1 to 12 points, not 0"),
        (POINTS * 5, "1 to 12 points, not 15"),
        ([Point("none", 0.0, 1.0)], "both must be above 0"),
    ],
)
def test_nothing_to_draw(points, said):
    with pytest.raises(ValueError, match=said):
        roofline_chart(LINE, points, "here")
