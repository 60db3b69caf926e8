"""Where in the source an error of Numba's belongs, and what stands there.

Numba's errors name their line in several ways, and with numba-cuda 0.30 some do not name it at
all (they are raised by the other copy of Numba's error classes, which its own handler does not
know). `place` looks in the message, in the exception, and at last in the traceback.
"""

from __future__ import annotations

import ast
import linecache
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import CodeType
from typing import Any

from ...lockstep.texts import shown_line, shown_lines

_NUMBA_FILE = re.compile(r"[/\\](numba|numba_cuda|llvmlite)[/\\]")
_AT = re.compile(r"(?:at|from|in) (?P<file>\S[^\n]*?) \((?P<line>\d+)\)")


@dataclass(frozen=True)
class Place:
    """A line of a user's source file (in a notebook: of a cell)."""

    file: str
    line: int

    def __str__(self) -> str:
        """The place as a reader names it.

        >>> str(Place("/tmp/ipykernel_77/1234.py", 3)), str(Place("/home/me/mine.py", 40))
        ('line 3 of the cell', 'mine.py, line 40')
        """
        if "ipykernel" in self.file or self.file.startswith("<"):
            return f"line {self.line} of the cell"
        return f"{Path(self.file).name}, line {self.line}"

    @property
    def source(self) -> str:
        """The source line, stripped; empty where the source is not to be had."""
        return shown_line(self.file, self.line)

    def nodes(self) -> Iterator[ast.AST]:
        """The syntax nodes that begin on this line, outer ones first."""
        for node in ast.walk(syntax_tree(self.file)):
            if getattr(node, "lineno", None) == self.line:
                yield node


def syntax_tree(file: str) -> ast.AST:
    """Syntax tree of a file or cell; empty where it cannot be read."""
    linecache.checkcache(file)
    try:
        return ast.parse("".join(shown_lines(file)))
    except SyntaxError:
        return ast.Module([], [])


def function_tree(code: CodeType) -> ast.AST:
    """Syntax tree of one function, with the line numbers of its file."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
    for node in ast.walk(syntax_tree(code.co_filename)):
        if isinstance(node, kinds) and getattr(node, "name", "<lambda>") == code.co_name:
            first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))])
            if code.co_firstlineno in (first, node.lineno):
                return node
    return ast.Module([], [])


def place(error: BaseException, code: CodeType) -> Place:
    """The innermost line of user source that the error speaks of, else the function's `def`."""
    head = heading(code)
    for file, line in _mentions(error):
        in_head = file == code.co_filename and code.co_firstlineno <= line <= head.line
        if file and line and not in_head and not _NUMBA_FILE.search(file):
            return Place(file, line)
    return head


def heading(code: CodeType) -> Place:
    """The line of a function's `def`, below its decorators."""
    line = getattr(function_tree(code), "lineno", code.co_firstlineno)
    return Place(code.co_filename, line)


def _mentions(error: BaseException) -> Iterator[tuple[str, int]]:
    text = str(error)
    for match in _AT.finditer(text):
        yield match["file"], int(match["line"])
    own: Any = getattr(error, "loc", None)
    if own is not None:
        yield own.filename, own.line
    yield from reversed(list(_frames(error)))


def _frames(error: BaseException) -> Iterator[tuple[str, int]]:
    """Source places that Numba was busy with in the frames of the traceback, outermost first."""
    trace = error.__traceback__
    while trace is not None:
        for name in ("constraint", "inst", "self"):
            held: Any = trace.tb_frame.f_locals.get(name)
            loc: Any = getattr(held, "loc", None)
            if hasattr(loc, "filename") and hasattr(loc, "line"):
                yield loc.filename, loc.line
        trace = trace.tb_next
