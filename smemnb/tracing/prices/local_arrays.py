"""Where the local arrays of a kernel lie: in registers, or in the local memory of each thread.

Registers have no addresses: an array lies in them if the compiler knows every index
(`compile_time` says what it knows). An array with an index of the run lies in local memory, which
is a part of the GPU's memory, read and written through the caches; each access is a request of its
own. There is one exception: of a small array of 4-byte elements the compiler may take all elements
into registers and pick one by a chain of comparisons and selections, which costs about an
instruction per element. Three answers follow:

- "registers": every index is known, and the loops around are unrolled for certain;
- "local memory": some index is of the run, and the array is too large to pick from (more than
  `SELECTED` elements, or `IN_LOOPS` where it is indexed in a loop) or has elements of other than 4
  bytes; or it is walked by `for value in array`, or chosen among arrays at run time; or it is
  larger than the `MOST_BYTES` that the registers of a thread hold;
- "open": it is up to the compiler, and `as_compiled()` tells.

Numba fills a local array with zeros where the function that declares it begins. Where the array
lies in local memory, that alone is a store for every 16 bytes.

Source: kernels compiled for cc 9.0 with NVVM and nvJitLink 13.5, by whether their machine code has
LDL, STL or a stack: one index of the run picks from up to 101 elements of 4 bytes, four of them
from 32, in a loop from 16 to 24; from elements of 1, 2 and 8 bytes none picks, however few there
are. `tests/tracing/test_local_arrays.py` compiles some of them again.

**Limits**: registers may be spilled to local memory for want of room, which the source does not
show. All code counts, whether this launch comes to it or not.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator
from typing import Any
from weakref import WeakKeyDictionary, ref

import numpy as np

from ...errors import UnsupportedSyntax
from ...lockstep.language.scope import InferredTypes
from ...lockstep.memory import KernelArray, LocalStore
from ...lockstep.texts import shown_line
from ...lockstep.watch import Site
from ..model import LocalAccess, LocalArray, Observation
from .compile_time import (
    RUN_TIME,
    Declared,
    Touched,
    Unknown,
    accesses,
    declares_local,
)

IN_LOOPS, SELECTED = 32, 128
MOST_BYTES = 255 * 4
KNOWLEDGE = ("compile time", "open", "run time")

_known: WeakKeyDictionary[Any, tuple[Any, tuple[LocalArray, ...]]] = WeakKeyDictionary()
"""What was found of a function, and a weak reference to the types that it was found for."""


def local_arrays(function: Any, types: InferredTypes | None = None) -> tuple[LocalArray, ...]:
    """The local arrays of a kernel and of the device functions it calls, in order of the source.

    What is known for the types of its last launch is kept.
    """
    seen_with = _nothing if types is None else ref(types)
    known = _known.get(function)
    if known is None or known[0] is not seen_with:
        found = tuple(_found(function, types)) if declares_local(function) else ()
        known = _known[function] = seen_with, found
    return known[1]


def _nothing() -> None:
    """Stand in for a reference to the types where nobody inferred any."""


def _found(function: Any, types: InferredTypes | None) -> Iterator[LocalArray]:
    try:
        declared, touched, whole = accesses(function, types)
    except UnsupportedSyntax:
        return
    for one in sorted(declared, key=lambda one: (one.function is not function, one.node.lineno)):
        yield _described(one, [each for each in touched if each.declared is one], whole=whole)


def _described(array: Declared, touched: list[Touched], *, whole: bool) -> LocalArray:
    size = math.prod(array.shape) * array.dtype.itemsize
    lies, at, why = _place(array, touched, size, whole=whole)
    code = array.function.__code__
    return LocalArray(
        name=array.name or "the array",
        function=array.function.__name__,
        file=code.co_filename,
        line=array.node.lineno,
        source=_line(array.function, array.node.lineno),
        shape=array.shape,
        dtype=str(array.dtype),
        bytes=size,
        lies=lies,
        why=why,
        accesses=tuple(_rows(touched)),
        decided_by=at,
    )


def _place(
    array: Declared, touched: list[Touched], size: int, *, whole: bool
) -> tuple[str, LocalAccess | None, str]:
    """Where an array lies, the access that decides it, and why."""
    worst = max(touched, key=lambda one: _degree(one.unknown), default=None)
    unknown = None if worst is None else worst.unknown
    if array.through is not None:
        return "local memory", _of_whole(array, *array.through), array.through[1]
    if worst is not None and unknown is not None and unknown.degree == RUN_TIME:
        lies = "open" if _picked(array, touched) else "local memory"
        return lies, _row(worst), unknown.why
    if size > MOST_BYTES and touched:
        why = f"has more bytes than the {MOST_BYTES:,} of all registers of a thread"
        return "local memory", _of_whole(array, array.node, why), why
    if worst is not None and unknown is not None:
        return "open", _row(worst), unknown.why
    if array.handed is not None:
        return "open", _of_whole(array, *array.handed), array.handed[1]
    if not whole:
        why = "is in a kernel that is too long to be gone through"
        return "open", _of_whole(array, array.node, why), why
    return "registers", None, ""


def _of_whole(array: Declared, node: ast.AST, why: str) -> LocalAccess:
    """What decides of an array, where that is no index of it."""
    return _access(array.function, node, "load", "whole", why)


def _picked(array: Declared, touched: list[Touched]) -> bool:
    """Whether the compiler may pick elements by selections where the index is of the run."""
    parts = [array.dtype] if not array.dtype.names else [array.dtype[n] for n in array.dtype.names]
    piece = {part.itemsize // 2 if part.kind == "c" else part.itemsize for part in parts}
    elements = math.prod(array.shape)
    looped = any(one.looped and _degree(one.unknown) == RUN_TIME for one in touched)
    return piece == {4} and elements < (IN_LOOPS if looped else SELECTED)


def _degree(unknown: Unknown | None) -> int:
    return 0 if unknown is None else unknown.degree


def _rows(touched: list[Touched]) -> Iterator[LocalAccess]:
    """One per access expression, as it is known at worst, in order of the source."""
    worst: dict[Any, Touched] = {}
    for one in touched:
        key = (one.function, one.node.lineno, one.node.col_offset, one.kind)  # type: ignore[attr-defined]
        if key not in worst or _degree(one.unknown) > _degree(worst[key].unknown):
            worst[key] = one
    order = sorted(worst, key=lambda key: (key[0].__name__, *key[1:]))
    yield from (_row(worst[key]) for key in order)


def _row(one: Touched) -> LocalAccess:
    why = "" if one.unknown is None else one.unknown.why
    return _access(one.function, one.node, one.kind, KNOWLEDGE[_degree(one.unknown)], why)


def _access(function: Any, node: ast.AST, kind: str, index: str, why: str) -> LocalAccess:
    return LocalAccess(
        line=node.lineno,  # type: ignore[attr-defined]
        column=node.col_offset,  # type: ignore[attr-defined]
        function=function.__name__,
        file=function.__code__.co_filename,
        source=_line(function, node.lineno),  # type: ignore[attr-defined]
        text=ast.unparse(node),
        kind=kind,
        index=index,
        why=why,
    )


def _line(function: Any, number: int) -> str:
    return shown_line(function.__code__.co_filename, number, function.__globals__)


def arrays_in_memory(function: Any, types: InferredTypes | None) -> Iterator[Observation]:
    """One observation per local array that does not lie in registers for certain."""
    for array in local_arrays(function, types):
        at = array.decided_by
        if array.lies == "registers" or at is None:
            continue
        yield Observation(
            kind="local_array" if array.lies == "local memory" else "open_local_array",
            site=Site(at.function, at.file, at.line, at.column, at.text, at.kind),
            block=(0, 0, 0),
            thread=(0, 0, 0),
            warp=0,
            count=max(1, len({(one.file, one.line) for one in array.accesses if one.why})),
            array=_stand_in(array),
            detail={"why": array.why, "index": at.index, "bytes": array.bytes},
        )


def _stand_in(array: LocalArray) -> KernelArray:
    """The array as findings name it; it holds nothing."""
    dtype = np.dtype(np.uint8)
    return KernelArray(array.name, "local", LocalStore(1, dtype), array.shape, dtype)
