"""Which statements of a file a kernel needs, for running them and no others.

Which kernel answers which exercise is found as without running anything (`taking.answers`); its
names are as they stand when the file has run down to that line. Of the file only the statements
run that bind a name the kernel needs, directly or by way of others. **Limits**: a call that
changes a value in place (`table.append(3)`) is not seen.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType

from ..permitted import steps
from ..taking.answers import Answer, answers_in, tried_in
from ..taking.cells import Unreadable, cells_of, parsed


@dataclass(frozen=True)
class Statement:
    """One statement of a file or cell, compiled, with the global names it loads and binds."""

    node: ast.stmt
    code: CodeType
    place: str
    cell: int
    loads: frozenset[str]
    binds: frozenset[str]
    star: bool


@dataclass
class Reading:
    """A file taken apart: statements, answers per exercise, and what could not be read."""

    statements: list[Statement] = field(default_factory=list)
    answers: dict[str, Answer] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    unreadable: dict[str, str] = field(default_factory=dict)
    places: dict[str, str] = field(default_factory=dict)  # in words, by the file's path

    def needed(self, answer: Answer) -> list[Statement]:
        """The statements that the kernel of an answer needs, in the order of the file."""
        names = set(_used(answer.expression)[0])
        before = self.statements[: answer.point + 1]
        chosen: set[int] = set()
        while True:
            more = {
                number
                for number, one in enumerate(before)
                if number not in chosen and (one.star or one.binds & names)
            }
            if not more:
                return [before[number] for number in sorted(chosen)]
            chosen |= more
            names = names.union(*(before[number].loads for number in more))


def read(path: Path, cells_folder: Path, known: Mapping[str, str]) -> Reading:
    """Take a file apart; `known` has the name of the solution's kernel for each exercise.

    Cells of a notebook are written into `cells_folder`, a file each, so that the source of a
    kernel can be read where its function says it is.
    """
    found = Reading()
    try:
        cells = cells_of(path.name, path.read_bytes())
    except (Unreadable, OSError) as error:
        said = str(error)
        found.problems.append(said if path.name in said else f"{path.name} cannot be read: {said}")
        return found
    for cell in cells:
        file = path
        if path.suffix != ".py":
            file = cells_folder / f"{path.stem}_cell_{cell.number}.py"
            file.write_text(cell.text, encoding="utf-8", errors="backslashreplace")
        found.places[str(file)] = cell.place
        try:
            body = parsed(cell.text)
            found.statements += [_statement(node, file, cell.place, cell.number) for node in body]
        except (Unreadable, SyntaxError, ValueError, RecursionError) as error:
            problem = f"{cell.place} cannot be read: {error}"
            found.problems.append(problem)
            found.unreadable.update(dict.fromkeys(tried_in(cell.text, known), problem))
    found.answers = answers_in(found.statements, known)
    return found


def _statement(node: ast.stmt, file: Path, place: str, cell: int) -> Statement:
    code = compile(ast.Module([node], []), str(file), "exec", dont_inherit=True)
    loads, binds = _globals(code, top=True)
    star = isinstance(node, ast.ImportFrom) and node.names[0].name == "*"
    return Statement(
        node, code, place, cell, frozenset(loads), frozenset(binds | _changed(node)), star
    )


def _globals(code: CodeType, *, top: bool) -> tuple[set[str], set[str]]:
    """Global names that code loads, functions inside it included, and those it binds."""
    loads: set[str] = set()
    binds: set[str] = set()
    for step in steps(code):
        if step.opname.startswith("LOAD") and ("_NAME" in step.opname or "GLOBAL" in step.opname):
            loads.add(str(step.argval))
        if step.opname == "STORE_GLOBAL" or (top and step.opname == "STORE_NAME"):
            binds.add(str(step.argval))
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            more, bound = _globals(inner, top=False)
            loads, binds = loads | more, binds | bound
    return loads, binds


def _changed(node: ast.stmt) -> set[str]:
    """Names whose cells or attributes a statement stores to: `table` in `table[0] = 3`."""
    targets: list[ast.expr] = []
    if isinstance(node, ast.Assign):
        targets = node.targets
    elif isinstance(node, (ast.AugAssign, ast.AnnAssign)):
        targets = [node.target]
    names = set()
    for target in targets:
        while isinstance(target, (ast.Subscript, ast.Attribute)):
            target = target.value
        if isinstance(target, ast.Name):
            names.add(target.id)
    return names


def _used(expression: ast.expr) -> tuple[set[str], set[str]]:
    code = compile(ast.Expression(expression), "<check>", "eval", dont_inherit=True)
    return _globals(code, top=True)
