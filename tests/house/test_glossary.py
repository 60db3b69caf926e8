"""The glossary has every word that a chapter makes bold."""

import re

import nbformat
import pytest

from tests.house.notebook_form import NOTEBOOKS, chapters
from tests.house.notebook_style import is_checkpoint

LABELS = {
    "You will",
    "Needs",
    "Before",
    "Predict",
    "Exercise",
    "Change",
    "Claim",
    "Correct",
    "Next",
}


def bold(book):
    """Bold words of the text cells, without the labels that open a paragraph."""
    text = "\n".join(cell.source for cell in book.cells if cell.cell_type == "markdown")
    found = re.findall(r"\*\*([^*]+)\*\*", text)
    return {word for word in found if word.rstrip(".") not in LABELS}


def terms():
    """First columns of the glossary's tables, their words apart."""
    rows = re.findall(
        r"^\| ([^|]+) \|", (NOTEBOOKS.parent / "GLOSSARY.md").read_text("utf-8"), re.M
    )
    return {term.strip() for row in rows for term in row.split(",")}


@pytest.mark.parametrize("path", chapters(), ids=lambda path: path.stem)
def test_bold_words_are_explained(path):
    """Each bold word is a term, in the singular or with an s."""
    known = terms()
    book = nbformat.read(path, as_version=4)
    words = bold(book)
    assert words or is_checkpoint(book)
    assert sorted(word for word in words if not {word, word.removesuffix("s")} & known) == []
