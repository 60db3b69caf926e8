"""What of a submission would run on the host: a kernel is graded by what its own statements do.

A kernel knows more than its text: options of `@cuda.jit` that run Python before and after a launch
(`extensions=`), functions with a second meaning for the engine (`__lockstep__`), objects whose
operators, attributes or constructors are Python. On a GPU none of this would be in the kernel;
here it could write outputs, or hide accesses from the counts. So `check` refuses them, and says
which name it is. Numbers, tuples, arrays, types, modules, device functions and what Numba, NumPy
and smemnb themselves bring are as good as ever.

**Limits**: whoever changes Numba or smemnb inside of this process (patches a module, registers an
extension of Numba for arrays) is not stopped here; grading a class does not run learners' code.
"""

from __future__ import annotations

import dis
import sys
from collections import namedtuple
from collections.abc import Iterator
from enum import Enum, EnumMeta
from inspect import getattr_static
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from .source import described, function_of

TRUSTED = {"numba", "numba_cuda", "numpy", "smemnb", "math", "cmath", "operator", "builtins"}
"""Packages whose functions and classes are what they are called."""

_PLAIN = (type(None), bool, int, float, complex, str, bytes, type(Ellipsis), slice, range)
_OF_ITS_TEXT = {
    *("__doc__", "__annotations__", "__orig_bases__", "__firstlineno__", "__static_attributes__"),
    *("__annotate__", "__annotate_func__", "__annotations_cache__"),
}
"""What Python notes of the text of a `class ...(NamedTuple)`."""
_OPTIONS = {"extensions": "they run Python before and after the launch", "link": "it is not read"}
_MARKS = {
    "__lockstep__": "a second meaning for the engine",
    "__wrapped__": "the text of another function",
    "__signature__": "parameters that are not its own",
}


def host_hook(kernel: Any) -> str:
    """Say which part of a kernel would run on the host, or stand for other code; "" if none."""
    function = function_of(kernel)
    if function is None:
        return ""
    name = function.__name__
    if type(kernel) is not FunctionType and not is_trusted(type(kernel)):
        return f"{name} is {described(type(kernel))}, which only looks like a kernel of Numba"
    for option, why in _OPTIONS.items():
        if getattr(kernel, "targetoptions", {}).get(option):
            return f"{name} has {option}=, and {why}: leave it out of @cuda.jit"
    if getattr_static(kernel, "__lockstep__", None) is not None:
        return f"{name} carries __lockstep__, {_MARKS['__lockstep__']}: leave it out"
    waiting, met = [function], {id(function)}
    while waiting:
        one = waiting.pop()
        said = _marked(one)
        if said:
            return said
        for what, value in _known(one):
            said = _objection(value)
            if said:
                return f"{what} in {one.__name__} {said}"
            for called in _functions(value):
                if id(called) not in met:
                    met.add(id(called))
                    waiting.append(called)
    return ""


def is_trusted(value: Any) -> bool:
    """Whether a function or class is found under its own name in a trusted package.

    >>> is_trusted(np.sqrt), is_trusted(np.frompyfunc(abs, 1, 1)), is_trusted(is_trusted)
    (True, False, True)
    """
    module = getattr_static(value, "__module__", None)
    if not isinstance(module, str):
        module = getattr(value, "__module__", None)
    name = getattr(value, "__qualname__", None) or getattr(value, "__name__", None)
    if not isinstance(module, str) or not isinstance(name, str):
        return False
    found: Any = sys.modules.get(module) if module.lstrip("_").split(".")[0] in TRUSTED else None
    for part in name.split("."):
        found = None if found is None else getattr(found, part, None)
    return found is not None and found is value


def _functions(value: Any) -> list[FunctionType]:
    """The functions that a value stands for, in a tuple, too, and that are somebody's own."""
    if isinstance(value, tuple):
        return [function for item in value for function in _functions(item)]
    called = None if is_trusted(value) else function_of(value)
    return [] if called is None else [called]


