"""Chapters are stored in one form; what differs from it is named."""

import json
from itertools import groupby
from pathlib import Path

import nbformat
import pytest

from tests.house.made_up import chapter
from tests.house.notebook_form import canonical, chapters, form_problems


def stored(folder: Path, text: str, name: str = "02_banks.ipynb") -> list[str]:
    (folder / name).write_bytes(text.encode())
    return list(form_problems(folder / name))


@pytest.mark.parametrize("path", chapters(), ids=lambda path: path.stem)
def test_chapter_form(path):
    """A chapter of the repository has no problem of form."""
    assert list(form_problems(path)) == []


def test_numbers_without_gap():
    """Numbers begin at 00 and have no gap within a ten; a letter follows a number that is there."""
    assert chapters() != []
    plain = [int(path.name[:2]) for path in chapters() if path.name[2] == "_"]
    between = {int(path.name[:2]) for path in chapters() if path.name[2] != "_"}
    assert plain[0] == 0
    for ten, found in groupby(plain, key=lambda number: number // 10):
        numbers = list(found)
        assert numbers == list(range(10 * ten, 10 * ten + len(numbers)))
    assert between <= set(plain)


def test_made_up_chapter(tmp_path):
    """The made-up chapter is in form, so the tests below break one thing each."""
    assert stored(tmp_path, canonical(chapter())) == []


def test_canonical_twice():
    """Storing what was stored changes no byte, also when cells came without ids."""
    book = chapter()
    for cell in book.cells:
        del cell["id"]
    text = canonical(book)
    assert canonical(nbformat.reads(text, as_version=4)) == text
    assert text.endswith("}\n") and '\n "cells": [' in text


def test_ids_are_kept():
    """A cell keeps its id, which the syllabus names; of two equal ones the second gets another."""
    book = chapter()
    book.cells[4].id = "the-pad"
    book.cells[5].id = "cell-6"
    ids = [cell["id"] for cell in json.loads(canonical(book))["cells"]]
    assert ids[4] == "the-pad" and ids[5] == "cell-6"
    assert len(set(ids)) == len(ids) and ids[6] != "cell-6"


def test_streams_are_joined():
    """Two pieces of one stream become one: where a kernel cuts its output is chance."""
    book = chapter()
    book.cells[5].outputs *= 2
    assert json.loads(canonical(book))["cells"][5]["outputs"][0]["text"] == ["0\n", "0\n"]
    assert len(json.loads(canonical(book))["cells"][5]["outputs"]) == 1


def test_traceback_is_dropped():
    """An error keeps its name and text, not its traceback with this machine's files."""
    book = chapter()
    error = {"output_type": "error", "ename": "E", "evalue": "why", "traceback": ["/root/x.py"]}
    book.cells[5].outputs = [nbformat.from_dict(error)]
    assert json.loads(canonical(book))["cells"][5]["outputs"][0]["traceback"] == ["E: why"]


def not_canonical(book):
    return json.dumps(book)


def wrong_order(book):
    book.cells[5].execution_count = 9
    return canonical(book)


def never_run(book):
    book.cells[5].execution_count = None
    return canonical(book)


def empty_cell(book):
    book.cells[5].source = ""
    return canonical(book)


def with_path(book):
    book.cells[4].source = "see /home/ada/notes"
    return canonical(book)


def with_windows_path(book):
    book.cells[4].source = "see C:\\Users\\ada"
    return canonical(book)


def too_big(book):
    book.cells[4].source = "word " * 120_000
    return canonical(book)


def with_widgets(book):
    text = json.loads(canonical(book))
    text["metadata"]["widgets"] = {}
    return json.dumps(text, sort_keys=True, indent=1)


def other_kernel(book):
    return canonical(book).replace('"name": "python3"', '"name": "my-env"')


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        (not_canonical, "not in canonical form"),
        (wrong_order, "not 1 to 14 from a fresh kernel"),
        (never_run, "not 1 to 14 from a fresh kernel"),
        (empty_cell, "cell 5 is empty"),
        (with_path, "a path of some machine: "),
        (with_windows_path, "a path of some machine: "),
        (too_big, "more than 500000"),
        (with_widgets, "widget state is stored"),
        (other_kernel, "the kernel is not python3"),
    ],
)
def test_each_problem_is_named(tmp_path, broken, said):
    """One thing broken, and its sentence comes."""
    assert any(said in problem for problem in stored(tmp_path, broken(chapter())))


def test_name_of_the_file(tmp_path):
    """A chapter is called NN_noun.ipynb; with a letter it stands between two numbers."""
    for name in ("banks.ipynb", "04a_banks.ipynb", "04_Banks.ipynb"):
        assert stored(tmp_path, canonical(chapter()), name) == [
            f"{name} is not named NN_noun.ipynb"
        ]
    for name in ("04_banks.ipynb", "04b_checkpoint.ipynb"):
        assert stored(tmp_path, canonical(chapter()), name) == []
