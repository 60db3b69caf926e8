"""The text of a function as it was when it ran: which lines of its file are its own.

A report that shows a source shows what was traced. So a trace keeps the lines of each function's
file, as a reference to what `linecache` has, and asks only when somebody looks which of them the
function takes.
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from types import FunctionType

from ..errors import UnsupportedSyntax
from ..lockstep.source import source
from ..lockstep.texts import shown_lines


@dataclass(frozen=True)
class FunctionText:
    """A function's file as it was traced.

    Attributes:
        name: of the function, as its `def` has it.
        line: one that belongs to the function, counted from 1.
        file: path of the file; of a notebook's cell, the name that IPython made for it.
        lines: of the whole file; empty where it cannot be read.
    """

    name: str
    line: int
    file: str
    lines: Sequence[str] = field(repr=False)

    @classmethod
    def of(cls, name: str, line: int, file: str) -> FunctionText:
        """The text as functions at hand were compiled from it."""
        return cls(name, line, file, shown_lines(file))

    @classmethod
    def of_function(cls, function: FunctionType) -> FunctionText:
        """The same of a function at hand, which may have been made by `exec` from no file."""
        code = function.__code__
        found = cls.of(function.__name__, code.co_firstlineno, code.co_filename)
        if found.lines:
            return found
        try:
            text = source(function)
        except UnsupportedSyntax:
            return found
        return replace(found, lines=["\n"] * (text.first - 1) + text.lines)

    @property
    def file_name(self) -> str:
        r"""The name of the file without its folder; "" for a cell or a session.

        >>> FunctionText("scale", 3, "/home/me/mine.py", []).file_name
        'mine.py'
        >>> FunctionText("scale", 3, r"C:\Users\me\mine.py", []).file_name
        'mine.py'
        >>> FunctionText("scale", 3, "/tmp/ipykernel_77/1234.py", []).file_name
        ''
        """
        if "ipykernel" in self.file or self.file.startswith("<"):
            return ""
        return re.split(r"[/\\]", self.file)[-1]

    @property
    def own(self) -> dict[int, str]:
        """The function's lines by their numbers, decorators included, dedented; {} without any."""
        first, last = self._extent()
        text = textwrap.dedent("".join(_ended(self.lines[first - 1 : last])))
        return dict(enumerate(text.rstrip().split("\n"), first)) if text.strip() else {}

    def _extent(self) -> tuple[int, int]:
        """First and last line; (1, 0) where no such function is found."""
        named = [one for one in _functions(self.lines) if one.name == self.name]
        around = [one for one in named if _first(one) <= self.line <= (one.end_lineno or 0)]
        found = max(around, key=_first, default=named[0] if named else None)
        return (1, 0) if found is None else (_first(found), found.end_lineno or found.lineno)


_read: tuple[Sequence[str], list[ast.FunctionDef]] = (), []


def _functions(lines: Sequence[str]) -> list[ast.FunctionDef]:
    """All functions of a file, inner ones too; none where Python cannot read it."""
    global _read
    if _read[0] is not lines:  # the functions of one launch mostly share a file
        try:
            nodes = ast.walk(ast.parse("".join(_ended(lines))))
            _read = lines, [node for node in nodes if isinstance(node, ast.FunctionDef)]
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            _read = lines, []
    return _read[1]


def _first(node: ast.FunctionDef) -> int:
    return min([node.lineno, *(one.lineno for one in node.decorator_list)])


def _ended(lines: Sequence[str]) -> list[str]:
    return [line if line.endswith("\n") else line + "\n" for line in lines]
