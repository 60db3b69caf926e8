"""Barriers in shared memory: threads arrive at one, and others ask whether all have.

    mbarrier_init(barriers, index, count)            a barrier that `count` arrivals pass
    mbarrier_arrive(barriers, index)                 this thread arrives, and goes on
    mbarrier_arrive_after_copies(barriers, index)    it arrives when all copies have that it has
                                                     issued so far; its turn is part of the count
    mbarrier_arrive_expecting(barriers, index, size) it arrives, and the phase waits for so many
                                                     bytes more (`arrive.expect_tx`)
    mbarrier_expect(barriers, index, size)           the phase waits for so many bytes more
    mbarrier_complete(barriers, index, size)         so many bytes have come, as a bulk copy says
    mbarrier_init_fence()                            bulk copies see barriers that this thread made
    mbarrier_passed(barriers, index, parity)         whether the phase of this parity is over
    mbarrier_tried(barriers, index, parity)          the same; the hardware may let the thread
                                                     wait for some time before it answers

`barriers` is a shared array of uint64, `index` an element of it. A barrier is in phase 0, then 1, 2
and so on: a phase is over when `count` arrivals have come and no bytes are missing, and the next
one begins. Bytes that a bulk copy brings (`ptx.bulk`) count themselves. `parity` 0 asks for phases
0, 2, 4 ..., of which the latest counts. One thread initialises the barrier, and a barrier of the
block comes before anyone arrives. A thread that waits asks in a loop:

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

from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.cuda.extending import intrinsic

from ...errors import KernelStopped
from ...lockstep.lanes import spread
from ...lockstep.memory.stores import poison
from ...lockstep.protocol import lockstep_implementation
from ...lockstep.watch import Access, Arrival, CopyGroup, Fence
from .accesses import _address, _place
from .asynchronous import SHARED, _since, _under_way

_WORD = ir.IntType(32)
_INIT = "mbarrier.init.shared.b64 [$0], $1;"
_ARRIVE = "{ .reg .b64 state; mbarrier.arrive.shared.b64 state, [$0]; }"
_ARRIVE_EXPECTING = (
    "{ .reg .b64 state; mbarrier.arrive.expect_tx.shared::cta.b64 state, [$0], $1; }"
)
_EXPECT = "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [$0], $1;"
_COMPLETE = "mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [$0], $1;"
_INIT_FENCE = "fence.mbarrier_init.release.cluster;"
_AFTER_COPIES = "cp.async.mbarrier.arrive.noinc.shared.b64 [$0];"
_WAIT = (
    "{{ .reg .pred over; mbarrier.{}.parity.shared.b64 over, [$1], $2; selp.u32 $0, 1, 0, over; }}"
)
_COUNT_BITS, _TX_BITS = 14, 20  # arrivals per phase, arrivals missing, bytes missing; phase
_PHASE_AT = 2 * _COUNT_BITS + _TX_BITS


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


def _acts(text: str, constraints: str, barriers: Any, *given: Any, since: int = 80) -> Any:
    """An instruction without a result."""
    if barriers.dtype != types.uint64:
        return None

    def codegen(context, builder, sig, args):
        with builder.if_else(_since(builder, since)) as (then, otherwise):
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
def mbarrier_arrive_expecting(typingctx, barriers, index, size):
    """Arrive, and let the phase wait for so many bytes; cc 9.0."""
    return _acts(_ARRIVE_EXPECTING, "r,r", barriers, index, types.uint32, since=90)


@intrinsic
def mbarrier_expect(typingctx, barriers, index, size):
    """Let the phase wait for so many bytes, without arriving; cc 9.0."""
    return _acts(_EXPECT, "r,r", barriers, index, types.uint32, since=90)


@intrinsic
def mbarrier_complete(typingctx, barriers, index, size):
    """Take so many bytes as having come; cc 9.0."""
    return _acts(_COMPLETE, "r,r", barriers, index, types.uint32, since=90)


@intrinsic
def mbarrier_init_fence(typingctx):
    """Let bulk copies see the barriers that this thread has made."""

    def codegen(context, builder, sig, args):
        with builder.if_then(_since(builder, 90)):
            _asm(builder, _INIT_FENCE, "", ir.VoidType(), [])
        return context.get_dummy_value()

    return types.void(), codegen


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
    return np.asarray(word).astype(np.uint64) >> np.uint64(_PHASE_AT)


class Word(NamedTuple):
    """What the word of a barrier says: phase, all arrivals of one, those and bytes missing."""

    phase: int
    all: int
    missing: int
    tx_bytes: int

    @classmethod
    def read(cls, word: int) -> Word:
        """Take a word apart."""
        low = (1 << _COUNT_BITS) - 1
        tx_bytes = word >> 2 * _COUNT_BITS & (1 << _TX_BITS) - 1
        tx_bytes -= (tx_bytes >> _TX_BITS - 1) << _TX_BITS  # of either sign
        return cls(word >> _PHASE_AT, word >> _COUNT_BITS & low, word & low, tx_bytes)

    def packed(self) -> np.uint64:
        """Put it together again."""
        tx_bytes = self.tx_bytes & (1 << _TX_BITS) - 1
        phase = self.phase & (1 << 64 - _PHASE_AT) - 1
        return np.uint64(
            phase << _PHASE_AT
            | tx_bytes << 2 * _COUNT_BITS
            | self.all << _COUNT_BITS
            | self.missing
        )

    def later(self, arrivals: int, tx_bytes: int) -> tuple[Word, int]:
        """The word after so many bytes more (below 0: fewer) are missing and arrivals have come.

        Returns:
            The word, and how many of the arrivals the phase does not count.
        """
        phase, every, missing, tx_bytes = (*self[:3], self.tx_bytes + tx_bytes)
        while True:
            step = min(arrivals, missing)
            arrivals, missing = arrivals - step, missing - step
            if missing or tx_bytes:
                return Word(phase, every, missing, tx_bytes), arrivals
            phase, missing = phase + 1, every


def _at_barrier(barriers: Any, offset: Any) -> Any:
    """The shared address of each lane's barrier."""
    return np.asarray(offset * barriers.unit + barriers.root.base)


