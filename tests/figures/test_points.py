"""Points: their numbers as text, their axes, their refusals, their colours."""

import io
import math
from itertools import pairwise

import pytest

from smemnb.figures.curves import Axis
from smemnb.figures.points import COLOURS, Points, _powers, _round_ratios, picture, point_chart
from smemnb.figures.sheet import SCALE

NN = Points("NN", ((1e3, 0.5), (1e6, 1.0), (1e9, 2.0)))
TN = Points("TN", ((1e4, 0.25),))
AXES = ("FLOP", "ratio")


def test_text_and_alt():
    drawing = point_chart("sweep", AXES, [NN, TN], "here")
    assert [line.split() for line in repr(drawing).splitlines()[1:]] == [
        "NN: 3 points, 0.5 to 2, geometric mean 1".split(),
        "TN: 1 point, 0.25 to 0.25, geometric mean 0.25".split(),
        ["here"],
    ]
    for word in ("FLOP", "ratio", "NN", "TN", "here"):
        assert word in drawing.alt


def test_axis():
    """As many times as much is as far everywhere."""
    axis = Axis(1.0, 1000.0, 0.0, 300.0, factors=True)
    assert [axis(value) for value in (1.0, 10.0, 1000.0)] == pytest.approx([0.0, 100.0, 300.0])


def test_picture_has_the_points():
    """Three points of 25 pixels in the first colour beside its legend of 100, one in the second."""
    from PIL import Image

    seen = Image.open(io.BytesIO(picture("t", AXES, [NN, TN], "here"))).convert("RGB").tobytes()
    pixels = [tuple(seen[at : at + 3]) for at in range(0, len(seen), 3)]
    counts = [
        pixels.count(tuple(int(colour[at : at + 2], 16) for at in (1, 3, 5)))
        for colour in COLOURS[:3]
    ]
    more = (counts[0] - counts[1]) / SCALE**2
    assert more == pytest.approx(2 * 20, abs=20) and counts[2] == 0


def test_svg_has_its_words():
    drawn = picture("t", AXES, [NN, TN], "measured (H200)", "svg").decode()
    for words in ("measured (H200)", ">1M<", ">0.5<", ">NN<"):
        assert words in drawn


@pytest.mark.parametrize(
    ("series", "form", "said"),
    [
        ([], "svg", "1 to 5 series"),
        ([NN] * 6, "svg", "1 to 5 series"),
        ([Points("none", ())], "svg", "a point at least"),
        ([Points("zero", ((1.0, 0.0),))], "svg", "0.0 has no place"),
        ([Points("inf", ((1.0, math.inf),))], "svg", "inf has no place"),
        ([NN], "pdf", "'pdf'"),
    ],
)
def test_refused(series, form, said):
    with pytest.raises(ValueError, match=said):
        picture("t", AXES, series, "here", form)


@pytest.mark.parametrize("ratios", [(0.3, 6.0), (1.0, 1.0), (1e-14, 3e9)])
def test_axes_enclose_the_points(ratios):
    """Both axes begin and end at lines, between which every value lies."""
    lines = _round_ratios(*ratios)
    assert lines[0] <= ratios[0] <= ratios[1] <= lines[-1]
    assert all(low < high for low, high in pairwise(lines))
    powers = _powers(*ratios)
    assert 10.0 ** powers[0] <= ratios[0] <= ratios[1] <= 10.0 ** powers[-1]
