"""Matrices of 8 rows of 16 bytes between shared memory and the registers of a warp."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..memory import BadAddress
from ..operands import Array, Unknown
from ..semantics import BuildContext, Instruction, Step, implements
from ..state import LANES, Group
from .accesses import _register, _source, address_reader

U16, U32 = np.uint16, np.uint32
ROWS, ROW_BYTES = 8, 16
LANE = np.arange(LANES)


def _form(one: Instruction) -> tuple[int, bool]:
    """How many matrices, and whether they are turned."""
    given = one.only({"16", "M88", "MT88", "2", "4"})
    if "16" not in given or len(given & {"M88", "MT88"}) != 1:
        raise Unknown(f"form of {one.located.name}")
    return (4 if "4" in given else 2 if "2" in given else 1), "MT88" in given


def _halves(count: int, *, turned: bool) -> list[tuple[int, Array, Array]]:
    """Of each matrix, twice: the lane that names the row of a lane's half, and its column."""
    found = []
    for matrix in range(count):
        for at in range(2):
            pair, single = 2 * (LANE % 4) + at, LANE // 4
            row, col = (pair, single) if turned else (single, pair)
            found.append((matrix, ROWS * matrix + row, col))
    return found


def whole_warps(group: Group) -> None:
    """Refuse an instruction that only some lanes of a warp execute.

    Raises:
        Unknown: some lanes do not.
    """
    if (group.mask.any(axis=1) & ~group.mask.all(axis=1)).any():
        raise Unknown("an instruction of a whole warp by some of its lanes")


def _of_rows(group: Group, count: int) -> Group:
    """The lanes that name a row."""
    return group.narrowed((LANE < ROWS * count)[None])


def _check(group: Group, where: Array) -> None:
    if (where[group.mask] % ROW_BYTES).any():
        raise BadAddress(f"address that is no multiple of {ROW_BYTES}")


@implements("LDSM")
def load_matrices(one: Instruction, context: BuildContext) -> Step:
    """Each lane's words of 1, 2 or 4 matrices, in registers that follow each other."""
    count, turned = _form(one)
    out, at = one.operands
    address = address_reader(at, context, long=False)
    writers = [_register(context, out, place) for place in range(count)]
    memory: Any = context.tools["memory"]
    counted = context.tools["tally"].site(one.located, "load", ROW_BYTES, count)
    halves = _halves(count, turned=turned)

    def step(group: Group) -> None:
        whole_warps(group)
        where, rows = address(group), _of_rows(group, count)
        counted.add(rows, "shared", where)
        _check(rows, where)
        flat, place = memory.cells("shared", rows, where, U16)
        words = [np.zeros(group.mask.shape, U32) for _ in range(count)]
        for number, (matrix, giver, col) in enumerate(halves):
            half = flat.take(place[:, giver] + col).astype(U32)
            words[matrix] |= half << U32(16 * (number % 2))
        for write, word in zip(writers, words, strict=True):
            write(group, word)

    return step


@implements("STSM")
def store_matrices(one: Instruction, context: BuildContext) -> Step:
    """Matrices out of each lane's words."""
    count, turned = _form(one)
    at, value = one.operands
    address = address_reader(at, context, long=False)
    readers = [_source(context, value, place) for place in range(count)]
    memory: Any = context.tools["memory"]
    counted = context.tools["tally"].site(one.located, "store", ROW_BYTES, count)
    halves = _halves(count, turned=turned)

    def step(group: Group) -> None:
        whole_warps(group)
        where, rows = address(group), _of_rows(group, count)
        counted.add(rows, "shared", where)
        _check(rows, where)
        flat, place = memory.cells("shared", rows, where, U16)
        words = [np.broadcast_to(read(group), group.mask.shape) for read in readers]
        active = group.mask
        for number, (matrix, giver, col) in enumerate(halves):
            half = (words[matrix] >> U32(16 * (number % 2))).astype(U16)
            flat[(place[:, giver] + col)[active]] = half[active]

    return step
