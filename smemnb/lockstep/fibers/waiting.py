"""What the source of a kernel says of the way to run it: who may wait for whom, how much memory.

A `while` loop can wait if its end depends on memory or on a call: a subscript or call in its
test, a `break` or `return` in its body, or a variable of the test that the body assigns from such
an expression. Only launches of such kernels keep a copy of their arguments, so that they can
begin anew in another order.
"""

from __future__ import annotations

import ast
import inspect
import math
from collections.abc import Iterable, Iterator
from types import ModuleType
from typing import Any

from ...errors import UnsupportedSyntax
from ..lifetime import once_per_function
from ..memory.attributes import numpy_dtype
from ..protocol import implementation_of
from ..source import closure_values, source_tree

_TOUCHES = (ast.Subscript, ast.Call)


def waits_on_memory(loop: ast.While) -> bool:
    """Whether the end of a while loop may depend on what other threads store."""
    inside = [node for part in loop.body for node in ast.walk(part)]
    if not _touches([*inside, *ast.walk(loop.test)]):
        return False
    if isinstance(loop.test, ast.Constant) or _touches(ast.walk(loop.test)):
        return True
    if any(isinstance(node, (ast.Break, ast.Return)) for node in inside):
        return True
    return bool(_variables(loop.test) & _taken_from_memory(inside))


def _touches(nodes: Iterable[ast.AST]) -> bool:
    return any(isinstance(node, _TOUCHES) for node in nodes)


def _variables(node: ast.AST) -> set[str]:
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}


def _taken_from_memory(nodes: list[ast.AST]) -> set[str]:
    """Variables whose value comes from memory or a call, directly or through others."""
    steps: list[tuple[set[str], ast.expr]] = []
    for node in nodes:
        if isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign)) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            written = {name for target in targets for name in _variables(target)}
            steps.append((written, node.value))
    found: set[str] = set()
    for _ in steps:
        for written, value in steps:
            if _touches(ast.walk(value)) or _variables(value) & found:
                found |= written
    return found


@once_per_function
def needs(function: Any) -> frozenset[str]:
    """What a kernel, with the functions it calls, may need: "wait", "grid" (a grid barrier)."""
    found = set()
    for _, node, target in _loops_and_calls(function, set()):
        if isinstance(node, ast.While) and waits_on_memory(node):
            found.add("wait")
        if getattr(implementation_of(target), "waits", False):
            found.add("wait")
        if getattr(target, "__name__", "") == "this_grid":
            found.add("grid")
    return frozenset(found)


@once_per_function
def starts_copies(function: Any) -> bool:
    """Whether a kernel, with the functions it calls, names an asynchronous copy."""
    return _names(function, "starts_copies")


@once_per_function
def has_tiles(function: Any) -> bool:
    """Whether it names a bulk copy or a product of a warpgroup."""
    return _names(function, "of_tiles")


def _names(function: Any, mark: str) -> bool:
    """Whether it names an intrinsic whose implementation has this mark."""
    return any(
        getattr(implementation_of(target), mark, False)
        for _, _, target in _loops_and_calls(function, set())
    )


@once_per_function
def local_bytes(function: Any) -> int:
    """Bytes of the local arrays of one thread, as far as the source gives their sizes."""
    total = 0
    for owner, node, target in _loops_and_calls(function, set()):
        if isinstance(node, ast.Call) and getattr(target, "__qualname__", "") == "local.array":
            named = {keyword.arg: keyword.value for keyword in node.keywords}
            named.update(zip(("shape", "dtype"), node.args, strict=False))
            itemsize = _itemsize(_called(owner, named.get("dtype")))
            total += _elements(owner, named.get("shape")) * itemsize
    return total


def _elements(function: Any, shape: ast.expr | None) -> int:
    """Elements of an array of this shape; 0 if only a running kernel knows it."""
    if isinstance(shape, ast.Tuple):
        return math.prod(_elements(function, extent) for extent in shape.elts)
    value = shape.value if isinstance(shape, ast.Constant) else _called(function, shape)
    return value if isinstance(value, int) else 0


def _itemsize(dtype: Any) -> int:
    try:
        return numpy_dtype(dtype).itemsize
    except (TypeError, ValueError):
        return 8


def _loops_and_calls(function: Any, seen: set[Any]) -> Iterator[tuple[Any, ast.AST, Any]]:
    """(function, while loop or call in it, what is called), through all functions it calls."""
    if function in seen:
        return
    seen.add(function)
    try:
        tree = source_tree(function)
    except UnsupportedSyntax:  # the call itself is refused where it is compiled
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.While):
            yield function, node, None
        if isinstance(node, ast.Call):
            target = _called(function, node.func)
            yield function, node, target
            target = getattr(target, "py_func", target)
            module = getattr(target, "__module__", None) or ""
            if inspect.isfunction(target) and not module.startswith(("numba", "numpy")):
                yield from _loops_and_calls(target, seen)


def _called(function: Any, node: ast.expr | None) -> Any:
    """What a name or a module's attribute stands for in a function, None if that is not known."""
    if isinstance(node, ast.Attribute):
        owner = _called(function, node.value)
        known = isinstance(owner, (ModuleType, type))
        return getattr(owner, node.attr, None) if known else None
    if not isinstance(node, ast.Name):
        return None
    return closure_values(function).get(node.id, function.__globals__.get(node.id))
