"""All exercises, found by walking `chapters/`: a new chapter needs no entry anywhere.

The rooms in `chapters/` are parts of the course; in them stands a file or folder per chapter.
"""

from __future__ import annotations

import difflib
import pkgutil
from functools import cache
from importlib import import_module
from typing import Any

from . import chapters
from .exercise import Exercise


@cache
def exercises() -> tuple[Exercise, ...]:
    """Every exercise, in the order of the chapters and of their files.

    >>> exercises()[0].name
    'ex00_scale'
    """
    found: dict[str, str] = {}  # name of a chapter -> its module
    for room in pkgutil.iter_modules(chapters.__path__):
        part = import_module(f"{chapters.__name__}.{room.name}")
        for module in pkgutil.iter_modules(part.__path__):
            found[module.name] = f"{part.__name__}.{module.name}"
    modules = [import_module(found[name]) for name in sorted(found)]
    return tuple(exercise for module in modules for exercise in module.EXERCISES)


def find(name: Any) -> Exercise | None:
    """The exercise of that name, None if there is none."""
    if not isinstance(name, str):
        return None
    return next((exercise for exercise in exercises() if exercise.name == name), None)


def unknown(name: Any) -> str:
    """What to tell someone who asks for an exercise that does not exist.

    >>> unknown("ex00_scales")
    'there is no exercise "ex00_scales"; did you mean ex00_scale?'
    >>> unknown(None)
    'the first argument is the name of an exercise in quotes, such as "ex00_scale"'
    """
    known = [exercise.name for exercise in exercises()]
    if not isinstance(name, str):
        return f'the first argument is the name of an exercise in quotes, such as "{known[0]}"'
    near = difflib.get_close_matches(name.lower(), known, n=3, cutoff=0.8)
    near += [other for other in known if name and name.lower() in other]
    said = " or ".join(dict.fromkeys(near[:3]))
    ask = f"did you mean {said}?" if said else "progress() lists them all."
    return f'there is no exercise "{name[:40]}"; {ask}'
