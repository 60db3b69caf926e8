"""Atomics: lanes of one instruction take effect one after the other, in order of number, or back.

Which thread comes first is the hardware's choice; results that depend on it are one possibility.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..memory import space_of
from ..operands import ZERO, Array, Reader, Unknown
from ..semantics import BuildContext, Instruction, Step, implements
from ..state import Group
from .accesses import address_reader

U32 = np.uint32
_TYPES: dict[str, Any] = {
    "S32": np.int32, "U32": np.uint32, "32": np.uint32, "S64": np.int64, "U64": np.uint64,
    "64": np.uint64, "F32": np.float32, "F64": np.float64,
}  # fmt: skip
_APPLY: dict[str, Callable[[Any, Any], Any]] = {
    "ADD": np.add,
    "MIN": np.minimum,
    "MAX": np.maximum,
    "AND": np.bitwise_and,
    "OR": np.bitwise_or,
    "XOR": np.bitwise_xor,
    "EXCH": lambda old, new: new,
    "INC": lambda old, most: np.where(old >= most, old * 0, old + 1),
    "DEC": lambda old, most: np.where((old == 0) | (old > most), most, old - 1),
}
_SCOPES = {"E", "STRONG", "GPU", "SYS", "CTA", "SM", "FTZ", "RN"}
_SPACES = {"ATOMS": "shared", "ATOMG": "global", "REDG": "global", "ATOM": "generic"}
_SPACES |= {"RED": "generic"}


@implements("ATOMS", "ATOMG", "ATOM", "REDG", "RED")
def atomic(one: Instruction, context: BuildContext) -> Step:
    """Reads, changes and writes a cell of each lane."""
    given = one.only({*_TYPES, *_APPLY, *_SCOPES, "CAS", "POPC", "CAST", "SPIN"})
    kind = next((_TYPES[name] for name in one.modifiers if name in _TYPES), U32)
    named = _SPACES[one.name]
    at = next(place for place, part in enumerate(one.operands) if part.kind == "memory")
    results, sources = one.operands[:at], one.operands[at + 1 :]
    address = address_reader(one.operands[at], context, long=named != "shared")
    long = np.dtype(kind).itemsize == 8
    read = context.read.pair if long else context.read.integer
    values = [_typed(read(source), kind) for source in sources]
    out = next((part for part in results if not part.is_predicate), None)
    for flag in results:
        if flag.is_predicate and flag.number != 7:
            raise Unknown("predicate of an atomic")
    write = None
    if out is not None and out.number != ZERO:
        write = context.write.pair(out) if long else context.write.word(out)
    change, says_swapped = _change(one, given), "CAST" in given
    memory, backwards = context.tools["memory"], context.tools["backwards"]
    counted = context.tools["tally"].site(one.located, _counted_as(one, given), 8 if long else 4)

    def step(group: Group) -> None:
        where, space = address(group), named
        if space == "generic":
            space, where = space_of(group, where)
        counted.add(group, space, where)
        flat, place = memory.cells(space, group, where, kind)
        lanes = group.mask
        taken = [np.broadcast_to(value(group), lanes.shape)[lanes] for value in values]
        if write is None and isinstance(change, np.ufunc):
            change.at(flat, place[lanes], taken[0])
            return
        turn = slice(None, None, -1 if backwards else 1)
        old = in_turn(flat, place[lanes][turn], [value[turn] for value in taken], change)[turn]
        if write is not None:
            whole = np.zeros(lanes.shape, kind)
            whole[lanes] = old == taken[0] if says_swapped else old
            write(group, whole.view(np.uint64 if long else U32))

    return step


def _typed(read: Reader, kind: Any) -> Reader:
    return lambda group: read(group).view(kind)


def _counted_as(one: Instruction, given: set[str]) -> str:
    """The kind of `rules.bank` for a shared atomic; "reduction" for one that returns nothing."""
    if one.name in ("REDG", "RED"):
        return "reduction"
    if "SPIN" in given:
        return "atomic_retry"
    return (
        "atomic_cas"
        if "CAS" in given
        else ("atomic_increment" if "POPC" in given else "atomic_add")
    )


def _change(one: Instruction, given: set[str]) -> Callable[..., Array]:
    """The new value of a cell, from the old one and what the lane brings."""
    if given & {"CAS", "CAST"}:
        return _swapped
    if "POPC" in given:
        return lambda old, *_: old + 1
    names = [name for name in one.modifiers if name in _APPLY]
    if len(names) != 1:
        raise Unknown(f"operation of {one.located.name}")
    return _APPLY[names[0]]


def _swapped(old: Array, expected: Array, new: Array) -> Array:
    return np.where(old == expected, new, old)


def in_turn(flat: Array, place: Array, values: list[Array], change: Callable[..., Array]) -> Array:
    """Change cells one after the other where several lanes name one; what each lane found there.

    >>> cells = np.array([10, 0])
    >>> in_turn(cells, np.array([0, 1, 0]), [np.array([1, 2, 3])], np.add).tolist()
    [10, 0, 11]
    >>> cells.tolist()
    [14, 2]
    """
    order = np.argsort(place, kind="stable")
    cells = place[order]
    first = np.concatenate([[True], cells[1:] != cells[:-1]]) if len(cells) else np.zeros(0, bool)
    starts = np.flatnonzero(first)
    if change is np.add and flat.dtype.kind in "iu":
        return _sums_in_turn(flat, cells, starts, values[0][order], order)
    rank = np.arange(len(cells)) - np.repeat(starts, np.diff([*starts, len(cells)]))
    old = np.empty(len(cells), flat.dtype)
    for turn in range(int(rank.max(initial=-1)) + 1):
        now = order[rank == turn]
        old[now] = flat[place[now]]
        flat[place[now]] = change(old[now], *(value[now] for value in values))
    return old


def _sums_in_turn(flat: Array, cells: Array, starts: Array, added: Array, order: Array) -> Array:
    """The same for integer sums, in one pass."""
    before = np.cumsum(added, dtype=added.dtype) - added
    lengths = np.diff([*starts, len(cells)])
    before = before - np.repeat(before[starts], lengths)
    old = np.empty(len(cells), flat.dtype)
    old[order] = flat[cells] + before
    np.add.at(flat, cells, added)
    return old
