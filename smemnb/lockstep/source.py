"""The syntax tree of a function: of a `def` or a lambda, in a file, a notebook or a session.

It is that of the function that was imported. A text is found (`texts`), compiled again and compared
with the function's bytecode (`same_code`): a file may have been edited since, and what Numba
compiles is the bytecode. The text of a function that has run is kept. One that has only moved
within its file runs too; a warning says so, and its lines are those that it had. All else is
refused.
"""

from __future__ import annotations

import ast
import contextlib
import copy
import functools
import io
import warnings
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, NamedTuple
from weakref import ref

from ..errors import SourceChanged, UnsupportedSyntax
from .same_code import Node, compiled_among, compiled_like, first_line, names_of
from .texts import forget_lines, registered_lines, remember_lines, texts_in_reach


class Source(NamedTuple):
    """A function's text: its tree, its lines, and the number of the first of them."""

    tree: Any
    lines: list[str]
    first: int


_kept: dict[int, tuple[ref[CodeType], list[str]]] = {}
"""Of each code met so far, by its id: the lines of the text that it was found in.

Not a WeakKeyDictionary: codes of different files may be equal.
"""


def closure_values(function: Any) -> dict[str, Any]:
    """The closure variables of a function that have a value by now, by name."""
    found = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        with suppress(ValueError):  # an empty cell
            found[name] = cell.cell_contents
    return found


def source_tree(function: Any) -> ast.FunctionDef:
    """The syntax tree of a function, with the line numbers that its bytecode has.

    Raises:
        UnsupportedSyntax: there is no text, or it is not what the function was compiled from.
    """
    tree = source(function).tree
    if isinstance(tree, ast.Lambda):
        body = ast.copy_location(ast.Return(tree.body), tree.body)
        made = ast.FunctionDef("<lambda>", tree.args, [body], [])
        return ast.fix_missing_locations(ast.copy_location(made, tree))
    if not isinstance(tree, ast.FunctionDef):
        raise _refusal(
            function.__code__,
            f"{function.__name__} is not defined by a plain `def`",
            "Write the kernel with `def`.",
        )
    return tree


def source(function: Any) -> Source:
    """The text of a function as it was compiled.

    Raises:
        UnsupportedSyntax: there is no text, or it is not what the function was compiled from.
    """
    code = function.__code__
    lines = registered_lines(function)
    found = _found(lines, function)
    if found is not None:
        _keep(code, lines)
        return found
    if id(code) not in _kept and not (_is_written(code) and look_for(function)):
        raise _unfound(function, lines)
    found = _found(_kept[id(code)][1], function)
    assert found is not None  # it was compared when it was kept
    if not _is_written(code):
        remember_lines(code.co_filename, found.first, found.lines)
        _warn(code, "is not the same any more", found.first)
    return found


def look_for(function: Any) -> bool:
    """Find and keep the text of a function made by `exec`, if its program holds it now."""
    code = function.__code__
    for text in texts_in_reach(function):
        lines = io.StringIO(text).readlines()
        if _found(lines, function) is not None:
            _keep(code, lines)
            return True
    return False


def confirm(function: Any) -> None:
    """See to it that reports show the text of a function that has run, as it was imported."""
    kept = _kept.get(id(function.__code__))
    if kept is not None and registered_lines(function) is not kept[1]:
        source(function)


def _keep(code: CodeType, lines: list[str]) -> None:
    key = id(code)
    _kept[key] = ref(code, lambda _: _kept.pop(key, None)), lines


def needs_looking_for(function: Any) -> bool:
    """Whether a function was made by `exec`, from a text that is nowhere to be read."""
    code = function.__code__
    if id(code) in _kept or not code.co_filename.startswith("<"):
        return False
    return _found(registered_lines(function), function) is None


def _is_written(code: CodeType) -> bool:
    """Whether code comes of no file."""
    return code.co_filename.startswith("<") or not Path(code.co_filename).is_file()


# --- a function in the lines of a file ---------------------------------------------------------


def _found(lines: list[str], function: Any) -> Source | None:
    """The function in these lines, where they compile to it."""
    code = function.__code__
    quick = _at_its_line(lines, code)
    likely = set(_likely_imported(function))
    tree = None if quick is None else compiled_like(quick, code, likely)
    if tree is None:
        tree = _in_the_file("".join(lines), code, likely)
    if tree is None:
        return None
    own, stands = _lines_of(tree, lines), first_line(tree)
    if stands == code.co_firstlineno:
        forget_lines(code.co_filename, stands, len(own))
    else:
        ast.increment_lineno(tree, code.co_firstlineno - stands)
        remember_lines(code.co_filename, code.co_firstlineno, own)
        if not _is_written(code):
            _warn(code, f"stands in line {stands} now", code.co_firstlineno)
    return Source(tree, own, code.co_firstlineno)


def _lines_of(node: Node, lines: list[str]) -> list[str]:
    return lines[first_line(node) - 1 : node.end_lineno]


