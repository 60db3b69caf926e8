"""Machine instructions as the scheduler takes them: pipe, control bits, registers read by bank.

A register read costs a port of its bank (even or odd number) for a cycle. An operand that the
instruction before kept (`.reuse`) costs none, if the same warp issued just before.

**Limits**: instructions of tensor cores, textures and asynchronous copies are refused by name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from ...compiled.control_bits import Control
from ...compiled.listing import Located
from ...errors import SmemnbError
from .machine import RATES
from .scheduler import KINDS

__all__ = ["COLUMNS", "kind_of", "table"]

COLUMNS: Final = (
    "kind",
    "stall",
    "waits",
    "writes",
    "reads",
    "even_kept",
    "odd_kept",
    "even",
    "odd",
    "words",
    "busy",
    "space",
)
"""Columns of `table`."""

_REGISTER = re.compile(r"(?<![A-Z])R(\d+)(\.64)?(\.reuse)?")
_FMA = {"FFMA", "FADD", "FMUL", "HFMA2", "HADD2", "HMUL2", "VIADD"}
_HEAVY = {"IMAD"}
_OTHER = {"BRA", "BSSY", "BSYNC", "NOP", "EXIT", "WARPSYNC", "BREAK", "CALL", "RET", "BMOV"}
_OTHER |= {"YIELD", "ENDCOLLECTIVE", "MEMBAR", "ERRBAR", "CGAERRBAR", "CCTL", "DEPBAR", "NANOSLEEP"}
_SPECIAL = {"MUFU", "S2R", "S2UR", "CS2R", "R2UR", "I2F", "F2I", "F2F", "FRND", "POPC", "FLO"}
_SPECIAL |= {"BREV", "B2R", "VOTEU", "FCHK", "I2I"}
_DOUBLE = {"DFMA", "DADD", "DMUL", "DSETP"}
_LOADS = {"LDS", "LDG", "LDL", "LD"}
_STORES = {"STS", "STG", "STL", "ST"}
_ATOMICS = {"ATOMS", "ATOMG", "ATOM", "RED", "REDG"}
_EXCHANGE = {"SHFL"}
_REFUSED = (
    "HMMA",
    "IMMA",
    "DMMA",
    "HGMMA",
    "WGMMA",
    "LDSM",
    "LDGSTS",
    "UTMA",
    "TEX",
    "TLD",
    "SULD",
)
_SPACES = {"S": 0, "G": 1, "L": 2}


def kind_of(name: str) -> tuple[str, int]:
    """Pipe of an instruction, and the cycles that it keeps it busy.

    >>> kind_of("IMAD.WIDE.U32"), kind_of("LDS.128")
    (('heavy', 4), ('load', 1))

    Raises:
        SmemnbError: an instruction that the model does not know.
    """
    first, *rest = name.split(".")
    if first.startswith(_REFUSED):
        raise SmemnbError(
            f"{name}: tensor cores, textures and asynchronous copies are not modelled"
        )
    if first in _FMA:
        return "fma", RATES["fma"][0]
    if first in _HEAVY:
        return "heavy", RATES["wide" if "WIDE" in rest or "HI" in rest else "heavy"][0]
    if first in _LOADS:
        return "load", 1
    if first in _STORES:
        return "store", 1
    if first in _ATOMICS:
        return ("store" if first.startswith("RED") else "load"), 1
    if first in _EXCHANGE:
        return "exchange", 1
    if first == "LDC":
        return "constant", 1
    if first == "BAR":
        return "barrier", 1
    if first in _DOUBLE:
        return "double", RATES["double"][0]
    if first in _SPECIAL:
        return "special", RATES["popc" if first in ("POPC", "FLO", "BREV") else "special"][0]
    if first in _OTHER:
        return "other", 1
    if first.startswith("U"):
        return "uniform", RATES["uniform"][0]
    return "alu", RATES["alu"][0]


def table(code: Sequence[Located], controls: Mapping[int, Control]) -> Any:
    """A row of `COLUMNS` for each instruction, int32.

    Raises:
        SmemnbError: an instruction that the model does not know.
    """
    rows = []
    kept: dict[tuple[int, int], int] = {}
    for one in code:
        bits = controls[one.address]
        kind, busy = kind_of(one.name)
        first = one.name.split(".")[0]
        read = _read(one)
        cost = [0, 0, 0, 0]
        fresh: dict[tuple[int, int], int] = {}
        for slot, (number, wide, reused) in enumerate(read):
            bank = number % 2
            cost[2 + bank] += 1
            cost[bank] += kept.get((slot, bank)) != number
            if wide:
                cost = [more + 1 if at % 2 != bank else more for at, more in enumerate(cost)]
            if reused:
                fresh[slot, bank] = number
        kept = fresh
        words = _words(one.name)
        if kind == "store":  # the data beyond a first register
            cost = [more + words // 2 for more in cost]
        waits = sum(1 << number for number in bits.waits)
        boards = [7 if board is None else board for board in (bits.writes, bits.reads)]
        space = _SPACES.get(first[-1], 1) if first in _LOADS | _STORES else _atomic_space(first)
        rows.append([KINDS.index(kind), bits.stall, waits, *boards, *cost, words, busy, space])
    return np.array(rows, np.int32).reshape(-1, len(COLUMNS))


def _atomic_space(first: str) -> int:
    return 0 if first in ("ATOMS", "SHFL") else 1


def _read(one: Located) -> list[tuple[int, bool, bool]]:
    """Registers that an instruction reads: number, whether a pair, whether kept."""
    first = one.name.split(".")[0]
    writes = first not in _STORES and first not in ("BAR", "RED", "REDG", "BRA", "EXIT")
    text = ", ".join(one.operands[1:] if writes else one.operands)
    return [(int(n), bool(pair), bool(reuse)) for n, pair, reuse in _REGISTER.findall(text)]


def _words(name: str) -> int:
    parts = name.split(".")
    return 4 if "128" in parts else 2 if "64" in parts else 1
