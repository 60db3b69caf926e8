"""What Numba's type inference lets pass and its code generation then refuses.

Without a toolkit no code is generated, so these are looked for in Numba's typed IR: kernels that
return a value, lists and sets, generators, `try`, whole-array copies and arithmetic, atomics
with the wrong number of indices. Each was seen refused by numba-cuda 0.30.4 for cc 9.0.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ...errors import TypingRefused
from .. import seam
from .names import LIST
from .operations import NEVER, unsupported_in
from .place import Place, heading
from .words import Said, worded


def unlowerable(
    function: Callable[..., Any], ir: Any, typemap: Mapping[str, Any], calltypes: Any, returns: Any
) -> TypingRefused | None:
    """Why Numba's code generation refuses a kernel that type inference accepted, or None."""
    code = function.__code__
    if inspect.iscoroutinefunction(function):
        return worded(heading(code), "A kernel cannot be `async`.", "Write `def`.")
    syntax = unsupported_in(function, NEVER)
    if syntax is not None:
        return worded(syntax[0], *syntax[1])
    for line, said in _found(ir, typemap, returns):
        return worded(Place(code.co_filename, line), *said)
    return None


def _found(ir: Any, typemap: Mapping[str, Any], returns: Any) -> Iterator[tuple[int, Said]]:
    for block in ir.blocks.values():
        for statement in block.body:
            said = (
                _returned(statement, returns)
                or _container(statement, typemap)
                or _whole_array(statement, typemap)
                or _atomic(statement, typemap)
            )
            if said is not None:
                yield statement.loc.line, said


def _returned(statement: Any, returns: Any) -> Said | None:
    if not isinstance(statement, seam.ir.Return) or isinstance(returns, seam.types.NoneType):
        return None
    return (
        "A kernel returns nothing; this one returns a value.",
        "Store the result into an array argument: out[i] = value.",
    )


def _container(statement: Any, typemap: Mapping[str, Any]) -> Said | None:
    kind = typemap.get(getattr(getattr(statement, "target", None), "name", ""))
    if isinstance(kind, seam.types.List | seam.types.LiteralList):
        return LIST
    if isinstance(kind, seam.types.Set):
        return "A kernel cannot use a set.", "Use an array of flags."
    return None


def _whole_array(statement: Any, typemap: Mapping[str, Any]) -> Said | None:
    """`out[:] = inp` and `a + b` on arrays need memory that a thread does not have."""
    array = seam.types.Array
    if isinstance(statement, seam.ir.SetItem | seam.ir.StaticSetItem):
        whole = typemap.get(statement.value.name), typemap.get(statement.target.name)
        if all(isinstance(kind, array) for kind in whole):
            return (
                "Whole arrays are copied here; a thread stores single elements.",
                "Index both sides: out[row, col] = inp[row, col].",
            )
        return None
    value = getattr(statement, "value", None)
    op = getattr(value, "op", None)
    if op in ("binop", "inplace_binop", "unary") and isinstance(
        typemap.get(statement.target.name), array
    ):
        return (
            "Arithmetic on whole arrays is not available in a kernel.",
            "A thread works on single elements: index the arrays, as in a[i] + b[i].",
        )
    return None


def _atomic(statement: Any, typemap: Mapping[str, Any]) -> Said | None:
    call: Any = getattr(statement, "value", None)
    if getattr(call, "op", None) != "call":
        return None
    callee = typemap.get(call.func.name)
    key = str(getattr(callee, "typing_key", ""))
    if "atomic." not in key or len(call.args) < 2:
        return None
    kinds = [seam.types.unliteral(typemap[arg.name]) for arg in call.args[:2]]
    if not isinstance(kinds[0], seam.types.Array):
        return "An atomic operation takes the array first.", "Write atomic.add(out, index, value)."
    indices = kinds[1].types if isinstance(kinds[1], seam.types.BaseTuple) else [kinds[1]]
    if len(indices) != kinds[0].ndim:
        return (
            f"A {kinds[0].ndim}-d array is indexed with {len(indices)} in an atomic operation.",
            "Give one index per axis, as a tuple: cuda.atomic.add(out, (row, col), value).",
        )
    if not all(isinstance(kind, seam.types.Integer) for kind in indices):
        return "The index of an atomic operation must be integers.", "Write `//` or int(...)."
    return None