def _stopped(batch: Any, site: Any, place: Any, what: str) -> KernelStopped:
    block = batch.launch.block_of(batch.first + int(place))
    return KernelStopped(f"{site.text} in line {site.line}, block {block}: {what}")


def changed(
    batch: Any, site: Any, barriers: Any, offset: Any, active: Any, arrivals: int, tx_bytes: Any
) -> None:
    """Let arrivals come, or bytes be expected (below 0: come), once for each active lane.

    Raises:
        KernelStopped: nobody made this element a barrier, or a phase can never end, as bytes have
            come that nobody expects.
    """
    flat, place = barriers.store.cells(batch, np.where(active, offset, 0))
    lanes = spread(active, batch.shape)
    cells, sizes = spread(place, batch.shape)[lanes], spread(tx_bytes, batch.shape)[lanes]
    rows = np.nonzero(lanes)[0]
    for cell in np.unique(cells).tolist():
        here = cells == cell
        word, more = Word.read(int(flat[cell])), int(sizes[here].astype(np.int64).sum())
        if int(flat[cell]) == int(poison(np.dtype(np.uint64))) or not word.all:
            raise _stopped(
                batch, site, rows[here][0], "nobody has made this element a barrier:"
                " call mbarrier_init in one thread and syncthreads before",
            )  # fmt: skip
        if abs(word.tx_bytes + more) >= 1 << _TX_BITS - 1:
            raise _stopped(
                batch, site, rows[here][0], f"{word.tx_bytes + more:,} bytes are missing in one"
                f" phase; the engine counts up to {(1 << _TX_BITS - 1) - 1:,}",
            )  # fmt: skip
        later, surplus = word.later(arrivals * int(here.sum()), more)
        if surplus:
            raise _stopped(
                batch, site, rows[here][0], f"{surplus} arrivals more than the {word.all} of the"
                f" phase come while {later.tx_bytes:,} of its bytes are missing",
            )  # fmt: skip
        if not later.missing and later.tx_bytes < 0:
            raise _stopped(
                batch, site, rows[here][0], f"all {word.all} arrivals of the phase have come and"
                f" {-later.tx_bytes:,} bytes more than it expects, so it never ends (or ended too"
                " early, as a GPU is fast or slow): expect as many bytes as the copies bring, by"
                " mbarrier_arrive_expecting",
            )  # fmt: skip
        flat[cell] = later.packed()
    batch.writes += 1


@lockstep_implementation(mbarrier_init)
def _(batch: Any, mask: Any, site: Any, barriers: Any, index: Any, count: Any) -> None:
    offset, active = _place(batch, mask, site, barriers, index)
    wanted = np.asarray(count).astype(np.uint64)
    if (active & ((wanted == 0) | (wanted >> np.uint64(_COUNT_BITS) != 0))).any():
        raise KernelStopped(
            f"{site.text} in line {site.line}: a barrier waits for 1 to {(1 << _COUNT_BITS) - 1:,}"
            " arrivals in the engine"
        )
    if batch.watched and barriers.reported:
        batch.report_access(
            Access(site, barriers.root, "store", offset, active, wanted, unit=barriers.unit)
        )
    batch.writes += 1
    barriers.store.write(batch, offset, active, wanted << np.uint64(_COUNT_BITS) | wanted)


