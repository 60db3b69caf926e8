"""The exercises by name: an exercise is imported when it is asked for."""

from __future__ import annotations

import difflib
from functools import cache
from importlib import import_module
from typing import Any

from .chapters import CHAPTERS
from .exercise import Exercise

NAMES = tuple(name for names in CHAPTERS.values() for name in names)
"""The names of all exercises, in the order of the chapters."""


@cache
def exercises() -> tuple[Exercise, ...]:
    """Every exercise, in the order of the chapters.

    >>> exercises()[0].name
    'ex00_scale'
    """
    return tuple(_loaded(name) for name in NAMES)


def find(name: Any) -> Exercise | None:
    """The exercise of that name, None if there is none."""
    return _loaded(name) if isinstance(name, str) and name in NAMES else None


def _loaded(name: str) -> Exercise:
    exercise: Exercise = import_module(f"{__package__}.chapters.{name}").EXERCISE
    return exercise


def unknown(name: Any, listed_by: str = "progress()") -> str:
    """The answer to someone who asks for an exercise that does not exist.

    >>> unknown("ex00_scales")
    'there is no exercise "ex00_scales"; did you mean ex00_scale?'
    >>> unknown(None)
    'the first argument is the name of an exercise in quotes, such as "ex00_scale"'
    """
    if not isinstance(name, str):
        return f'the first argument is the name of an exercise in quotes, such as "{NAMES[0]}"'
    near = difflib.get_close_matches(name.lower(), NAMES, n=3, cutoff=0.8)
    near += [other for other in NAMES if name and name.lower() in other]
    said = " or ".join(dict.fromkeys(near[:3]))
    ask = f"did you mean {said}?" if said else f"{listed_by} lists them all."
    return f'there is no exercise "{name[:40]}"; {ask}'
