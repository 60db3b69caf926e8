"""Where a program keeps the text of a function, and which lines a reader is shown.

`linecache` has the text of files, of notebook cells, of sessions, and what a module's loader gives.
Code made by `exec` from a text that nobody registered has none there. Its text is then looked for
where programs leave it: in an attribute or a global of the function, or in the variables and
constants of the calls in progress, best while the function is decorated. What is found is used
only if it compiles to the function (`same_code`), so nothing is guessed.
"""

from __future__ import annotations

import linecache
import sys
from collections.abc import Iterable, Iterator
from types import FrameType
from typing import Any

_LONGEST = 1 << 20  # characters of a text that is looked at
_DEEPEST = 64  # calls in progress that are looked at, the innermost first

_stood: dict[str, dict[int, str]] = {}  # lines that are not in their file any more


def registered_lines(function: Any) -> list[str]:
    """The lines that Python itself would show for a function's file; [] where there are none."""
    code = function.__code__
    linecache.checkcache(code.co_filename)
    lines = linecache.getlines(code.co_filename, function.__globals__)
    if not lines:  # of a session, from Python 3.13 on
        lines = getattr(linecache, "_getlines_from_code", lambda _: [])(code) or []
    return lines


def texts_in_reach(function: Any) -> Iterator[str]:
    """Texts that may define a function: what its program holds at this moment."""
    name = function.__code__.co_name
    mark = "lambda" if name == "<lambda>" else f"def {name}"
    seen: set[str] = set()
    for value in _values_in_reach(function):
        for text in _texts(value):
            if mark in text and len(text) < _LONGEST and text not in seen:
                seen.add(text)
                yield text


def _values_in_reach(function: Any) -> Iterator[Any]:
    yield from vars(function).values()
    yield from list(function.__globals__.values())
    frame: FrameType | None = sys._getframe(1)
    for _ in range(_DEEPEST):
        if frame is None:
            return
        yield from frame.f_code.co_consts
        if frame.f_globals is not function.__globals__:
            yield from list(frame.f_globals.values())
        if frame.f_locals is not frame.f_globals:
            yield from list(frame.f_locals.values())
        frame = frame.f_back


def _texts(value: Any) -> Iterator[str]:
    """A text, or the lines of one."""
    if isinstance(value, str):
        yield value
    elif type(value) is list and value and all(isinstance(line, str) for line in value):
        yield "\n".join(value)
        yield "".join(value)


def remember_lines(file: str, first: int, lines: Iterable[str]) -> None:
    """Note the lines of a function where its bytecode has them."""
    _stood.setdefault(file, {}).update(enumerate(lines, first))


def forget_lines(file: str, first: int, count: int) -> None:
    """Note that these lines are in their file again, as after it was imported anew."""
    stood = _stood.get(file, {})
    for number in range(first, first + count) if stood else ():
        stood.pop(number, None)


def shown_lines(file: str, module_globals: dict[str, Any] | None = None) -> list[str]:
    """The lines of a file as the functions at hand were compiled from it."""
    lines = linecache.getlines(file, module_globals)
    stood = _stood.get(file)
    if not stood:
        return lines
    lines = [*lines, *["\n"] * (max(stood) - len(lines))]
    for number, line in stood.items():
        lines[number - 1] = line
    return lines


def shown_line(file: str, line: int, module_globals: dict[str, Any] | None = None) -> str:
    """One of `shown_lines`, without its indent; "" where there is none."""
    lines = shown_lines(file, module_globals)
    return lines[line - 1].strip() if 0 < line <= len(lines) else ""
