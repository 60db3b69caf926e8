"""Curves: their numbers, their axes, their refusals; occupancy as curves."""

import io
import re

import pytest

from smemnb.figures.curves import (
    BOTTOM,
    COLOURS,
    HEIGHT,
    LEFT,
    MOST_LINES,
    TOP,
    Curve,
    _across,
    _lines_up,
    _numbers,
    _up,
    curve_chart,
)
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
    by_factors = _across([1.0, 32.0], factors=True)
    assert by_factors(2) - by_factors(1) == pytest.approx(by_factors(32) - by_factors(16))
    even = _across([4.0, 8.0], factors=False)
    assert even(0) == LEFT and even(8) - even(4) == pytest.approx(even(4) - LEFT)


@pytest.mark.parametrize("factors", [False, True])
@pytest.mark.parametrize("values", [(39.1, 667.0), (1.0, 32.0), (5.0,), (0.01, 9e6)])
def test_lines_enclose_the_values(values, factors):
    """The axis ends at lines, between which every value lies, and they are few."""
    lines = _lines_up(values, factors=factors)
    up = _up(lines, factors=factors)
    assert (up(lines[0]), up(lines[-1])) == (HEIGHT - BOTTOM, TOP)
    assert lines[0] <= min(values) <= max(values) <= lines[-1]
    assert 2 <= len(lines) <= MOST_LINES + 1


def test_places_that_lie_close_have_numbers_in_two_rows():
    """The ends always have theirs; those that would touch another one go below."""
    places = [16.0, 64.0, 192.0, 256.0, 512.0, 49152.0, 262144.0]
    found = _numbers(_across(places, factors=True), places)
    assert {one.words: one.row for one in found} == {f"{n:g}": int(n == 256) for n in places}
    crowded = [float(n) for n in range(1000, 1012)]
    found = _numbers(_across(crowded, factors=False), crowded)
    assert {"1000", "1011"} <= {one.words for one in found}
    assert not any(one.meets(two) for one in found for two in found if one is not two)


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
