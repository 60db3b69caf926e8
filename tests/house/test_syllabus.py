"""What the course promises to cover stands in its chapters."""

import re
from functools import cache

import nbformat
import pytest

from tests.house.notebook_form import NOTEBOOKS, chapters
from tests.house.syllabus import ERRATA, ROWS


@cache
def cells(name):
    """The cells of a chapter by their ids."""
    book = nbformat.read(NOTEBOOKS / f"{name}.ipynb", as_version=4)
    return {cell.id: cell for cell in book.cells}


@pytest.mark.parametrize(
    ("idea", "name", "cell"), [*ROWS, *ERRATA], ids=[" in ".join(row[:2]) for row in ROWS + ERRATA]
)
def test_covered(idea, name, cell):
    """The chapter has the cell, under an id that says what it is for, and the cell has content."""
    assert cell in cells(name), f"{idea}: no cell of {name} has the id {cell!r}"
    assert re.search("[a-z]{3}", cell) and not re.fullmatch(r"[0-9a-f]{8}", cell)
    assert cells(name)[cell].source.strip() != ""


@pytest.mark.parametrize("rows", [ROWS, ERRATA], ids=["course", "errata"])
def test_ideas_are_listed_once(rows):
    assert len({row[0] for row in rows}) == len(rows)


@pytest.mark.parametrize("path", chapters(), ids=lambda path: path.stem)
def test_claims(path):
    """Each claim has its correction."""
    whole = "\n".join(c.source for c in cells(path.stem).values() if c.cell_type == "markdown")
    assert whole.count("**Claim**") <= whole.count("**Correct**")


@pytest.mark.parametrize("name", sorted({name for _, name, _ in ERRATA}))
def test_errata_are_answered(name):
    """After the claims of a cell comes a run, then a correction of each, then other claims."""
    waiting, runs = 0, 0
    for cell in cells(name).values():
        runs += cell.cell_type == "code"
        claims, corrections = (cell.source.count(f"**{label}**") for label in ("Claim", "Correct"))
        if corrections:
            assert (corrections, runs > 0) == (waiting, True), cell.id
            waiting = 0
        if claims:
            assert waiting == 0, cell.id
            waiting, runs = claims, 0
    assert waiting == 0


def test_errata_name_their_claims():
    """Each row names a cell with a claim, or the list of those that cannot be run yet."""
    for claim, name, cell in ERRATA:
        assert cell == "not-run-here-yet" or "**Claim**" in cells(name)[cell].source, claim
