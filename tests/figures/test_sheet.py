"""The colours of the drawings: what has to be read, and what has to be told apart."""

import io
from itertools import combinations

import numpy as np
import pytest
from PIL import Image

from smemnb.figures import bars, curves, points, product, roofline, sectors
from smemnb.figures.sheet import (
    ACCENT,
    DARK,
    EMPTY,
    FAINT,
    GROUND,
    INK,
    SERIES,
    SMALLEST,
    contrast,
    ink_on,
    painted,
    shade,
)

RAMP = [shade(rank, ranks) for ranks in (1, 2, 7, 32, 64) for rank in range(ranks)]
MARKS = {
    *RAMP,
    *SERIES,
    *bars.FILLS.values(),
    *curves.COLOURS,
    *points.COLOURS,
    roofline.RUNG,
    product.BEFORE,
    sectors.COMES,
    ACCENT,
    FAINT,
}


@pytest.mark.parametrize(
    ("one", "other", "ratio"),
    [("#000000", "#ffffff", 21.0), ("#777777", "#ffffff", 4.48), ("#ff0000", "#00ff00", 2.91)],
)
def test_contrast(one, other, ratio):
    """Known figures of WCAG's formula, in either order."""
    assert round(contrast(one, other), 2) == round(contrast(other, one), 2) == ratio


def test_no_ink_does_for_both_pages():
    """Why the sheet has a ground: on white and on JupyterLab's dark page 4.5 is out of reach."""
    greys = [f"#{level:02x}{level:02x}{level:02x}" for level in range(256)]
    assert max(min(contrast(one, "#ffffff"), contrast(one, "#111111")) for one in greys) < 4.5


def test_letters_on_the_sheet():
    """Whatever the page is, letters stand on the sheet, or on an empty place."""
    for ink in (INK, FAINT, ACCENT):
        for ground in (GROUND, EMPTY):
            assert contrast(ink, ground) >= 4.5, (ink, ground)


def test_marks_on_the_sheet():
    for colour in MARKS:
        assert contrast(colour, GROUND) >= 3, colour


def test_letters_on_fills():
    """The ink that is chosen reads on every fill, and dark letters on every bright one."""
    for fill in [*RAMP, *SERIES, INK]:
        assert contrast(ink_on(fill), fill) >= 4.5, fill
        assert ink_on(fill) == DARK


def test_sheet_on_both_pages():
    """The sheet does not shine on a dark page, and is a dark block on a white one."""
    assert contrast(GROUND, "#111111") < 1.5 and contrast(GROUND, "#ffffff") > 7


def test_series_are_told_apart():
    """Any two colours of a chart differ by 60 of 255 in red, green or blue at least."""
    parts = [[int(colour[i : i + 2], 16) for i in (1, 3, 5)] for colour in SERIES]
    for one, other in combinations(parts, 2):
        assert max(abs(a - b) for a, b in zip(one, other, strict=True)) >= 60


def test_smallest_letters():
    with pytest.raises(ValueError, match="too small"):
        painted(40, 40, lambda sheet: sheet.write(20, 20, "a", size=SMALLEST - 0.5))


def test_letters_keep_their_ink():
    """The few colours of the PNG have the ink that was asked for, not a blend near it."""
    png = painted(80, 40, lambda sheet: sheet.write(40, 20, "HHHH", size=16, colour=ACCENT))
    seen = np.asarray(Image.open(io.BytesIO(png)).convert("RGB")).reshape(-1, 3)
    names = {"#{:02x}{:02x}{:02x}".format(*colour) for colour in np.unique(seen, axis=0)}
    assert {GROUND, ACCENT} <= names
