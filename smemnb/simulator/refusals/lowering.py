"""What Numba's type inference lets pass and its code generation then refuses.

Without a toolkit no code is generated, so these are looked for in Numba's typed IR: kernels that
return a value, lists and sets, generators, `try`, whole-array copies and arithmetic, quotients of
integers put into an integer by `/=`, atomics with the wrong number of indices, fields of records at
odd places, ufuncs that Numba's table for GPUs lacks, `ravel`. Each was seen refused by
numba-cuda 0.30.4 for cc 9.0.
"""

from __future__ import annotations

import importlib
import inspect
import math
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from ...errors import TypingRefused
from .. import seam
from .names import LIST
from .operations import ATOMIC, NEVER, stored_into_fixed, unsupported_in
from .place import Place, heading
from .words import Said, worded


def unlowerable(
    function: Callable[..., Any],
    ir: Any,
    typemap: Mapping[str, Any],
    calltypes: Any,
    returns: Any,
    decided: Mapping[Any, Any],
) -> TypingRefused | None:
    """Why Numba's code generation refuses a kernel that type inference accepted, or None."""
    code = function.__code__
    if inspect.iscoroutinefunction(function):
        return worded(heading(code), "A kernel cannot be `async`.", "Write `def`.")
    syntax = unsupported_in(function, NEVER, decided)
    if syntax is not None:
        return worded(syntax[0], *syntax[1])
    for line, said in _found(ir, typemap, returns):
        return worded(Place(code.co_filename, line), *said)
    return None


