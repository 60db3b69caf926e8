"""What the course promises to cover stands in its chapters."""

import re
from functools import cache

import nbformat
import pytest

from tests.house.notebook_form import NOTEBOOKS, chapters
from tests.house.syllabus import CLAIMS, ROWS


@cache
def cells(name):
    """The cells of a chapter by their ids."""
    book = nbformat.read(NOTEBOOKS / f"{name}.ipynb", as_version=4)
    return {cell.id: cell for cell in book.cells}


@pytest.mark.parametrize(("idea", "name", "cell"), ROWS, ids=[row[0] for row in ROWS])
def test_covered(idea, name, cell):
    """The chapter has the cell, under an id that says what it is for, and the cell has content."""
    assert cell in cells(name), f"{idea}: no cell of {name} has the id {cell!r}"
    assert re.search("[a-z]{3}", cell) and not re.fullmatch(r"[0-9a-f]{8}", cell)
    assert cells(name)[cell].source.strip() != ""


def test_ideas_are_listed_once():
    assert len({row[0] for row in ROWS}) == len(ROWS)


@pytest.mark.parametrize("path", chapters(), ids=lambda path: path.stem)
def test_claims(path):
    """A cell that names a claim is in the list of claims; each claim has its correction."""
    texts = {i: c.source for i, c in cells(path.stem).items() if c.cell_type == "markdown"}
    named = {name for name, text in texts.items() if "**Claim**" in text}
    whole = "\n".join(texts.values())
    assert named <= {cell for _, name, cell in CLAIMS if name == path.stem}
    assert whole.count("**Claim**") <= whole.count("**Correct**")
