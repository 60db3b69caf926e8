"""What a decorator makes of a function: a kernel, a device function, one for the CPU.

Of `@cuda.jit` the options in OPTIONS are kept; `extensions=` and `link=` are refused by name, as
they bring code of the host, or code that is not the kernel's, into a launch.
"""

from __future__ import annotations

import ast
from typing import Any

from ..options import DROPPED, OPTIONS, REFUSED
from ..program import NotAProgram, Value, value_of
from ..signatures import of_tree, signature_text
from .constants import Constants, Host, Unclear, said

JIT = "numba.cuda.jit"
_CPU = ("numba.njit", "numba.jit")


def decorated(constants: Constants, decorators: list[ast.expr]) -> tuple[str, dict[str, Value]]:
    """The kind of a function with these decorators, and the options of it.

    Raises:
        Unclear: a decorator, or an option of it, that no kernel is rebuilt with.
    """
    if not decorators:
        return "plain", {}
    if len(decorators) > 1:
        raise Unclear(f"has {len(decorators)} decorators: @cuda.jit alone is wanted")
    (node,) = decorators
    call = node if isinstance(node, ast.Call) else None
    made_by = constants.value(node if call is None else call.func)
    path = made_by.path if isinstance(made_by, Host) else ""
    if path in _CPU:
        return "cpu", {}
    if path != JIT:
        raise Unclear(f"has the decorator {path or said(made_by)}: @cuda.jit is wanted")
    return ("kernel", {}) if call is None else jitted(constants, call.args, call.keywords)


def jitted(
    constants: Constants, args: list[ast.expr], keywords: list[ast.keyword]
) -> tuple[str, dict[str, Value]]:
    """Kind and options that the arguments of `cuda.jit` mean.

    Raises:
        Unclear: an option that no kernel is rebuilt with.
    """
    given: dict[str, ast.expr] = {}
    for one in keywords:
        if one.arg is None:
            raise Unclear("has options of cuda.jit out of a dictionary: write them one by one")
        given[one.arg] = one.value
    if len(args) > 2 or any(isinstance(one, ast.Starred) for one in args):
        raise Unclear("has more than a signature before the options of cuda.jit")
    given.update(zip(("func_or_sig", "device"), args, strict=False))
    options: dict[str, Value] = {}
    device = False
    for name, node in given.items():
        if name == "func_or_sig":
            options |= _signatures(constants, node)
        elif name == "device":
            device = bool(_option(constants, name, node))
        elif name in REFUSED:
            if not _is_empty(node):
                raise Unclear(f"has the option {name}= of cuda.jit: {REFUSED[name]}")
        elif name in OPTIONS:
            options[name] = _plain(_option(constants, name, node))
        elif name not in DROPPED:
            raise Unclear(
                f"has the option {name[:40]}= of cuda.jit, which the grader does not know"
            )
    return ("device" if device else "kernel"), options


def _is_empty(node: ast.expr) -> bool:
    empty = isinstance(node, ast.Constant) and node.value is None
    return empty or (isinstance(node, ast.List | ast.Tuple) and not node.elts)


def _option(constants: Constants, name: str, node: ast.expr) -> Any:
    try:
        return constants.value(node)
    except Unclear as error:
        raise Unclear(f"has an option {name}= of cuda.jit that {error}") from None


def _plain(value: Any) -> Value:
    try:
        return value_of(value)
    except NotAProgram as error:
        raise Unclear(f"has an option of cuda.jit that is none: {error}") from None


def _signatures(constants: Constants, node: ast.expr) -> dict[str, Value]:
    if isinstance(node, ast.Constant) and node.value is None:
        return {}
    several = node.elts if isinstance(node, ast.List) else [node]

    def resolve(part: ast.expr) -> Any:
        try:
            return constants.value(part)
        except Unclear as error:
            raise ValueError(str(error)) from None

    try:
        texts = tuple(signature_text(of_tree(one, resolve)) for one in several)
    except (ValueError, TypeError, RecursionError, AttributeError) as error:
        raise Unclear(f"has a signature that is not read: {error}"[:200]) from None
    name = "signatures" if isinstance(node, ast.List) else "signature"
    return {name: value_of(texts)}
