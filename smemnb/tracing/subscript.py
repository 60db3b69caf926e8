"""A subscript as it is written in the source: the array, and the index of each axis."""

from __future__ import annotations

import ast


def subscript(text: str) -> tuple[str, tuple[ast.expr, ...]]:
    """The array's expression and the index of each axis; "" and () if it is no subscript.

    >>> array, indices = subscript("tile[ty][tx + 1]")
    >>> array, [ast.unparse(index) for index in indices]
    ('tile', ['ty', 'tx + 1'])
    """
    try:
        node = ast.parse(text.strip(), mode="eval").body
    except SyntaxError:
        return "", ()
    parts: list[ast.expr] = []
    while isinstance(node, ast.Subscript):  # tile[ty][tx] is two of them
        parts[:0] = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        node = node.value
    return (ast.unparse(node), tuple(parts)) if parts else ("", ())  # an atomic is a call


def counts_from_the_end(index: ast.expr) -> bool:
    """Whether an index is written to count from the end: -1, -HALO, -1 - k.

    >>> [counts_from_the_end(subscript(f"a[{index}]")[1][0]) for index in ("-1 - k", "i - 1")]
    [True, False]
    """
    while isinstance(index, ast.BinOp):
        index = index.left
    return isinstance(index, ast.UnaryOp) and isinstance(index.op, ast.USub)
