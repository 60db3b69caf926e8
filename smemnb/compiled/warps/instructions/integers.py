"""Integer arithmetic: sums with carries, products, shifts, comparisons, bits.

Carries are kept as the hardware keeps them: `-b` in a sum is 2**32 - b, so that a carry out of
`a - b` says a >= b; `.X` adds the carries that come in.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np

from ..operands import Array, Operand, Reader, Unknown
from ..semantics import BuildContext, Instruction, Step, implements
from ..state import Group

U32, U64 = np.uint32, np.uint64
WORD = U64(32)
LOW = U64(0xFFFFFFFF)

COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "LT": np.less,
    "LE": np.less_equal,
    "GT": np.greater,
    "GE": np.greater_equal,
    "EQ": np.equal,
    "NE": np.not_equal,
}
COMBINE: dict[str, Callable[[Any, Any], Any]] = {
    "AND": np.logical_and,
    "OR": np.logical_or,
    "XOR": np.logical_xor,
}


_KINDS = {
    "U32": np.dtype(np.uint32),
    "S32": np.dtype(np.int32),
    "U16x2": np.dtype(np.uint16),
    "S16x2": np.dtype(np.int16),
}


def wide(value: Array) -> Array:
    """The value with room for carries."""
    return value.astype(U64)


def _summand(context: BuildContext, one: Operand) -> Reader:
    """A term of a sum as a number of more than 32 bits; -b counts as 2**32 - b."""
    read = context.read.integer(Operand(one.kind, one.number, "", one.absolute, one.part, one.bank,
                                      one.index, one.text))  # fmt: skip
    if one.sign == "-":
        return lambda group: U64(1 << 32) - wide(read(group))
    if one.sign == "~":
        return lambda group: wide(~read(group))
    return lambda group: wide(read(group))


@implements("IADD3", "UIADD3", "VIADD", "UVIADD", "IADD")
def add(one: Instruction, context: BuildContext) -> Step:
    """d = a + b (+ c) (+ carries)."""
    with_carry = "X" in one.only({"X"})
    out, sources, last = one.split()
    if last and not with_carry:
        raise Unknown("carry into a sum without .X")
    return _sum(out, [_summand(context, term) for term in sources], last, context)


def _sum(
    out: list[Operand], terms: list[Reader], carries: list[Operand], context: BuildContext
) -> Step:
    write = context.write.word(out[0])
    terms = terms + [_carry(context, one) for one in carries]
    if len(out) == 1:
        return lambda group: write(group, _total(group, terms).astype(U32))
    flags = [context.write.predicate(one) for one in out[1:]]

    def step(group: Group) -> None:
        total = _total(group, terms)
        carried = total >> WORD
        write(group, total.astype(U32))
        for least, flag in enumerate(flags, 1):
            flag(group, carried >= U64(least))

    return step


def _carry(context: BuildContext, one: Operand) -> Reader:
    read = context.read.predicate(one)
    return lambda group: read(group).astype(U64)


def _total(group: Group, terms: list[Reader]) -> Array:
    return reduce(np.add, [term(group) for term in terms])


@implements("IMAD", "UIMAD")
def multiply_add(one: Instruction, context: BuildContext) -> Step:
    """d = a * b + c, of 32 bits; .WIDE of 64, .HI the upper half of those."""
    given = one.only({"MOV", "U32", "SHL", "IADD", "X", "WIDE", "HI", "S32"})
    out, (a, b, c), last = one.split()
    left, right = context.read.integer(a), context.read.integer(b)
    if given & {"WIDE", "HI"}:
        return _wide_product(one, context)
    if "X" not in given and last:
        raise Unknown("carry into a product without .X")
    if "X" not in given and len(out) == 1:
        write, term = context.write.word(out[0]), context.read.integer(c)
        if "MOV" in given:
            return lambda group: write(group, term(group))
        if "IADD" in given:
            return lambda group: write(group, left(group) + term(group))
        return lambda group: write(group, left(group) * right(group) + term(group))
    product: Reader = lambda group: wide(left(group) * right(group))  # noqa: E731
    return _sum(out, [product, _summand(context, c)], last, context)


def _wide_product(one: Instruction, context: BuildContext) -> Step:
    """d = a * b + c with 64 bits of c, and of d unless only the upper half is kept."""
    signed, upper = "U32" not in one.modifiers, "HI" in one.modifiers
    out, (a, b, c), last = one.split()
    left, right = context.read.integer(a), context.read.integer(b)
    term = context.read.pair(c)
    write = context.write.word(out[0]) if upper else context.write.pair(out[0])
    flags = [context.write.predicate(one) for one in out[1:]]
    carries = [_carry(context, one) for one in last]
    if flags and signed:
        raise Unknown("carry out of a signed wide product")

    def longer(value: Array) -> Array:
        return value.view(np.int32).astype(np.int64).view(U64) if signed else wide(value)

    def step(group: Group) -> None:
        product = longer(left(group)) * longer(right(group))
        total = product + term(group)
        carried = total < product
        for carry in carries:
            more = total + carry(group)
            carried, total = carried | (more < total), more
        for flag in flags[:1]:
            flag(group, carried)
        write(group, (total >> WORD).astype(U32) if upper else total)

    return step


@implements("LEA", "ULEA")
def scaled_add(one: Instruction, context: BuildContext) -> Step:
    """d = (a << s) + b; .HI takes the upper half of a 64-bit shift."""
    given = one.only({"HI", "X", "SX32"})
    out, sources, last = one.split()
    *terms, shift_by = sources
    shift = U64(int(shift_by.number) % 32)
    if shift_by.kind != "number" or (last and "X" not in given):
        raise Unknown("form of LEA")
    low, base = context.read.integer(terms[0]), _summand(context, terms[1])
    if "HI" not in given:
        first: Reader = lambda group: (wide(low(group)) << shift) & LOW  # noqa: E731
        return _sum(out, [first, base], last, context)
    if "SX32" in given:
        whole: Reader = lambda group: (  # noqa: E731
            low(group).view(np.int32).astype(np.int64).view(U64)
        )
    else:
        high = context.read.integer(terms[2])
        whole = lambda group: wide(high(group)) << WORD | low(group)  # noqa: E731
    upper: Reader = lambda group: (whole(group) << shift) >> WORD  # noqa: E731
    return _sum(out, [upper, base], last, context)


@implements("SHF", "USHF")
def funnel_shift(one: Instruction, context: BuildContext) -> Step:
    """A shift of the 64 bits c:a, of which the lower or (.HI) the upper half is kept."""
    given = one.only({"L", "R", "W", "HI", "U32", "S32", "U64", "S64"})
    out, (a, s, c), _ = one.split()
    low, amount, high = context.words((a, s, c))
    write = context.write.word(out[0])
    most = 64 if given & {"U64", "S64"} else 32
    left, upper, signed = "L" in given, "HI" in given, bool(given & {"S32", "S64"})

    def step(group: Group) -> None:
        by = wide(amount(group))
        by = by % U64(most) if "W" in given else np.minimum(by, U64(most))
        whole = wide(high(group)) << WORD | low(group)
        shifted = _shifted(whole, by, left=left, signed=signed)
        write(group, ((shifted >> WORD) if upper else shifted).astype(U32))

    return step


def _shifted(whole: Array, by: Array, *, left: bool, signed: bool) -> Array:
    """A shift by 0 to 64, whose result NumPy leaves open at 64."""
    within = np.minimum(by, U64(63))
    if left:
        return np.where(by > U64(63), U64(0), whole << within)
    if signed:
        return (whole.view(np.int64) >> within.astype(np.int64)).view(U64)
    return np.where(by > U64(63), U64(0), whole >> within)


def looked_up(lut: int, a: Array, b: Array, c: Array, invert: Callable[[Array], Array]) -> Array:
    """Bit a*4 + b*2 + c of a table of 8 bits, for each bit or bool of the three."""
    if lut == 0xC0:
        return np.bitwise_and(a, b)
    if lut == 0xFC:
        return np.bitwise_or(a, b)
    if lut == 0x3C:
        return np.bitwise_xor(a, b)
    terms = [
        np.bitwise_and(
            np.bitwise_and(a if at & 4 else invert(a), b if at & 2 else invert(b)),
            c if at & 1 else invert(c),
        )
        for at in range(8)
        if lut >> at & 1
    ]
    nothing = np.bitwise_and(a, invert(a))
    return reduce(np.bitwise_or, terms, nothing)


@implements("LOP3", "ULOP3")
def logic(one: Instruction, context: BuildContext) -> Step:
    """Any function of three bits, for each bit; a predicate says whether a bit is set."""
    given = one.only({"LUT", "PAND"})
    rest = list(one.operands)
    flag = context.write.predicate(rest.pop(0)) if rest[0].is_predicate else None
    out, sources, table, last = rest[0], rest[1:4], rest[4], rest[5:]
    readers, write, lut = context.words(sources), context.write.word(out), int(table.number)
    others = [context.read.predicate(one) for one in last]

    def step(group: Group) -> None:
        a, b, c = (read(group) for read in readers)
        result = looked_up(lut, a, b, c, np.bitwise_not)
        if flag is not None:
            some = result != 0
            for other in others:
                some = some & other(group) if "PAND" in given else some | other(group)
            flag(group, some)
        write(group, result)

    return step


@implements("PLOP3", "UPLOP3")
def predicate_logic(one: Instruction, context: BuildContext) -> Step:
    """Any two functions of three predicates."""
    one.only({"LUT"})
    (first, second), tables = one.operands[:2], one.operands[5:]
    readers = [context.read.predicate(p) for p in one.operands[2:5]]
    flags = [context.write.predicate(first), context.write.predicate(second)]

    def step(group: Group) -> None:
        a, b, c = (read(group) for read in readers)
        results = [looked_up(int(t.number), a, b, c, np.logical_not) for t in tables]
        for flag, result in zip(flags, results, strict=False):
            flag(group, result)

    return step


@implements("ISETP", "UISETP")
def compare(one: Instruction, context: BuildContext) -> Step:
    """p = (a < b) and q; .EX takes the result of the lower words along."""
    given = one.only({*COMPARE, *COMBINE, "U32", "S32", "EX"})
    first, second, a, b, *last = one.operands
    left, right = context.read.integer(a), context.read.integer(b)
    flags = context.write.predicate(first), context.write.predicate(second)
    how = next(COMPARE[name] for name in one.modifiers if name in COMPARE)
    name = next(name for name in one.modifiers if name in COMPARE)
    with_other = next(COMBINE[name] for name in one.modifiers if name in COMBINE)
    others = [context.read.predicate(p) for p in last]
    kind = U32 if "U32" in given else np.int32
    strict = {"LE": np.less, "GE": np.greater}.get(name, how)

    def step(group: Group) -> None:
        x, y = left(group).view(kind), right(group).view(kind)
        if "EX" in given:
            lower = others[1](group)
            equal = x == y
            found = strict(x, y) | (equal & lower) if name != "EQ" else equal & lower
        else:
            found = how(x, y)
        other = others[0](group)
        flags[0](group, with_other(found, other))
        flags[1](group, with_other(~found, other))

    return step


@implements("SEL", "USEL")
def select(one: Instruction, context: BuildContext) -> Step:
    """d = p ? a : b."""
    one.only(())
    out, a, b, p = one.operands
    yes, no, which = context.read.integer(a), context.read.integer(b), context.read.predicate(p)
    write = context.write.word(out)
    return lambda group: write(group, np.where(which(group), yes(group), no(group)))


@implements("VIMNMX", "IMNMX", "VIADDMNMX", "UIMNMX")
def smaller_or_larger(one: Instruction, context: BuildContext) -> Step:
    """d = the smaller of a and b if p, else the larger; VIADDMNMX adds two numbers first."""
    given = one.only({"U32", "S32", "U16x2", "S16x2"})
    kind = next((_KINDS[name] for name in given), np.dtype(np.int32))
    out, sources, (p,) = one.split()
    readers, which, write = (
        context.words(sources),
        context.read.predicate(p),
        context.write.word(out[0]),
    )

    def step(group: Group) -> None:
        *terms, last = (read(group)[..., None].view(kind) for read in readers)
        x = reduce(np.add, terms)
        found = np.where(which(group)[..., None], np.minimum(x, last), np.maximum(x, last))
        write(group, np.ascontiguousarray(found).view(U32)[..., 0])

    return step


@implements("MOV", "UMOV", "IMOV")
def move(one: Instruction, context: BuildContext) -> Step:
    """d = a."""
    one.only({"U32"})
    out, a = one.operands[:2]
    read, write = context.read.integer(a), context.write.word(out)
    return lambda group: write(group, read(group))


@implements("IABS")
def absolute(one: Instruction, context: BuildContext) -> Step:
    """d = |a|."""
    one.only(())
    out, a = one.operands
    read, write = context.read.integer(a), context.write.word(out)
    return lambda group: write(group, np.abs(read(group).view(np.int32)).view(U32))
