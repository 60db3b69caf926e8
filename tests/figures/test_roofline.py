"""The roofline chart: its numbers, its axes, and a picture with every point at its place."""

import io

import pytest

from smemnb.figures.roofline import RUNG, Point, Roofline, _axes, _free, _meet, roofline_chart
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
    assert 3 * 49 <= dark <= 3 * 81
    assert len(png) < 40_000


def test_labels_stand_apart():
    """Two marks at one place: the second label does not cover the first."""
    one = _free(300, 200, 60, [(294, 194, 306, 206)])
    other = _free(300, 200, 60, [(294, 194, 306, 206), one])
    assert not _meet(one, other)


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
