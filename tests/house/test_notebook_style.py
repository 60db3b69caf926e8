"""Chapters keep what readers rely on."""

from itertools import pairwise

import nbformat
import pytest
from nbformat.v4 import new_output

from tests.house.made_up import KERNEL, chapter, picture
from tests.house.notebook_form import chapters
from tests.house.notebook_style import code_lines, style_problems
from tests.house.syllabus import ERRATA


@pytest.mark.parametrize("path", chapters(), ids=lambda path: path.stem)
def test_chapter_style(path):
    """A chapter of the repository breaks no rule."""
    assert style_problems(nbformat.read(path, as_version=4)) == []


def test_each_chapter_links_the_next():
    """What comes after **Next** links the chapter that follows; the errata stand beside the course.

    The last chapter before the errata need not lead there: they are read at any time.
    """
    for path, after in pairwise(chapters()):
        closing = nbformat.read(path, as_version=4).cells[-1].source
        if after.stem != ERRATA[0][1]:
            assert f"**Next**: [{after.stem}]({after.name})" in closing, path.stem


def test_made_up_chapter():
    """The made-up chapter breaks no rule, so the tests below break one each."""
    assert style_problems(chapter()) == []


def test_a_checkpoint_has_nothing_to_try():
    """A checkpoint needs no "Try to break it", and needs its closing."""
    book = chapter()
    book.cells[0].source = book.cells[0].source.replace("# Banks", "# Checkpoint: banks")
    del book.cells[-2]
    assert style_problems(book) == []
    book.cells[-1].source = "## Bye"
    assert len(style_problems(book)) == 1


def test_code_lines():
    """Blank lines are free."""
    assert code_lines("a\n\n\nb\n") == 2


def replaced(number, **fields):
    def change(book):
        book.cells[number].update(nbformat.from_dict(fields))

    return change


def with_output(output):
    return replaced(5, outputs=[output])


def html(text):
    return new_output("display_data", data={"text/html": text, "text/plain": "."})


CASES = {
    "numbered title": (replaced(0, source="# 02 Banks"), "cell 0 does not start with a title"),
    "no needs": (replaced(0, source="# Banks"), "cell 0 lacks **Needs**"),
    "no minutes": (replaced(0, source="# Banks"), "cell 0 does not say how many minutes"),
    "no try": (replaced(28, source="More"), 'the chapter does not end with "## Try to break it"'),
    "no next": (
        replaced(29, source="## Now you can\n- a\n- b\n- c"),
        "the last cell does not name",
    ),
    "setup runs": (replaced(1, source="x = 1"), "the setup cell holds more than imports"),
    "long setup": (replaced(1, source="import a\n" * 4), "the setup cell has 4 lines, at most 3"),
    "pip": (replaced(5, source="!pip install x"), "cell 5 installs or downloads"),
    "nbval comment": (replaced(5, source="# NBVAL_SKIP\nx"), "use a tag in place of the NBVAL"),
    "kernel in prose": (
        replaced(4, source=f"```python\n{KERNEL}\n```"),
        "cell 4 prints a kernel in prose",
    ),
    "answer as a list": (
        replaced(4, source="8. So much.\n\n1. one\n2. two"),
        'cell 4 has a line that begins with "8."',
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
        replaced(4, source="`@cuda.jit` is a decorator"),
    ],
)
def test_what_is_allowed(allowed):
    """Near-identical cases that break no rule."""
    book = chapter()
    allowed(book)
    assert style_problems(book) == []
