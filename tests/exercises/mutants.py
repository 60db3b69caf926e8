"""Mutants of a kernel: each line taken out in turn, the rest as it was.

A statement becomes `pass`, the head of an `if` or a loop becomes `if True:`, an `else:` goes away
(its lines then belong to the branch above). Comments and docstrings are no lines.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from smemnb.exercises.source import source_of
from smemnb.exercises.variants import kernel_of


@dataclass(frozen=True)
class Mutant:
    """The source of a kernel without one of its lines.

    `number` counts lines from the decorator, from 1.
    """

    number: int
    line: str
    text: str


def mutants(kernel: Any) -> list[Mutant]:
    """Every mutant of a kernel, in the order of its lines."""
    text = source_of(kernel)
    assert text is not None, "the source of a solution can be read"
    lines = text.split("\n")
    made = []
    for first, last, put in sorted(_cuts(ast.parse(text).body[0], lines)):
        changed = [*lines[:first], *put, *[""] * (last - first - len(put)), *lines[last:]]
        shown = re.sub(r"\s*(#.*)?$", "", lines[first]).strip()
        made.append(Mutant(first + 1, shown, "\n".join(changed)))
    return made


def unchanged(kernel: Any) -> Any:
    """The kernel made anew from its own text: whatever a mutant lacks, this one has."""
    return kernel_of(source_of(kernel) or "", kernel)


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