def _marked(function: FunctionType) -> str:
    for mark, what in _MARKS.items():
        if mark in vars(function):
            return f"{function.__name__} carries {mark}, {what}: leave it out"
    return ""


def _known(function: FunctionType) -> Iterator[tuple[str, Any]]:
    """What a function knows from outside, with its name: globals, closure, defaults, attributes."""
    for name in sorted(_names(function.__code__) & function.__globals__.keys()):
        value = function.__globals__[name]
        if isinstance(value, ModuleType) and not _is_package(value):
            inside = _names(function.__code__) & vars(value).keys()
            yield from ((f"{name}.{one}", vars(value)[one]) for one in sorted(inside))
        if not _objection(value) or name in _globals(function.__code__):
            yield name, value
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            yield name, cell.cell_contents
        except ValueError:  # nothing in it yet
            continue
    for value in function.__defaults__ or ():
        yield "a default", value


def _names(code: CodeType) -> set[str]:
    """The globals and attributes that a code names, in the functions inside it, too."""
    return {*code.co_names}.union(*map(_names, _inside(code)))


def _globals(code: CodeType) -> set[str]:
    """The globals alone: `threadIdx.x` does not ask for a global x."""
    loads = ("LOAD_GLOBAL", "LOAD_NAME")
    own = {step.argval for step in dis.get_instructions(code) if step.opname in loads}
    return own.union(*map(_globals, _inside(code)))


def _inside(code: CodeType) -> list[CodeType]:
    return [inner for inner in code.co_consts if isinstance(inner, CodeType)]


def _is_package(module: ModuleType) -> bool:
    name = getattr_static(module, "__name__", "") or ""
    return str(name).split(".")[0] in TRUSTED and sys.modules.get(str(name)) is module


def _objection(value: Any) -> str:
    """Say why a value is none that a kernel may know; "" if it may."""
    kind = type(value)
    if kind in _PLAIN or is_trusted(value):
        return ""
    if getattr_static(value, "__lockstep__", None) is not None:
        what = _MARKS["__lockstep__"]
        return f"carries __lockstep__, {what}: leave it out"
    if kind is FunctionType:
        return ""
    if kind is ModuleType or (isinstance(value, ModuleType) and _is_package(value)):
        return ""
    if kind is np.ndarray:
        said = "is an array of Python objects: give it a dtype of numbers"
        return said if value.dtype.hasobject else ""
    if issubclass(kind, tuple):
        if kind is not tuple and not _is_plain_named_tuple(kind):
            return f"is {_of(kind)}, a tuple with methods of its own: give a plain tuple"
        return next(filter(None, map(_objection, value)), "")
    if isinstance(value, type):
        if _is_plain_named_tuple(value) or type(value) is EnumMeta:
            return ""
        return f"is {described(value)}, whose methods would run on the host: give numbers or arrays"
    if isinstance(value, Enum):
        return "" if type(kind) is EnumMeta else f"is {_of(kind)}, an enum of a kind of its own"
    numpys = issubclass(kind, np.generic | np.dtype)
    numbas = kind.__module__.split(".")[0] in ("numba", "numba_cuda")
    if (numpys or numbas) and is_trusted(kind):  # numbers, types, device functions
        return ""
    return (
        f"is {_of(kind)}, whose methods would run on the host: give a number, a tuple or an array"
    )


def _of(kind: type) -> str:
    return f"a value of type {kind.__name__}"


def _is_plain_named_tuple(kind: type) -> bool:
    """Whether a class is what `namedtuple` or `NamedTuple` makes, and nothing was added to it."""
    fields = vars(kind).get("_fields")
    if kind.__bases__ != (tuple,) or not isinstance(fields, tuple):
        return False
    usual = vars(namedtuple("usual", fields))
    own = {*vars(kind)} - _OF_ITS_TEXT
    return own <= {*usual} and all(
        type(vars(kind)[name]) is type(usual[name]) for name in own & {*usual} - {"__module__"}
    )
