"""A live kernel and all that it names, as a Program: in the process of the learner's code.

What the kernel's global names and closures stand for when the file has run is written down: plain
values, listed modules, device functions with theirs. Nothing of the process comes out but that.
"""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

from ...exercises.source import function_of
from ..options import OPTIONS, REFUSED
from ..permitted import steps
from ..program import MAX_FUNCTIONS, Function, NotAProgram, Program, Value, value_of


def program_of(kernel: Any, places: Mapping[str, str] | None = None) -> Program:
    """A kernel under @cuda.jit as data; `places` says in words where a file's text is from.

    Raises:
        NotAProgram: it names something that is no data, with the name and the function.
    """
    recorder = _Recorder(places or {})
    recorder.add(kernel)
    return Program(tuple(one for one in recorder.found if one is not None), 0)


class _Recorder:
    def __init__(self, places: Mapping[str, str]) -> None:
        self.found: list[Function | None] = []
        self._seen: dict[int, int] = {}
        self._places = places

    def add(self, made: Any) -> int:
        """The index of a function, with all that it names behind it."""
        if id(made) in self._seen:
            return self._seen[id(made)]
        function = function_of(made)
        assert function is not None
        if len(self.found) >= MAX_FUNCTIONS:
            raise NotAProgram(
                f"more than {MAX_FUNCTIONS} functions: {function.__name__} is one more"
            )
        index = self._seen[id(made)] = len(self.found)
        self.found.append(None)
        file = function.__code__.co_filename
        try:
            lines, first = inspect.getsourcelines(function)
        except (OSError, TypeError):
            raise NotAProgram(f"the source of {function.__name__} cannot be read") from None
        names = {}
        for name, value in _named(function):
            try:
                names[name] = self._value(value)
            except NotAProgram as error:
                raise NotAProgram(f"{name}, a name in {function.__name__}: {error}") from None
        self.found[index] = Function(
            function.__name__,
            textwrap.dedent("".join(lines)),
            self._places.get(file, Path(file).name),
            max(1, first),
            _kind(made),
            _options(made),
            names,
            tuple(self._value(one) for one in function.__defaults__ or ()),
        )
        return index

    def _value(self, value: Any) -> Value:
        try:
            return value_of(value)
        except NotAProgram:
            if function_of(value) is None or isinstance(value, type):
                raise
        return Value("function", self.add(value))


def _named(function: FunctionType) -> Iterator[tuple[str, Any]]:
    """What the names in a function that are none of its own stand for."""
    closed = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    for name, cell in closed.items():
        try:
            yield name, cell.cell_contents
        except ValueError:  # it is bound later, or never
            continue
    for name in sorted(_global_names(function.__code__) - set(closed)):
        if name in function.__globals__:
            yield name, function.__globals__[name]


def _global_names(code: CodeType) -> set[str]:
    found = {str(step.argval) for step in steps(code) if step.opname == "LOAD_GLOBAL"}
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            found |= _global_names(inner)
    return found


def _kind(made: Any) -> str:
    classes = {base.__name__ for base in type(made).__mro__}
    if isinstance(made, FunctionType):
        return "plain"
    if "CPUDispatcher" in classes:
        return "cpu"
    return "device" if _target_options(made).get("device") else "kernel"


def _target_options(made: Any) -> Mapping[str, Any]:
    options = getattr(made, "targetoptions", None)
    return options if isinstance(options, Mapping) else {}


def _options(made: Any) -> dict[str, Value]:
    """The options of its decorator; those that are refused are named, and so refused."""
    found = {}
    for name, value in _target_options(made).items():
        if name in REFUSED and value:
            found[name] = Value("none", "None")
        elif name in OPTIONS and value is not None:
            flag = bool in OPTIONS[name] and not isinstance(value, OPTIONS[name])
            found[name] = value_of(bool(value) if flag else value)  # Numba keeps debug=0
    return found
