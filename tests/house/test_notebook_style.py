"""Chapters keep the rhythm that readers rely on."""

import base64

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_output

from tests.house.made_up import KERNEL, chapter, picture
from tests.house.notebook_form import chapters
from tests.house.notebook_style import code_lines, defines_kernel, prose_words, style_problems


@pytest.mark.parametrize("path", chapters(), ids=lambda path: path.stem)
def test_chapter_style(path):
    """A chapter of the repository breaks no rule."""
    assert style_problems(nbformat.read(path, as_version=4)) == []


def test_made_up_chapter():
    """The made-up chapter breaks no rule, so the tests below break one each."""
    assert style_problems(chapter()) == []


def test_prose_words():
    """Fences, tables, tags and link targets are no prose."""
    text = "Two words\n```\nx y z\n```\n| a | b |\n<details>[one link](a/b c)</details>"
    assert prose_words(text) == 4


def test_a_checkpoint_is_shorter():
    """Twelve cells will do, and nothing to try; the closing stays."""
    book = chapter()
    book.cells[0].source = book.cells[0].source.replace("# Banks", "# Checkpoint: banks")
    del book.cells[4:18], book.cells[14]
    assert len(book.cells) == 15
    assert style_problems(book) == []
    del book.cells[4:9]
    assert style_problems(book) == ["10 cells, wanted 12 to 45"]
    book.cells[-1].source = "## Bye"
    assert [one for one in style_problems(book) if "does not end with" in one] != []


def test_code_lines():
    """Blank lines are free."""
    assert code_lines("a\n\n\nb\n") == 2


@pytest.mark.parametrize(
    ("source", "kernel"),
    [(KERNEL, True), ("@cuda.jit(device=True)\ndef f(x):\n    return x", True), ("x = 1", False)],
)
def test_defines_kernel(source, kernel):
    """A kernel cell has a function decorated with cuda.jit, with or without options."""
    assert defines_kernel(source) is kernel


def replaced(number, **fields):
    def change(book):
        book.cells[number].update(nbformat.from_dict(fields))

    return change


def without(count):
    def change(book):
        del book.cells[4 : 4 + count]

    return change


def with_output(output):
    return replaced(5, outputs=[output])


def two_long_cells(book):
    book.cells[2] = new_code_cell("\n".join(f"a = {n}" for n in range(11)))
    book.cells[3] = new_code_cell("\n".join(f"b = {n}" for n in range(11)))


def many_long_cells(book):
    for n in (5, 7):
        book.cells[n].source = "\n".join(f"a = {k}" for k in range(9))


def median_of_four(book):
    for n in range(5, 28, 2):
        book.cells[n].source = "a = 1\nb = 2\nc = 3\nd = 4"


def median_of_prose(book):
    for n in range(4, 28, 2):
        book.cells[n].source = "word " * 41


def html(text):
    return new_output("display_data", data={"text/html": text, "text/plain": "."})


def big_picture():
    data = {"image/png": base64.b64encode(b"x" * 40_001).decode(), "text/plain": "bank map: 1"}
    return new_output("display_data", data=data)


CASES = {
    "few cells": (without(6), "24 cells, wanted 25 to 45"),
    "numbered title": (replaced(0, source="# 02 Banks"), "cell 0 does not start with a title"),
    "no needs": (replaced(0, source="# Banks"), "cell 0 lacks **Needs**"),
    "no minutes": (replaced(0, source="# Banks"), "cell 0 does not say how many minutes"),
    "no bullets": (replaced(0, source="# Banks"), "cell 0 has 0 bullets, wanted 3"),
    "no try": (replaced(28, source="More"), 'the chapter does not end with "## Try to break it"'),
    "no next": (
        replaced(29, source="## Now you can\n- a\n- b\n- c"),
        "the last cell does not name",
    ),
    "two bullets": (replaced(29, source="## Now you can\n- a\n- b\n**Next**"), "not exactly 3"),
    "setup runs": (replaced(1, source="x = 1"), "the setup cell holds more than imports"),
    "long setup": (replaced(1, source="import a\n" * 4), "the setup cell has 4 lines, at most 3"),
    "median": (median_of_four, "median code cell has 4 lines, at most 3"),
    "long code": (many_long_cells, "cells [5, 7] have over 8 lines"),
    "long kernel": (replaced(3, source=KERNEL + "\n    # step" * 26), "cell 3 has 31 lines"),
    "pip": (replaced(5, source="!pip install x"), "cell 5 installs or downloads"),
    "nbval comment": (replaced(5, source="# NBVAL_SKIP\nx"), "use a tag in place of the NBVAL"),
    "two in a row": (two_long_cells, "cells 2 and 3 are two code cells over 10 lines in a row"),
    "prose median": (median_of_prose, "median text cell has 41 words, at most 40"),
    "long prose": (replaced(4, source="word " * 91), "cell 4 has 91 words, at most 90"),
    "kernel in prose": (
        replaced(4, source=f"```python\n{KERNEL}\n```"),
        "cell 4 prints a kernel in prose",
    ),
    "shout": (replaced(4, source="It works!"), "cell 4 has an exclamation mark"),
    "emoji": (replaced(4, source="Done \U0001f389"), "cell 4 has an emoji"),
    "hype": (replaced(4, source="A powerful trick"), 'cell 4 says "powerful"'),
    "tag": (replaced(5, metadata={"tags": ["nbval-skip"]}), "cell 5 has the tags ['nbval-skip']"),
    "svg": (
        with_output(new_output("display_data", data={"image/svg+xml": "<svg/>"})),
        "cell 5 stores image/svg+xml",
    ),
    "script": (with_output(html("<script>1</script>")), "cell 5 stores <script>"),
    "long output": (
        with_output(new_output("stream", text="line\n" * 16)),
        "cell 5 prints 16 lines, at most 15",
    ),
    "big picture": (with_output(big_picture()), "a picture of 40001 bytes, at most 40000"),
    "no alt": (with_output(picture("")), "cell 5 stores a picture without alt text"),
    "img without alt": (with_output(html('<img src="x">')), "an <img> without alt text"),
}


@pytest.mark.parametrize(("change", "said"), CASES.values(), ids=CASES.keys())
def test_each_breach_is_named(change, said):
    """One rule broken, and its sentence comes."""
    book = chapter()
    change(book)
    assert [problem for problem in style_problems(book) if said in problem] != []


@pytest.mark.parametrize(
    "allowed",
    [
        replaced(4, source="`a != b` and ![a bank map](x.png)"),
        replaced(5, metadata={"tags": ["nbval-ignore-output"]}),
        with_output(picture("bank map of 32 lanes")),
        with_output(html('<img alt="bank map" src="data:image/png;base64,AAAA">')),
        replaced(4, source="word " * 90),
        replaced(4, source="`@cuda.jit` is a decorator"),
        replaced(
            5,
            source="show_source(copy)",
            outputs=[new_output("stream", name="stdout", text="line\n" * 30)],
        ),
        lambda book: book.cells.insert(4, new_markdown_cell("more")),
    ],
)
def test_what_is_allowed(allowed):
    """Near-identical cases that break no rule."""
    book = chapter()
    allowed(book)
    assert style_problems(book) == []
