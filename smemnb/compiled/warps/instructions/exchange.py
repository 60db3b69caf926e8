"""What lanes are and exchange: special registers, votes, shuffles, matches, reductions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..operands import Array, Unknown
from ..semantics import BuildContext, Instruction, Step, implements
from ..state import BITS, LANES, Group, packed

U32, U64 = np.uint32, np.uint64
LANE = np.arange(LANES, dtype=U32)[None]


@implements("S2R", "S2UR", "CS2R")
def special_register(one: Instruction, context: BuildContext) -> Step:
    """Where a thread is; the launch says it (`run.special`)."""
    one.only({"32"})
    out, (name,) = one.operands[0], one.located.operands[1:]
    if name == "SRZ":
        twice = one.name == "CS2R" and "32" not in one.modifiers
        clear = context.write.pair(out) if twice else context.write.word(out)
        nothing = np.zeros((1, 1), U64 if twice else U32)
        return lambda group: clear(group, nothing)
    known: dict[str, Array] = context.tools["special"]
    if name not in known:
        raise Unknown(f"special register {name}")
    held, write = known[name], context.write.word(out)
    return lambda group: write(group, group.of(held))


@implements("VOTE", "VOTEU")
def vote(one: Instruction, context: BuildContext) -> Step:
    """Which active lanes say yes, as bits, and whether any or all do."""
    given = one.only({"ANY", "ALL", "EQ"})
    *results, p = one.operands
    read = context.read.predicate(p)
    words = [context.write.word(out) for out in results if not out.is_predicate]
    flags = [context.write.predicate(out) for out in results if out.is_predicate]

    def step(group: Group) -> None:
        says = read(group) & group.mask
        bits = packed(says)[:, None]
        some, every = says.any(axis=1), (says | ~group.mask).all(axis=1)
        found = some if "ANY" in given else every if "ALL" in given else every | ~some
        for write in words:
            write(group, bits)
        for flag in flags:
            flag(group, np.asarray(found)[:, None])

    return step


@implements("SHFL")
def shuffle(one: Instruction, context: BuildContext) -> Step:
    """A lane reads a register of another; the predicate says whether that one may be read."""
    given = one.only({"IDX", "UP", "DOWN", "BFLY"})
    flag, out, a, b, c = one.operands
    value, which, limits = context.words((a, b, c))
    inside, write = context.write.predicate(flag), context.write.word(out)

    def step(group: Group) -> None:
        shape = group.mask.shape
        by = which(group) & U32(31)
        most = limits(group)
        segment = (most >> U32(8)) & U32(31)
        clamp = most & U32(31)
        last = (LANE & segment) | (clamp & ~segment)
        source, good = _source(given, by, segment, last)
        source = np.broadcast_to(np.where(good, source, LANE), shape)
        read = np.broadcast_to(value(group), shape)
        inside(group, np.broadcast_to(good, shape))
        write(group, np.take_along_axis(read, source.astype(np.int64), axis=1))

    return step


def _source(given: set[str], by: Array, segment: Array, last: Array) -> tuple[Array, Array]:
    """The lane to read from, and whether it is within the segment (PTX ISA, shfl.sync)."""
    if "UP" in given:
        back = LANE.astype(np.int64) - by
        return back.astype(U32) & U32(31), back >= last.astype(np.int64)
    if "DOWN" in given:
        source = LANE + by
    elif "BFLY" in given:
        source = LANE ^ by
    else:
        source = (LANE & segment) | (by & ~segment)
    return source & U32(31), source <= last


@implements("MATCH")
def match(one: Instruction, context: BuildContext) -> Step:
    """Which active lanes hold the same value (.ALL: whether all do)."""
    given = one.only({"ANY", "ALL", "U64", "U32"})
    *results, a = one.operands
    read = context.read.pair(a) if "U64" in given else context.read.integer(a)
    words = [context.write.word(out) for out in results if not out.is_predicate]
    flags = [context.write.predicate(out) for out in results if out.is_predicate]

    def step(group: Group) -> None:
        value = np.broadcast_to(read(group), group.mask.shape)
        bits = np.zeros(group.mask.shape, U32)
        for lane in range(LANES):
            same = (value == value[:, lane : lane + 1]) & group.mask[:, lane : lane + 1]
            bits |= np.where(same, BITS[lane], U32(0))
        every = bits == group.bits[:, None]
        if "ALL" in given:
            bits = np.where(every, bits, U32(0))
        for write in words:
            write(group, bits)
        for flag in flags:
            flag(group, every)

    return step


_REDUCTIONS: dict[str, tuple[Callable[..., Any], Any]] = {
    "SUM": (np.add.reduce, 0),
    "MIN": (np.minimum.reduce, None),
    "MAX": (np.maximum.reduce, None),
    "AND": (np.bitwise_and.reduce, 0xFFFFFFFF),
    "OR": (np.bitwise_or.reduce, 0),
    "XOR": (np.bitwise_xor.reduce, 0),
}


@implements("REDUX")
def reduction(one: Instruction, context: BuildContext) -> Step:
    """One result of the active lanes' values; without a name their AND."""
    given = one.only({*_REDUCTIONS, "S32"})
    out, a = one.operands
    read, write = context.read.integer(a), context.write.word(out)
    name = next((name for name in one.modifiers if name in _REDUCTIONS), "AND")
    reduce, neutral = _REDUCTIONS[name]
    kind = np.int32 if "S32" in given else U32

    def step(group: Group) -> None:
        value = np.broadcast_to(read(group), group.mask.shape).view(kind)
        if neutral is None:
            rest = np.array(np.iinfo(kind).max if name == "MIN" else np.iinfo(kind).min, kind)
        else:
            rest = np.array(neutral, U32).astype(kind)
        found = reduce(np.where(group.mask, value, rest), axis=1, keepdims=True)
        write(group, found.astype(kind).view(U32))

    return step
