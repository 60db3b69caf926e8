"""The barriers of a kernel's text, and the kernel without one of them.

In the place of the barrier stands a fence of the block: nobody waits at it, and the engine says
when a warp passes it. All else keeps its line, and the text is registered under a name of its own,
so that Numba's inference and the engine read it as they read any kernel.

**Limits**: the barriers are the `cuda.syncthreads()` statements of the kernel's own text, those of
the device functions that it calls stay. Signatures that the kernel was declared with are not
declared again: its types are those of the arguments.
"""

from __future__ import annotations

import ast
import linecache
from collections.abc import Iterator
from types import FunctionType
from typing import Any
from zlib import crc32

from ...lockstep.intrinsics.names import qualified
from ...lockstep.source import closure_values, source, source_tree

__all__ = ["barrier_lines", "has_shared_memory", "without_barrier"]

FENCE, MODULE = "threadfence_block", "__smemnb_cuda__"


def barrier_lines(function: FunctionType) -> tuple[int, ...]:
    """The lines of the barriers in a kernel's own text, ascending."""
    return tuple(sorted({node.lineno for node in _barriers(function)}))


def has_shared_memory(function: FunctionType) -> bool:
    """Whether the kernel, or a function that it reaches, declares a shared array."""
    return any(
        isinstance(node, ast.Call) and qualified(_called(one, node.func)) == "shared.array"
        for one in _reached(function, [])
        for node in ast.walk(source_tree(one))
    )


def without_barrier(kernel: Any, function: FunctionType, line: int) -> Any:
    """The kernel with a fence of the block in the place of the barriers of a line.

    Args:
        kernel: what was launched: a dispatcher of numba.cuda, or a plain function.
        function: its Python function.
        line: where a barrier stands.
    """
    text, first = source(function).lines, source(function).first
    body = list(text)
    for node in sorted(_barriers(function), key=lambda node: -node.col_offset):
        if node.lineno == line:
            _replace(body, node, first)
    tree = source_tree(function)
    start = tree.lineno - first  # the `def`, past its decorators
    indent = len(body[start]) - len(body[start].lstrip())
    kept = [one[indent:] if not one[:indent].strip() else one for one in body[start:]]
    whole = "\n" * (tree.lineno - 1) + "".join(one.rstrip("\n") + "\n" for one in kept)
    file = f"<{function.__name__} without line {line} {crc32(whole.encode()):x}>"
    linecache.cache[file] = (len(whole), None, whole.splitlines(keepends=True), file)
    names = {**function.__globals__, **closure_values(function), MODULE: _cuda()}
    exec(compile(whole, file, "exec"), names)
    made: FunctionType = names[tree.name]
    made.__defaults__ = function.__defaults__
    options = getattr(kernel, "targetoptions", None)
    return made if options is None else type(kernel)(made, dict(options))


def _cuda() -> Any:
    from numba import cuda

    return cuda


def _barriers(function: FunctionType) -> Iterator[ast.expr]:
    """What is called in each statement that is a barrier of the block."""
    for node in ast.walk(source_tree(function)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            if qualified(_called(function, node.value.func)) == "syncthreads":
                yield node.value.func


def _replace(lines: list[str], node: ast.expr, first: int) -> None:
    """Write the fence where a barrier's name stands."""
    at = node.lineno - first
    octets = lines[at].encode()
    owner = ast.unparse(node).rpartition(".")[0] or MODULE
    before, after = octets[: node.col_offset], octets[node.end_col_offset :]
    lines[at] = (before + f"{owner}.{FENCE}".encode() + after).decode()


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
