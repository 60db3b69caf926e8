"""Which kernel of a file answers which exercise.

`check("ex01_place", place)` anywhere in a file names the kernel; the last one of an exercise
counts, with all names as they stand when the file has run down to that line. If the same name is
defined again further down and no other exercise is checked under it, the later definition counts.
Where an exercise is never checked, a decorated function of its name (`ex01_place`) or of the
solution's name (`place`) is taken.

**Limits**: an exercise named by a variable is not seen.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

_CHECKED = re.compile(r"""\b(?:check|forecast)\(\s*["'](\w+)["']""")


class Placed(Protocol):
    """A statement of a file: its syntax tree, the number of its cell, its place in words."""

    @property
    def node(self) -> ast.stmt:
        """The syntax tree."""

    @property
    def cell(self) -> int:
        """The number of its cell."""

    @property
    def place(self) -> str:
        """The file or cell, in words."""


@dataclass(frozen=True)
class Answer:
    """The expression that is a kernel, and how far the file has run when it is looked at."""

    exercise: str
    expression: ast.expr
    point: int
    place: str


def answers_in(statements: Sequence[Placed], known: Mapping[str, str]) -> dict[str, Answer]:
    """The answer to each exercise; `known` has the name of the solution's kernel for each."""
    found: dict[str, Answer] = {}
    asked: dict[str, set[str]] = {}  # exercises that are checked under a name
    for number, one in enumerate(statements):
        for name, kernel in _checks(one.node):
            if name in known:
                found[name] = Answer(name, kernel, number, one.place)
                if isinstance(kernel, ast.Name):
                    asked.setdefault(kernel.id, set()).add(name)
    last = _definitions(statements)
    for name, answer in found.items():
        kernel = answer.expression
        if isinstance(kernel, ast.Name) and asked[kernel.id] == {name}:
            later = _end_of_definition(statements, last, (kernel.id,))
            if later is not None and last[kernel.id] > answer.point:
                found[name] = Answer(name, kernel, later.point, later.place)
    for name, solution in known.items():
        if name not in found:
            # a kernel that is checked as the answer to another exercise is none to this one
            names = tuple(one for one in (name, solution) if one not in asked)
            defined = _end_of_definition(statements, last, names)
            if defined is not None:
                found[name] = Answer(name, defined.expression, defined.point, defined.place)
    return found


def tried_in(text: str, known: Mapping[str, str]) -> Iterator[str]:
    """The exercises that a text which Python cannot read seems to be about."""
    for name in _CHECKED.findall(text):
        if name in known:
            yield name
    for name, kernel in known.items():
        if re.search(rf"^def ({name}|{kernel})\(", text, re.MULTILINE):
            yield name


def _checks(node: ast.stmt) -> Iterator[tuple[str, ast.expr]]:
    """Name and kernel of each `check(...)` or `forecast(...)` in a statement, in order of lines."""
    calls = [one for one in ast.walk(node) if isinstance(one, ast.Call)]
    for call in sorted(calls, key=lambda one: (one.lineno, one.col_offset)):
        function = call.func
        called = getattr(function, "attr", None) or getattr(function, "id", None)
        given = {keyword.arg: keyword.value for keyword in call.keywords}
        name = call.args[0] if call.args else given.get("name")
        kernel = call.args[1] if len(call.args) > 1 else given.get("kernel")
        if (
            called in ("check", "forecast")
            and isinstance(name, ast.Constant)
            and kernel is not None
        ):
            yield str(name.value), kernel


def _definitions(statements: Sequence[Placed]) -> dict[str, int]:
    """The last decorated function of each name, by the number of its statement."""
    return {
        one.node.name: number
        for number, one in enumerate(statements)
        if isinstance(one.node, ast.FunctionDef) and one.node.decorator_list
    }


def _end_of_definition(
    statements: Sequence[Placed], last: Mapping[str, int], names: tuple[str, ...]
) -> Answer | None:
    """The last decorated function of one of these names; its point is the end of its cell."""
    number = max((last[name] for name in names if name in last), default=None)
    if number is None:
        return None
    one = statements[number]
    end = number
    while end + 1 < len(statements) and statements[end + 1].cell == one.cell:
        end += 1
    name = next(name for name in names if last.get(name) == number)
    return Answer("", ast.Name(name, ast.Load(), lineno=1, col_offset=0), end, one.place)
