"""Conversions between integers and floating point, and between sizes of both."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..operands import Array, Operand, Reader, Unknown, flushed
from ..semantics import BuildContext, Instruction, Step, implements
from ..state import Group
from .floats import rounded

U32, U64 = np.uint32, np.uint64
_INTEGERS = {
    "S8": np.int8, "U8": np.uint8, "S16": np.int16, "U16": np.uint16,
    "S32": np.int32, "U32": np.uint32, "S64": np.int64, "U64": np.uint64,
}  # fmt: skip
_FLOATS = {"F16": np.float16, "F32": np.float32, "F64": np.float64}


def _integer(context: BuildContext, one: Operand, kind: Any) -> Reader:
    """An integer of the type; a byte or half of a register may be named."""
    if np.dtype(kind).itemsize == 8:
        pair = context.read.pair(one)
        return lambda group: pair(group).view(kind)
    if one.sign or one.absolute:
        raise Unknown(f"operand {one.text}")
    places = {"": 0, "B0": 0, "B1": 8, "B2": 16, "B3": 24, "H0": 0, "H1": 16}
    if one.part not in places:
        raise Unknown(f"operand {one.text}")
    word, shift = context.read.word(one), U32(places[one.part])
    unsigned = np.dtype(f"u{np.dtype(kind).itemsize}")
    return lambda group: (word(group) >> shift).astype(unsigned).view(kind)


def _as_float32(value: Array, given: set[str]) -> Array:
    """Integers as float32, rounded to nearest or as the modifiers say."""
    near: Array = value.astype(np.float32)
    if not given & {"RP", "RM", "RZ"}:
        return near
    # a float32 made from an integer is an integer; 2**64 has no place in the type, and is above
    top = near >= np.float32(2.0**64 if value.dtype == U64 else 2.0**63)
    back = np.where(top, np.float32(0), near).astype(value.dtype)
    above, below = top | (back > value), ~top & (back < value)
    down, up = np.nextafter(near, np.float32(-np.inf)), np.nextafter(near, np.float32(np.inf))
    if "RP" in given:
        return np.where(below, up, near)
    if "RM" in given:
        return np.where(above, down, near)
    return np.where(above & (value > 0), down, np.where(below & (value < 0), up, near))


@implements("I2F", "I2FP")
def to_float(one: Instruction, context: BuildContext) -> Step:
    """An integer as a floating-point number."""
    given = one.only({*_INTEGERS, *_FLOATS, "RP", "RM", "RZ"})
    out, a = one.operands
    kind = next((_INTEGERS[name] for name in one.modifiers if name in _INTEGERS), np.int32)
    read = _integer(context, a, kind)
    if "F16" in given:
        word = context.write.word(out)
        return lambda group: word(group, _bits16(read(group)))
    if "F64" in given:
        if given & {"RP", "RM", "RZ"}:
            raise Unknown("rounding of I2F.F64")
        write64 = context.write.pair(out)
        return lambda group: write64(group, read(group).astype(np.float64))
    write = context.write.float32(out)
    longer = np.int64 if np.dtype(kind).kind == "i" else U64
    return lambda group: write(group, _as_float32(read(group).astype(longer), given))


@implements("F2I", "F2IP")
def to_integer(one: Instruction, context: BuildContext) -> Step:
    """A floating-point number as an integer: to nearest even, or .TRUNC, .FLOOR, .CEIL."""
    given = one.only({*_INTEGERS, "F64", "F32", "TRUNC", "FLOOR", "CEIL", "NTZ", "FTZ"})
    out, a = one.operands
    kind = next((_INTEGERS[name] for name in one.modifiers if name in _INTEGERS), np.int32)
    size = np.dtype(kind).itemsize
    if "F64" in given:
        read = context.read.float64(a)
    else:
        read = context.read.float32(a, flush="FTZ" in given)
    write = context.write.pair(out) if size == 8 else context.write.word(out)
    how = next((_ROUND[name] for name in _ROUND if name in given), np.rint)

    def step(group: Group) -> None:
        found = _clipped(how(read(group).astype(np.float64)), kind)
        if size == 8:
            write(group, found.view(U64))
        else:
            write(group, found.astype(np.int64).astype(U32))

    return step


_ROUND = {"TRUNC": np.trunc, "FLOOR": np.floor, "CEIL": np.ceil}


def _clipped(value: Array, kind: Any) -> Array:
    """Whole numbers in the type, cut to its range; a NaN is 0, of 64 bits the lowest bit pattern.

    >>> _clipped(np.array([-1.0, 300.0]), np.uint8).tolist()
    [0, 255]
    """
    most = np.iinfo(kind)
    high = value >= float(most.max)
    low = value <= float(most.min)
    inside = np.where(high | low | np.isnan(value), 0.0, value).astype(kind)
    nothing = kind(0) if most.bits < 64 else np.array(1 << 63, U64).astype(kind)
    found = np.where(high, kind(most.max), np.where(low, kind(most.min), inside))
    return np.where(np.isnan(value), nothing, found)


@implements("F2F")
def between_floats(one: Instruction, context: BuildContext) -> Step:
    """A number of one floating-point size as one of another; sizes are named result first."""
    given = one.only({*_FLOATS, "FTZ", "RM", "RP", "RZ", "RN"})
    sizes = [name for name in one.modifiers if name in _FLOATS]
    out, a = one.operands
    if sizes == ["F64", "F32"]:
        read, write = context.read.float32(a), context.write.pair(out)
        return lambda group: write(group, read(group).astype(np.float64))
    if sizes == ["F32", "F64"]:
        read64, write32 = context.read.float64(a), context.write.float32(out)
        return lambda group: write32(group, rounded(read64(group), given))
    if sizes in (["F64", "F16"], ["F32", "F16"]):
        half = _integer(context, a, np.uint16)
        store = context.write.pair(out) if sizes[0] == "F64" else context.write.float32(out)
        kind = _FLOATS[sizes[0]]
        return lambda group: store(group, half(group).view(np.float16).astype(kind))
    if sizes == ["F16", "F64"]:
        read64, word = context.read.float64(a), context.write.word(out)
        return lambda group: word(group, _bits16(read64(group)))
    if sizes == ["F16", "F32"]:
        read, word = context.read.float32(a), context.write.word(out)
        return lambda group: word(group, _bits16(read(group)))
    raise Unknown(f"sizes {'.'.join(sizes)}")


def _bits16(value: Array) -> Array:
    return value.astype(np.float16).view(np.uint16).astype(U32)


@implements("F2FP")
def pack_halves(one: Instruction, context: BuildContext) -> Step:
    """Two float32 as float16 in one register, a above b."""
    given = one.only({"F16", "F32", "PACK_AB"})
    if given != {"F16", "F32", "PACK_AB"}:
        raise Unknown(f"form of {one.located.name}")
    out, a, b = one.operands
    high, low, write = context.read.float32(a), context.read.float32(b), context.write.word(out)
    return lambda group: write(group, _bits16(high(group)) << U32(16) | _bits16(low(group)))


@implements("FRND")
def whole_number(one: Instruction, context: BuildContext) -> Step:
    """The nearest whole number, even at a tie, or .TRUNC, .FLOOR, .CEIL."""
    given = one.only({"F64", "TRUNC", "FLOOR", "CEIL", "FTZ"})
    out, a = one.operands
    how = next((_ROUND[name] for name in _ROUND if name in given), np.rint)
    if "F64" in given:
        read64, write64 = context.read.float64(a), context.write.pair(out)
        return lambda group: write64(group, how(read64(group)))
    read, write = context.read.float32(a), context.write.float32(out)

    def step(group: Group) -> None:
        value = read(group)
        write(group, how(flushed(value) if "FTZ" in given else value))

    return step