def _arrive(batch: Any, mask: Any, site: Any, barriers: Any, index: Any, tx_bytes: Any = 0) -> None:
    offset, active = _place(batch, mask, site, barriers, index)
    if batch.arriving:
        word = barriers.store.read(batch, np.where(active, offset, 0)).astype(np.uint64)
        bytes_only = active & (word & np.uint64((1 << _COUNT_BITS) - 1) == 0)
        if bytes_only.any():  # who arrives in the next phase has waited for this one somehow
            _land(batch, barriers, np.where(bytes_only, offset, 0), bytes_only)
    if batch.watched:
        batch.report_fence(Fence(site, "block", active))
        word = barriers.store.read(batch, np.where(active, offset, 0))
        phase = _phase(word).astype(np.int64)
        batch.report_arrival(Arrival(site, active, _at_barrier(barriers, offset), phase))
    _report(batch, site, barriers, "store", offset, active)
    changed(batch, site, barriers, offset, active, 1, tx_bytes)


lockstep_implementation(mbarrier_arrive)(_arrive)


@lockstep_implementation(mbarrier_arrive_expecting)
def _(batch: Any, mask: Any, site: Any, barriers: Any, index: Any, size: Any) -> None:
    _arrive(batch, mask, site, barriers, index, np.asarray(size).astype(np.int64))


@lockstep_implementation(mbarrier_expect)
def _(batch: Any, mask: Any, site: Any, barriers: Any, index: Any, size: Any) -> None:
    offset, active = _place(batch, mask, site, barriers, index)
    _report(batch, site, barriers, "store", offset, active)
    changed(batch, site, barriers, offset, active, 0, np.asarray(size).astype(np.int64))


@lockstep_implementation(mbarrier_complete)
def _(batch: Any, mask: Any, site: Any, barriers: Any, index: Any, size: Any) -> None:
    offset, active = _place(batch, mask, site, barriers, index)
    _report(batch, site, barriers, "store", offset, active)
    changed(batch, site, barriers, offset, active, 0, -np.asarray(size).astype(np.int64))


@lockstep_implementation(mbarrier_init_fence)
def _(batch: Any, mask: Any, site: Any) -> None:
    """Nothing: what is stored is seen."""


@lockstep_implementation(mbarrier_arrive_after_copies)
def _(batch: Any, mask: Any, site: Any, barriers: Any, index: Any) -> None:
    if batch.launch.lands_late:
        _under_way(batch).commit(mask)
        _under_way(batch).land(batch, mask, 0)
    offset, active = _place(batch, mask, site, barriers, index)
    if batch.watched:
        word = barriers.store.read(batch, np.where(active, offset, 0))
        where = _at_barrier(barriers, offset)
        batch.report_copy_group(
            CopyGroup(site, "attach", active, barrier=where, phase=_phase(word).astype(np.int64))
        )
    _arrive(batch, mask, site, barriers, index)


def cells_of(batch: Any, barriers: Any, offset: Any, active: Any) -> list[tuple[int, int]]:
    """What names the barrier of each active lane, for `batch.arriving`."""
    _, place = barriers.store.cells(batch, offset)
    cells = spread(place, batch.shape)[spread(active, batch.shape)]
    return [(id(barriers.memory), one * barriers.unit) for one in np.unique(cells).tolist()]


def _land(batch: Any, barriers: Any, offset: Any, active: Any) -> bool:
    """Let the bulk copies arrive that somebody waits for; whether there were any."""
    landed = False
    for cell in cells_of(batch, barriers, offset, active):
        for land in batch.arriving.pop(cell, ()):
            land()
            landed = True
    return landed


@lockstep_implementation(mbarrier_passed)
def _passed(batch: Any, mask: Any, site: Any, barriers: Any, index: Any, parity: Any) -> Any:
    offset, active = _place(batch, mask, site, barriers, index)
    _report(batch, site, barriers, "load", offset, active)
    place, asked = np.where(active, offset, 0), np.asarray(parity).astype(np.int64) & 1
    phase = _phase(barriers.store.read(batch, place)).astype(np.int64)
    over = np.asarray((phase & 1) != asked)
    if batch.arriving and (active & ~over).any() and _land(batch, barriers, place, active & ~over):
        phase = _phase(barriers.store.read(batch, place)).astype(np.int64)
        over = np.asarray((phase & 1) != asked)
    if batch.watched:
        where = _at_barrier(barriers, offset)
        batch.report_copy_group(
            CopyGroup(site, "passed", active & over, barrier=where, phase=phase)
        )
    return over


lockstep_implementation(mbarrier_tried)(_passed)