def _at_its_line(lines: list[str], code: CodeType) -> Node | None:
    """The `def` that begins where the function does; None where it is not so simple.

    Only its own lines are parsed, so a long file costs no more than a short one.
    """
    at = code.co_firstlineno - 1
    if code.co_name == "<lambda>" or at >= len(lines):
        return None
    indent = _indent(lines[at])
    head = at
    while head < len(lines) and not lines[head].lstrip().startswith(("def ", "async def ")):
        head += 1
    end = head + 1
    while end < len(lines) and not _begins_anew(lines[end], indent):
        end += 1
    try:
        tree = parsed("".join(["if True:\n", *lines[at:end]] if indent else lines[at:end]))
    except (SyntaxError, ValueError, RecursionError):
        return None
    body = tree.body[0].body if indent and isinstance(tree.body[0], ast.If) else tree.body
    node = body[0]
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or node.name != code.co_name:
        return None
    ast.increment_lineno(node, at - bool(indent))
    return node


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _begins_anew(line: str, indent: int) -> bool:
    """Whether a line is no part of a function indented so any more."""
    rest = line.lstrip()
    return bool(rest) and _indent(line) <= indent and not rest.startswith(("#", ")"))


def _likely_imported(function: Any) -> Iterator[str]:
    """The globals of a function that its module has imported, as far as their values tell."""
    for name in set(names_of(function.__code__)) & function.__globals__.keys():
        value = function.__globals__[name]
        elsewhere = getattr(value, "__module__", None) not in (None, function.__module__)
        if isinstance(value, ModuleType) or elsewhere:
            yield name


def _in_the_file(text: str, code: CodeType, likely: set[str]) -> Any:
    """The function of this code anywhere in a text, the one nearest to its line; else None."""
    try:
        tree = _file_tree(text)
    except (SyntaxError, ValueError, RecursionError):
        return None
    kinds = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
    named = [
        node
        for node in ast.walk(tree)
        if isinstance(node, kinds) and getattr(node, "name", "<lambda>") == code.co_name
    ]
    named.sort(key=lambda node: abs(first_line(node) - code.co_firstlineno))
    for imported in (set(_imported(tree.body)), likely):
        for node in named:
            found = compiled_like(copy.deepcopy(node), code, imported)
            if found is not None:
                return found
    return compiled_among(tree, code) if named else None


def _imported(statements: Sequence[ast.stmt]) -> Iterator[str]:
    """The names that the statements of a module import."""
    for one in statements:
        if isinstance(one, ast.Import | ast.ImportFrom):
            yield from (alias.asname or alias.name.partition(".")[0] for alias in one.names)
        elif not isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            for part in ("body", "orelse", "finalbody", "handlers", "cases"):
                yield from _imported(getattr(one, part, ()))


def parsed(text: str) -> ast.Module:
    """The tree of a text.

    CPython 3.11 gives up (SystemError) where another thread changes the limit of recursion while it
    parses, as `depth` does; it is asked again then.
    """
    for _ in range(9):
        with contextlib.suppress(SystemError):
            return ast.parse(text)
    return ast.parse(text)


@functools.lru_cache(maxsize=8)
def _file_tree(text: str) -> ast.Module:
    return parsed(text)


# --- what is said ------------------------------------------------------------------------------


def _warn(code: CodeType, how: str, line: int) -> None:
    """Say that a file has changed since it was imported; Python shows it once."""
    file = code.co_filename
    warnings.warn_explicit(
        f"{Path(file).name} has changed since {code.co_name} was imported from its line {line}: it"
        f" {how}. What runs is what was imported, and reports show its lines as they were. Reload"
        " the module to go on with the file",
        SourceChanged,
        file,
        line,
    )


def _unfound(function: Any, lines: Sequence[str]) -> UnsupportedSyntax:
    """Why the text of a function cannot be had, and how it can."""
    code, name = function.__code__, function.__name__
    file = code.co_filename
    if not _is_written(code):
        return _refusal(
            code,
            f"the text of {name} in {Path(file).name} is not what was imported: the file has"
            " changed since, or the function was changed in memory",
            "Import the file again (importlib.reload, or a fresh Python), then launch.",
        )
    if lines and not file.startswith("<string"):
        return _refusal(
            code,
            f"the text that linecache has for {file} is not the text of {name}",
            "Give each text that is compiled a name of its own, and run the cell that defines the"
            " kernel again.",
        )
    if file == "<stdin>":
        return _refusal(
            code,
            f"Python keeps no text of {name}: it came from a plain prompt or a pipe",
            "Put it into a file, or use IPython, a notebook or the prompt of Python 3.13.",
        )
    shown = "lambda" if name == "<lambda>" else name
    return _refusal(
        code,
        f"{shown} was made by exec, and its text is kept nowhere; Numba compiles the bytecode, and"
        " the engine runs the text",
        "Give the text a name that linecache knows, by these two lines in place of the exec:\n"
        f'    linecache.cache["<{shown}>"] = (len(text), None, text.splitlines(True), "")\n'
        f'    exec(compile(text, "<{shown}>", "exec"), names)',
    )


def _refusal(code: CodeType, what: str, instead: str) -> UnsupportedSyntax:
    return UnsupportedSyntax(code.co_filename, code.co_firstlineno, what, instead)
