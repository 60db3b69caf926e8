"""Every stored figure of the chapters, wherever no script of ours and not every style survives.

Pictures with their alt text, tables with their numbers: in a notebook that JupyterLab does not
trust, in nbconvert's page with scripts off, and after a sanitiser with GitHub's list.

**Limits**: the list is the one of html-pipeline, which began as GitHub's own for Markdown. There a
picture's address may not be `data:`; here it may, because a stored picture of any notebook is one.
"""

import json
import os
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tests import browser
from tests.house.notebook_form import KERNELSPEC, chapters

ELEMENTS = """
    h1 h2 h3 h4 h5 h6 br b i strong em a pre code img tt div ins del sup sub p ol ul table thead
    tbody tfoot blockquote dl dt dd kbd q samp var hr ruby rt rp li tr td th s strike summary
    details caption figure figcaption abbr bdo cite dfn mark small span time wbr""".split()
ATTRIBUTES = """
    abbr align alt aria-describedby aria-hidden aria-label aria-labelledby border cellpadding
    cellspacing color colspan dir headers height hspace id label lang name nowrap open rel role
    rowspan rules scope size span start summary tabindex title type valign value width""".split()
# of each output: its words, and each picture that is drawn with its alt text
SHOWN = """() => [...document.querySelectorAll(".jp-OutputArea-output.jp-RenderedHTML")]
  .map((e) => [
    e.textContent,
    [...e.querySelectorAll("img")]
      .filter((one) => one.naturalWidth && one.getBoundingClientRect().width)
      .map((one) => one.alt),
  ])"""
ALL_DRAWN = """() => [...document.querySelectorAll(".jp-OutputArea-output img")]
  .every((one) => one.complete)"""


class Stored(HTMLParser):
    """The words of a stored output, its pictures with their alt text, its tables."""

    def __init__(self, text):
        super().__init__()
        self.words, self.pictures, self.tables = "", [], 0
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tables += tag == "table"
        if tag == "img":
            self.pictures.append((dict(attrs)["alt"], dict(attrs)["src"]))

    def handle_data(self, data):
        self.words += data


def outputs(path):
    """The outputs of a chapter that are shown as HTML."""
    cells = json.loads(path.read_text("utf-8"))["cells"]
    found = [one.get("data", {}) for cell in cells for one in cell.get("outputs", ())]
    return ["".join(one["text/html"]) for one in found if "text/html" in one]


def same(shown, stored):
    """Words alike but for spaces, pictures alike."""
    alts = [alt for alt, _ in stored.pictures]
    return "".join(shown[0].split()) == "".join(stored.words.split()) and shown[1] == alts


@pytest.fixture(scope="module")
def book():
    """All outputs of all chapters in one notebook, and what is expected of each."""
    nbformat = pytest.importorskip("nbformat")
    cells, expected = [], []
    for path in chapters():
        for html in outputs(path):
            data = {"text/html": html, "text/plain": "nothing"}
            output = nbformat.v4.new_output("display_data", data=data)
            cells.append(nbformat.v4.new_code_cell("1", outputs=[output], execution_count=1))
            expected.append((path.stem, Stored(html)))
    metadata = {"kernelspec": KERNELSPEC}
    assert all(any(name == path.stem for name, _ in expected) for path in chapters())
    return nbformat.v4.new_notebook(cells=cells, metadata=metadata), expected


def missing(tab, expected):
    """Chapters with an output that a page does not show."""
    tab.wait_for_function(ALL_DRAWN)
    shown = tab.evaluate(SHOWN)
    assert len(shown) == len(expected)
    return [
        (name, stored.words[:60])
        for one, (name, stored) in zip(shown, expected, strict=True)
        if not same(one, stored)
    ]


@pytest.mark.browser
@pytest.mark.slow
def test_untrusted(chromium, book, tmp_path):
    """JupyterLab shows an untrusted notebook's tables and pictures, all of them."""
    nbformat = pytest.importorskip("nbformat")
    pytest.importorskip("jupyterlab")
    notebook, expected = book
    (tmp_path / "lab").mkdir()
    nbformat.write(notebook, tmp_path / "lab" / "all.ipynb")
    draw_all_cells()
    context = chromium.new_context(viewport={"width": 1440, "height": 1000})
    context.set_default_timeout(browser.WAIT_MS)
    with browser.lab(tmp_path / "lab") as address:
        tab = context.new_page()
        browser.open_notebook(tab, address.format("all.ipynb"))
        trusted = "window.jupyterapp.shell.currentWidget.content.model.cells.get(0).trusted"
        assert tab.evaluate(trusted) is False
        tab.wait_for_function(
            "n => document.querySelectorAll('.jp-OutputArea-output.jp-RenderedHTML').length === n",
            arg=len(expected),
        )
        assert missing(tab, expected) == []
        context.close()


def draw_all_cells():
    """Have JupyterLab draw the cells that are out of view, too."""
    settings = Path(os.environ["JUPYTER_CONFIG_DIR"]) / "lab/user-settings/@jupyterlab"
    settings = settings / "notebook-extension" / "tracker.jupyterlab-settings"
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text('{"windowingMode": "none"}', encoding="utf-8")


@pytest.mark.browser
def test_exported(chromium, book):
    """So does the page that nbconvert makes, without a script and without a network."""
    exporters = pytest.importorskip("nbconvert").HTMLExporter
    notebook, expected = book
    page, _ = exporters().from_notebook_node(notebook)
    context = chromium.new_context(java_script_enabled=False, offline=True)
    tab = context.new_page()
    tab.set_content(page)
    assert missing(tab, expected) == []
    context.close()


@pytest.mark.first(1)
@pytest.mark.parametrize("path", chapters(), ids=lambda path: path.stem)
def test_sanitised(path):
    """What a page like GitHub's keeps of a figure: all words, all pictures, all tables."""
    bleach = pytest.importorskip("bleach")
    cleaner = bleach.Cleaner(
        tags=frozenset(ELEMENTS),
        attributes={"*": ATTRIBUTES, "a": ["href"], "img": ["src", "longdesc"]},
        protocols=frozenset(["http", "https", "data"]),
        strip=True,
    )
    for html in outputs(path):
        kept, stored = Stored(cleaner.clean(html)), Stored(html)
        assert kept.words == stored.words
        assert (kept.pictures, kept.tables) == (stored.pictures, stored.tables)
        assert "style=" not in cleaner.clean(html)
