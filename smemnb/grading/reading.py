"""Which kernel of a file answers which exercise, and which statements it needs.

`check("ex01_place", place)` anywhere in a file names the kernel; the last one of an exercise
counts, with all names as they stand when the file has run down to that line. If the same name is
defined again further down and no other exercise is checked under it, the later definition counts.
Where an exercise is never checked, a decorated function of its name (`ex01_place`) or of the
solution's name (`place`) is taken.

Of the file only the statements run that bind a name the kernel needs, directly or by way of
others. **Limits**: an exercise named by a variable is not seen, nor is a call that changes a
value in place (`table.append(3)`).
"""

from __future__ import annotations

import ast
import dis
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType
from typing import Any

_MAGIC = re.compile(r"^(\s*)(?:[%!?]|\w+\s*=\s*[%!]|[\w.]+\?{1,2}\s*$).*$")
_PYTHON_CELLS = ("%%time", "%%timeit", "%%capture", "%%prun")
_CHECKED = re.compile(r"""\bcheck\(\s*["'](\w+)["']""")


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


@dataclass(frozen=True)
class Answer:
    """The expression that is a kernel, and how far the file has run when it is looked at."""

    exercise: str
    expression: ast.expr
    point: int
    place: str


@dataclass
class Reading:
    """A file taken apart: statements, answers per exercise, and what could not be read."""

    statements: list[Statement] = field(default_factory=list)
    answers: dict[str, Answer] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    unreadable: dict[str, str] = field(default_factory=dict)

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
    for number, (place, file, text) in enumerate(_cells(path, cells_folder, found)):
        try:
            body = _parsed(text)
            found.statements += [_statement(node, file, place, number) for node in body]
        except (SyntaxError, ValueError, RecursionError) as error:
            line = f"line {error.lineno}: " if isinstance(error, SyntaxError) else ""
            what = error.msg if isinstance(error, SyntaxError) else str(error)
            problem = f"{place} cannot be read: {line}{what}"
            found.problems.append(problem)
            for name in _CHECKED.findall(text):
                found.unreadable[name] = problem
            for name, kernel in known.items():
                if re.search(rf"^def ({name}|{kernel})\(", text, re.MULTILINE):
                    found.unreadable[name] = problem
    found.answers = _answers(found.statements, known)
    return found


def _cells(path: Path, folder: Path, found: Reading) -> Iterator[tuple[str, Path, str]]:
    """(place in words, file, text) of each cell; a .py file is one cell."""
    try:
        text = path.read_text(encoding="utf-8-sig")
        if path.suffix == ".py":
            yield path.name, path, text
            return
        cells = json.loads(text)["cells"]
        code = [(n, _source(c)) for n, c in enumerate(cells, 1) if c["cell_type"] == "code"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        kind = "notebook" if path.suffix == ".ipynb" else "Python file"
        found.problems.append(f"{path.name} is no {kind}: {type(error).__name__}")
        return
    for number, text in code:
        text = _without_magic(text)
        file = folder / f"{path.stem}_cell_{number}.py"
        file.write_text(text, encoding="utf-8", errors="backslashreplace")
        yield f"{path.name} cell {number}", file, text


def _source(cell: Any) -> str:
    source = cell["source"]
    return source if isinstance(source, str) else "".join(source)


def _without_magic(text: str) -> str:
    r"""A cell as Python: IPython's own lines become `pass`, lines keep their numbers.

    >>> _without_magic("%matplotlib inline\nx = 7 % 4\nfiles = !ls")
    'pass\nx = 7 % 4\npass'
    >>> _without_magic("%%bash\nls")
    ''
    """
    first, *_ = text.lstrip().split("\n")
    if first.startswith("%%") and first.split()[0] not in _PYTHON_CELLS:
        return ""
    lines = text.split("\n")
    while (bad := _bad_line("\n".join(lines))) < len(lines):
        instead = _MAGIC.sub(r"\1pass", lines[bad])
        if instead == lines[bad]:
            break
        lines[bad] = instead
    return "\n".join(lines)


def _bad_line(text: str) -> int:
    """Where Python cannot read on, counted from 0; the number of lines if it can read all."""
    try:
        ast.parse(text)
    except SyntaxError as error:
        return (error.lineno or 1) - 1
    except (ValueError, RecursionError):
        pass
    return text.count("\n") + 1


def _parsed(text: str) -> list[ast.stmt]:
    return ast.parse(text).body


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
    for step in dis.get_instructions(code):
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


def _answers(statements: list[Statement], known: Mapping[str, str]) -> dict[str, Answer]:
    found: dict[str, Answer] = {}
    asked: dict[str, set[str]] = {}  # exercises that are checked under a name
    for number, one in enumerate(statements):
        for name, kernel in _checks(one.node):
            if name in known:
                found[name] = Answer(name, kernel, number, one.place)
                if isinstance(kernel, ast.Name):
                    asked.setdefault(kernel.id, set()).add(name)
    for name, answer in found.items():
        kernel = answer.expression
        if isinstance(kernel, ast.Name) and asked[kernel.id] == {name}:
            later = _last_definition(statements, (kernel.id,))
            if later is not None and later.point > answer.point:
                found[name] = Answer(name, kernel, later.point, later.place)
    for name, solution in known.items():
        if name not in found:
            # a kernel that is checked as the answer to another exercise is none to this one
            names = tuple(one for one in (name, solution) if one not in asked)
            defined = _last_definition(statements, names)
            if defined is not None:
                found[name] = Answer(name, defined.expression, defined.point, defined.place)
    return found


def _checks(node: ast.stmt) -> Iterator[tuple[str, ast.expr]]:
    """Name and kernel of each `check(...)` inside a statement, in the order of lines."""
    calls = [one for one in ast.walk(node) if isinstance(one, ast.Call)]
    for call in sorted(calls, key=lambda one: (one.lineno, one.col_offset)):
        function = call.func
        called = getattr(function, "attr", None) or getattr(function, "id", None)
        given = {keyword.arg: keyword.value for keyword in call.keywords}
        name = call.args[0] if call.args else given.get("name")
        kernel = call.args[1] if len(call.args) > 1 else given.get("kernel")
        if called == "check" and isinstance(name, ast.Constant) and kernel is not None:
            yield str(name.value), kernel


def _last_definition(statements: list[Statement], names: tuple[str, ...]) -> Answer | None:
    """The last decorated function of one of these names; its point is the end of its cell."""
    for one in reversed(statements):
        node = one.node
        if isinstance(node, ast.FunctionDef) and node.decorator_list and node.name in names:
            end = max(n for n, other in enumerate(statements) if other.cell == one.cell)
            return Answer(
                "", ast.Name(node.name, ast.Load(), lineno=1, col_offset=0), end, one.place
            )
    return None
