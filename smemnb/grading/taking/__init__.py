"""Kernels out of the text of a submission, without running a statement of it.

`take` goes through the syntax trees of files and cells, finds each `check("ex01_place", place)`
(`answers`), notes what names stand for (`names`, `constants`, `decorators`), and makes a
`Program` of each kernel with its device functions and constants (`collecting`). What the text does
not say, it does not guess: kernels out of factories, constants that are computed by calls, names
bound in loops end in a `NotTaken`, with the line and the reason.

Whatever a file holds, the caller gets a reason and no exception. The time it takes grows with the
length of the text; call it in a process with limits all the same.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field

from ..program import Program
from .answers import Answer, answers_in, tried_in
from .cells import Cell, Unreadable, cells_of, parsed, printable
from .collecting import Collector
from .constants import Host, Unclear, said
from .names import Defined, Names

__all__ = ["NotTaken", "Taken", "take"]

EXECUTE = "write it as a number or a def at the top level, or grade with --execute"
MAX_STATEMENTS = 20_000
"""In one file."""


@dataclass(frozen=True)
class NotTaken:
    """Why no program was made of an answer: the place (file or cell, and line) and the reason.

    `reason` is "kernel" if what was handed in is no kernel however it is graded, "source" if the
    text does not say what it is.
    """

    place: str
    why: str
    reason: str = "source"

    def __str__(self) -> str:
        return f"{self.place}: {self.why}"


@dataclass
class Taken:
    """What was taken of a submission.

    Attributes:
        answers: for each exercise that is tried what counts of it, the last file first; a later
            one counts if those before it are untouched stubs.
        problems: files and cells that could not be read.
    """

    answers: dict[str, list[Program | NotTaken]] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class _Statement:
    node: ast.stmt
    of: Cell

    @property
    def cell(self) -> int:
        return self.of.number

    @property
    def place(self) -> str:
        return self.of.place


def take(files: Mapping[str, bytes], known: Mapping[str, str]) -> Taken:
    """The kernels of a submission.

    Args:
        files: the files by their path in the submission, in their order; of several that try an
            exercise the last one counts. Files import each other as Python would from their top.
        known: the name of the solution's kernel for each exercise, by which a kernel that is
            never checked is found.
    """
    found = Taken()
    reader = _Reader(files)
    for name in reversed(list(files)):
        for exercise, answer in reader.answers(name, known, found.problems):
            found.answers.setdefault(exercise, []).append(answer)
    return found


class _Reader:
    """Reads each file of a submission once."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self._files = files
        self._modules: dict[str, Names | None] = {}

    def answers(
        self, name: str, known: Mapping[str, str], problems: list[str]
    ) -> list[tuple[str, Program | NotTaken]]:
        """The answers in a file; what could not be read is added to `problems`."""
        unreadable: dict[str, str] = {}
        statements = self._statements(name, known, problems, unreadable)
        answers = answers_in(statements, known)
        points = {answer.point for answer in answers.values()}
        live = Names(self._module)
        then: dict[int, Names] = {}
        for number, one in enumerate(statements):
            live.run(one.node, one.of)
            if number in points:
                then[number] = live.copy()
        found: list[tuple[str, Program | NotTaken]] = [
            (exercise, _taken(answer, then[answer.point], live))
            for exercise, answer in answers.items()
        ]
        return found + [
            (exercise, NotTaken(printable(name), problem))
            for exercise, problem in unreadable.items()
            if exercise not in answers
        ]

    def _statements(
        self,
        name: str,
        known: Mapping[str, str],
        problems: list[str],
        unreadable: dict[str, str],
    ) -> list[_Statement]:
        try:
            cells = cells_of(name, self._files[name])
        except Unreadable as error:
            said = str(error)
            shown = printable(name)
            problems.append(said if shown in said else f"{shown} cannot be read: {said}")
            return []
        statements: list[_Statement] = []
        for cell in cells:
            try:
                statements += [_Statement(node, cell) for node in parsed(cell.text)]
                if len(statements) > MAX_STATEMENTS:
                    raise Unreadable(f"more than {MAX_STATEMENTS} statements")
            except Unreadable as error:
                problems.append(f"{cell.place} cannot be read: {error}")
                unreadable.update(dict.fromkeys(tried_in(cell.text, known), problems[-1]))
        return statements[:MAX_STATEMENTS]

    def _module(self, name: str) -> Names | None:
        """The names of a file of the submission that is imported under this name."""
        if name not in self._modules:
            self._modules[name] = None  # while it is read: files that import each other
            path = name.replace(".", "/")
            for file in (f"{path}.py", f"{path}/__init__.py"):
                if file in self._files:
                    names = self._modules[name] = Names(self._module)
                    for one in self._statements(file, {}, [], {}):
                        names.run(one.node, one.of)
                    break
        return self._modules[name]


def _taken(answer: Answer, names: Names, live: Names) -> Program | NotTaken:
    try:
        kernel = names.kernel(answer.expression)
    except Unclear as error:
        return NotTaken(_place(answer), f"{_shown(answer)} {error}: {EXECUTE}")
    if not isinstance(kernel, Defined):
        whose = " is not a kernel of your own" if isinstance(kernel, Host) else ", not a kernel"
        return NotTaken(_place(answer), f"check is given {said(kernel)}{whose}", "kernel")
    line = f"{kernel.cell.place}, line {kernel.node.lineno}"
    try:
        return Collector(names, live).program(kernel)
    except Unclear as error:
        return NotTaken(line, f"{kernel.node.name[:100]} {error}: {EXECUTE}")
    except RecursionError:
        return NotTaken(line, f"{kernel.node.name[:100]} is nested too deeply")


def _place(answer: Answer) -> str:
    return f"{answer.place}, line {answer.expression.lineno}"


def _shown(answer: Answer) -> str:
    expression = answer.expression
    return expression.id[:100] if isinstance(expression, ast.Name) else "what check is given"
