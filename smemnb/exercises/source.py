"""Sources of kernels: the function behind a decorator, its text, one line of a file."""

from __future__ import annotations

import ast
import difflib
import inspect
import linecache
import textwrap
from dataclasses import dataclass, field
from types import FunctionType
from typing import Any


@dataclass(frozen=True, repr=False)
class Source:
    """The source of a kernel, shown as it stands in its file; `kernel` can be launched."""

    text: str
    kernel: Any = field(default=None, compare=False)

    def __repr__(self) -> str:
        return self.text


def function_of(kernel: Any) -> FunctionType | None:
    """The Python function of a kernel, None for anything that has none."""
    for candidate in (getattr(kernel, "py_func", None), getattr(kernel, "fn", None), kernel):
        if isinstance(candidate, FunctionType):
            return candidate
    return None


def source_of(kernel: Any) -> str | None:
    """The source with its decorator, dedented; None where it cannot be read.

    >>> print(source_of(source_of).splitlines()[0])
    def source_of(kernel: Any) -> str | None:
    """
    function = function_of(kernel)
    if function is None:
        return None
    try:
        return textwrap.dedent(inspect.getsource(function)).rstrip()
    except (OSError, TypeError):
        return None


def show_source(kernel: Any) -> Source:
    """The source of a kernel or function, for the last line of a notebook cell."""
    text = source_of(kernel)
    if text is None:
        text = f"no source: {described(kernel)} was not written in a file or a cell"
    return Source(text, kernel)


def show_change(before: Any, after: Any) -> Source:
    """What changed from one kernel to the next, line by line: - before, + after.

    Lines of the docstring, the name and the decorator are left out.
    """
    names = [described(kernel) for kernel in (before, after)]
    old, new = _body(before), _body(after)
    if not (old and new):
        return Source(f"no change can be shown from {names[0]} to {names[1]}: a source is missing")
    changed = [line for line in difflib.ndiff(old, new) if line[:2] in ("- ", "+ ")]
    return Source(
        "\n".join([f"{names[0]} -> {names[1]}", *(changed or ["(the same lines)"])]), after
    )


def described(thing: Any) -> str:
    """What something is, in words without an address.

    >>> described(None), described(3), described(int)
    ('None', 'a value of type int', 'the class int')
    """
    if thing is None:
        return "None"
    if isinstance(thing, type):
        return f"the class {thing.__name__}"
    function = function_of(thing)
    return function.__name__ if function else f"a value of type {type(thing).__name__}"


def source_line(file: str, line: int) -> str:
    """One line of a file or notebook cell, without its indent; "" where there is none."""
    return linecache.getline(file, line).strip()


def parameters(kernel: Any) -> tuple[str, ...]:
    """Names of the parameters of a kernel, () if it is none."""
    function = function_of(kernel)
    return tuple(inspect.signature(function).parameters) if function else ()


def same_code(kernel: Any, text: str) -> bool:
    """Whether a kernel has the parameters and statements of a source.

    Names of the functions, docstrings, comments and spaces do not count.
    """
    statements = _statements(source_of(kernel))
    return statements is not None and statements == _statements(text)


def _body(kernel: Any) -> list[str]:
    """The lines below the docstring that are not blank."""
    text = source_of(kernel)
    if text is None:
        return []
    node = ast.parse(text).body[0]
    assert isinstance(node, ast.FunctionDef)
    doc = ast.get_docstring(node) is not None
    first = (node.body[0].end_lineno or 0) if doc else node.body[0].lineno - 1
    return [line for line in text.split("\n")[first:] if line.strip()]


def _statements(text: str | None) -> str | None:
    try:
        node = ast.parse(text).body[0] if text else None
    except SyntaxError:  # a function inside a larger expression
        return None
    if not isinstance(node, ast.FunctionDef):
        return None
    body = node.body[1:] if ast.get_docstring(node) is not None else node.body
    return "\n".join(ast.dump(part) for part in [node.args, *body])