def _found(ir: Any, typemap: Mapping[str, Any], returns: Any) -> Iterator[tuple[int, Said]]:
    parameters = list(ir.arg_names)
    yield from _divided(ir, typemap)
    for block in ir.blocks.values():
        for statement in block.body:
            said = (
                _returned(statement, returns)
                or _container(statement, typemap)
                or _whole_array(statement, typemap)
                or _printed(statement, typemap)
                or _declared(statement, typemap)
                or _atomic(statement, typemap, parameters)
                or _length(statement, typemap)
                or _unaligned(statement, typemap)
                or _without_code(statement, typemap)
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


_INSTEAD = {
    **{name: f"math.{name}(x)" for name in "ceil exp exp2 expm1 floor log1p sqrt trunc".split()},
    **{name: f"math.{name}(x)" for name in ("isfinite", "isinf")},
    **{name: f"math.{name}(x, y)" for name in "copysign fmod ldexp nextafter".split()},
    "absolute": "abs(x)",
    "fabs": "abs(x)",
    "sign": "(x > 0) - (x < 0)",
    "square": "x * x",
    "power": "x ** y",
    "float_power": "x ** y",
    "reciprocal": "1 / x",
    "add": "x + y",
    "subtract": "x - y",
    "multiply": "x * y",
    "divide": "x / y",
    "floor_divide": "x // y",
    "remainder": "x % y",
    "negative": "-x",
    "positive": "x",
    "rint": "round(x)",
}
"""Ufunc of NumPy -> what to write for it."""


def _without_code(statement: Any, typemap: Mapping[str, Any]) -> Said | None:
    """What type inference knows and Numba has no code for: ufuncs, a flat copy of an array."""
    call: Any = getattr(statement, "value", None)
    if getattr(call, "op", None) != "call":
        return None
    function = getattr(typemap.get(call.func.name), "typing_key", None)
    if function in ("array.ravel", "array.flatten") or function is np.ravel:
        return (
            "An array of one axis cannot be made of another in a kernel.",
            "Index it by rows and columns, or pass array.reshape(-1) as an argument.",
        )
    if not isinstance(function, np.ufunc) or function in _ufuncs():
        return None
    name = function.__name__
    return (
        f"Numba has no code for np.{name} in a kernel: it raises a KeyError when it compiles it.",
        f"Write {_INSTEAD[name]}." if name in _INSTEAD else "Write out what it does.",
    )


@lru_cache
def _ufuncs() -> frozenset[Any]:
    """The ufuncs that the installed Numba compiles for a GPU; isnat stands outside its table."""
    return frozenset(importlib.import_module("numba.cuda.ufuncs").ufunc_db()) | {np.isnat}


def _length(statement: Any, typemap: Mapping[str, Any]) -> Said | None:
    """`len` of an array without axes, which NumPy refuses too."""
    value: Any = getattr(statement, "value", None)
    if getattr(value, "op", "") != "call" or len(value.args) != 1:
        return None
    called = getattr(typemap.get(value.func.name), "typing_key", None)
    kind = typemap.get(value.args[0].name)
    if called is not len or not isinstance(kind, seam.types.Array) or kind.ndim:
        return None
    return (
        "An array of no axes has no length.",
        "Its one element is array[()]; give the array an axis to go over it.",
    )


def _divided(ir: Any, typemap: Mapping[str, Any]) -> Iterator[tuple[int, Said]]:
    """`v /= w` of integers: numba-cuda types it as an integer and computes a float.

    That float is a float64 where it is stored into a float64 array in the same block; every other
    use meets a value that is not of its type.
    """
    held: dict[str, tuple[Any, int]] = {}  # names of such quotients: their block and line
    for block in ir.blocks.values():
        for statement in block.find_insts(seam.ir.Assign):
            name, value = statement.target.name, statement.value
            quotient = getattr(value, "op", "") == "inplace_binop" and value.fn is operator.itruediv
            if quotient and isinstance(typemap.get(name), seam.types.Integer):
                held[name] = block, statement.loc.line
            elif isinstance(value, seam.ir.Var) and value.name in held:
                held[name] = block, held[value.name][1]
    for block in ir.blocks.values() if held else ():
        for statement in block.body:
            if isinstance(statement, seam.ir.Del):
                continue
            names = [v.name for v in statement.list_vars() if v.name in held]
            for name in names:
                where, line = held[name]
                if where is not block or not _harmless(statement, name, typemap):
                    yield line, _QUOTIENT


def _harmless(statement: Any, name: str, typemap: Mapping[str, Any]) -> bool:
    """Whether a statement hands a value on as it is: to a variable, to a cell of float64."""
    if isinstance(statement, seam.ir.Assign):
        return statement.target.name == name or isinstance(statement.value, seam.ir.Var)
    if not isinstance(statement, seam.ir.SetItem | seam.ir.StaticSetItem):
        return False
    cell = getattr(typemap[statement.target.name], "dtype", None)
    return bool(statement.value.name == name and cell == seam.types.float64)


_QUOTIENT = (
    "`/=` divides two integers here: the result is a float, and the variable an integer.",
    "Write v = v / w for a float, v //= w for an integer.",
)


def _printed(statement: Any, typemap: Mapping[str, Any]) -> Said | None:
    printed = statement.args if isinstance(statement, seam.ir.Print) else []
    kinds = [typemap[arg.name] for arg in printed]
    if any(isinstance(kind, seam.types.Array) for kind in kinds):
        return "print cannot show a whole array.", "Print single elements, as in print(a[i])."
    if any(isinstance(kind, seam.types.Complex) for kind in kinds):
        return "print cannot show a complex number.", "Print its parts: print(z.real, z.imag)."
    if any(isinstance(kind, seam.types.NoneType) for kind in kinds):
        return "print cannot show None.", "Print a number or a text."
    return None


def _declared(statement: Any, typemap: Mapping[str, Any]) -> Said | None:
    """Shapes that Numba takes and no memory has."""
    space, shape = _array_call(statement, typemap)
    if space == "shared" and min(shape) < 0:
        return f"A shared array has {min(shape)} elements along an axis.", "Write a number from 0."
    if space == "local" and min(shape) < 1:
        return f"A local array has {min(shape)} elements along an axis.", "Write a number from 1."
    return None


def _unaligned(statement: Any, typemap: Mapping[str, Any]) -> Said | None:
    """A field of a record that does not begin on a multiple of its own alignment."""
    if isinstance(statement, seam.ir.SetAttr):
        record, field = typemap.get(statement.target.name), statement.attr
    elif getattr(getattr(statement, "value", None), "op", None) in ("getattr", "static_getitem"):
        read = statement.value
        record = typemap.get(read.value.name)
        field = read.attr if read.op == "getattr" else read.index
    else:
        return None
    if not isinstance(record, seam.types.Record) or field not in record.fields:
        return None
    try:
        seam.target_context.sentry_record_alignment(record, field)
    except seam.TYPING_ERRORS:
        return (
            f"The field {field!r} of type {record.typeof(field)} is not aligned"
            f" (it begins at byte {record.offset(field)}).",
            "Make the dtype with align=True: np.dtype([...], align=True).",
        )
    return None


def _array_call(statement: Any, typemap: Mapping[str, Any]) -> tuple[str, list[int]]:
    """("shared" or "local", shape) of the array that a statement declares, else ("", [])."""
    from numba import cuda

    call: Any = getattr(statement, "value", None)
    if getattr(call, "op", None) != "call":
        return "", []
    key = getattr(typemap.get(call.func.name), "typing_key", None)
    space = {cuda.shared.array: "shared", cuda.local.array: "local"}.get(key) if key else None
    given = [*call.args, *(value for name, value in call.kws if name == "shape")][:1]
    if space is None or not given:
        return "", []
    kind = typemap[given[0].name]
    axes = getattr(kind, "types", (kind,))
    if not axes or not all(isinstance(axis, seam.types.IntegerLiteral) for axis in axes):
        return "", []
    return space, [int(axis.literal_value) for axis in axes]


def _atomic(statement: Any, typemap: Mapping[str, Any], parameters: Sequence[str]) -> Said | None:
    call: Any = getattr(statement, "value", None)
    if getattr(call, "op", None) != "call":
        return None
    callee = typemap.get(call.func.name)
    key = str(getattr(callee, "typing_key", ""))
    if "atomic." not in key or len(call.args) < 2:
        return None
    kinds = [seam.types.unliteral(typemap[arg.name]) for arg in call.args[:2]]
    if not isinstance(kinds[0], seam.types.Array):
        return ATOMIC
    if not kinds[0].mutable:
        return stored_into_fixed(call.args[0].name.split(".")[0].lstrip("$0123456789"), parameters)
    indices = kinds[1].types if isinstance(kinds[1], seam.types.BaseTuple) else [kinds[1]]
    if len(indices) != kinds[0].ndim:
        return (
            f"A {kinds[0].ndim}-d array is indexed with {len(indices)} in an atomic operation.",
            "Give one index per axis, as a tuple: cuda.atomic.add(out, (row, col), value).",
        )
    if not all(isinstance(kind, seam.types.Integer) for kind in indices):
        return "The index of an atomic operation must be integers.", "Write `//` or int(...)."
    return None


_shared: WeakKeyDictionary[Any, int] = WeakKeyDictionary()


def shared_bytes(types: Any) -> int:
    """Bytes of the shared arrays that a kernel and its device functions declare, without gaps."""
    if types not in _shared:
        _shared[types] = _declared_shared(types)
    return _shared[types]


def _declared_shared(types: Any) -> int:
    total = 0
    for _, blocks, typemap in types.typed():
        for statement in (one for block in blocks.values() for one in block.body):
            space, shape = _array_call(statement, typemap)
            if space == "shared":
                dtype = seam.numpy_support.as_dtype(typemap[statement.target.name].dtype)
                total += math.prod(shape) * int(np.dtype(dtype).itemsize)
    return total
