"""Which kernel a dispatcher is, so that two processes can tell that they mean the same one.

Kernels made by factories differ in what their functions enclose: tiles, types, device functions.
An identity is a digest of the code of the function and of all that it encloses, however deep. What
cannot be said in words that are the same in each process has none, and then its kernel has none.
"""

from __future__ import annotations

import dataclasses
import enum
import hashlib
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

__all__ = ["identity"]

_PLAIN = (type(None), bool, int, float, complex, str, bytes)


class _Unsaid(Exception):
    """Something of which no words are known that hold in another process."""


def identity(kernel: Any) -> str | None:
    """A digest that is equal for equal kernels in all processes; None where it cannot be said.

    Args:
        kernel: a dispatcher, or a function.
    """
    try:
        words = _words(kernel, {})
    except _Unsaid:
        return None
    return hashlib.sha256(repr(words).encode()).hexdigest()


def _words(value: Any, seen: dict[int, int]) -> Any:
    """What a value is, as tuples of words."""
    if isinstance(value, _PLAIN):
        return type(value).__name__, repr(value)
    if id(value) in seen:
        return "seen", seen[id(value)]
    seen[id(value)] = len(seen)
    if isinstance(value, tuple | list):
        return type(value).__name__, tuple(_words(one, seen) for one in value)
    if isinstance(value, dict):
        return "dict", tuple((_words(k, seen), _words(v, seen)) for k, v in value.items())
    if isinstance(value, FunctionType):
        return _function(value, seen)
    if isinstance(value, CodeType):
        return _code(value, seen)
    return _object(value, seen)


def _function(function: FunctionType, seen: dict[int, int]) -> Any:
    cells = tuple(_words(cell.cell_contents, seen) for cell in function.__closure__ or ())
    defaults = _words(function.__defaults__, seen), _words(function.__kwdefaults__, seen)
    return (
        function.__module__,
        function.__qualname__,
        _code(function.__code__, seen),
        cells,
        defaults,
    )


def _code(code: CodeType, seen: dict[int, int]) -> Any:
    constants = tuple(_words(one, seen) for one in code.co_consts)
    return code.co_code.hex(), code.co_names, code.co_varnames, code.co_freevars, constants


def _object(value: Any, seen: dict[int, int]) -> Any:
    from numba.core import types

    kind = f"{type(value).__module__}.{type(value).__qualname__}"
    if isinstance(value, type):
        return "class", f"{value.__module__}.{value.__qualname__}"
    if isinstance(value, ModuleType):
        return "module", value.__name__
    if isinstance(value, np.dtype | np.generic | enum.Enum | types.Type):
        return kind, repr(value)
    if isinstance(value, frozenset):
        return "frozenset", tuple(sorted(repr(_words(one, seen)) for one in value))
    function = getattr(value, "py_func", None)
    if isinstance(function, FunctionType):  # a dispatcher
        options = getattr(value, "targetoptions", {})
        return kind, _words(function, seen), tuple(sorted((k, repr(v)) for k, v in options.items()))
    function = getattr(value, "_defn", None)
    if isinstance(function, FunctionType):  # an intrinsic
        return kind, _words(function, seen)
    if dataclasses.is_dataclass(value):
        fields = dataclasses.fields(value)
        return kind, tuple((one.name, _words(getattr(value, one.name), seen)) for one in fields)
    name = getattr(value, "__qualname__", None)
    if isinstance(name, str) and getattr(value, "__module__", None):  # built in, or a stub
        return "named", value.__module__, name
    raise _Unsaid(kind)
