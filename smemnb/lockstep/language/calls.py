"""Calls: intrinsics, casts, functions of math and NumPy, and device functions.

What is called must be known while compiling (a global, a closure variable, a module's attribute),
as in Numba. The order of the search: a meaning declared by `protocol.lockstep_meaning`, the
intrinsics of `numba.cuda` by their qualified name, a type used as a cast, the functions of
`math_functions`, a device function.
"""

from __future__ import annotations

import ast
import builtins
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from ..lanes import LaneValue, Mask, cast
from ..meanings import printing
from ..meanings.names import MEANINGS, REFUSED, meaning_of_call, qualified
from ..memory import KernelArray
from ..numbers.math_functions import FUNCTIONS, to_bool, to_float, to_int
from ..protocol import meaning_of
from .scope import EXPRESSIONS, UNKNOWN, Expression, Frame, Scope

_BUILTIN_CASTS: dict[Any, Callable[[LaneValue], LaneValue]] = {
    builtins.int: to_int,
    builtins.float: to_float,
    builtins.bool: to_bool,
}


def as_dtype(target: object) -> np.dtype[Any] | None:
    """The NumPy dtype of a type of NumPy or Numba, None for anything else."""
    if isinstance(target, np.dtype):
        return target
    if isinstance(target, type) and issubclass(target, np.generic):
        return np.dtype(target)
    if type(target).__module__.startswith(("numba.core.types", "numba.cuda.types")):
        try:
            return np.dtype(str(target))
        except TypeError:
            return None
    return None


def _arguments(
    scope: Scope, node: ast.Call
) -> tuple[list[Expression], list[tuple[str, Expression]]]:
    for argument in node.args:
        if isinstance(argument, ast.Starred):
            scope.refuse(node, "a call with *arguments", "Name every argument.")
    named = []
    for keyword in node.keywords:
        if keyword.arg is None:
            scope.refuse(node, "a call with **arguments", "Name every argument.")
        named.append((keyword.arg, scope.expression(keyword.value)))
    return [scope.expression(argument) for argument in node.args], named


def _call(scope: Scope, node: ast.Call) -> Expression:
    declared, scope.declared = scope.declared, ""
    target = scope.static(node.func)
    if target is UNKNOWN:
        return _method(scope, node)
    meaning = meaning_of(target)
    if meaning is not None:
        return _intrinsic(scope, node, meaning, "call", "")
    name = qualified(target)
    if name in MEANINGS:
        meaning, kind = meaning_of_call(name, node, scope.tree)
        return _intrinsic(scope, node, meaning, kind, declared)
    if name in REFUSED:
        scope.refuse(node, *REFUSED[name])
    if name and not hasattr(target, "py_func"):
        scope.refuse(
            node,
            f"the engine does not know cuda.{name}",
            "Chapter 00 lists what it knows; use one of those.",
        )
    return _plain_call(scope, node, target)


def _plain_call(scope: Scope, node: ast.Call, target: Any) -> Expression:
    """A cast, a function of math or NumPy, or a device function."""
    dtype = as_dtype(target)
    if dtype is not None:
        return _cast(scope, node, lambda value: cast(value, dtype))
    if target in _BUILTIN_CASTS:
        return _cast(scope, node, _BUILTIN_CASTS[target])
    if target is builtins.len:
        return _length(scope, node)
    if target is builtins.print:
        return _intrinsic(scope, node, printing.print_lanes, "print", "")
    if _is_known(target):
        function, (arguments, _) = FUNCTIONS[target], _arguments(scope, node)
        return lambda frame, mask: function(*(argument(frame, mask) for argument in arguments))
    function = getattr(target, "py_func", target)
    if inspect.isfunction(function):
        return _device_call(scope, node, function)
    return scope.refuse(
        node,
        f"{ast.unparse(node.func)} cannot be called in a kernel",
        "Call cuda intrinsics, functions of math, or device functions.",
    )


def _is_known(target: Any) -> bool:
    try:
        return target in FUNCTIONS
    except TypeError:  # not hashable, so it is no function
        return False


def _intrinsic(
    scope: Scope, node: ast.Call, meaning: Callable[..., Any], kind: str, declared: str
) -> Expression:
    arguments, named = _arguments(scope, node)
    site = scope.site(node, kind, declared)

    def run(frame: Frame, mask: Mask) -> LaneValue:
        values = [argument(frame, mask) for argument in arguments]
        keywords = {name: value(frame, mask) for name, value in named}
        return meaning(frame.batch, mask, site, *values, **keywords)

    return run


def _cast(scope: Scope, node: ast.Call, convert: Callable[[LaneValue], LaneValue]) -> Expression:
    arguments, named = _arguments(scope, node)
    if len(arguments) != 1 or named:
        scope.refuse(node, f"{ast.unparse(node)} casts more than one value", "Cast one value.")
    value = arguments[0]
    return lambda frame, mask: convert(value(frame, mask))


def _length(scope: Scope, node: ast.Call) -> Expression:
    value = scope.expression(node.args[0])

    def run(frame: Frame, mask: Mask) -> LaneValue:
        target = value(frame, mask)
        return np.int64(target.shape[0] if isinstance(target, KernelArray) else len(target))

    return run


def _device_call(scope: Scope, node: ast.Call, function: Any) -> Expression:
    arguments, named = _arguments(scope, node)
    library = scope.library
    dtype = library.returned(function)

    def run(frame: Frame, mask: Mask) -> LaneValue:
        values = [argument(frame, mask) for argument in arguments]
        keywords = {name: value(frame, mask) for name, value in named}
        result = library.program(function).run(frame.batch, mask, values, keywords)
        return result if dtype is None or result is None else cast(result, dtype)

    return run


def _method(scope: Scope, node: ast.Call) -> Expression:
    return scope.refuse(
        node,
        f"the engine does not know the method {ast.unparse(node.func)}",
        "Write the loop out, or use a function of cuda or math.",
    )


EXPRESSIONS[ast.Call] = _call
