"""Which lines of a file are those of a function."""

import linecache

import pytest

from smemnb.tracing.function_text import FunctionText
from tests.tracing.records import COUNTS, TILE, on_shared, site, turned
from tests.tracing.view_page import Page

NESTED = """\
def helper(a, i):
    def helper(b):
        return b
    j = helper(i)
    return a[j]
"""
TWICE = """\
def helper(a, i):
    return 0

@device
def helper(a, i):
    return a[i]
"""


@pytest.mark.parametrize(
    ("text", "line", "own"),
    [
        (NESTED, 5, range(1, 6)),
        (NESTED, 3, range(2, 4)),
        (TWICE, 2, range(1, 3)),
        (TWICE, 6, range(4, 7)),
        (TWICE, 4, range(4, 7)),
        (TWICE, 3, range(1, 3)),  # a comment above: the first of that name
        ("x = 1\n", 1, ()),
        ("def helper(:\n", 1, ()),
        ("", 1, ()),
    ],
)
def test_own_lines(text, line, own):
    """The innermost function of that name around the line; none where there is none to read."""
    lines = text.splitlines(keepends=True)
    assert list(FunctionText("helper", line, "mine.py", lines).own) == list(own)


def test_dedented():
    """A function made inside another one begins at the left, as `show_source` shows it."""
    lines = ["def outer():\n", "    def helper(a):\n", "        return a\n"]
    assert FunctionText("helper", 3, "mine.py", lines).own == {
        2: "def helper(a):",
        3: "    return a",
    }


def test_a_line_leads_to_the_function():
    """Of two functions of one name in a file, a view shows the one that ran."""
    file = "/tmp/ipykernel_5/5.py"
    linecache.cache[file] = (len(TWICE), None, TWICE.splitlines(keepends=True), file)
    where = site(6, "a[i]", "load", function="helper", file=file)
    report = turned(counts=(*COUNTS, on_shared(where, TILE)))
    assert list(Page(report._repr_html_()).sources(1)) == [4, 5, 6]
