"""Barriers in shared memory: threads arrive at one, and others ask whether all have.

    mbarrier_init(barriers, index, count)            a barrier that `count` arrivals pass
    mbarrier_arrive(barriers, index)                 this thread arrives, and goes on
    mbarrier_arrive_after_copies(barriers, index)    it arrives when all copies have that it has
                                                     issued so far; its turn is part of the count
    mbarrier_passed(barriers, index, parity)         whether the phase of this parity is over
    mbarrier_tried(barriers, index, parity)          the same; the hardware may let the thread
                                                     wait for some time before it answers

`barriers` is a shared array of uint64, `index` an element of it. A barrier is in phase 0, then 1, 2
and so on: a phase is over when `count` arrivals have come, and the next one begins. `parity` 0 asks
for phases 0, 2, 4 ..., of which the latest counts. One thread initialises the barrier, and a
barrier of the block comes before anyone arrives. A thread that waits asks in a loop:

    while not mbarrier_tried(full, stage, parity):
        pass

What a thread did before it arrived is seen by those that found the phase over.

Each is an instruction from cc 8.0 on (`mbarrier_tried` from 9.0 on, before it is
`mbarrier_passed`); on older chips a kernel with them traps. In the engine the word holds the
phase, the count and the arrivals that are missing; an mbarrier is no request of shared memory
there, and counts as none.

Source: PTX ISA, `mbarrier`, `cp.async.mbarrier.arrive`.

**Limits**: under `order="late"` copies land when their thread calls `mbarrier_arrive_after_copies`.
In launches with mbarriers a trace does not look for stages that are overwritten while they are
read, and says so.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.cuda.extending import intrinsic

from ...lockstep.lanes import spread
from ...lockstep.protocol import lockstep_implementation
from ...lockstep.watch import Access, CopyGroup, Fence
from .accesses import _address, _place
from .asynchronous import SHARED, _since, _under_way

_WORD = ir.IntType(32)
_INIT = "mbarrier.init.shared.b64 [$0], $1;"
_ARRIVE = "{ .reg .b64 state; mbarrier.arrive.shared.b64 state, [$0]; }"
_AFTER_COPIES = "cp.async.mbarrier.arrive.noinc.shared.b64 [$0];"
_WAIT = (
    "{{ .reg .pred over; mbarrier.{}.parity.shared.b64 over, [$1], $2; selp.u32 $0, 1, 0, over; }}"
)
_COUNT_BITS = 16


def _asm(builder: Any, text: str, constraints: str, result: Any, args: list[Any]) -> Any:
    kind = ir.FunctionType(result, [one.type for one in args])
    kept = ",".join(filter(None, (constraints, "~{memory}")))
    code = ir.InlineAsm(kind, text, kept, side_effect=True)
    return builder.call(code, args)


def _word_at(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    """The barrier's address in shared memory, 32 bits."""
    pointer = _address(context, builder, sig, args)
    return builder.ptrtoint(
        builder.addrspacecast(pointer, ir.PointerType(pointer.type.pointee, SHARED)), _WORD
    )


def _trap(builder: Any) -> None:
    _asm(builder, "trap;", "", ir.VoidType(), [])


def _acts(text: str, constraints: str, barriers: Any, *given: Any) -> Any:
    """An instruction without a result."""
    if barriers.dtype != types.uint64:
        return None

    def codegen(context, builder, sig, args):
        with builder.if_else(_since(builder, 80)) as (then, otherwise):
            with then:
                operands = [_word_at(context, builder, sig, args), *args[2:]]
                _asm(builder, text, constraints, ir.VoidType(), operands)
            with otherwise:
                _trap(builder)
        return context.get_dummy_value()

    return types.void(barriers, *given), codegen


def _asks(barriers: Any, index: Any, *, tries: bool) -> Any:
    """The instruction that says whether a phase is over."""
    if barriers.dtype != types.uint64:
        return None

    def codegen(context, builder, sig, args):
        answer = builder.alloca(_WORD)
        builder.store(ir.Constant(_WORD, 0), answer)

        def ask(how):
            operands = [_word_at(context, builder, sig, args), args[2]]
            builder.store(_asm(builder, _WAIT.format(how), "=r,r,r", _WORD, operands), answer)

        with builder.if_else(_since(builder, 80)) as (then, otherwise):
            with then:
                if tries:
                    with builder.if_else(_since(builder, 90)) as (newer, older):
                        with newer:
                            ask("try_wait")
                        with older:
                            ask("test_wait")
                else:
                    ask("test_wait")
            with otherwise:
                _trap(builder)
        return builder.icmp_unsigned("!=", builder.load(answer), ir.Constant(_WORD, 0))

    return types.boolean(barriers, index, types.uint32), codegen


