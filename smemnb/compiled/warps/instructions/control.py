"""Branches, calls, ends and barriers: what moves groups of warps.

A control step is called with the address, the group, and the lanes for which its guard holds; it
hands every lane of the group on to `Flow`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..flow import STEP, Flow
from ..operands import Array, Operand, Unknown, constantly
from ..semantics import BuildContext, Instruction, Step, controls, implements
from ..state import Group, packed

Control = Callable[[int, Group, Array], None]
U32 = np.uint32


def _flow(context: BuildContext) -> Flow:
    flow: Flow = context.tools["flow"]
    return flow


def _target(one: Operand) -> int:
    if one.kind != "number":
        raise Unknown(f"jump to {one.text}")
    return int(one.number)


@controls("BRA", "CALL", "JMP")
def branch(one: Instruction, context: BuildContext) -> Control:
    """Go elsewhere; .U only if all lanes do, .DIV only if lanes that are named have parted."""
    given = one.only({"U", "DIV", "REL", "NOINC"})
    *conditions, to = one.operands
    target, flow = _target(to), _flow(context)
    if "DIV" in given:
        return _if_parted(context, conditions[0], target)
    readers = [context.read.predicate(condition) for condition in conditions]

    def step(address: int, group: Group, lanes: Array) -> None:
        for read in readers:
            lanes = lanes & read(group)
        if "U" in given:
            everyone = np.logical_and.reduce(lanes | ~group.mask, axis=1)
            lanes = lanes & everyone[:, None]
        if target == address and lanes.all():
            raise Unknown("a loop that never ends")
        flow.go(target, group, lanes)
        flow.go(address + STEP, group, ~lanes)

    return step


def _if_parted(context: BuildContext, named: Operand, target: int) -> Control:
    read, flow = context.read.integer(named), _flow(context)

    def step(address: int, group: Group, lanes: Array) -> None:
        wanted: Array = read(group)[:, 0] & packed(group.of(context.state.alive))
        apart: Array = wanted != group.bits
        parted = lanes & apart[:, None]
        flow.go(target, group, parted)
        flow.go(address + STEP, group, ~parted)

    return step


@controls("RET")
def come_back(one: Instruction, context: BuildContext) -> Control:
    """Go to the address in a pair of registers, counted from where the kernel begins."""
    one.only({"REL", "NODEC"})
    where, start = one.operands
    read, origin, flow = context.read.pair(where), _target(start), _flow(context)

    def step(address: int, group: Group, lanes: Array) -> None:
        targets = np.broadcast_to(read(group), group.mask.shape).astype(np.int64) + origin
        for target in np.unique(targets[group.mask & lanes]).tolist():
            flow.go(target, group, lanes & (targets == target))
        flow.go(address + STEP, group, ~lanes)

    return step


@controls("EXIT")
def end(one: Instruction, context: BuildContext) -> Control:
    """The lanes are no more."""
    one.only(())
    flow = _flow(context)
    readers = [context.read.predicate(condition) for condition in one.operands]

    def step(address: int, group: Group, lanes: Array) -> None:
        for read in readers:
            lanes = lanes & read(group)
        flow.go(address + STEP, group, ~lanes)
        flow.end(group.narrowed(lanes))

    return step


def _those(group: Group, lanes: Array) -> Group:
    """The rows that have some of these lanes, with them alone."""
    kept = group.narrowed(lanes)
    return kept.picked(np.asarray(kept.mask.any(axis=1)))


def _barrier_number(one: Operand) -> int:
    if one.text[:1] != "B" or not one.text[1:].isdecimal():
        raise Unknown(f"operand {one.text}")
    return int(one.text[1:])


@controls("BSYNC")
def join(one: Instruction, context: BuildContext) -> Control:
    """Wait for the lanes that met the BSSY of this number."""
    one.only(())
    number, flow = _barrier_number(one.operands[-1]), _flow(context)

    def step(address: int, group: Group, lanes: Array) -> None:
        flow.go(address + STEP, group, ~lanes)
        flow.join(number, address, _those(group, lanes))

    return step


@implements("BSSY")
def begin_join(one: Instruction, context: BuildContext) -> Step:
    """Remember the active lanes; a BSYNC of this number waits for them."""
    one.only(())
    number, flow = _barrier_number(one.operands[0]), _flow(context)
    return lambda group: flow.begin_join(number, group)


@implements("BREAK")
def leave_join(one: Instruction, context: BuildContext) -> Step:
    """These lanes will not come to the BSYNC of this number."""
    one.only(())
    number, flow = _barrier_number(one.operands[-1]), _flow(context)
    conditions = [context.read.predicate(part) for part in one.operands[:-1]]

    def step(group: Group) -> None:
        for read in conditions:
            group = group.narrowed(read(group))
        flow.leave_join(number, group)

    return step


@implements("BMOV")
def move_join(one: Instruction, context: BuildContext) -> Step:
    """Save the lanes of a BSSY in a register, or bring them back."""
    given = one.only({"32", "CLEAR"})
    to, source = one.operands
    if to.kind == "R":
        write, held = context.write.word(to), context.state.joins[_barrier_number(source)]

        def save(group: Group) -> None:
            write(group, group.of(held).copy())
            if "CLEAR" in given:
                group.put(held, np.zeros((1, 1), U32))

        return save
    read, kept = context.read.integer(source), context.state.joins[_barrier_number(to)]
    return lambda group: group.put(kept, read(group))


@controls("WARPSYNC")
def join_warp(one: Instruction, context: BuildContext) -> Control:
    """Wait for the lanes that a mask names, or (.ALL) for the whole warp."""
    given = one.only({"ALL", "COLLECTIVE", "EXCLUSIVE"})
    flow = _flow(context)
    every = constantly(np.full((1, 1), 0xFFFFFFFF, U32))
    read = every if "ALL" in given else context.read.integer(one.operands[0])

    def step(address: int, group: Group, lanes: Array) -> None:
        flow.go(address + STEP, group, ~lanes)
        here = _those(group, lanes)
        flow.wait_for(read(here), address, here)

    return step


class Votes:
    """What the lanes of a block say at a barrier that reduces predicates, and what comes of it."""

    def __init__(self, shape: tuple[int, int], block_warps: int) -> None:
        self._says, self._came = np.zeros(shape, np.bool_), np.zeros(shape, np.bool_)
        self._warps = block_warps
        self.flag = np.zeros((shape[0], 1), np.bool_)
        self.number = np.zeros((shape[0], 1), U32)
        self.name = ""

    def say(self, group: Group, predicate: Array) -> None:
        """The lanes of a group arrive."""
        group.put(self._says, np.broadcast_to(predicate, group.mask.shape))
        group.put(self._came, np.ones((1, 1), np.bool_))

    def settle(self, opened: Array) -> None:
        """The barriers of these blocks open."""
        blocks = (len(opened), -1)
        says, came = self._says.reshape(blocks), self._came.reshape(blocks)
        every = (says | ~came).all(axis=1)
        found = every if self.name == "AND" else (says & came).any(axis=1)
        rows = np.repeat(opened, self._warps)
        self.flag[rows, 0] = np.repeat(found, self._warps)[rows]
        number = (says & came).sum(axis=1).astype(U32)
        self.number[rows, 0] = np.repeat(number, self._warps)[rows]
        self._came[rows] = False


@controls("BAR")
def block_barrier(one: Instruction, context: BuildContext) -> Control:
    """Wait for the living threads of the block; .RED joins a predicate of all of them."""
    given = one.only({"SYNC", "RED", "DEFER_BLOCKING", "OR", "AND", "POPC"})
    flow, votes = _flow(context), context.tools["votes"]
    first, *rest = one.operands
    if first.kind != "number" or first.number != 0 or ("RED" in given) != bool(rest):
        raise Unknown(f"form of {one.located.text}")
    read = context.read.predicate(rest[0]) if rest else None
    name = next((name for name in ("OR", "AND", "POPC") if name in given), "")

    def step(address: int, group: Group, lanes: Array) -> None:
        flow.go(address + STEP, group, ~lanes)
        here = _those(group, lanes)
        if read is not None:
            votes.name = name
            votes.say(here, read(here))
        flow.block_barrier(address, here, votes.settle)

    return step


@implements("B2R")
def barrier_result(one: Instruction, context: BuildContext) -> Step:
    """What came of the predicates at the block's barrier."""
    one.only({"RESULT"})
    votes: Votes = context.tools["votes"]
    out, *flags = one.operands
    write = context.write.word(out)
    writers = [context.write.predicate(flag) for flag in flags]

    def step(group: Group) -> None:
        write(group, group.of(votes.number))
        for writer in writers:
            writer(group, group.of(votes.flag))

    return step


@implements("NOP", "YIELD", "MEMBAR", "ERRBAR", "CGAERRBAR", "CCTL", "DEPBAR", "NANOSLEEP")
@implements("ENDCOLLECTIVE", "LDGDEPBAR")
def nothing(one: Instruction, context: BuildContext) -> Step:
    """No effect on registers or on what is counted."""
    return lambda group: None
