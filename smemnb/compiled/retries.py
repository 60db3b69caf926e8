"""Loops that try again until a compare-and-swap succeeds.

How often they go round depends on which thread comes first, so nothing in them has a fixed count.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from .listing import Located

_REGISTERS = re.compile(r"\bU?[RP]\d+\b")


def retry_loops(code: Sequence[Located]) -> list[tuple[int, int]]:
    """First and last address of each loop whose end depends on what a CAS in it found."""
    jumps = [(target, one) for one in code if (target := _backward(one)) is not None]
    found = []
    for one in code:
        if "CAS" not in one.name and "CAST" not in one.name:
            continue
        around = [(target, jump) for target, jump in jumps if target <= one.address < jump.address]
        around.sort(key=lambda pair: pair[1].address - pair[0])
        for target, jump in around:
            if _depends(code, one, jump):
                found.append((target, jump.address))
                break
    return found


def _backward(one: Located) -> int | None:
    """Where a branch goes back to."""
    if not one.name.startswith("BRA") or not one.operands[-1].startswith("0x"):
        return None
    target = int(one.operands[-1], 16)
    return target if target < one.address else None


def _depends(code: Sequence[Located], first: Located, jump: Located) -> bool:
    """Whether the jump's condition follows from the result of the first instruction."""
    touched = set(_REGISTERS.findall(" ".join(_results(first))))
    for one in code:
        if not first.address < one.address <= jump.address:
            continue
        read = set(_REGISTERS.findall(" ".join((one.guard, *_sources(one)))))
        if one is jump:
            return bool(read & touched)
        written = set(_REGISTERS.findall(" ".join(_results(one))))
        if read & touched:
            touched |= written
        elif not one.guard:
            touched -= written
    return False


def _results(one: Located) -> tuple[str, ...]:
    """Operands that it writes: those in front, predicates first or after a register."""
    count = 1
    while count < len(one.operands) and re.match(r"U?P[\dT]$", one.operands[count - 1]):
        count += 1
    return one.operands[:count]


def _sources(one: Located) -> tuple[str, ...]:
    return one.operands if one.name.startswith("BRA") else one.operands[1:]
