"""The answer to `check`: one line per part, one source line, one hint.

The text is the same in every run: no addresses, no paths, no times.
"""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass, field

from ...session import PRINTED_COLUMNS
from ..glossary_links import unlinked
from .advice import PLAIN

INDENT = 12
WIDTH = PRINTED_COLUMNS - INDENT
_SOURCE = re.compile(r"\s|\d+ \| ")


@dataclass(frozen=True)
class Part:
    """One aspect that was graded: its name, what was seen, what to do, and whether it is right."""

    name: str
    text: str
    hint: str = ""
    ok: bool = field(kw_only=True)


@dataclass(frozen=True, repr=False)
class Verdict:
    """What `check` found; true if every part is right.

    >>> Verdict("ex00_scale", (Part("output", "out[0] was not written", ok=False),), "Store.")
    ex00_scale: not yet
    output      out[0] was not written
    hint        Store.
    """

    exercise: str
    parts: tuple[Part, ...]
    hint: str = ""
    note: str = ""

    def __bool__(self) -> bool:
        return bool(self.parts) and all(part.ok for part in self.parts)

    @property
    def head(self) -> str:
        """The first line: whether it is done, or that there is no such exercise."""
        if self.reason == "exercise":
            return unknown_exercise(self.exercise)
        return f"{self.exercise}: {'done' if self else 'not yet'}"

    @property
    def reason(self) -> str:
        """The first part that is not right, "" if there is none."""
        return next((part.name for part in self.parts if not part.ok), "")

    @property
    def advice(self) -> str:
        """The hint of the first part that fails, or of requests if these are why sectors fail."""
        failed = [part for part in self.parts if not part.ok]
        requests = [part for part in failed if part.name == "requests"]
        if requests and failed[0].name == "sectors":
            return requests[0].hint
        return (failed[0].hint or PLAIN[failed[0].name]) if failed else ""

    def part(self, name: str) -> Part | None:
        """The part of that name, None if it was not graded."""
        return next((part for part in self.parts if part.name == name), None)

    def __repr__(self) -> str:
        rows = [(part.name, part.text) for part in self.parts]
        rows += [(name, text) for name, text in (("hint", self.hint), ("note", self.note)) if text]
        return "\n".join([self.head, *(_row(name, text) for name, text in rows)])

    def _repr_html_(self) -> str:
        from ..as_html import verdict

        return verdict(self)


def unknown_exercise(name: str) -> str:
    """The first line of an answer about an exercise that does not exist; "" for no name at all."""
    return f"unknown exercise {name}".rstrip()


def _row(name: str, text: str) -> str:
    lines = unlinked(text).split("\n")
    first, *rest = [short for line in lines for short in _wrapped(line)]
    return "\n".join([f"{name:<{INDENT}}{first}", *(" " * INDENT + line for line in rest)])


def _wrapped(line: str) -> list[str]:
    """A sentence in lines that a notebook does not break; source lines (number, bar) stay whole."""
    if _SOURCE.match(line) or len(line) <= WIDTH:
        return [line]
    return textwrap.wrap(line, WIDTH, break_long_words=False, break_on_hyphens=False)
