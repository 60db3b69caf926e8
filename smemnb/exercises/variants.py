"""Kernels that are made out of a solution: the stub that learners start from, and wrong answers.

The solution is the one text of an exercise. A comment `# FILL (about 3 lines)` in it says that the
next three lines of code are the learner's: the stub has the comment in their place. A wrong answer
is mostly the solution with one or two other lines, and is written as just these (`edited`).
"""

from __future__ import annotations

import ast
import linecache
import re
import textwrap
from collections.abc import Iterator, Mapping
from typing import Any
from zlib import crc32

from .source import function_of, source_of

_MARK = re.compile(r" *# FILL \(about (\d+) lines?\)$")


def is_mark(line: str) -> bool:
    """Whether a line of a solution is the comment above lines that the learner writes."""
    return _MARK.match(line) is not None


def shown_solution(solution: Any) -> str:
    """The source of a solution without its marks."""
    return "\n".join(line for line in _lines(solution) if not is_mark(line))


def stub_of(solution: Any) -> str:
    """The source of the stub: each mark stays, the lines that it stands for go.

    Raises:
        ValueError: a mark promises more lines than its block has, or would cut a statement in two,
            or the solution has no mark.
    """
    lines, kept = _lines(solution), list[str]()
    at = 0
    while at < len(lines):
        mark = _MARK.match(lines[at])
        kept.append(lines[at])
        at += 1
        if mark:
            end = _end_of_hole(lines, at, int(mark[1]))
            if end is None:
                raise ValueError(
                    f"{lines[at - 1].strip()}: no statements of that many lines follow"
                )
            if not _parses([*kept, *lines[end:]]):  # nothing else is in the block
                kept.append(f"{_indent(lines[at - 1])}pass")
            at = end
    if kept == lines:
        raise ValueError("a solution marks what the learner writes: # FILL (about 3 lines)")
    return "\n".join(kept)


def holes_of(solution: Any) -> Iterator[tuple[int, list[str]]]:
    """The size that each mark promises, and the lines of code, without comments, below it."""
    lines = _lines(solution)
    for at, line in enumerate(lines, start=1):
        if mark := _MARK.match(line):
            hole = lines[at : _end_of_hole(lines, at, int(mark[1]))]
            yield int(mark[1]), [code for one in hole if (code := one.split("#")[0].strip())]


def edited(solution: Any, edits: Mapping[str, str]) -> Any:
    """The solution with other lines, as a kernel.

    `edits` maps the beginning of a line, without its indent, to what stands in its place; each line
    that begins so is replaced. What is put there gets the indent of the line and may have several
    lines; "" takes the line out. Line numbers are those of the solution up to the first edit of
    another length.

    Raises:
        ValueError: no line begins so.
        SyntaxError: the edited text is no function.
    """
    lines, changed = _lines(solution), _lines(solution)
    for beginning, replacement in edits.items():
        found = [at for at, line in enumerate(lines) if line.lstrip().startswith(beginning)]
        if not found:
            raise ValueError(f"no line of {solution.py_func.__name__} begins with {beginning!r}")
        for at in found:
            changed[at] = textwrap.indent(replacement, _indent(lines[at]))
    return kernel_of("\n".join(changed), solution)


def kernel_of(text: str, solution: Any) -> Any:
    """The kernel of a text, with the names that the solution's module knows.

    `inspect` finds the text under the name of a file that does not exist, at the line of the
    solution in its own file.
    """
    function = function_of(solution)
    assert function is not None
    text = "\n" * (function.__code__.co_firstlineno - 1) + text + "\n"
    file = f"<{function.__name__} {crc32(text.encode()):x}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    names = dict(function.__globals__)
    exec(compile(text, file, "exec"), names)
    return names[function.__name__]


def _lines(solution: Any) -> list[str]:
    text = source_of(solution)
    if text is None:
        raise ValueError("the source of a solution is in a file")
    return text.split("\n")


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def _end_of_hole(lines: list[str], first: int, size: int) -> int | None:
    """The line after `size` lines of code from `first` on; None if there is no such block."""
    at = first
    indent = len(_indent(lines[first - 1]))
    while size and at < len(lines):
        line = lines[at]
        if line.strip() and len(_indent(line)) < indent:
            return None
        size -= bool(line.strip()) and not line.lstrip().startswith("#")
        at += 1
    inside = at < len(lines) and len(_indent(lines[at])) > indent
    return None if size or inside else at


def _parses(lines: list[str]) -> bool:
    try:
        ast.parse("\n".join(lines))
    except SyntaxError:
        return False
    return True