@intrinsic
def mbarrier_init(typingctx, barriers, index, count):
    """Make an element a barrier in phase 0 that `count` arrivals pass."""
    return _acts(_INIT, "r,r", barriers, index, types.uint32)


@intrinsic
def mbarrier_arrive(typingctx, barriers, index):
    """Arrive, and go on."""
    return _acts(_ARRIVE, "r", barriers, index)


@intrinsic
def mbarrier_arrive_after_copies(typingctx, barriers, index):
    """Arrive when all copies have that this thread has issued, and go on."""
    return _acts(_AFTER_COPIES, "r", barriers, index)


@intrinsic
def mbarrier_passed(typingctx, barriers, index, parity):
    """Whether the phase of this parity is over."""
    return _asks(barriers, index, tries=False)


@intrinsic
def mbarrier_tried(typingctx, barriers, index, parity):
    """Whether the phase of this parity is over; the thread may wait before the answer."""
    return _asks(barriers, index, tries=True)


def _report(batch: Any, site: Any, barriers: Any, kind: str, offset: Any, active: Any) -> None:
    if batch.watched and barriers.reported:
        batch.report_access(
            Access(site, barriers.root, kind, offset, active, unit=barriers.unit, relaxed=True)
        )


def _phase(word: Any) -> Any:
    return np.asarray(word).astype(np.uint64) >> np.uint64(2 * _COUNT_BITS)


@lockstep_implementation(mbarrier_init)
def _(batch: Any, mask: Any, site: Any, barriers: Any, index: Any, count: Any) -> None:
    offset, active = _place(batch, mask, site, barriers, index)
    wanted = np.asarray(count).astype(np.uint64)
    if batch.watched and barriers.reported:
        batch.report_access(
            Access(site, barriers.root, "store", offset, active, wanted, unit=barriers.unit)
        )
    batch.writes += 1
    barriers.store.write(batch, offset, active, wanted << np.uint64(_COUNT_BITS) | wanted)


@lockstep_implementation(mbarrier_arrive)
def _arrive(batch: Any, mask: Any, site: Any, barriers: Any, index: Any) -> None:
    offset, active = _place(batch, mask, site, barriers, index)
    if batch.watched:
        batch.report_fence(Fence(site, "block", active))
    _report(batch, site, barriers, "store", offset, active)
    flat, place = barriers.store.cells(batch, np.where(active, offset, 0))
    cells, arrivals = np.unique(
        spread(place, batch.shape)[spread(active, batch.shape)], return_counts=True
    )
    low = (1 << _COUNT_BITS) - 1
    for cell, come in zip(cells.tolist(), arrivals.tolist(), strict=True):
        word = int(flat[cell])
        phase, count, missing = word >> 2 * _COUNT_BITS, word >> _COUNT_BITS & low, word & low
        while come and count:
            step = min(come, missing)
            come, missing = come - step, missing - step
            if not missing:
                phase, missing = phase + 1, count
        flat[cell] = np.uint64(phase << 2 * _COUNT_BITS | count << _COUNT_BITS | missing)
    batch.writes += 1


@lockstep_implementation(mbarrier_arrive_after_copies)
def _(batch: Any, mask: Any, site: Any, barriers: Any, index: Any) -> None:
    if batch.launch.lands_late:
        _under_way(batch).commit(mask)
        _under_way(batch).land(batch, mask, 0)
    offset, active = _place(batch, mask, site, barriers, index)
    if batch.watched:
        word = barriers.store.read(batch, np.where(active, offset, 0))
        where = np.asarray(offset * barriers.unit + barriers.root.base)
        batch.report_copy_group(
            CopyGroup(site, "attach", active, barrier=where, phase=_phase(word).astype(np.int64))
        )
    _arrive(batch, mask, site, barriers, index)


@lockstep_implementation(mbarrier_passed)
def _passed(batch: Any, mask: Any, site: Any, barriers: Any, index: Any, parity: Any) -> Any:
    offset, active = _place(batch, mask, site, barriers, index)
    _report(batch, site, barriers, "load", offset, active)
    word = barriers.store.read(batch, np.where(active, offset, 0))
    phase = _phase(word).astype(np.int64)
    over = np.asarray((phase & 1) != (np.asarray(parity).astype(np.int64) & 1))
    if batch.watched:
        where = np.asarray(offset * barriers.unit + barriers.root.base)
        batch.report_copy_group(
            CopyGroup(site, "passed", active & over, barrier=where, phase=phase)
        )
    return over


lockstep_implementation(mbarrier_tried)(_passed)
