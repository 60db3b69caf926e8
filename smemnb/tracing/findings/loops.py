"""The loops and branches that stand around a line, by the indentation of its file."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ...lockstep.texts import shown_lines
from ...lockstep.watch import Site

_HEAD = re.compile(r"\s*(for|while|if|elif|else|def|class|with|try|except|finally)\b")


class Around(NamedTuple):
    """What stands around two lines.

    Attributes:
        loop: the innermost loop around both, 0 for none.
        end: the last line of that loop.
        branch: the outermost branch around both inside that loop (or the function), as it is said:
            "if of line 9"; "" for none.
        left: the outermost branch around the first of the two, likewise.
    """

    loop: int
    end: int
    branch: str
    left: str


def around(first: Site, then: Site) -> Around:
    """What stands around two sites; nothing where they are of two functions."""
    if (first.file, first.function) != (then.file, then.function):
        return Around(0, 0, "", "")
    lines = shown_lines(first.file)
    heads, others = (list(_heads(lines, site.line)) for site in (first, then))
    both = [head for head in heads if head in others]
    loop = next((line for line, word in both if word in ("for", "while")), 0)
    branches = [head for head in heads if head[1] in ("if", "elif", "else") and head[0] > loop]
    shared = [head for head in branches if head in both]
    return Around(loop, _end(lines, loop) if loop else 0, _outermost(shared), _outermost(branches))


def _outermost(branches: Sequence[tuple[int, str]]) -> str:
    return "{1} of line {0}".format(*branches[-1]) if branches else ""


def _heads(lines: Sequence[str], line: int) -> Iterator[tuple[int, str]]:
    """The lines that open the blocks around a line, from inside out, up to its function."""
    if not 0 < line <= len(lines):
        return
    inside = _indent(lines[line - 1])
    for number in range(line - 1, 0, -1):
        text = lines[number - 1]
        word = _word(text)
        if word and _indent(text) < inside:
            if word in ("def", "class"):
                return
            inside = _indent(text)
            yield number, word


def _word(text: str) -> str:
    found = _HEAD.match(text)
    return found[1] if found else ""


def _end(lines: Sequence[str], head: int) -> int:
    """The last line of the block that a line opens."""
    last = head
    for number in range(head + 1, len(lines) + 1):
        text = lines[number - 1]
        if text.strip() and not text.lstrip().startswith("#"):
            if _indent(text) <= _indent(lines[head - 1]):
                break
            last = number
    return last


def _indent(text: str) -> int:
    return len(text) - len(text.lstrip())
