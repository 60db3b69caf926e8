"""Answers as HTML: every word of the text form is there, code is escaped, colours can be read."""

import re
from html import unescape

import pytest
from numba import cuda

from smemnb import check, hint, predict, progress, show_change, show_source, solution
from smemnb.exercises.as_html import NO, OPEN, RIGHT, YES, prose
from smemnb.exercises.grading.verdict import Part, Verdict
from smemnb.exercises.hints import Hint
from smemnb.kernels.transpose import transpose_padded, transpose_tiled
from tests.house.notebook_form import NOTEBOOKS


@cuda.jit
def unscaled(out, inp):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = inp[i]


def text_of(html):
    """What a reader sees, without styles: words with single spaces between them."""
    plain = unescape(re.sub(r"<[^>]*>", " ", html)).replace("\u00a0", " ")
    return plain.split()


def answers():
    return {
        "refused": check("ex00_scale", unscaled),
        "accepted": check("ex00_scale", solution("ex00_scale").kernel),
        "right": predict(32, 32, "wavefronts"),
        "wrong": predict((1, 2, 4), [1, 2, 1]),
        "not asked": predict(None, 3),
        "hint": hint("ex00_scale", 3),
        "source": show_source(transpose_padded),
        "change": show_change(transpose_tiled, transpose_padded),
        "solution": solution("ex01_rank"),
        "no source": show_source(None),
    }


@pytest.fixture(scope="module")
def given():
    return answers()


NAMES = (
    "refused",
    "accepted",
    "right",
    "wrong",
    "not asked",
    "hint",
    "source",
    "change",
    "solution",
    "no source",
)


@pytest.mark.parametrize("name", NAMES)
def test_every_word(given, name):
    """Nothing of the text is lost, in its order, once marks and backticks are left out."""
    shown = [word for word in text_of(given[name]._repr_html_()) if word not in (YES, NO)]
    said = repr(given[name]).replace("`", " ").split()
    assert re.sub(r"\s", "", "".join(shown)) == "".join(said)


def test_marks(given):
    """A mark for each part, and one for the whole."""
    html = given["refused"]._repr_html_()
    assert (html.count(YES), html.count(NO)) == (1, 2)
    html = given["accepted"]._repr_html_()
    assert (html.count(YES), html.count(NO)) == (5, 0)
    assert YES in given["right"]._repr_html_() and NO in given["wrong"]._repr_html_()


def test_nothing_is_markup():
    """What a learner wrote is text: tags, quotes and ampersands come out as they were."""
    text = 'a <b onclick="x"> & `tile[<i>]`\n12 | x = "<script>"'
    made = Verdict("ex<1>", (Part("output", text, ok=False),), text)._repr_html_()
    assert not re.search(r"<(script|i|b onclick)", made)
    assert text_of(made).count("<script>") == 0  # within quotes: one word
    assert "".join(text.replace("`", "").split()) in "".join(text_of(made))


def test_lines_of_source_keep_their_indent():
    """Leading spaces of code are no-break spaces; sentences wrap as they like."""
    assert "\u00a0" * 4 + "x = 1" in unescape(prose("    x = 1"))
    assert "\u00a0" not in prose("a sentence")


@pytest.mark.parametrize("name", ["source", "change", "solution"])
def test_code_takes_the_colours_of_the_theme(given, name):
    """JupyterLab's themes have colours for the classes of Pygments within this one."""
    html = given[name]._repr_html_()
    assert html.startswith('<div class="highlight">')
    assert '<b class="k">' in html or '<span class="m">' in html


def test_changes_have_their_side(given):
    """As many edges of either colour as lines with - and +."""
    lines = repr(given["change"]).split("\n")
    html = given["change"]._repr_html_()
    for sign, colour in (("- ", OPEN), ("+ ", RIGHT)):
        assert html.count(f"solid {colour}") == sum(line.startswith(sign) for line in lines) > 0


@pytest.mark.parametrize("name", ["source", "change"])
def test_long_lines_hang(given, name):
    """A line that may be broken goes on right of where its code begins; the text stays the same."""
    lines = repr(given[name]).split("\n")
    html = given[name]._repr_html_()
    hangs = [float(one) for one in re.findall(r"text-indent:-([\d.]+)em", html)]
    long = [line for line in lines if len(line) > 58]
    assert len(hangs) == len(long) > 0
    for hang, line in zip(hangs, long, strict=True):
        code = re.match(r"( *\d+  |[+-] )?( *)", line)
        assert abs(hang - 0.6 * (len(code[0]) + 4)) < 0.06
    shown = unescape(re.sub(r"<[^>]*>", "", html)).replace("\u00a0", " ")
    assert [line.rstrip() for line in shown.split("\n")] == [line.rstrip() for line in lines]


def test_progress(monkeypatch):
    """Every chapter is a link to its page, every exercise is named."""
    monkeypatch.setenv("SMEMNB_PROGRESS", "off")
    found = progress()
    html = found._repr_html_()
    files = re.findall(r'href="([^"]+)"', html)
    assert files and all((NOTEBOOKS / file).is_file() for file in files)
    assert {*found.done, *found.open} <= set(text_of(html))
    assert repr(found).split("\n")[-1] in " ".join(text_of(html))  # why nothing is recorded here


def luminance(colour):
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in parts]
    return sum(weight * one for weight, one in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


@pytest.mark.parametrize("colour", [RIGHT, OPEN])
@pytest.mark.parametrize("ground", ["#ffffff", "#111111"])
def test_contrast(colour, ground):
    """WCAG 2: 3 to 1 for marks and edges, on a light and on a dark page."""
    low, high = sorted((luminance(colour), luminance(ground)))
    assert (high + 0.05) / (low + 0.05) >= 3


LINKED = "Two lanes, one [bank](GLOSSARY.md#bank): `[a](GLOSSARY.md#bank)` <b>"


@pytest.mark.parametrize(
    ("place", "href"),
    [("GLOSSARY.md", "GLOSSARY.md#bank"), ("../GLOSSARY.md", "../GLOSSARY.md#bank")],
)
def test_links_to_the_glossary(tmp_path, monkeypatch, place, href):
    """They lead where the glossary lies: beside the notebook, or one folder up; not from code."""
    (tmp_path / "notebooks").mkdir()
    monkeypatch.chdir(tmp_path / "notebooks")
    (tmp_path / "notebooks" / place).write_text("", encoding="utf-8")
    html = prose(LINKED)
    assert re.findall(r'<a href="([^"]*)">([^<]*)</a>', html) == [(href, "bank")]
    assert "[a](GLOSSARY.md#bank)</code> &lt;b&gt;" in html
    assert f'<a href="{href}">' in Hint(1, LINKED)._repr_html_()
    found = Verdict("ex00_scale", (Part("values", LINKED, ok=False),))
    assert f'<a href="{href}">' in found._repr_html_()


def test_without_a_glossary(tmp_path, monkeypatch):
    """Where it is not to be found, and in text, the word stands alone."""
    monkeypatch.chdir(tmp_path)
    assert "<a" not in prose(LINKED) and prose(LINKED).startswith("Two lanes, one bank: ")
    assert repr(Hint(1, LINKED)).startswith("Two lanes, one bank: ")
    assert "(GLOSSARY.md" not in repr(Verdict("ex", (Part("values", LINKED[:44], ok=True),)))
