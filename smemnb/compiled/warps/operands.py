"""The operands of a machine instruction, and readers of their values.

A reader takes a `Group` and gives an array that broadcasts to (rows, 32): uint32 for integers,
uint64 for pairs of registers, float32 and float64 for floating point, bool for predicates. What is
the same for all lanes (uniform registers, constants, immediates) has length 1 there.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]
Reader = Callable[[Any], Array]
"""From a `state.Group` to the value of an operand in its lanes."""

_REGISTER = re.compile(r"^(U?)R(\d+|Z)$")
_PREDICATE = re.compile(r"^(U?)P(\d|T)$")
_CONSTANT = re.compile(r"^c\[(0x[0-9a-f]+)\]\[(?:(U?R(?:\d+|Z))\s*\+?\s*)?(-?0x[0-9a-f]+)?\]$")
_MEMORY = re.compile(r"^(?:desc\[(UR\d+|URZ)\])?\[(.*)\]$")
_FLOATS = {"+INF": np.inf, "-INF": -np.inf, "INF": np.inf}
ZERO = 255


class Unknown(Exception):
    """An operand, modifier or instruction that the interpreter does not know."""


@dataclass(frozen=True)
class Operand:
    """One operand: `kind` is "R", "UR", "P", "UP", "number", "float", "constant" or "memory".

    `number` is the register (ZERO for RZ and URZ, 7 for PT and UPT) or the immediate; `sign` is
    "-" or "~" or "!" or empty; `part` the suffixes that are left, such as "H0_H0".
    """

    kind: str
    number: float = 0
    sign: str = ""
    absolute: bool = False
    part: str = ""
    bank: int = 0
    index: str = ""
    text: str = ""

    @property
    def is_predicate(self) -> bool:
        """Whether it is a predicate of a lane or of a warp."""
        return self.kind in ("P", "UP")


def operand(text: str) -> Operand:
    """The operand that stands there.

    >>> operand("-|R3|.reuse").number, operand("c[0x0][0x28]").number, operand("!UPT").kind
    (3, 40, 'UP')

    Raises:
        Unknown: none that is known.
    """
    rest = text.strip()
    sign = ""
    if rest[:1] in "!~" or (rest[:1] == "-" and not re.match(r"^-(\d|INF|QNAN)", rest)):
        sign, rest = rest[0], rest[1:]
    absolute = rest.startswith("|")
    rest = rest.replace("|", "")
    if rest.startswith(("c[", "desc[", "[")):
        return _bracketed(rest, sign, text, absolute=absolute)
    head, *suffixes = rest.split(".") if not re.match(r"^[-+]?\d", rest) else [rest]
    part = ".".join(one for one in suffixes if one != "reuse")
    if found := _REGISTER.match(head):
        number = ZERO if found[2] == "Z" else int(found[2])
        return Operand(f"{found[1]}R", number, sign, absolute, part, text=text)
    if found := _PREDICATE.match(head):
        number = 7 if found[2] == "T" else int(found[2])
        return Operand(f"{found[1]}P", number, sign, text=text)
    if re.match(r"^(S?B\d+|PR|SRZ?_?\w*)$", head):
        return Operand("name", text=head)
    return _immediate(rest, sign, text, absolute=absolute)


def _immediate(rest: str, sign: str, text: str, *, absolute: bool) -> Operand:
    rest = rest.replace(" ", "").removesuffix(".reuse")
    if rest in _FLOATS:
        return Operand("float", _FLOATS[rest], sign, absolute, text=text)
    try:
        if re.match(r"^-?0x[0-9a-f]+$", rest):
            return Operand("number", int(rest, 16), sign, absolute, text=text)
        return Operand("float", float(rest), sign, absolute, text=text)
    except ValueError:
        raise Unknown(f"operand {text}") from None


def _bracketed(rest: str, sign: str, text: str, *, absolute: bool) -> Operand:
    if found := _CONSTANT.match(rest):
        offset = int(found[3] or "0", 16)
        bank = int(found[1], 16)
        return Operand("constant", offset, sign, absolute, "", bank, found[2] or "", text)
    if found := _MEMORY.match(rest):
        return Operand("memory", 0, sign, absolute, index=found[2], text=text)
    raise Unknown(f"operand {text}")


def same(value: int | float, dtype: Any = np.uint32) -> Array:
    """A value that is the same for all lanes.

    >>> same(-1).tolist()
    [[4294967295]]
    """
    if dtype in (np.uint32, np.uint64):
        bits = 32 if dtype is np.uint32 else 64
        return np.array([[int(value) % 2**bits]], dtype)
    return np.array([[value]], dtype)


def constantly(value: Array) -> Reader:
    """A reader of one value."""
    return lambda group: value


def flushed(value: Array) -> Array:
    """Denormal float32 numbers as zeros of their sign.

    >>> flushed(np.array([1e-40, 1.0], np.float32)).tolist()
    [0.0, 1.0]
    """
    tiny = np.abs(value) < np.float32(1.1754944e-38)
    return np.where(tiny, np.copysign(np.float32(0), value), value)
