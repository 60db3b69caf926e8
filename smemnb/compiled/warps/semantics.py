"""How a machine instruction is implemented: by a function that builds its step.

A builder is called once per instruction of a kernel and returns a step, which is called for each
group that executes the instruction. It refuses modifiers that it does not know. `@implements` and
`@controls` only mark a builder with the names of its instructions; `instructions/__init__.py` lists
the modules whose builders make up the tables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import product
from types import ModuleType
from typing import Any

from ..listing import Located
from .operands import Operand, Reader, Unknown, operand
from .readers import Readers, Writers
from .state import Group, State

Step = Callable[[Group], None]
StepBuilder = Callable[["Instruction", "BuildContext"], Step]


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
class BuildContext:
    """What builders work with: readers, writers, the state, and `tools` of the launch."""

    state: State
    read: Readers
    write: Writers
    tools: dict[str, Any] = field(default_factory=dict)

    def words(self, operands: Iterable[Operand]) -> list[Reader]:
        """Integer readers of several operands."""
        return [self.read.integer(one) for one in operands]


def implements(*names: str) -> Callable[[Any], Any]:
    """Mark the function below as the builder of the steps of these instructions."""
    return _mark("_implements", names)


def controls(*names: str) -> Callable[[Any], Any]:
    """Mark the function below as the builder of the control steps of these instructions."""
    return _mark("_controls", names)


def _mark(attribute: str, names: tuple[str, ...]) -> Callable[[Any], Any]:
    def mark(builder: Any) -> Any:
        setattr(builder, attribute, (*getattr(builder, attribute, ()), *names))
        return builder

    return mark


def builders(
    *modules: ModuleType,
) -> tuple[dict[str, StepBuilder], dict[str, Callable[..., Any]]]:
    """What `@implements` and what `@controls` marks in these modules, by names of instructions.

    Raises:
        ValueError: two functions are marked with one name.
    """
    owners: dict[str, Any] = {}
    tables: dict[str, dict[str, Any]] = {"_implements": {}, "_controls": {}}
    for module in modules:
        own = [one for one in vars(module).values() if _home(one) == module.__name__]
        for builder, (attribute, table) in product(own, tables.items()):
            for name in getattr(builder, attribute, ()):
                other = owners.setdefault(name, builder)
                if name in table or other is not builder:
                    raise ValueError(
                        f"{name} is implemented twice: by {_named(other)} and by {_named(builder)}"
                    )
                table[name] = builder
    return tables["_implements"], tables["_controls"]


def _home(builder: Any) -> str | None:
    return getattr(builder, "__module__", None)


def _named(builder: Any) -> str:
    return f"{builder.__module__.rpartition('.')[2]}.{builder.__name__}"
