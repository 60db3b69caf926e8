"""The types that Numba gives to parts of an expression where their operands do not decide them.

`merges`: both sides of `a if c else b` and of `a and b` are joined in one type, whichever of them
a thread takes. In Numba's IR that is a phi of a temporary, with the blocks it comes from; the last
instruction of such a block computes the side, and Python keeps the place of each instruction in
the source.

`widened`: a temporary keeps the types it was given on the way to the last one. Where a loop makes
`v` an int64 after it was a uint16, `a_uint64 ^ v` was a uint64 first and is an int64 at the end,
so its result is stored as the float64 that joins both.
"""

from __future__ import annotations

import dis
import itertools
import operator
import re
from collections.abc import Iterator, Mapping
from types import CodeType
from typing import Any

from .. import seam

Place = tuple[int, int, int, int]
"""Line, last line, column, last column, as in Python's syntax trees."""

_STACKED = re.compile(r"\$phi(\d+)\.(\d+)")
_COMPUTED = re.compile(r"\$(?:(?:inplace_)?binop_[a-z]+(\d+)|(\d+)(?:binary|unary|compare|call))")
FIRST = 2  # Numba counts the offsets of instructions from here
_IDLE = ("JUMP", "POP_JUMP", "NOP", "CACHE", "EXTENDED_ARG", "RESUME", "COPY", "TO_BOOL", "POP_TOP")


def merges(code: CodeType, ir: Any, typemap: Mapping[str, Any]) -> dict[Place, Any]:
    """Numba's type of the join that each side of an expression ends in, by the side's place."""
    found: dict[Place, tuple[int, Any]] = {}
    ends = _ends(code, sorted(ir.blocks))
    for name, phi in _phis(ir):
        slot = int(_STACKED.match(name)[2])  # type: ignore[index]
        kind = seam.types.unliteral(typemap.get(name))
        for block in phi.incoming_blocks:
            place = ends.get(block)
            if place is not None and slot >= found.get(place, (0, None))[0]:
                found[place] = slot, kind
    return {place: kind for place, (_, kind) in found.items()}


def widened(
    code: CodeType, ir: Any, typemap: Mapping[str, Any], calltypes: Mapping[Any, Any]
) -> dict[Place, Any]:
    """Numba's type of each operator's or call's result that is stored in another type."""
    found: dict[Place, Any] = {}
    places: list[Any] = []
    for block in ir.blocks.values():
        for statement in block.body:
            signature = calltypes.get(getattr(statement, "value", None))
            offset = _COMPUTED.match(getattr(getattr(statement, "target", None), "name", ""))
            if signature is None or offset is None:
                continue
            kind = seam.types.unliteral(typemap[statement.target.name])
            if kind == seam.types.unliteral(signature.return_type):
                continue
            places = places or list(code.co_positions())
            at = int(offset[1] or offset[2]) // 2 - 1
            if at < len(places) and None not in places[at]:
                found[tuple(places[at])] = kind
    return found


def with_none(
    code: CodeType, ir: Any, typemap: Mapping[str, Any], calltypes: Mapping[Any, Any]
) -> dict[Place, bool]:
    """What each `==` and `!=` with a None on one side comes to: Numba decides it by types alone.

    An optional value is never equal to None, whatever it is when the kernel runs.
    """
    found: dict[Place, bool] = {}
    for statement in (one for block in ir.blocks.values() for one in block.body):
        value: Any = getattr(statement, "value", None)
        signature = calltypes.get(value)
        if signature is None or getattr(value, "op", None) != "binop":
            continue
        if value.fn not in (operator.eq, operator.ne):
            continue
        nones = [isinstance(kind, seam.types.NoneType) for kind in signature.args]
        offset = _COMPUTED.match(statement.target.name)
        if any(nones) and offset is not None:
            at = int(offset[1] or offset[2]) // 2 - 1
            place = next(itertools.islice(code.co_positions(), at, None), (None,))
            if None not in place:
                found[place] = all(nones) == (value.fn is operator.eq)  # type: ignore[index]
    return found


def _phis(ir: Any) -> Iterator[tuple[str, Any]]:
    for block in ir.blocks.values():
        for statement in block.body:
            if isinstance(statement, seam.ir.Assign) and _STACKED.match(statement.target.name):
                if getattr(statement.value, "op", None) == "phi":
                    yield statement.target.name, statement.value


def _ends(code: CodeType, blocks: list[int]) -> dict[int, Place]:
    """The place of the last instruction of each block that leaves a value."""
    found: dict[int, Place] = {}
    starts = [block - FIRST for block in blocks]
    at = -1
    for step in dis.get_instructions(code):
        while at + 1 < len(starts) and step.offset >= starts[at + 1]:
            at += 1
        place = step.positions
        if at < 0 or place is None or None in place or step.opname.startswith(_IDLE):
            continue
        found[blocks[at]] = (
            place.lineno or 0,
            place.end_lineno or 0,
            place.col_offset or 0,
            place.end_col_offset or 0,
        )
    return found
