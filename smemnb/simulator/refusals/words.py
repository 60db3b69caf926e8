"""The parts that all rules about Numba's messages share: the scene, their mark, plain words."""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from types import ModuleType
from typing import Any, TypeVar

from ...errors import TypingRefused
from .place import Place

Said = tuple[str, str]
"""What is wrong, and what to write instead."""


@dataclass(frozen=True)
class Scene:
    """An error with its surroundings."""

    text: str
    where: Place
    function: Callable[..., Any]
    types: tuple[Any, ...]

    def first(self, kind: type[ast.AST]) -> Any:
        """The first syntax node of a kind on the line of the error, or None."""
        return next((node for node in self.where.nodes() if isinstance(node, kind)), None)

    def named(self, kind: str, fits: Callable[[ast.AST], ast.expr | None]) -> str:
        """The one name on the line that `fits` finds in a node, with this Numba type; else ''."""
        types = dict(zip(self.parameters, map(str, self.types), strict=False))
        found = [fits(node) for node in self.where.nodes()]
        names = {one.id for one in found if isinstance(one, ast.Name)}
        names = {name for name in names if not kind or types.get(name, kind) == kind}
        return names.pop() if len(names) == 1 else ""

    @property
    def parameters(self) -> list[str]:
        """The kernel's parameters."""
        code = self.function.__code__
        return list(code.co_varnames[: code.co_argcount])


Rule = Callable[[re.Match[str], Scene], Said | None]
Words = TypeVar("Words", bound=Rule)


def rule(pattern: str) -> Callable[[Words], Words]:
    """Mark the function below as the rule for messages in which `pattern` is found.

    It may decline with None.
    """

    def mark(words: Words) -> Words:
        compiled = re.compile(pattern, re.DOTALL)
        setattr(words, "patterns", (*getattr(words, "patterns", ()), compiled))  # noqa: B010
        return words

    return mark


def rules(*modules: ModuleType) -> list[tuple[re.Pattern[str], Rule]]:
    """The rules of these modules, in the order in which they are tried.

    Raises:
        ValueError: two rules have the same pattern, so that the second would never be asked.
    """
    found: dict[re.Pattern[str], Rule] = {}
    for module in modules:
        for words in vars(module).values():
            for pattern in getattr(words, "patterns", ()):
                if pattern in found:
                    raise ValueError(
                        f"{words.__name__} and {found[pattern].__name__} have the pattern"
                        f" {pattern.pattern!r}"
                    )
                found[pattern] = words
    return list(found.items())


def worded(where: Place, what: str, instead: str, numba_message: str = "") -> TypingRefused:
    """A refusal in the shape that all of them have."""
    source = f"\n    {where.source}" if where.source else ""
    return TypingRefused(f"{where}: {what} {instead}".rstrip() + source, numba_message)


def similar(name: str, names: Iterable[str]) -> str:
    """'Did you mean ...' with the names that look alike."""
    found = difflib.get_close_matches(name, dict.fromkeys(names), n=2, cutoff=0.6)
    return f"Did you mean {' or '.join(found)}?" if found else ""


def plain(kind: str) -> str:
    """A Numba type in plain words.

    >>> plain("array(float32, 2d, C)"), plain("Literal[int](3)"), plain("UniTuple(int64 x 2)")
    ('a 2-d array of float32', 'int64', 'a tuple of 2 numbers')
    """
    kind = kind.strip()
    array = re.match(r"(?:readonly )?array\((\w+), (\d)d", kind)
    if array:
        return f"a {array[2]}-d array of {array[1]}"
    tuple_of = re.match(r"UniTuple\((?:Literal\[int\]\(\d+\)|\w+) x (\d+)\)", kind)
    if tuple_of:
        return f"a tuple of {tuple_of[1]} numbers"
    if kind.startswith("Tuple("):
        return "a tuple"
    if kind.startswith(("Literal[str]", "unicode_type")):
        return "a text"
    characters = re.match(r"\[(unichr|char) x (\d+)\]", kind)
    if characters:
        return f"a text of {characters[2]} {'bytes' if characters[1] == 'char' else 'characters'}"
    if re.fullmatch(r"(datetime|timedelta)64\[\]", kind):
        return f"{kind[:-2]} without a unit"
    literal = re.match(r"Literal\[(\w+)\]", kind)
    if literal:
        return {"int": "int64"}.get(literal[1], literal[1])
    return "None" if kind == "none" else kind


def value_of(kind: str) -> str:
    """The beginning of a sentence about a value of a Numba type."""
    words = plain(kind)
    if words.startswith("a ") or words == "None":
        return words.capitalize()
    return f"A value of type {words}"


def arguments(text: str) -> list[str]:
    """The argument types of the call that Numba quotes behind `>>>`."""
    call = re.search(r">>> \S+?\((.*)\)\s*$", text, re.MULTILINE)
    parts, depth = [""], 0
    for char in call[1] if call else "":
        depth += (char in "([{<") - (char in ")]}>")
        if char == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += char
    return [part.strip() for part in parts if part.strip()]
