"""No chapter says a number that none of its cells shows."""

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_output

from tests.house.made_up import chapter
from tests.house.notebook_form import chapters
from tests.house.notebook_numbers import number_problems, numbers


@pytest.mark.parametrize("path", chapters(), ids=lambda path: path.stem)
def test_chapter_numbers(path):
    """Every number in the text of a chapter is printed, or stands in code, nearby."""
    assert list(number_problems(nbformat.read(path, as_version=4))) == []


def test_made_up_chapter():
    """The made-up chapter prints what it says, so the tests below change one cell each."""
    assert list(number_problems(chapter())) == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("It takes 4,096 bytes, or 3.1 %.", {4096.0, 3.1}),
        ("a 32x8 block and [32][33]", {32.0, 8.0, 33.0}),
        ("a 16-byte access; 8-way", {16.0, 8.0}),
        ("`14_banks`, float32, ex03_flip, cc9", set()),
        ("[text](page_7.html#9) <br width=55>", set()),
        ("3.70 copies. 12.", {3.7, 12.0}),
    ],
)
def test_numbers(text, found):
    """Numbers are read as a reader reads them; digits inside names are none."""
    assert numbers(text) == found


def said(number, text, output="", source="print(1)"):
    """The made-up chapter with a text and, in the cell after it, a code cell."""
    book = chapter()
    book.cells[number] = new_markdown_cell(text)
    outputs = [new_output("stream", name="stdout", text=output)] if output else []
    book.cells[number + 1] = new_code_cell(source, outputs=outputs)
    return book


@pytest.mark.parametrize(
    ("text", "output", "problem"),
    [
        ("It is 77.", "76\n", "cell 4 says 77, which no cell nearby prints or holds"),
        ("It is 7.50 here.", "7.25\n", "cell 4 says 7.5, which no cell nearby prints or holds"),
        ("**Change** this. It is 77.", "", "cell 4 says 77, which no cell nearby"),
        ("It is `77`.", "", "cell 4 says 77, which no cell nearby"),
    ],
)
def test_each_breach_is_named(text, output, problem):
    """A number that no cell shows is named with its cell."""
    found = list(number_problems(said(4, text, output)))
    assert [one for one in found if problem in one] != []


@pytest.mark.parametrize(
    ("number", "text", "output", "source"),
    [
        (4, "It is 77.", "77\n", "print(1)"),
        (4, "It is 77,000.", "77,000\n", "print(1)"),
        (4, "It is 77.", "", "print(77 * 1)"),
        (4, "One, 2 and 3.", "", "print(1)"),
        (4, "**Change** 128 to 77.", "128", "print(1)"),
        (4, "## Try to break it\n\n- write 77", "", "print(1)"),
        (0, "# Title\n\nAbout 77 minutes", "", "print(1)"),
    ],
)
def test_what_is_allowed(number, text, output, source):
    """Numbers that a cell shows, counting words, instructions, minutes."""
    assert list(number_problems(said(number, text, output, source))) == []


def test_far_away_is_not_near():
    """A number printed long before, in another section, is not shown here."""
    book = said(4, "It is fine.", "77\n")
    book.cells[10] = new_markdown_cell("## Another section\n\nIt is 77.")
    found = list(number_problems(book))
    assert found == ["cell 10 says 77, which no cell nearby prints or holds"]


def test_a_section_is_near():
    """Within a section, a number may be printed further away."""
    book = said(4, "## A section\n\nIt is fine.", "77\n")
    book.cells[12] = new_markdown_cell("It is 77.")
    assert list(number_problems(book)) == []
