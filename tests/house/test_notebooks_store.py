"""Storing a chapter: outputs of a fresh kernel, in canonical form, or nothing at all."""

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook

from tests import notebooks_store
from tests.house.made_up import chapter
from tests.house.notebook_form import canonical, form_problems

pytestmark = pytest.mark.slow


def test_outputs_are_stored(tmp_path):
    """What cells print and return is stored, in order of execution; a closing `;` is silent."""
    path = tmp_path / "10_tiny.ipynb"
    cells = ["x = 20", "print(x)", "x + 1", "x + 1;", "print(1)\nprint(2)"]
    nbformat.write(new_notebook(cells=[new_code_cell(cell) for cell in cells]), path)
    notebooks_store.store(path, execute=True)
    book = nbformat.read(path, as_version=4)
    assert list(form_problems(path)) == []
    assert [cell.execution_count for cell in book.cells] == [1, 2, 3, 4, 5]
    assert book.cells[1].outputs[0].text == "20\n"
    assert book.cells[2].outputs[0].data == {"text/plain": "21"}
    assert book.cells[3].outputs == []
    assert [output.text for output in book.cells[4].outputs] == ["1\n2\n"]


def test_raising_chapter_is_not_stored(tmp_path):
    """A chapter that raises keeps its bytes."""
    path = tmp_path / "10_tiny.ipynb"
    nbformat.write(new_notebook(cells=[new_code_cell("1 / 0")]), path)
    before = path.read_bytes()
    (problem,) = notebooks_store.store(path, execute=True)
    assert problem.startswith("not stored, a cell raised:") and "ZeroDivisionError" in problem
    assert path.read_bytes() == before


def test_slow_chapter_is_not_stored(tmp_path, monkeypatch):
    """A chapter that takes as long as is allowed, or longer, is not stored."""
    monkeypatch.setattr(notebooks_store, "MOST_SECONDS", 0)
    path = tmp_path / "10_tiny.ipynb"
    nbformat.write(new_notebook(cells=[new_code_cell("1")]), path)
    (problem,) = notebooks_store.store(path, execute=True)
    assert problem.startswith("not stored, took ")


def test_form_only(tmp_path):
    """Without execution outputs stay; the form becomes canonical and the rules are looked at."""
    path = tmp_path / "10_tiny.ipynb"
    nbformat.write(chapter(), path)
    assert notebooks_store.store(path, execute=False) == []
    assert path.read_text(encoding="utf-8") == canonical(chapter())
