"""Access patterns of a tile, written as in a kernel: `load tile[tx, ty]`.

The text says load or store and the two subscripts. These are whole-number expressions of

    tx, ty      the thread's place in its block
    tid         ty * (block's width) + tx: threads fill warps in this order
    lane, warp  tid % 32 and tid // 32
    step        number of the pass, where every thread makes several

with + - * // % ^ & | << >> and parentheses. Each warp makes one request per pass.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from ...hardware import WARP_LANES
from ..request import Bools, Ints

__all__ = ["Pattern", "pattern"]

_OPERATORS: Final[dict[type[ast.operator], Callable[[Any, Any], Any]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.BitXor: operator.xor,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
}
_NAMES = ("tx", "ty", "tid", "lane", "warp", "step")
_MOST_THREADS = 1024


@dataclass(frozen=True, eq=False)
class Pattern:
    """Cells that the lanes of each request touch: the first cell of a lane's vector.

    Attributes:
        text: as it was written.
        kind: "load" or "store".
        row: (requests, 32), the row of each lane's first cell.
        col: (requests, 32), its column.
        active: (requests, 32), which lanes take part.
        vector_elems: cells of a row that a lane touches at once.
    """

    text: str
    kind: str
    row: Ints = field(repr=False)
    col: Ints = field(repr=False)
    active: Bools = field(repr=False)
    vector_elems: int = 1

    @property
    def requests(self) -> int:
        """Requests of all warps and passes."""
        return len(self.row)


def pattern(
    text: str, *, block: tuple[int, int] = (32, 32), steps: int = 1, vector_elems: int = 1
) -> Pattern:
    """The pattern of an access as it stands in a kernel.

    >>> pattern("load tile[tx, ty]", block=(32, 8)).requests
    8
    >>> rows = pattern("store tile[ty + 8 * step, tx]", block=(32, 8), steps=4)
    >>> rows.requests, rows.row[-1, 0], rows.col[-1, :3].tolist()
    (32, np.int64(31), [0, 1, 2])

    Args:
        text: "load" or "store", and the access: a name with two subscripts.
        block: threads of a block, (x, y).
        steps: passes that every thread makes; `step` counts them.
        vector_elems: cells of a row that a lane touches at once, from the subscripts on.

    Raises:
        ValueError: a text, block or number that is none of these.
    """
    kind, row, col = _parsed(text)
    wide, high = block
    if not (1 <= wide * high <= _MOST_THREADS and wide > 0 and steps > 0 and vector_elems > 0):
        raise ValueError(
            f"block={block}, steps={steps}, vector_elems={vector_elems}: a block has 1 to"
            f" {_MOST_THREADS} threads, and the others are 1 or more"
        )
    warps = -(-wide * high // WARP_LANES)
    tid = np.arange(warps * WARP_LANES).reshape(1, warps, WARP_LANES)
    names = {"tx": tid % wide, "ty": tid // wide, "tid": tid}
    names |= {"lane": tid % WARP_LANES, "warp": tid // WARP_LANES}
    names["step"] = np.arange(steps).reshape(steps, 1, 1)
    shape = (steps, warps, WARP_LANES)
    at_row, at_col, active = (
        np.broadcast_to(values, shape).reshape(-1, WARP_LANES)
        for values in (_value(row, names, text), _value(col, names, text), tid < wide * high)
    )
    return Pattern(text, kind, at_row, at_col, active, vector_elems)


def _parsed(text: str) -> tuple[str, ast.expr, ast.expr]:
    found = re.fullmatch(r"\s*(load|store)\s+(.+)", text, flags=re.DOTALL)
    if not found:
        raise ValueError(f'{text!r}: write "load" or "store", then the access: "load tile[tx, ty]"')
    try:
        node = ast.parse(found[2], mode="eval").body
    except SyntaxError:
        raise ValueError(f"{text!r}: {found[2]} is not an expression of Python") from None
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Tuple):
        if len(node.slice.elts) == 2:
            return found[1], node.slice.elts[0], node.slice.elts[1]
    raise ValueError(f"{text!r}: the access needs two subscripts, row and column: tile[tx, ty]")


def _value(node: ast.expr, names: dict[str, Ints], text: str) -> Any:
    """A whole-number expression of the known names."""
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return node.value
    if isinstance(node, ast.Name) and node.id in names:
        return names[node.id]
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        left, right = (_value(side, names, text) for side in (node.left, node.right))
        return _OPERATORS[type(node.op)](left, right)
    raise ValueError(
        f"{text!r}: {ast.unparse(node)} is not known here; subscripts are made of"
        f" {', '.join(_NAMES)}, whole numbers and + - * // % ^ & | << >>"
    )
