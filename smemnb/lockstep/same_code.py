"""Whether a text is what a function was compiled from: its bytecode beside that of the text.

The engine runs the text, Numba compiles the bytecode. A file that was edited after its import, a
name that `linecache` knows with another text: neither may run as if it were the function. So the
text is compiled once more, as the function was, and both codes are compared: instructions,
constants, names and lines. Comments and docstrings are free.

**Limits**: pytest rewrites the asserts of test files before it compiles them; such code is taken
for that of its text. Columns are not compared, because Python may have been told to drop them.
"""

from __future__ import annotations
import __future__

import ast
import copy
import functools
import operator
from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from types import CodeType
from typing import Any, cast

Node = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda

_FUTURES = functools.reduce(
    operator.or_,
    (getattr(__future__, name).compiler_flag for name in __future__.all_feature_names),
)
_LEVELS = (-1, 0, 1, 2)
"""Of optimising: this Python's own, then those that a program may have asked for."""
_PARTS = ("co_name", "co_code", "co_names", "co_varnames", "co_freevars", "co_cellvars")
_COUNTS = ("co_argcount", "co_posonlyargcount", "co_kwonlyargcount")
_STARRED = 0x04 | 0x08  # *args and **kwargs, among co_flags


def compiled_like(node: Node, code: CodeType, imported: Iterable[str] = ()) -> Any:
    r"""The node, if this code was compiled from it, without what Python left out; else None.

    `imported` are the names that the module around it imports: Python compiles a call such as
    `cuda.grid(1)` in another way where it sees the import of `cuda`.

    >>> text = "def scale(x):\n    return 2 * x  # twice\n"
    >>> names = {}
    >>> exec(text, names)
    >>> node, other = (ast.parse(one).body[0] for one in (text, text.replace("2", "3")))
    >>> compiled_like(node, names["scale"].__code__) is node
    True
    >>> compiled_like(other, names["scale"].__code__) is None
    True
    """
    imported = sorted(filter(str.isidentifier, {*imported} & {*names_of(code)}))
    for level, names in product(_LEVELS, [imported, []] if imported else [[]]):
        made = _compiled(node, code, level, names)
        if made is not None and (_alike(made, code) or _rewritten(code)):
            return _as_optimised(node, level)
    return None


def compiled_among(tree: ast.Module, code: CodeType) -> Any:
    """The `def` in a whole file that this code was compiled from, as `compiled_like`; else None.

    In a class, for instance, names that begin with two underscores get that of the class.
    """
    for level in _LEVELS:
        whole = _whole(tree, code, level)
        waiting = [] if whole is None else [whole]
        while waiting:
            made = waiting.pop()
            waiting += _codes(made)
            if not _alike(made, code):
                continue
            for node in ast.walk(tree):
                if getattr(node, "name", "") == code.co_name and isinstance(node, ast.FunctionDef):
                    if first_line(node) == made.co_firstlineno:
                        return _as_optimised(copy.deepcopy(node), level)
    return None


def first_line(node: Node) -> int:
    """The line with which a function begins for Python: that of its first decorator."""
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(one.lineno for one in decorators)])


def names_of(code: CodeType) -> Iterator[str]:
    """The globals and attributes that code names, and the functions inside it."""
    yield from code.co_names
    for one in _codes(code):
        yield from names_of(one)


def _compiled(node: Node, code: CodeType, level: int, imported: Sequence[str]) -> CodeType | None:
    """The code of a node, made as the function was; None where it cannot be compiled alone."""
    free = ", ".join(code.co_freevars)  # what a closure holds, from the function around
    imports = f"import {', '.join(imported)}\n" if imported else ""
    module = ast.parse(f"{imports}def _({free}):\n pass")
    outer = module.body[-1]
    assert isinstance(outer, ast.FunctionDef)
    inner: ast.stmt = node if not isinstance(node, ast.Lambda) else ast.Expr(node)
    outer.body = [ast.copy_location(inner, node)]
    made = _whole(module, code, level)
    if made is None:
        return None
    (around,) = _codes(made)
    return next((one for one in _codes(around) if one.co_name == code.co_name), None)


def _whole(tree: ast.Module, code: CodeType, level: int) -> CodeType | None:
    """A module compiled as the one was that this code came of; None where Python refuses it."""
    flags = code.co_flags & _FUTURES | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT  # as in a notebook's cell
    file = code.co_filename
    try:
        made = compile(tree, file, "exec", flags=flags, dont_inherit=True, optimize=level)
    except (SyntaxError, ValueError, RecursionError):
        return None
    return cast(CodeType, made)


def _as_optimised(node: Node, level: int) -> Any:
    """The node without what is left out at a level of optimising."""
    return node if level == 0 or (level < 0 and __debug__) else _without_asserts(node)


def _codes(code: CodeType) -> Iterator[CodeType]:
    return (one for one in code.co_consts if isinstance(one, CodeType))


def _alike(made: CodeType, code: CodeType) -> bool:
    """Whether two codes do the same, in the same lines counted from their first."""
    return (
        all(getattr(made, part) == getattr(code, part) for part in (*_PARTS, *_COUNTS))
        and (made.co_flags ^ code.co_flags) & _STARRED == 0
        and _lines(made) == _lines(code)
        and len(made.co_consts) == len(code.co_consts)
        and all(map(_same, made.co_consts, code.co_consts, _docstrings(made, code)))
    )


def _lines(code: CodeType) -> list[tuple[int, int, int | None]]:
    first = code.co_firstlineno
    return [(a, b, None if line is None else line - first) for a, b, line in code.co_lines()]


def _docstrings(made: CodeType, code: CodeType) -> list[bool]:
    """Which constants may differ: the first one, where it is a docstring or stands for none."""
    first = [code.co_consts[:1], made.co_consts[:1]]
    free = all(one and isinstance(one[0], str) for one in first)
    return [free, *[False] * len(code.co_consts)][: len(code.co_consts)]


def _same(one: object, other: object, free: bool = False) -> bool:  # noqa: FBT001, FBT002
    """Whether two constants are the same: 1 is not True, 0.0 is not -0.0."""
    if free:
        return True
    if isinstance(one, CodeType) and isinstance(other, CodeType):
        return _alike(one, other)
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) and all(map(_same, one, other))
    return type(one) is type(other) and (one == other or one != one) and repr(one) == repr(other)


def _rewritten(code: CodeType) -> bool:
    """Whether pytest has rewritten the asserts of this code."""
    return "@pytest_ar" in code.co_names or any(_rewritten(one) for one in _codes(code))


class _Unasserted(ast.NodeTransformer):
    """Leave out what Python leaves out when it optimises."""

    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        return ast.copy_location(ast.Pass(), node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if node.id != "__debug__":
            return node
        return ast.copy_location(ast.Constant(value=False), node)


def _without_asserts(node: Node) -> ast.AST:
    wanted = (ast.Assert, ast.Name)
    if not any(
        isinstance(one, wanted) and getattr(one, "id", "__debug__") == "__debug__"
        for one in ast.walk(node)
    ):
        return node
    left: ast.AST = ast.fix_missing_locations(_Unasserted().visit(copy.deepcopy(node)))
    return left
