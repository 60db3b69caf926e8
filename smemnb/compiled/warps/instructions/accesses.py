"""Loads and stores: addresses, widths, and what is counted of them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from ..memory import GLOBAL, BadAddress, space_of
from ..operands import ZERO, Array, Operand, Reader, Unknown
from ..semantics import BuildContext, Instruction, Step, implements
from ..state import Group

U32, U64 = np.uint32, np.uint64
SPACES = {"S": "shared", "G": "global", "L": "local", "": "generic"}
_TERM = re.compile(r"^(U?R)(\d+|Z)(?:\.(64|U32|X4|X8|X16))?$")
_IGNORED = {"E", "CONSTANT", "STRONG", "SYS", "GPU", "CTA", "WEAK", "EF", "EL", "LU", "EU", "NA"}
_IGNORED |= {"LTC128B", "LTC64B", "LTC256B", "PRIVATE", "SM", "VM"}
_NARROW = {"U8": np.uint8, "S8": np.int8, "U16": np.uint16, "S16": np.int16}


def address_reader(one: Operand, context: BuildContext, *, long: bool) -> Reader:
    """The byte address of each lane, int64; `long` ones have 64 bits."""
    terms: list[Callable[[Group], Array]] = []
    constant = 0
    for text in one.index.split("+"):
        found = _TERM.match(text.strip())
        if found is None:
            constant += _offset(text, one)
            continue
        terms.append(
            _term(
                found[1],
                found[2],
                found[3] or "",
                context,
                long=long and (found[1] == "UR" or not terms),
            )
        )
    offset = np.array([[constant]], np.int64)
    cut = -1 if long else 0xFFFFFFFF

    def read(group: Group) -> Array:
        total = offset
        for term in terms:
            total = total + term(group)
        return np.broadcast_to(total & cut, group.mask.shape)

    return read


def _offset(text: str, one: Operand) -> int:
    try:
        return int(text, 16)
    except ValueError:
        raise Unknown(f"address {one.text}") from None


def _term(
    kind: str, number: str, form: str, context: BuildContext, *, long: bool
) -> Callable[..., Array]:
    part = Operand(kind, ZERO if number == "Z" else int(number), text=f"{kind}{number}")
    if form == "64" or (long and form == ""):
        pair = context.read.double_word(part)
        return lambda group: pair(group).view(np.int64)
    word = context.read.word(part)
    scale = np.int64(int(form[1:]) if form.startswith("X") else 1)
    return lambda group: word(group).astype(np.int64) * scale


def width_of(one: Instruction, known: set[str]) -> tuple[int, Any]:
    """Bytes per lane, and the type of an access of less than 4 bytes.

    Raises:
        Unknown: a modifier that is none of a memory instruction's.
    """
    given = one.only({*_IGNORED, *_NARROW, "32", "64", "128", "U", *known})
    narrow = next((_NARROW[name] for name in given if name in _NARROW), None)
    if narrow is not None:
        return np.dtype(narrow).itemsize, narrow
    return (16 if "128" in given else 8 if "64" in given else 4), None


@implements("LDS", "LDG", "LDL", "LD")
def load(one: Instruction, context: BuildContext) -> Step:
    """Registers from memory."""
    named = SPACES[one.name[2:]]
    width, narrow = width_of(one, set())
    out, at = one.operands[0], one.operands[1]
    if len(one.operands) != 2 or at.kind != "memory":
        raise Unknown(f"form of {one.name}")
    address = address_reader(at, context, long=named in ("global", "generic"))
    writers = [_register(context, out, place) for place in range(max(1, width // 4))]
    memory, tally = context.tools["memory"], context.tools["tally"]
    counted = tally.site(one.located, "load", width)

    def step(group: Group) -> None:
        where, space = address(group), named
        if space == "generic":
            space, where = space_of(group, where)
        counted.add(group, space, where)
        _aligned(group, where, width)
        if narrow is not None:
            flat, place = memory.cells(space, group, where, narrow)
            writers[0](group, flat.take(place).astype(np.int32).view(U32))
            return
        flat, place = memory.cells(space, group, where, U32)
        values = [flat.take(place + number) for number in range(len(writers))]
        for write, value in zip(writers, values, strict=True):
            write(group, value)

    return step


def _aligned(group: Group, where: Array, width: int) -> None:
    if width > 4 and (where[group.mask] & (width - 1)).any():
        raise BadAddress(f"address that is no multiple of {width}")


def _register(context: BuildContext, first: Operand, place: int) -> Any:
    if first.number == ZERO:
        return context.write.word(first)
    return context.write.word(Operand("R", first.number + place, text=first.text))


@implements("STS", "STG", "STL", "ST")
def store(one: Instruction, context: BuildContext) -> Step:
    """Memory from registers."""
    named = SPACES[one.name[2:]]
    width, narrow = width_of(one, set())
    at, value = one.operands
    if at.kind != "memory":
        raise Unknown(f"form of {one.name}")
    address = address_reader(at, context, long=named in ("global", "generic"))
    readers = [_source(context, value, place) for place in range(max(1, width // 4))]
    memory, tally = context.tools["memory"], context.tools["tally"]
    counted = tally.site(one.located, "store", width)
    kind = U32 if narrow is None else np.dtype(f"u{width}").type

    def step(group: Group) -> None:
        where, space = address(group), named
        if space == "generic":
            space, where = space_of(group, where)
        counted.add(group, space, where)
        _aligned(group, where, width)
        flat, place = memory.cells(space, group, where, kind)
        lanes = group.mask
        for number, read in enumerate(readers):
            words = np.broadcast_to(read(group), lanes.shape)
            flat[place[lanes] + number] = words[lanes].astype(kind)

    return step


def _source(context: BuildContext, first: Operand, place: int) -> Reader:
    if first.number == ZERO or first.kind != "R":
        return context.read.integer(first)
    return context.read.integer(Operand("R", first.number + place, text=first.text))


@implements("LDGSTS")
def copy(one: Instruction, context: BuildContext) -> Step:
    """Shared memory from global memory, at once: a load and a store, each counted.

    Lanes whose predicate does not hold read nothing and store 0. With `.ZFILL` the global address
    is a multiple of the width plus the number of bytes at the end that are 0 in place of what is
    read.
    """
    width, narrow = width_of(one, {"BYPASS", "ZFILL"})
    to, at, *flags = one.operands
    forms = (to.kind, at.kind, *(flag.kind for flag in flags))
    if narrow is not None or forms not in (("memory", "memory"), ("memory", "memory", "P")):
        raise Unknown(f"form of {one.name}")
    into, source = (
        address_reader(to, context, long=False),
        address_reader(at, context, long=True),
    )
    there = context.read.predicate(flags[0]) if flags else None
    memory, tally = context.tools["memory"], context.tools["tally"]
    loads, stores = (tally.site(one.located, kind, width) for kind in ("load", "store"))
    loads.past_l1 = stores.past_l1 = "BYPASS" in one.modifiers
    cut = "ZFILL" in one.modifiers

    def step(group: Group) -> None:
        where, place = source(group), into(group)
        reads = group.mask if there is None else group.mask & there(group)
        filled = where & (width - 1) if cut else np.zeros_like(where)
        where = where - filled
        where, place = np.where(reads, where, 0), np.broadcast_to(place, reads.shape)
        loads.add(group, "global", where, reads, beside=(place, group.mask))
        stores.add(group, "shared", place, beside=(where, reads))
        _aligned(group, place, width)
        if (where[reads] & (width - 1)).any():
            raise BadAddress(f"address that is no multiple of {width}")
        where = np.where(reads, where, GLOBAL)
        data, first = memory.cells("global", group, where, np.uint8)
        words, cell = memory.cells("shared", group, place, np.uint8)
        lanes = group.mask
        for number in range(width):
            kept = reads & (number < width - filled)
            octet = np.where(kept, data.take(np.where(kept, first + number, 0)), 0)
            words[cell[lanes] + number] = octet[lanes]

    return step


@implements("LDC", "ULDC")
def load_constant(one: Instruction, context: BuildContext) -> Step:
    """Registers from constant memory."""
    given = one.only({"64", *_NARROW})
    out, at = one.operands
    if "64" in given:
        write64, read64 = context.write.pair(out), context.state.constant(at, 8)
        return lambda group: write64(group, read64(group))
    narrow = next((_NARROW[name] for name in given if name in _NARROW), None)
    write = context.write.word(out)
    read = context.state.constant(at, 4 if narrow is None else np.dtype(narrow).itemsize)
    if narrow is None:
        return lambda group: write(group, read(group))
    return lambda group: write(group, read(group).view(narrow).astype(np.int32).view(U32))
