"""NumPy's functions of whole arrays: `np.add(a, b, out)`, element by element.

Every lane goes through all elements of `out`, as the loop that Numba compiles; numbers and arrays
with fewer axes, or with extents of 1, are spread out as NumPy does.
"""

from __future__ import annotations

import ast
from typing import Any

import numpy as np

from ....errors import KernelStopped
from ...lanes import LaneValue, Mask
from ...memory import KernelArray
from ...memory.records import load_at
from ...memory.whole import each_index
from ...numbers.math_functions import FUNCTIONS
from ..scope import Expression, Frame, Scope
from .binding import Arguments


def has_output(target: object, node: ast.Call) -> bool:
    """Whether a call of a ufunc names the array that it writes."""
    if not isinstance(target, np.ufunc) or target.nout != 1 or target not in FUNCTIONS:
        return False
    return len(node.args) == target.nin + 1 or any(key.arg == "out" for key in node.keywords)


def into_array(scope: Scope, node: ast.Call, ufunc: np.ufunc) -> Expression:
    """The closure of a call with an output array."""
    arguments, compute = Arguments(scope, node), FUNCTIONS[ufunc]
    storing = scope.site(node, "store")
    loading = load_at(storing)

    def run(frame: Frame, mask: Mask) -> LaneValue:
        values = arguments.values(frame, mask)
        out: Any = arguments.keywords(frame, mask).get("out", values[-1])
        inputs = values[: ufunc.nin]
        if not isinstance(out, KernelArray):
            scope.refuse(node, f"{ast.unparse(node)} writes to what is no array", "Pass an array.")
        for value in inputs:
            _check_spread(value, out, ast.unparse(node))
        here = frame.rest(mask)
        for index, active in each_index(out.shape, here):
            elements = [_element(value, index, frame.batch, active, loading) for value in inputs]
            out.save(frame.batch, index, active, storing, compute(*elements))
        return out

    return run


def _check_spread(value: Any, out: KernelArray, where: str) -> None:
    if not isinstance(value, KernelArray):
        return
    same = zip(reversed(value.shape), reversed(out.shape), strict=False)
    if len(value.shape) > len(out.shape) or any(bool(np.any((a != b) & (a != 1))) for a, b in same):
        raise KernelStopped(
            f"{where}: an array of shape {value.shape} does not fit into one of {out.shape}."
            " Give an output of the shape that the inputs have together."
        )


def _element(value: Any, index: tuple[Any, ...], batch: Any, mask: Mask, site: Any) -> Any:
    """The element of an input that belongs to this index of the output."""
    if not isinstance(value, KernelArray):
        return value
    own = index[len(index) - len(value.shape) :]
    at = tuple(
        np.where(np.asarray(extent) == 1, 0, i)
        if isinstance(extent, np.ndarray)
        else (0 if extent == 1 else i)
        for i, extent in zip(own, value.shape, strict=True)
    )
    return value.load(batch, at, mask, site)
