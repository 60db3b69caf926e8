"""Single bits, bytes and predicates: counting, finding, permuting, packing."""

from __future__ import annotations

import numpy as np

from ..operands import Array, Unknown
from ..semantics import BuildContext, Instruction, Step, implements
from ..state import Group

U32 = np.uint32


@implements("POPC", "UPOPC")
def count_ones(one: Instruction, context: BuildContext) -> Step:
    """How many bits are set."""
    one.only(())
    out, a = one.operands
    read, write = context.read.integer(a), context.write.word(out)
    return lambda group: write(group, np.bitwise_count(read(group)).astype(U32))


@implements("FLO", "UFLO")
def find_leading_one(one: Instruction, context: BuildContext) -> Step:
    """The place of the highest bit that is set (.SH: how far it is from bit 31); ~0 for none."""
    given = one.only({"U32", "SH"})
    if "U32" not in given:
        raise Unknown("FLO of signed numbers")
    out, a = one.operands
    read, write = context.read.integer(a), context.write.word(out)

    def step(group: Group) -> None:
        value = read(group)
        place = np.frexp(value.astype(np.float64))[1].astype(np.int64) - 1
        place = 31 - place if "SH" in given else place
        write(group, np.where(value == 0, U32(0xFFFFFFFF), place.astype(U32)))

    return step


@implements("BREV", "UBREV")
def reverse_bits(one: Instruction, context: BuildContext) -> Step:
    """The bits in reversed order."""
    one.only(())
    out, a = one.operands
    read, write = context.read.integer(a), context.write.word(out)

    def step(group: Group) -> None:
        value = read(group)
        for by, mask in ((1, 0x55555555), (2, 0x33333333), (4, 0x0F0F0F0F), (8, 0x00FF00FF)):
            value = (value >> U32(by)) & U32(mask) | (value & U32(mask)) << U32(by)
        write(group, value >> U32(16) | value << U32(16))

    return step


@implements("PRMT", "UPRMT")
def permute_bytes(one: Instruction, context: BuildContext) -> Step:
    """Each byte of the result is one of the eight of b:a, or copies of its sign bit."""
    one.only(())
    out, a, selector, b = one.operands
    low, which, high = context.words((a, selector, b))
    write = context.write.word(out)

    def step(group: Group) -> None:
        whole = high(group).astype(np.uint64) << np.uint64(32) | low(group)
        chosen = which(group)
        result: Array = np.zeros(1, U32)
        for at in range(4):
            nibble = (chosen >> U32(4 * at)) & U32(15)
            octet = (whole >> (nibble & U32(7)).astype(np.uint64) * np.uint64(8)) & np.uint64(0xFF)
            octet = octet.astype(U32)
            sign = np.where(octet & U32(0x80), U32(0xFF), U32(0))
            result = result | np.where(nibble & U32(8), sign, octet) << U32(8 * at)
        write(group, result)

    return step


@implements("SGXT", "USGXT")
def extend_sign(one: Instruction, context: BuildContext) -> Step:
    """The lowest b bits of a, extended by their sign or (.U32) by zeros."""
    given = one.only({"U32", "W"})
    out, a, width = one.operands
    read, amount, write = (
        context.read.integer(a),
        context.read.integer(width),
        context.write.word(out),
    )

    def step(group: Group) -> None:
        by = U32(32) - np.minimum(amount(group), U32(32))
        within = np.minimum(by, U32(31))
        value = np.where(by > 31, U32(0), read(group) << within)
        if "U32" in given:
            write(group, value >> within)
        else:
            write(group, (value.view(np.int32) >> within.astype(np.int32)).view(U32))

    return step


@implements("BMSK", "UBMSK")
def bit_mask(one: Instruction, context: BuildContext) -> Step:
    """Ones from bit a on, b of them."""
    given = one.only({"W"})
    out, a, width = one.operands
    first, count, write = (
        context.read.integer(a),
        context.read.integer(width),
        context.write.word(out),
    )

    def step(group: Group) -> None:
        start, length = first(group).astype(np.uint64), count(group).astype(np.uint64)
        if "W" in given:
            start, length = start & np.uint64(31), length & np.uint64(31)
        start, length = np.minimum(start, np.uint64(32)), np.minimum(length, np.uint64(32))
        write(group, (((np.uint64(1) << length) - np.uint64(1)) << start).astype(U32))

    return step


@implements("P2R")
def predicates_to_register(one: Instruction, context: BuildContext) -> Step:
    """The predicates that a mask names, as bits; the other bits come from c."""
    one.only(())
    out, _, c, mask = one.operands
    other, write, kept = context.read.integer(c), context.write.word(out), int(mask.number)

    def step(group: Group) -> None:
        bits = other(group) & U32(~kept & 0xFFFFFFFF)
        for number in range(7):
            if kept >> number & 1:
                bits = bits | group.of(context.state.predicates[number]).astype(U32) << U32(number)
        write(group, bits)

    return step


@implements("R2P")
def register_to_predicates(one: Instruction, context: BuildContext) -> Step:
    """The predicates that a mask names, from bits."""
    one.only(())
    _, a, mask = one.operands
    read, kept = context.read.integer(a), int(mask.number)

    def step(group: Group) -> None:
        bits = read(group)
        for number in range(7):
            if kept >> number & 1:
                group.put(context.state.predicates[number], (bits >> U32(number) & U32(1)) != 0)

    return step


@implements("R2UR")
def register_to_uniform(one: Instruction, context: BuildContext) -> Step:
    """The value of the first active lane as the warp's."""
    one.only(())
    out, a = one.operands[-2:]
    if len(one.operands) > 2 and any(p.number != 7 for p in one.operands[:-2]):
        raise Unknown("R2UR with a predicate")
    read, write = context.read.integer(a), context.write.word(out)

    def step(group: Group) -> None:
        value = np.broadcast_to(read(group), group.mask.shape)
        first = group.mask.argmax(axis=1)
        write(group, value[np.arange(len(first)), first][:, None])

    return step
