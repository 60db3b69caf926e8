"""Where a kernel calls into Numba's own functions, as those of cuda.random.

A finding inside such a function is brought about by the call, and only the call can be changed: it
is reported there. The calls are read from the source of the kernel and of its device functions;
what a name stands for is looked up as Numba does, in the closure and among the globals.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator
from dataclasses import dataclass
from types import FunctionType
from typing import Any

from ..errors import SmemnbError
from ..lockstep.source import closure_values, source_tree
from ..lockstep.watch import Site

Code = tuple[str, str]
"""File and name of a function, as a site has them."""


@dataclass(frozen=True)
class Call:
    """A call of a function of Numba's by one that is not: its site, and what is called."""

    site: Site
    name: str


def calls_into_numba(kernel: FunctionType) -> dict[Code, Call]:
    """The first call through which each function of Numba's is reached."""
    found: dict[Code, Call] = {}
    seen: set[Any] = set()
    waiting: list[tuple[FunctionType, Call | None]] = [(kernel, None)]
    while waiting:
        function, entry = waiting.pop(0)
        if function.__code__ in seen:
            continue
        seen.add(function.__code__)
        if entry is not None:
            found[function.__code__.co_filename, function.__code__.co_name] = entry
        for node, callee in _calls(function):
            into = entry
            if entry is None and is_from_numba(callee):
                into = Call(_site(function, node), ast.unparse(node.func).split(".")[-1])
            waiting.append((callee, into))
    return found


def is_from_numba(function: Any) -> bool:
    """Whether a function is Numba's own, as those of cuda.random are."""
    return str(function.__module__).split(".")[0] in ("numba", "numba_cuda")


def _site(function: FunctionType, node: ast.Call) -> Site:
    code = function.__code__
    return Site(
        code.co_name, code.co_filename, node.lineno, node.col_offset, ast.unparse(node), "call"
    )


def _calls(function: FunctionType) -> Iterator[tuple[ast.Call, FunctionType]]:
    """The calls in a function whose callee is a function of Python, or a dispatcher of one."""
    try:
        tree = source_tree(function)
    except SmemnbError:  # no text, no calls
        return
    names = {**vars(builtins), **function.__globals__, **closure_values(function)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            callee = _value(node.func, names)
            callee = getattr(callee, "py_func", callee)
            if isinstance(callee, FunctionType):
                yield node, callee


def _value(node: ast.expr, names: dict[str, Any]) -> Any:
    """What a name or a dotted name stands for, None if that is not known before the launch."""
    if isinstance(node, ast.Name):
        return names.get(node.id)
    if isinstance(node, ast.Attribute):
        return getattr(_value(node.value, names), node.attr, None)
    return None
