"""Mutants of a kernel: each line taken out in turn, the rest as it was.

A statement becomes `pass`, the head of an `if` or a loop becomes `if True:`, an `else:` goes away
(its lines then belong to the branch above). Comments and docstrings are no lines.
"""

from __future__ import annotations

import ast
import linecache
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from numba import cuda

from smemnb.exercises.source import function_of, source_of


@dataclass(frozen=True)
class Mutant:
    """A kernel without one of its lines; `number` counts lines from the decorator, from 1."""

    number: int
    line: str
    kernel: Any


def mutants(kernel: Any) -> Iterator[Mutant]:
    """Every mutant of a kernel, in the order of its lines."""
    text = source_of(kernel)
    assert text is not None, "the source of a solution can be read"
    lines = text.split("\n")
    for first, last, put in sorted(_cuts(ast.parse(text).body[0], lines)):
        changed = [*lines[:first], *put, *[""] * (last - first - len(put)), *lines[last:]]
        shown = re.sub(r"\s*(#.*)?$", "", lines[first]).strip()
        yield Mutant(first + 1, shown, _compiled(kernel, "\n".join(changed) + "\n", first + 1))


def unchanged(kernel: Any) -> Any:
    """The kernel made anew from its own text: whatever a mutant lacks, this one has."""
    return _compiled(kernel, (source_of(kernel) or "") + "\n", 0)


def _cuts(node: ast.stmt, lines: list[str]) -> Iterator[tuple[int, int, tuple[str, ...]]]:
    """First line (from 0), line after the last, and what stands there in place of them."""
    for field in ("body", "orelse"):
        for child in getattr(node, field, []):
            if isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant):
                continue  # a docstring
            first, last = child.lineno - 1, child.end_lineno or child.lineno
            indent = " " * child.col_offset
            if not hasattr(child, "body"):
                yield first, last, (f"{indent}pass",)
                continue
            is_elif = lines[first].lstrip().startswith("elif ")
            yield first, child.body[0].lineno - 1, () if is_elif else (f"{indent}if True:",)
            yield from _cuts(child, lines)
    for number in _else_lines(node, lines):
        yield number, number + 1, ()


def _else_lines(node: ast.stmt, lines: list[str]) -> Iterator[int]:
    body, orelse = getattr(node, "body", []), getattr(node, "orelse", [])
    if body and orelse:
        between = range(body[-1].end_lineno or 0, orelse[0].lineno - 1)
        yield from (number for number in between if lines[number].strip().startswith("else:"))


def _compiled(kernel: Any, text: str, number: int) -> Any:
    """The kernel of this text, in the namespace of the other one."""
    function = function_of(kernel)
    assert function is not None
    name = f"<mutant {function.__name__} {number}>"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    space = {**function.__globals__, "cuda": cuda}
    exec(compile(text, name, "exec"), space)
    return space[function.__name__]
