"""Signatures of `@cuda.jit`, read from the syntax tree: Numba evaluates a text, this does not.

A signature is kept as a text of one form, "void(float32[:, ::1], int32)": argument types by their
name, arrays with a colon per axis.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from numba import types

from .listed import listed

Resolve = Callable[[ast.expr], Any]
"""What the name of a type stands for; raises ValueError where it is none."""

_LONGEST = 2000


def signature_text(signature: Any) -> str:
    """The text of Numba's signature, or of a tuple of argument types.

    >>> signature_text(types.void(types.float32[:, ::1], types.int32))
    'void(float32[:,::1], int32)'

    Raises:
        ValueError: a type in it that is neither a number nor an array of numbers.
    """
    if isinstance(signature, tuple):
        returned, args = None, signature
    else:
        returned, args = signature.return_type, signature.args
    said = "" if returned is None else "void" if returned == types.none else _type_text(returned)
    return f"{said}({', '.join(map(_type_text, args))}{',' * (not said and len(args) == 1)})"


def _type_text(kind: Any) -> str:
    if isinstance(kind, types.Array):
        axes = [":"] * kind.ndim
        if kind.layout in "CF" and axes:
            axes[-1 if kind.layout == "C" else 0] = "::1"
        return f"{_type_text(kind.dtype)}[{','.join(axes)}]"
    if isinstance(kind, types.Number | types.Boolean):
        return str(kind)
    raise ValueError(f"{kind} in a signature")


def signature(text: str) -> Any:
    """Numba's signature of a text, or the tuple of its argument types.

    >>> signature("void(float32[:])")
    (Array(float32, 1, 'A', False, aligned=True),) -> none

    Raises:
        ValueError: it is no signature.
    """
    if len(text) > _LONGEST:
        raise ValueError("a signature of that length")
    try:
        node = ast.parse(text, mode="eval").body
    except (SyntaxError, RecursionError, MemoryError) as error:
        raise ValueError(f"{text[:40]!r} is no signature") from error
    return of_tree(node, _of_numba)


def _of_numba(node: ast.expr) -> Any:
    name = node.id if isinstance(node, ast.Name) else ""
    try:
        return listed(f"numba.types.{'bool_' if name == 'bool' else name}")
    except KeyError:
        raise ValueError(f"{name or ast.dump(node)[:40]} is no type") from None


def of_tree(node: ast.expr, resolve: Resolve) -> Any:
    """The signature that an expression of types is, or the tuple of argument types.

    Raises:
        ValueError: it is none.
    """
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return signature(node.value)
    if isinstance(node, ast.Tuple):
        return tuple(_type(part, resolve) for part in node.elts)
    if isinstance(node, ast.Call) and not node.keywords:
        return _type(node.func, resolve)(*(_type(part, resolve) for part in node.args))
    raise ValueError("no signature")


def _type(node: ast.expr, resolve: Resolve) -> Any:
    if isinstance(node, ast.Subscript):
        inner = node.slice
        axes = inner.elts if isinstance(inner, ast.Tuple) else [inner]
        if not 1 <= len(axes) <= 8:
            raise ValueError("a type of that many axes")
        slices = tuple(_axis(axis) for axis in axes)
        return _type(node.value, resolve)[slices if len(slices) > 1 else slices[0]]
    found = types.void if isinstance(node, ast.Constant) and node.value is None else resolve(node)
    if not isinstance(found, types.Type):
        raise ValueError(f"{found!r:.40} is no type")
    return found


def _axis(node: ast.expr) -> slice:
    if not isinstance(node, ast.Slice) or node.lower or node.upper:
        raise ValueError("an axis of an array is : or ::1")
    if node.step is not None and not (isinstance(node.step, ast.Constant) and node.step.value == 1):
        raise ValueError("an axis of an array is : or ::1")
    return slice(None, None, None if node.step is None else 1)
