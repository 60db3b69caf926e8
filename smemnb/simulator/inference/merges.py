"""The types in which two sides of an expression are joined: `a if c else b`, `a and b`.

Numba joins both sides in one type, whichever of them a thread takes. In its IR that is a phi of
a temporary, with the blocks it comes from; the last instruction of such a block computes the side,
and Python keeps the place of each instruction in the source.
"""

from __future__ import annotations

import dis
import re
from collections.abc import Iterator, Mapping
from types import CodeType
from typing import Any

from .. import seam

Place = tuple[int, int, int, int]
"""Line, last line, column, last column, as in Python's syntax trees."""

_STACKED = re.compile(r"\$phi(\d+)\.(\d+)")
_FIRST = 2  # Numba counts the offsets of instructions from here
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


def _phis(ir: Any) -> Iterator[tuple[str, Any]]:
    for block in ir.blocks.values():
        for statement in block.body:
            if isinstance(statement, seam.ir.Assign) and _STACKED.match(statement.target.name):
                if getattr(statement.value, "op", None) == "phi":
                    yield statement.target.name, statement.value


def _ends(code: CodeType, blocks: list[int]) -> dict[int, Place]:
    """The place of the last instruction of each block that leaves a value."""
    found: dict[int, Place] = {}
    starts = [block - _FIRST for block in blocks]
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
