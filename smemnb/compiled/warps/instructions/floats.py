"""Floating-point arithmetic of 32 and 64 bits, and of pairs of 16 bits.

Sums and products are those of IEEE arithmetic. A fused product is rounded once: for float32 by way
of float64, for float64 by the errors of its product and sum. Functions of MUFU, which the hardware
approximates, are rounded correctly here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..operands import Array, Operand, Reader, Unknown, constantly, flushed
from ..semantics import BuildContext, Instruction, Step, implements
from ..state import Group
from .integers import COMBINE, WORD

F32, F64, U32 = np.float32, np.float64, np.uint32
ROUNDING = {"RM", "RP", "RZ", "RN"}
SCALES = {"D2": 0.5, "D4": 0.25, "D8": 0.125, "M2": 2.0, "M4": 4.0, "M8": 8.0}


def rounded(exact: Array, modifiers: set[str]) -> Array:
    """Float64 numbers as float32, rounded as the modifiers say.

    >>> float(rounded(np.array([1 + 2.0**-40]), {"RP"})[0]) > 1
    True
    """
    near: Array = exact.astype(F32)
    if "RM" in modifiers:
        return np.where(near > exact, np.nextafter(near, F32(-np.inf)), near)
    if "RP" in modifiers:
        return np.where(near < exact, np.nextafter(near, F32(np.inf)), near)
    if "RZ" in modifiers:
        return np.where(np.abs(near) > np.abs(exact), np.nextafter(near, F32(0)), near)
    return near


def _finish(context: BuildContext, out: Operand, given: set[str]) -> Callable[[Group, Array], None]:
    """A writer that rounds, saturates and flushes."""
    write = context.write.float32(out)

    def store(group: Group, exact: Array) -> None:
        value = rounded(exact, given) if exact.dtype == F64 else exact
        if "FTZ" in given:
            value = flushed(value)
        if "SAT" in given:
            value = np.where(np.isnan(value), F32(0), np.clip(value, F32(0), F32(1)))
        write(group, value)

    return store


@implements("FADD", "FMUL", "FFMA")
def arithmetic(one: Instruction, context: BuildContext) -> Step:
    """a + b, a * b, a * b + c."""
    given = one.only({"FTZ", "SAT", *ROUNDING, *SCALES})
    out, *sources = one.operands
    readers = [context.read.float32(source, flush="FTZ" in given) for source in sources]
    store = _finish(context, out, given)
    if one.name == "FFMA":
        return lambda group: store(group, _fused(*(read(group) for read in readers)))
    exact = bool(given & (ROUNDING - {"RN"}))
    scale = next((F32(SCALES[name]) for name in given if name in SCALES), F32(1))
    apply = np.add if one.name == "FADD" else np.multiply

    def step(group: Group) -> None:
        a, b = (read(group) for read in readers)
        if exact:
            a, b = a.astype(F64), b.astype(F64)
        found = apply(a, b)
        store(group, found if scale == 1 else found * scale)

    return step


def _fused(a: Array, b: Array, c: Array) -> Array:
    """a * b + c in float64, in which the product is exact."""
    return a.astype(F64) * b + c


@implements("DADD", "DMUL", "DFMA")
def double_arithmetic(one: Instruction, context: BuildContext) -> Step:
    """a + b, a * b, a * b + c in float64."""
    given = one.only(ROUNDING)
    out, *sources = one.operands
    readers = [context.read.float64(source) for source in sources]
    write = context.write.pair(out)
    once, nothing = np.ones((1, 1)), np.full((1, 1), -0.0)

    def step(group: Group) -> None:
        values = [read(group) for read in readers]
        if one.name == "DADD":
            values.insert(1, once)
        elif one.name == "DMUL":
            values.append(nothing)
        a, b, c = values
        write(group, _fused64(a, b, c, given))

    return step


def _split(a: Array) -> tuple[Array, Array]:
    big = a * 134217729.0
    high = big - (big - a)
    return high, a - high


def _fused64(a: Array, b: Array, c: Array, given: set[str]) -> Array:
    """a * b + c, rounded once; where the parts of the product overflow, twice."""
    product = a * b
    plain = product + c
    (ah, al), (bh, bl) = _split(a), _split(b)
    error = ((ah * bh - product) + ah * bl + al * bh) + al * bl
    other = plain - product
    lost = (product - (plain - other)) + (c - other) + error
    sound = np.isfinite(lost) & np.isfinite(plain) & (np.abs(product) > 1e-270)
    lost = np.where(sound, lost, 0.0)
    total: Array = plain + lost
    rest = np.where(sound, lost - (total - plain), 0.0)
    if "RM" in given:
        return np.where(rest < 0, np.nextafter(total, -np.inf), total)
    if "RP" in given:
        return np.where(rest > 0, np.nextafter(total, np.inf), total)
    if "RZ" in given:
        return np.where(rest * np.sign(total) < 0, np.nextafter(total, 0.0), total)
    return np.where(sound, total, plain)


_ORDERED: dict[str, Callable[[Any, Any], Any]] = {
    "LT": np.less,
    "LE": np.less_equal,
    "GT": np.greater,
    "GE": np.greater_equal,
    "EQ": np.equal,
    "NE": lambda a, b: (a != b) & ~_unordered(a, b),
    "NUM": lambda a, b: ~_unordered(a, b),
    "NAN": lambda a, b: _unordered(a, b),
    "LTU": lambda a, b: ~(a >= b),
    "LEU": lambda a, b: ~(a > b),
    "GTU": lambda a, b: ~(a <= b),
    "GEU": lambda a, b: ~(a < b),
    "EQU": lambda a, b: (a == b) | _unordered(a, b),
    "NEU": np.not_equal,
}


_EXTREMES: dict[str, Callable[[Any, Any], Any]] = {"MIN": np.less, "MAX": np.greater}


def _unordered(a: Array, b: Array) -> Array:
    return np.isnan(a) | np.isnan(b)


@implements("FSETP", "DSETP")
def compare(one: Instruction, context: BuildContext) -> Step:
    """p = (a < b) and q; a U says that it holds for NaN too. MIN and MAX say whether a is that."""
    given = one.only({*_ORDERED, *COMBINE, "FTZ", *_EXTREMES})
    first, second, a, b, *last = one.operands
    if one.name == "FSETP":
        left, right = (context.read.float32(source, flush="FTZ" in given) for source in (a, b))
    else:
        left, right = context.read.float64(a), context.read.float64(b)
    flags = context.write.predicate(first), context.write.predicate(second)
    with_other = next(COMBINE[name] for name in one.modifiers if name in COMBINE)
    other = context.read.predicate(last[0])
    extreme = next((_EXTREMES[name] for name in one.modifiers if name in _EXTREMES), None)
    if extreme is not None:
        return _which_is(extreme, left, right, flags)
    how = next(_ORDERED[name] for name in one.modifiers if name in _ORDERED)

    def step(group: Group) -> None:
        found, also = how(left(group), right(group)), other(group)
        flags[0](group, with_other(found, also))
        flags[1](group, with_other(~found, also))

    return step


def _which_is(how: Callable[[Any, Any], Any], left: Reader, right: Reader, flags: Any) -> Step:
    """Whether the first is the one, a number before a NaN; and whether both are NaN."""

    def step(group: Group) -> None:
        a, b = left(group), right(group)
        flags[0](group, how(a, b) | (np.isnan(b) & ~np.isnan(a)))
        flags[1](group, np.isnan(a) & np.isnan(b))

    return step


@implements("FSET")
def compare_to_value(one: Instruction, context: BuildContext) -> Step:
    """d = 1.0 (.BF) or all ones where (a < b) and q, else 0."""
    given = one.only({*_ORDERED, *COMBINE, "FTZ", "BF"})
    out, a, b, *last = one.operands
    left, right = (context.read.float32(source, flush="FTZ" in given) for source in (a, b))
    how = next(_ORDERED[name] for name in one.modifiers if name in _ORDERED)
    with_other = next(COMBINE[name] for name in one.modifiers if name in COMBINE)
    other, write = context.read.predicate(last[0]), context.write.word(out)
    yes = U32(0x3F800000 if "BF" in given else 0xFFFFFFFF)

    def step(group: Group) -> None:
        found = with_other(how(left(group), right(group)), other(group))
        write(group, np.where(found, yes, U32(0)))

    return step


@implements("FSEL")
def select(one: Instruction, context: BuildContext) -> Step:
    """d = p ? a : b."""
    given = one.only({"FTZ"})
    out, a, b, p = one.operands
    yes, no = (context.read.float32(source, flush="FTZ" in given) for source in (a, b))
    which, write = context.read.predicate(p), context.write.float32(out)
    return lambda group: write(group, np.where(which(group), yes(group), no(group)))


@implements("FMNMX")
def smaller_or_larger(one: Instruction, context: BuildContext) -> Step:
    """The smaller of a and b if p, else the larger; a NaN loses (.NAN: wins)."""
    given = one.only({"FTZ", "NAN"})
    out, a, b, p = one.operands
    left, right = (context.read.float32(source, flush="FTZ" in given) for source in (a, b))
    which, write = context.read.predicate(p), context.write.float32(out)
    low, high = (np.minimum, np.maximum) if "NAN" in given else (np.fmin, np.fmax)

    def step(group: Group) -> None:
        x, y = left(group), right(group)
        write(group, np.where(which(group), low(x, y), high(x, y)))

    return step


_FUNCTIONS: dict[str, Callable[[Array], Array]] = {
    "RCP": lambda x: 1 / x,
    "RSQ": lambda x: 1 / np.sqrt(x),
    "SQRT": np.sqrt,
    "EX2": np.exp2,
    "LG2": np.log2,
    "SIN": lambda x: np.sin(x * (2 * np.pi)),
    "COS": lambda x: np.cos(x * (2 * np.pi)),
    "TANH": np.tanh,
}


@implements("MUFU")
def function(one: Instruction, context: BuildContext) -> Step:
    """A function of one number; RCP64H and RSQ64H of the upper half of a float64."""
    given = one.only({*_FUNCTIONS, "RCP64H", "RSQ64H", "FTZ"})
    out, a = one.operands
    if given & {"RCP64H", "RSQ64H"}:
        return _upper_half(one, context, "RCP" if "RCP64H" in given else "RSQ")
    read, store = context.read.float32(a, flush="FTZ" in given), _finish(context, out, given)
    apply = _FUNCTIONS[next(name for name in one.modifiers if name in _FUNCTIONS)]
    return lambda group: store(group, apply(read(group).astype(F64)))


def _upper_half(one: Instruction, context: BuildContext, name: str) -> Step:
    out, a = one.operands
    read, write, apply = context.read.word(a), context.write.word(out), _FUNCTIONS[name]
    if a.kind == "float":  # it stands for a float64, whose upper half is meant
        read = constantly((np.array([[a.number]], F64).view(np.uint64) >> WORD).astype(U32))

    def step(group: Group) -> None:
        whole = (read(group).astype(np.uint64) << np.uint64(32)).view(F64)
        if a.absolute:
            whole = np.abs(whole)
        if a.sign == "-":
            whole = -whole
        found = apply(whole).view(np.uint64)
        write(group, (found >> np.uint64(32)).astype(U32))

    return step


@implements("FCHK")
def division_check(one: Instruction, context: BuildContext) -> Step:
    """p says that a / b cannot be had from the reciprocal alone; both ways give one result."""
    one.only({"DIVIDE"})
    flag, a, b = one.operands
    left, right = context.read.float32(a), context.read.float32(b)
    write = context.write.predicate(flag)

    def step(group: Group) -> None:
        x, y = left(group), right(group)
        apart = (
            np.frexp(np.where(np.isfinite(x), x, F32(1)))[1]
            - np.frexp(np.where(np.isfinite(y), y, F32(1)))[1]
        )
        size = np.abs(y)
        bad = ~(np.isfinite(x) & np.isfinite(y)) | (size < F32(2.0**-126)) | (size > F32(2.0**125))
        write(group, bad | (np.abs(apart) > 100) | (np.abs(x) < F32(2.0**-100)) & (x != 0))

    return step


@implements("HADD2", "HMUL2", "HFMA2")
def half_arithmetic(one: Instruction, context: BuildContext) -> Step:
    """Two float16 at a time; .F32 gives one float32."""
    given = one.only({"F32", "MMA", "FTZ"})
    out, sources = one.operands[0], list(one.operands[1:])
    readers: list[tuple[Reader, Reader]] = []
    while sources:
        first = sources.pop(0)
        if first.kind in ("float", "number") and first.text not in ("RZ",):
            readers.append(_immediate_pair(first, sources.pop(0)))
        else:
            readers.append(_halves(context, first))
    write = context.write.word(out)

    def step(group: Group) -> None:
        parts = []
        for half in (0, 1):
            values = [pair[half](group).astype(F64) for pair in readers]
            found = values[0] + values[1] if one.name == "HADD2" else values[0] * values[1]
            parts.append(found + values[2] if one.name == "HFMA2" else found)
        if "F32" in given:
            write(group, parts[0].astype(F32).view(U32))
        else:
            low, high = (part.astype(np.float16).view(np.uint16).astype(U32) for part in parts)
            write(group, high << U32(16) | low)

    return step


def _immediate_pair(high: Operand, low: Operand) -> tuple[Reader, Reader]:
    values = [np.array([[float(part.number)]], np.float16) for part in (low, high)]
    return (lambda group: values[0]), (lambda group: values[1])


def _halves(context: BuildContext, one: Operand) -> tuple[Reader, Reader]:
    """Readers of the lower and the upper half of a register, or of one half twice."""
    places = {"": (0, 16), "H0_H0": (0, 0), "H1_H1": (16, 16)}
    if one.part not in places or one.sign in ("~", "!"):
        raise Unknown(f"operand {one.text}")
    read = context.read.word(one)

    def half(shift: int) -> Reader:
        def value(group: Group) -> Array:
            found = (read(group) >> U32(shift)).astype(np.uint16).view(np.float16)
            found = np.abs(found) if one.absolute else found
            return -found if one.sign == "-" else found

        return value

    low, high = places[one.part]
    return half(low), half(high)
