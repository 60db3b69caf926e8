"""The barriers of a kernel's text, one of which a replay leaves out at a time.

The kernel runs as it is; the engine is told that nobody waits at the barriers of a line, and says
when a warp passes them. So Numba infers the types once for all runs.

**Limits**: the barriers are the `cuda.syncthreads()` statements of the kernel's own text, those of
the device functions that it calls stay.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from types import FunctionType
from typing import Any

from ...lockstep.intrinsics.names import qualified
from ...lockstep.source import closure_values, source_tree

__all__ = ["barrier_lines", "has_barriers", "has_shared_memory"]


def barrier_lines(function: FunctionType) -> tuple[int, ...]:
    """The lines of the barriers in a kernel's own text, ascending."""
    return tuple(sorted({node.lineno for node in _barriers(function)}))


def has_barriers(function: FunctionType) -> bool:
    """Whether the kernel, or a function that it reaches, has a barrier of the block."""
    return any(
        isinstance(node, ast.Call) and qualified(_called(one, node.func)).startswith("syncthreads")
        for one in _reached(function, [])
        for node in ast.walk(source_tree(one))
    )


def has_shared_memory(function: FunctionType) -> bool:
    """Whether the kernel, or a function that it reaches, declares a shared array."""
    return any(
        isinstance(node, ast.Call) and qualified(_called(one, node.func)) == "shared.array"
        for one in _reached(function, [])
        for node in ast.walk(source_tree(one))
    )


def _barriers(function: FunctionType) -> Iterator[ast.expr]:
    """What is called in each statement that is a barrier of the block."""
    for node in ast.walk(source_tree(function)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            if qualified(_called(function, node.value.func)) == "syncthreads":
                yield node.value.func


def _reached(function: FunctionType, found: list[FunctionType]) -> list[FunctionType]:
    """A function and those of the program that it calls, and so on."""
    if function in found:
        return found
    found.append(function)
    for node in ast.walk(source_tree(function)):
        if isinstance(node, ast.Call):
            called = _called(function, node.func)
            inner = getattr(called, "py_func", None) or getattr(called, "fn", None) or called
            module = getattr(inner, "__module__", None) or ""
            if isinstance(inner, FunctionType) and not module.startswith(("numba", "numpy")):
                _reached(inner, found)
    return found


def _called(function: FunctionType, node: ast.expr) -> Any:
    """What a name, or attributes of one, stands for in a function; None if that is not known."""
    if isinstance(node, ast.Attribute):
        owner = _called(function, node.value)
        return None if owner is None else getattr(owner, node.attr, None)
    if not isinstance(node, ast.Name):
        return None
    return closure_values(function).get(node.id, function.__globals__.get(node.id))
