"""Sources of kernels: the function behind a decorator, its text, one line of a file."""

from __future__ import annotations

import ast
import difflib
import inspect
import linecache
import textwrap
from dataclasses import dataclass, field
from itertools import chain, pairwise
from types import FunctionType
from typing import Any, Literal, NamedTuple


@dataclass(frozen=True, repr=False)
class Source:
    """The source of a kernel, shown as it stands in its file; `kernel` can be launched.

    Attributes:
        text: what is shown.
        kernel: of which it is.
        form: whether the text is Python, a change of it, or says in words why there is none.
    """

    text: str
    kernel: Any = field(default=None, compare=False)
    form: Literal["python", "change", "words"] = field(default="words", compare=False)

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        from . import as_html

        return {"python": as_html.source, "change": as_html.change, "words": as_html.note}[
            self.form
        ](self.text)


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
    """The source of a kernel with its line numbers, for the last line of a notebook cell.

    What a kernel uses from its own file comes with it, in the order of the file: constants, and the
    device functions that it calls. A plain function is shown alone.
    """
    pieces = _pieces(kernel)
    if not pieces:
        return Source(f"no source: {described(kernel)} was not written in a file or a cell", kernel)
    last = max(piece.first + len(piece.lines) for piece in pieces)
    width = len(str(last))
    shown = [
        "\n".join(
            f"{number:{width}}  {line}".rstrip() for number, line in enumerate(one.lines, one.first)
        )
        for one in pieces
    ]
    gaps = [
        "\n" if before.first + len(before.lines) == after.first else "\n\n"
        for before, after in pairwise(pieces)
    ]
    text = "".join(chain.from_iterable(zip(shown, [*gaps, ""], strict=True)))
    return Source(text, kernel, "python")


def show_change(before: Any, after: Any) -> Source:
    """What changed from one kernel to the next, line by line: - before, + after.

    Compared is what `show_source` shows, without docstrings, blank lines and the kernels' names. An
    empty line stands where lines that did not change lie between.
    """
    names = [described(kernel) for kernel in (before, after)]
    old, new = _compared(before), _compared(after)
    if not (old and new):
        return Source(f"no change can be shown from {names[0]} to {names[1]}: a source is missing")
    alike = difflib.SequenceMatcher(
        None, [line.alike for line in old], [line.alike for line in new], autojunk=False
    )
    hunks = []
    for tag, old_first, old_last, new_first, new_last in alike.get_opcodes():
        if tag != "equal":
            gone = [f"- {line.text}" for line in _from_decorator(old, old_first, old_last)]
            came = [f"+ {line.text}" for line in _from_decorator(new, new_first, new_last)]
            hunks.append("\n".join([*gone, *came]))
    shown = "\n\n".join(hunks) or "(the same lines)"
    return Source(f"{names[0]} -> {names[1]}\n{shown}", after, "change")


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


@dataclass(frozen=True)
class _Piece:
    """Neighbouring lines of a file, and the number of the first one."""

    first: int
    lines: tuple[str, ...]
    docstring: range = range(0)
    """The numbers of the lines of the docstring."""


class _Line(NamedTuple):
    """A line as it is shown, and as it is compared."""

    text: str
    alike: str


def _pieces(kernel: Any) -> list[_Piece]:
    """The text of a kernel: what it uses of its own file, then itself, in the order of the file."""
    function = function_of(kernel)
    if function is None:
        return []
    try:
        lines, first = inspect.getsourcelines(function)
    except (OSError, TypeError):
        return []
    text = textwrap.dedent("".join(lines)).rstrip()
    said = _docstring(ast.parse(text).body[0])
    docstring = range(said.start + first - 1, said.stop + first - 1)
    alone = _Piece(first, tuple(text.split("\n")), docstring)
    file = linecache.getlines(function.__code__.co_filename, function.__globals__)
    if function is kernel:
        return [alone]
    top = ast.parse("".join(file)).body
    own = next((node for node in top if _begin(node) == first), None)
    if not isinstance(own, ast.FunctionDef):
        return [alone]  # made inside another function
    defined = {name: node for node in top for name in _defined(node)}
    used: dict[int, ast.stmt] = {id(own): own}
    waiting: list[ast.stmt] = [own]
    while waiting:
        for part in ast.walk(waiting.pop()):
            found = defined.get(part.id) if isinstance(part, ast.Name) else None
            if found is not None and id(found) not in used:
                used[id(found)] = found
                waiting.append(found)
    return [_piece(node, file) for node in top if id(node) in used]


def _begin(node: ast.stmt) -> int:
    """The number of a statement's first line, decorators included."""
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(one.lineno for one in decorators)])


def _defined(node: ast.stmt) -> list[str]:
    """The names that a statement at the top of a file binds: of a function or of constants."""
    if isinstance(node, ast.FunctionDef):
        return [node.name]
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    return [
        part.id
        for target in targets
        if target
        for part in ast.walk(target)
        if isinstance(part, ast.Name)
    ]


def _piece(node: ast.stmt, file: list[str]) -> _Piece:
    """A statement as it stands in its file, with the comment lines directly above it."""
    first = _begin(node)
    while first > 1 and file[first - 2].startswith("#"):
        first -= 1
    lines = file[first - 1 : node.end_lineno]
    return _Piece(first, tuple(line.rstrip("\n") for line in lines), _docstring(node))


def _compared(kernel: Any) -> list[_Line]:
    """The lines of a kernel's text that `show_change` compares."""
    name, found = described(kernel), []
    for piece in _pieces(kernel):
        for number, line in enumerate(piece.lines, piece.first):
            if line.strip() and number not in piece.docstring:
                found.append(_Line(line, line.replace(f"def {name}(", "def (")))
    return found


def _from_decorator(lines: list[_Line], first: int, last: int) -> list[_Line]:
    """Lines that went or came; whole functions from their decorator on.

    Where a function was put before another one, the difference may as well begin below its
    decorator and end with the next one's: both are alike.
    """
    shift = 0
    while first - shift > 0 and lines[first - shift - 1].alike == lines[last - shift - 1].alike:
        shift += 1
        if lines[first - shift].text.startswith("@"):
            return lines[first - shift : last - shift]
    return lines[first:last]


def _docstring(node: ast.stmt) -> range:
    """The numbers of the lines of a function's docstring; none where there is none."""
    if not isinstance(node, ast.FunctionDef) or ast.get_docstring(node) is None:
        return range(0)
    said = node.body[0]
    return range(said.lineno, (said.end_lineno or said.lineno) + 1)


def _statements(text: str | None) -> str | None:
    try:
        node = ast.parse(text).body[0] if text else None
    except SyntaxError:  # a function inside a larger expression
        return None
    if not isinstance(node, ast.FunctionDef):
        return None
    body = node.body[1:] if ast.get_docstring(node) is not None else node.body
    return "\n".join(ast.dump(part) for part in [node.args, *body])
