"""Bar charts: their numbers as text, and pictures with the right series."""

import io
import re

import pytest

from smemnb.figures.bars import FILLS, FOOT, KEYS, KINDS, Bar, Panel, _keys, bar_chart, picture
from smemnb.figures.sheet import SCALE
from tests.facts import facts

LADDER = Panel(
    "transpose 64 x 64",
    "GB/s",
    (Bar("naive", 549.0, 540.0, 551.0, mark=620.0), Bar("copy", 4263.0, 4200.0, 4300.0, "limit")),
    (("torch", 1157.0), ("cupy", 1142.0)),
)
CHOICE = Panel("by shape", "times", (Bar("8192 x 8192", 0.96, 0.95, 0.97, "choice"),))


def test_text_and_alt():
    """The numbers of every bar; in words what it shows and where it was measured."""
    drawing = bar_chart([LADDER, CHOICE], "measured (NVIDIA H200)")
    ladder, choice, where = repr(drawing).splitlines()
    assert facts(ladder) == facts("64 64 549 4263") and ladder.index("naive") < ladder.index("copy")
    assert facts(choice) == facts("8192 8192 0.96")
    for said in (where, drawing.alt):
        assert "measured (NVIDIA H200)" in said
    assert LADDER.title in drawing.alt and CHOICE.title in drawing.alt


def test_png_has_the_series():
    """A bar of 4263 is 7.76 times as long as one of 549, in the colours of their kinds."""
    from PIL import Image

    seen = Image.open(io.BytesIO(picture([LADDER], "here"))).convert("RGB")
    seen = seen.crop((0, 0, seen.width, seen.height - (FOOT + KEYS) * SCALE))

    def pixels(colour):
        wanted = tuple(int(colour[i : i + 2], 16) for i in (1, 3, 5))
        flat = seen.tobytes()
        return sum(flat[i : i + 3] == bytes(wanted) for i in range(0, len(flat), 3))

    ratio = pixels(FILLS["limit"]) / pixels(FILLS["rung"])
    assert ratio == pytest.approx(4263 / 549, rel=0.08)
    assert pixels(FILLS["choice"]) == 0


def test_svg_has_the_words():
    """Letters are text in an SVG; near lines share a label; no date, no program."""
    drawn = picture([LADDER, CHOICE], "measured (H200)", "svg").decode()
    words = re.findall(r"<text[^>]*>([^<]*)</text>", drawn)
    for said in ("naive", "549", "4263", "cupy, torch", "8192 x 8192", "GB/s"):
        assert said in words
    assert any(one.startswith("measured (H200)") for one in words)
    assert not re.search(r"<dc:date>|Matplotlib v", drawn)


def test_every_colour_has_a_key():
    """Kinds that are there, in one order; a chart of one kind needs none."""
    assert [key.fill for key in _keys([CHOICE, LADDER])] == [
        FILLS[kind] for kind in ("rung", "choice", "limit")
    ]
    assert _keys([CHOICE]) == []
    assert list(KINDS) == list(FILLS)


@pytest.mark.parametrize("panels", [[], [LADDER, Panel("none", "GB/s", ())]])
def test_nothing_to_draw(panels):
    """A chart without a bar is refused."""
    with pytest.raises(ValueError, match="at least one bar"):
        bar_chart(panels, "here")


def test_other_forms_are_refused():
    """PNG and SVG only."""
    with pytest.raises(ValueError, match="png or svg, not 'pdf'"):
        picture([LADDER], "here", "pdf")


def test_decimals():
    """Those of a panel have equally many, none beside thousands; parts of 1 keep their digits."""
    for values, said in (
        ((531.4, 907.6, 4476.0), ("531", "908", "4476")),
        ((8.0, 5.125, 45.75), ("8.00", "5.12", "45.75")),
        ((0.0, 0.7, 8.96), ("0.00", "0.70", "8.96")),
        ((1.0, 0.03125), ("1", "0.03125")),
    ):
        bars = tuple(Bar("a kernel", value, value, value) for value in values)
        assert Panel("a panel", "GB/s", bars).values == said
