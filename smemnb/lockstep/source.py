"""The syntax tree of a function: of a `def` or a lambda, in a file, a notebook or a session.

Python's own `linecache` is asked for the text, so code made by `exec` has a source where its
maker put one there. Code without any text is refused.
"""

from __future__ import annotations

import ast
import functools
import inspect
import linecache
from collections.abc import Iterator
from types import CodeType
from typing import Any

from ..errors import UnsupportedSyntax


def source_tree(function: Any) -> ast.FunctionDef:
    """The syntax tree of a function, with the line numbers of its file.

    Raises:
        UnsupportedSyntax: there is no text, or the function is not found in it.
    """
    code = function.__code__
    if code.co_name == "<lambda>":
        return _lambda_tree(function)
    try:
        lines, first = inspect.getsourcelines(function)
        node = _parsed(lines, first)
    except (OSError, TypeError, SyntaxError) as error:
        raise _refused(
            code, f"the source of {function.__name__} cannot be read ({error})"
        ) from None
    if not isinstance(node, ast.FunctionDef) or node.name != code.co_name:
        raise _refused(code, f"{function.__name__} is not defined by a plain `def`")
    return node


def _refused(code: CodeType, what: str) -> UnsupportedSyntax:
    return UnsupportedSyntax(
        code.co_filename,
        code.co_firstlineno,
        what,
        "Define the kernel with `def` in a file or a notebook cell; where a program writes it,"
        " put its text into linecache.cache under the name given to compile().",
    )


def _parsed(lines: list[str], first: int) -> ast.AST:
    """The one statement of these lines; an `if` above them takes the place of what they were in."""
    nested = lines[0][:1] in (" ", "\t")
    node: ast.AST = ast.parse("".join(["if True:\n", *lines] if nested else lines)).body[0]
    if isinstance(node, ast.If):
        node = node.body[0]
    ast.increment_lineno(node, first - 1 - nested)
    return node


def _lambda_tree(function: Any) -> ast.FunctionDef:
    """A lambda as the function that returns its expression."""
    code = function.__code__
    lines = linecache.getlines(code.co_filename, function.__globals__)
    try:
        whole = _file_tree("".join(lines))
    except SyntaxError:
        raise _refused(code, "the text around a lambda cannot be parsed") from None
    found = [node for node in _lambdas(whole) if node.lineno == code.co_firstlineno]
    if len(found) > 1:
        found = [node for node in found if _compiles_to(node, code)]
    if not found:
        raise _refused(code, "the source of a lambda cannot be found")
    node = found[0]
    body = ast.copy_location(ast.Return(node.body), node.body)
    tree = ast.FunctionDef("<lambda>", node.args, [body], [])
    return ast.fix_missing_locations(ast.copy_location(tree, node))


@functools.lru_cache(maxsize=8)
def _file_tree(text: str) -> ast.Module:
    return ast.parse(text)


def _lambdas(tree: ast.AST) -> Iterator[ast.Lambda]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.Lambda))


def _compiles_to(node: ast.Lambda, code: CodeType) -> bool:
    """True if this lambda has the bytecode asked for (several may stand on one line)."""
    names = ", ".join(code.co_freevars)
    frame = f"def _({names}):\n return 0" if names else "def _():\n return 0"
    module = ast.parse(frame)
    outer = module.body[0]
    assert isinstance(outer, ast.FunctionDef)
    outer.body = [ast.copy_location(ast.Return(node), node)]
    made = compile(ast.fix_missing_locations(module), code.co_filename, "exec")
    inner = next(c for c in made.co_consts if isinstance(c, CodeType))
    found = next(c for c in inner.co_consts if isinstance(c, CodeType))
    parts = ("co_code", "co_consts", "co_names", "co_varnames")
    return all(getattr(found, part) == getattr(code, part) for part in parts)
