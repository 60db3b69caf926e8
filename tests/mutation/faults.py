"""The faults that can be planted in a module: each changes one line, as a slip of the hand would.

Text that is not behaviour is left alone: docstrings, annotations, texts of errors, f-strings and
what stands under `if TYPE_CHECKING`; so are the options of a dataclass.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

COMPARISONS: dict[type[ast.cmpop], tuple[str, str]] = {
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"),
    ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"),
}
OPERATORS: dict[type[ast.operator], tuple[str, str]] = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "//"),
    ast.FloorDiv: ("//", "*"),
    ast.Div: ("/", "*"),
    ast.Mod: ("%", "//"),
    ast.BitAnd: ("&", "|"),
    ast.BitOr: ("|", "&"),
    ast.BitXor: ("^", "|"),
    ast.LShift: ("<<", ">>"),
    ast.RShift: (">>", "<<"),
    ast.Pow: ("**", "*"),
}
NAMES = {
    "min": "max",
    "max": "min",
    "any": "all",
    "all": "any",
    "minimum": "maximum",
    "maximum": "minimum",
    "append": "remove",
    "logical_and": "logical_or",
    "logical_or": "logical_and",
}
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
SKIPPED_FIELDS = {"annotation", "returns", "type_params"}


@dataclass(frozen=True)
class Fault:
    """One changed line of one module; `line` counts from 1."""

    path: str
    line: int
    kind: str
    before: str
    after: str

    @property
    def key(self) -> str:
        """Names the change by its text, so that lines above may come and go."""
        return f"{self.path}: {self.before.strip()} => {self.after.strip()}"

    @property
    def room(self) -> str:
        """The room of the package, or the name of a module that stands beside the rooms."""
        return Path(self.path).with_suffix("").parts[1]

    def planted(self, text: str) -> str:
        """The module's text with the fault.

        Raises:
            ValueError: the line is not as it was when the fault was found.
        """
        lines = text.split("\n")
        if self.line > len(lines) or lines[self.line - 1] != self.before:
            raise ValueError(f"{self.path}:{self.line} is no longer: {self.before.strip()}")
        lines[self.line - 1] = self.after
        return "\n".join(lines)

    def parses(self, text: str) -> bool:
        """Whether the module can still be read with the fault in it."""
        try:
            ast.parse(self.planted(text))
        except SyntaxError:
            return False
        return True


def faults(text: str, path: str) -> list[Fault]:
    """Every fault of a module, in the order of its lines.

    >>> for one in faults("def f(n):\\n    return n < 4", "f.py"):
    ...     print(f"{one.kind}: {one.after.strip()}")
    comparison: return n <= 4
    constant: return n < 5
    return: return None
    """
    lines = text.split("\n")
    found = []
    for line, start, end, new, kind in _Finder(lines).changes(ast.parse(text)):
        before = lines[line - 1]
        after = before[:start] + new + before[end:]
        if after != before:
            found.append(Fault(path, line, kind, before, after))
    return sorted(set(found), key=lambda one: (one.line, one.kind, one.after))


Change = tuple[int, int, int, str, str]  # line, from, to, new text, kind


class _Finder:
    def __init__(self, lines: list[str]) -> None:
        self.lines = lines

    def changes(self, node: ast.AST, inside: bool = False) -> Iterator[Change]:
        """The changes at a node and below it; `inside` is whether it belongs to a function."""
        if isinstance(node, ast.JoinedStr) or _is_no_behaviour(node):
            return
        yield from self._here(node, inside)
        if isinstance(node, ast.Raise):
            return
        inside = inside or isinstance(node, FUNCTIONS)
        for name, field in ast.iter_fields(node):
            if name in SKIPPED_FIELDS:
                continue
            for child in field if isinstance(field, list) else [field]:
                if isinstance(child, ast.AST):
                    yield from self.changes(child, inside)

    def _here(self, node: ast.AST, inside: bool) -> Iterator[Change]:
        match node:
            case ast.Compare():
                yield from self._comparisons(node)
            case ast.BinOp() if inside or not isinstance(node.op, ast.BitOr):
                yield from self._between(node.left, node.right, OPERATORS.get(type(node.op)))
            case ast.BoolOp():
                words = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
                yield from self._between(*node.values[:2], words, "boolean")
            case ast.UnaryOp(op=ast.Not()):
                yield from self._replaced(node, self._text(node.operand), "not dropped")
            case ast.Constant(value=bool()):
                yield from self._replaced(node, str(not node.value), "flag")
            case ast.Constant(value=int()):
                yield from self._replaced(node, str(node.value + 1), "constant")
            case ast.If() | ast.IfExp() | ast.While():
                yield from self._replaced(node.test, _negated(self._text(node.test)), "condition")
            case ast.Call():
                yield from self._arguments(node)
            case ast.Name(ctx=ast.Load()) if node.id in NAMES:
                yield from self._replaced(node, NAMES[node.id], "name")
            case ast.Attribute() if node.attr in NAMES and node.end_lineno == node.lineno:
                whole = self._text(node)
                new = whole and whole[: -len(node.attr)] + NAMES[node.attr]
                yield from self._replaced(node, new, "name")
        if inside and isinstance(node, ast.stmt):
            yield from self._statements(node)

    def _statements(self, node: ast.stmt) -> Iterator[Change]:
        match node:
            case ast.Expr(value=ast.Constant(value=str())):
                return  # a docstring
            case ast.Return(value=ast.expr()) if self._text(node.value) != "None":
                yield from self._replaced(node, "return None", "return")
            case ast.Expr() | ast.Assign() | ast.AugAssign() | ast.Raise() | ast.Continue():
                yield from self._replaced(node, "pass", "deleted")
                yield from self._replaced(node, "return", "early return")

    def _comparisons(self, node: ast.Compare) -> Iterator[Change]:
        sides = [node.left, *node.comparators]
        for left, right, op in zip(sides, sides[1:], node.ops, strict=False):
            yield from self._between(left, right, COMPARISONS.get(type(op)), "comparison")

    def _between(
        self,
        left: ast.expr,
        right: ast.expr,
        words: tuple[str, str] | None,
        kind: str = "operator",
    ) -> Iterator[Change]:
        """The operator between two expressions that stand on one line."""
        if words is None or left.end_lineno is None or left.end_lineno != right.lineno:
            return
        line = left.end_lineno
        start, end = self._column(line, left.end_col_offset), self._column(line, right.col_offset)
        gap = self.lines[line - 1][start:end]
        pattern = r"\s+".join(map(re.escape, words[0].split()))
        at = re.search(pattern, gap)
        if at:
            yield line, start + at.start(), start + at.end(), words[1], kind

    def _arguments(self, node: ast.Call) -> Iterator[Change]:
        """The first two arguments change places."""
        if len(node.args) < 2 or any(isinstance(one, ast.Starred) for one in node.args[:2]):
            return
        first, second = node.args[:2]
        if first.lineno != second.end_lineno:
            return
        line = first.lineno
        one, two = self._text(first), self._text(second)
        start = self._column(line, first.col_offset)
        end = self._column(line, second.end_col_offset)
        if one and two:
            middle = self.lines[line - 1][start + len(one) : end - len(two)]
            yield line, start, end, two + middle + one, "arguments"

    def _replaced(self, node: ast.AST, new: str | None, kind: str) -> Iterator[Change]:
        text = self._text(node)
        if text and new:
            line = node.lineno  # type: ignore[attr-defined]
            start = self._column(line, node.col_offset)  # type: ignore[attr-defined]
            yield line, start, start + len(text), new, kind

    def _text(self, node: ast.AST | None) -> str | None:
        """The source of a node on one line; None of what spans several."""
        if node is None or getattr(node, "lineno", 0) != getattr(node, "end_lineno", -1):
            return None
        line = node.lineno  # type: ignore[attr-defined]
        start = self._column(line, node.col_offset)  # type: ignore[attr-defined]
        end = self._column(line, node.end_col_offset)  # type: ignore[attr-defined]
        return self.lines[line - 1][start:end]

    def _column(self, line: int, offset: int | None) -> int:
        """A column in characters, of one in bytes."""
        return len(self.lines[line - 1].encode()[:offset].decode())


def _negated(text: str | None) -> str | None:
    return text and f"not ({text})"


def _is_no_behaviour(node: ast.AST) -> bool:
    if isinstance(node, ast.If):
        return "TYPE_CHECKING" in ast.unparse(node.test)
    return isinstance(node, ast.Call) and ast.unparse(node.func) == "dataclass"
