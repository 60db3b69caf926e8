"""How an instruction gets its meaning: a table of makers, by name.

A maker is called once per instruction of a kernel and gives a step, which is called for each group
that executes it. It refuses modifiers that it does not know.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from ..listing import Located
from .operands import Operand, Reader, Readers, Unknown, operand
from .state import Group, State, Writers

Step = Callable[[Group], None]
Maker = Callable[["Instruction", "Bench"], Step]

MAKERS: dict[str, Maker] = {}


@dataclass(frozen=True)
class Instruction:
    """One instruction taken apart: `name` without modifiers, and the modifiers."""

    name: str
    modifiers: tuple[str, ...]
    operands: tuple[Operand, ...]
    located: Located

    @classmethod
    def of(cls, located: Located) -> Instruction:
        """A listed instruction taken apart.

        Raises:
            Unknown: an operand of no known form.
        """
        name, *modifiers = located.name.split(".")
        parts = tuple(operand(text) for text in located.operands)
        return cls(name, tuple(modifiers), parts, located)

    def only(self, known: Iterable[str]) -> set[str]:
        """The modifiers.

        Raises:
            Unknown: one that is not `known`.
        """
        odd = set(self.modifiers) - set(known)
        if odd:
            raise Unknown(f"modifier .{', .'.join(sorted(odd))}")
        return set(self.modifiers)

    def split(self, results: int = 1) -> tuple[list[Operand], list[Operand], list[Operand]]:
        """Results (registers, then carry-out predicates), sources, and predicates at the end."""
        rest = list(self.operands)
        out = [rest.pop(0) for _ in range(results)]
        while rest and rest[0].is_predicate:
            out.append(rest.pop(0))
        last: list[Operand] = []
        while rest and rest[-1].is_predicate:
            last.insert(0, rest.pop())
        return out, rest, last


@dataclass
class Bench:
    """What makers work with: readers, writers, the state, and what the launch lends."""

    state: State
    read: Readers
    write: Writers
    tools: dict[str, Any] = field(default_factory=dict)

    def words(self, operands: Iterable[Operand]) -> list[Reader]:
        """Integer readers of several operands."""
        return [self.read.integer(one) for one in operands]


def means(*names: str) -> Callable[[Maker], Maker]:
    """Put the maker below into the table under these names."""

    def keep(maker: Maker) -> Maker:
        MAKERS.update(dict.fromkeys(names, maker))
        return maker

    return keep
