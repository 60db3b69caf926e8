"""Readers and writers: from the operands of an instruction to the values of its lanes, and back.

Each is made once per instruction. What modifiers say (a sign, an absolute value, `.FTZ`) is done by
the reader; a modifier that it does not know is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .operands import ZERO, Array, Operand, Reader, Unknown, constantly, flushed, same
from .state import Group, State


class Readers:
    """Makes readers; constants of the launch are known, so they become immediates."""

    def __init__(self, state: State) -> None:
        self._state = state

    def word(self, one: Operand) -> Reader:
        """32 bits as they are, without sign or other modifier."""
        state, number = self._state, int(one.number) if one.kind != "float" else 0
        if one.kind in ("R", "UR"):
            if number == ZERO:
                return constantly(same(0))
            registers = state.registers if one.kind == "R" else state.uniform
            return lambda group: group.of(registers[number])
        if one.kind == "number":
            return constantly(same(number))
        if one.kind == "float":
            return constantly(np.array([[one.number]], np.float32).view(np.uint32))
        if one.kind == "constant":
            return state.constant(one, 4)
        raise Unknown(f"operand {one.text}")

    def integer(self, one: Operand) -> Reader:
        """32 bits of an integer, negated or complemented as it says.

        Raises:
            Unknown: other modifiers.
        """
        if one.part or one.absolute or one.sign == "!":
            raise Unknown(f"operand {one.text}")
        return _signed(self.word(one), one.sign)

    def pair(self, one: Operand) -> Reader:
        """64 bits: a register and its neighbour, or a constant's eight bytes, as uint64."""
        if one.part or one.absolute or one.sign == "!":
            raise Unknown(f"operand {one.text}")
        return _signed(self.double_word(one), one.sign)

    def double_word(self, one: Operand) -> Reader:
        """64 bits as they are."""
        if one.kind == "number":
            return constantly(same(one.number, np.uint64))
        if one.kind == "constant":
            return self._state.constant(one, 8)
        if one.number == ZERO and one.kind in ("R", "UR"):
            return constantly(same(0, np.uint64))
        low = self.word(one)
        high = self.word(Operand(one.kind, one.number + 1, text=one.text))
        shift = np.uint64(32)
        return lambda group: high(group).astype(np.uint64) << shift | low(group)

    def float32(self, one: Operand, *, flush: bool = False) -> Reader:
        """A float32 with its modifiers; `flush` makes denormal numbers zero."""
        if one.part or one.sign in ("~", "!"):
            raise Unknown(f"operand {one.text}")
        word = self.word(one)
        return _float(lambda group: word(group).view(np.float32), one, flush=flush)

    def float64(self, one: Operand) -> Reader:
        """A float64 with its modifiers; an immediate is written out as a number."""
        if one.part or one.sign in ("~", "!"):
            raise Unknown(f"operand {one.text}")
        if one.kind == "float":
            return _float(constantly(np.array([[one.number]], np.float64)), one)
        if one.kind == "number":  # written in bits, as a NaN is: the upper half
            bits = np.array([[int(one.number) << 32]], np.uint64)
            return _float(constantly(bits.view(np.float64)), one)
        pair = self.double_word(one)
        return _float(lambda group: pair(group).view(np.float64), one)

    def predicate(self, one: Operand) -> Reader:
        """A predicate, negated if it says so.

        Raises:
            Unknown: it is none.
        """
        if not one.is_predicate:
            raise Unknown(f"operand {one.text} where a predicate should stand")
        if one.number == 7:
            return constantly(np.array([[one.sign != "!"]]))
        number = int(one.number)
        held = self._state.predicates if one.kind == "P" else self._state.uniform_predicates
        if one.sign == "!":
            return lambda group: ~group.of(held[number])
        return lambda group: group.of(held[number])


def _signed(read: Reader, sign: str) -> Reader:
    if sign == "-":
        return lambda group: -read(group)
    if sign == "~":
        return lambda group: ~read(group)
    return read


def _float(read: Reader, one: Operand, *, flush: bool = False) -> Reader:
    steps: list[Callable[[Array], Array]] = []
    if flush:
        steps.append(flushed)
    if one.absolute:
        steps.append(np.abs)
    if one.sign == "-":
        steps.append(np.negative)
    if not steps:
        return read

    def modified(group: Group) -> Array:
        value = read(group)
        for step in steps:
            value = step(value)
        return value

    return modified


class Writers:
    """Makes writers of registers and predicates."""

    def __init__(self, state: State) -> None:
        self._state = state

    def word(self, one: Operand) -> Any:
        """A writer of 32 bits; what goes to RZ is dropped."""
        if one.kind not in ("R", "UR") or one.sign or one.part:
            raise Unknown(f"operand {one.text} as a result")
        if one.number == ZERO:
            return _drop
        state, number = self._state, int(one.number)
        if one.kind == "R":
            return lambda group, value: group.put(state.registers[number], value)
        return lambda group, value: group.put_uniform(state.uniform[number], value)

    def pair(self, one: Operand) -> Any:
        """A writer of 64 bits into a register and its neighbour."""
        if one.number == ZERO:
            return _drop
        low = self.word(one)
        high = self.word(Operand(one.kind, one.number + 1, text=one.text))

        def write(group: Group, value: Array) -> None:
            whole = value.view(np.uint64) if value.dtype != np.uint64 else value
            low(group, whole.astype(np.uint32))
            high(group, (whole >> np.uint64(32)).astype(np.uint32))

        return write

    def float32(self, one: Operand) -> Any:
        """A writer of float32 numbers."""
        word = self.word(one)
        return lambda group, value: word(group, np.ascontiguousarray(value).view(np.uint32))

    def predicate(self, one: Operand) -> Any:
        """A writer of a predicate; what goes to PT is dropped."""
        if not one.is_predicate or one.sign:
            raise Unknown(f"operand {one.text} as a result")
        if one.number == 7:
            return _drop
        state, number = self._state, int(one.number)
        if one.kind == "P":
            return lambda group, value: group.put(state.predicates[number], value)
        return lambda group, value: group.put_uniform(state.uniform_predicates[number], value)


def _drop(group: Group, value: Array) -> None:
    return None
