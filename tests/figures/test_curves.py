"""Curves: their numbers, their axes, their refusals; occupancy as curves."""

import io
import re

import pytest

from smemnb.figures.curves import COLOURS, Curve, _axis, curve_chart
from smemnb.figures.occupancy import occupancy_chart

MODEL = Curve("model", ((1, 1.0), (2, 2.0), (32, 32.0)))
MEASURED = Curve("measured", ((1, 1.0), (32, 23.7)))


def test_text_and_alt():
    """A row per place; a curve that has no point there leaves a gap."""
    drawing = curve_chart("n-way", ("n", "time"), [MODEL, MEASURED], "here", factors=True)
    assert [line.split() for line in repr(drawing).splitlines()] == [
        ["n-way:", "time"],
        ["n", "model", "measured"],
        ["1", "1", "1"],
        ["2", "2"],
        ["32", "32", "23.7"],
        ["here"],
    ]
    for word in ("time", "n", "model", "measured", "here"):
        assert re.search(rf"\b{word}\b", drawing.alt)


def test_axes():
    """By factors, twice as much is as far everywhere; otherwise as much is."""
    by_factors = _axis([1.0, 32.0], 0, 100, factors=True)
    assert by_factors(2) - by_factors(1) == pytest.approx(by_factors(32) - by_factors(16))
    even = _axis([4.0, 8.0], 0, 100, factors=False)
    assert even(0) == 0 and even(8) - even(4) == pytest.approx(even(4))


def test_picture_has_both_colours():
    """Both curves can be seen; a small file."""
    from PIL import Image

    png = curve_chart("n-way", ("n", "time"), [MODEL, MEASURED], "here").png
    seen = Image.open(io.BytesIO(png)).convert("RGB").tobytes()
    pixels = [tuple(seen[i : i + 3]) for i in range(0, len(seen), 3)]
    for colour in COLOURS[:2]:
        assert pixels.count(tuple(int(colour[i : i + 2], 16) for i in (1, 3, 5))) > 200
    assert len(png) < 40_000


@pytest.mark.parametrize(
    "curves, factors, said",
    [
        ([], False, "1 to 4 curves"),
        ([Curve("none", ())], False, "a point at least"),
        ([Curve("many", tuple((n, 1.0) for n in range(13)))], False, "at most 12 places"),
        ([Curve("zero", ((1, 0.0),))], True, "0.0 has no place"),
    ],
)
def test_refused(curves, factors, said):
    with pytest.raises(ValueError, match=said):
        curve_chart("t", ("x", "y"), curves, "here", factors=factors)


def test_occupancy():
    """By hand: 33 KB of 228 go 6 times; 65 of 100 once; 129 KB fit no block of cc 8.6."""
    drawing = occupancy_chart(
        {32: 32768, 64: 65536, 128: 131072}, [(9, 0), (8, 6)], threads=256, registers=32
    )
    rows = [line.split() for line in repr(drawing).splitlines()[2:5]]
    assert rows == [["32", "0.75", "0.5"], ["64", "0.375", "0.167"], ["128", "0.125", "0"]]
