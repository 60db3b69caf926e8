"""What the course promises to cover stands in its chapters."""

from functools import cache

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_output

from tests.house.made_up import chapter
from tests.house.notebook_form import NOTEBOOKS, chapters
from tests.house.syllabus import CLAIMS, ROWS, cells_with


@cache
def book(name):
    return nbformat.read(NOTEBOOKS / f"{name}.ipynb", as_version=4)


@pytest.mark.parametrize(("idea", "name", "words"), ROWS, ids=[row[0] for row in ROWS])
def test_covered(idea, name, words):
    """A cell of the chapter has it."""
    assert cells_with(book(name), words) != [], f"{idea}: no cell of {name} has {words!r}"


def test_ideas_are_listed_once():
    assert len({row[0] for row in ROWS}) == len(ROWS)


@pytest.mark.parametrize("path", chapters(), ids=lambda path: path.stem)
def test_claims(path):
    """A claim comes with its correction, and is in the list of claims."""
    text = "\n".join(cell.source for cell in book(path.stem).cells if cell.cell_type == "markdown")
    listed = [words for _, name, words in CLAIMS if name == path.stem]
    assert text.count("**Claim**") <= text.count("**Correct**")
    assert text.count("**Claim**") <= len(listed), "add it to CLAIMS in tests/house/syllabus.py"


def test_words_are_looked_for_everywhere():
    """In text, in code, and in what a cell printed."""
    found = chapter()
    found.cells[4] = new_markdown_cell("one\nline")
    output = new_output("stream", name="stdout", text="printed words\n")
    found.cells[5] = new_code_cell("print(len(words))", outputs=[output])
    assert cells_with(found, "one line") == [4]
    assert cells_with(found, "len(words)") == [5]
    assert cells_with(found, "printed words") == [5]
    assert cells_with(found, "nothing of the kind") == []
