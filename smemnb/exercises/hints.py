"""Help in steps: three hints from a question to almost the code, then the solution itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .glossary_links import unlinked
from .progress import remember
from .registry import find, unknown
from .source import Source, source_of
from .variants import shown_solution


@dataclass(frozen=True, repr=False)
class Hint:
    """One hint; `level` is 0 if there is none."""

    level: int
    text: str

    def __repr__(self) -> str:
        return unlinked(self.text)

    def _repr_html_(self) -> str:
        from .as_html import note

        return note(self.text)


def hint(name: str, level: int = 1) -> Hint:
    """Give hint 1, 2 or 3 of an exercise, from the idea to almost the code.

    >>> hint("ex00_scale", 4)
    ex00_scale has hints 1, 2 and 3: there is no hint 4.
    """
    exercise = find(name)
    if exercise is None:
        return Hint(0, f"No hint: {unknown(name)}")
    levels = range(1, len(exercise.hints) + 1)
    if isinstance(level, str) and level.strip() in {str(number) for number in levels}:
        text = f'The level is a number, without quotes: hint("{name}", {level.strip()}).'
        return Hint(0, text)
    if isinstance(level, bool) or level not in levels:
        return Hint(0, f"{name} has hints 1, 2 and 3: there is no hint {str(level)[:20]}.")
    remember(name, hints=int(level))
    text = exercise.hints[level - 1]
    more = f'hint("{name}", {level + 1})' if level < len(levels) else f'solution("{name}")'
    return Hint(int(level), f"{level} of {len(levels)}: {text}\nMore: {more}")


def solution(name: Any) -> Source:
    """Show the source of an exercise's solution; its `kernel` can be launched and traced.

    Device functions that the learner writes as well stand above it.
    """
    exercise = find(name)
    if exercise is None:
        return Source(f"No solution: {unknown(name)}")
    texts = [*map(source_of, exercise.written), shown_solution(exercise.solution)]
    text = "\n\n\n".join(text for text in texts if text)
    return Source(text, exercise.solution, form="python")
