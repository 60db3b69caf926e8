"""Warps of one block that do different things: who asks, who waits for whom, who has registers.

    elected()                        true in one lane of the warp
    meet(number, threads)            barrier `number`, 0 to 15, of so many threads of the block
    registers_fewer(count)()         each thread of this warpgroup gives registers back, down to
                                     `count`
    registers_more(count)()          it waits for registers that others gave, up to `count`

`meet` orders what its threads do as syncthreads does for all of them; `threads` is a multiple of
32, and the same whoever comes. Barrier 0 is syncthreads' own.

A kernel begins with as many registers per thread as it was compiled for. `count` is a multiple of 8
from 24 to 256, and all four warps of a warpgroup come; the sum over all warpgroups has to fit, or
they wait for ever. The compiler heeds it where the kernel has `launch_bounds`. In the engine, which
has no registers, only the numbers are checked.

Source: PTX ISA, `elect.sync`, `bar.sync`, `setmaxnreg`.

**Limits**: `meet` from cc 7.0 on, the others of cc 9.0 (`setmaxnreg` of none after it that has no
such variant). In the engine the elected lane is the lowest one.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.cuda.extending import intrinsic

from ...errors import KernelStopped
from ...lockstep.batch import DYNAMIC_BASE
from ...lockstep.lanes import spread
from ...lockstep.memory import KernelArray, SharedStore
from ...lockstep.protocol import lockstep_implementation
from ...lockstep.watch import Access, Arrival, CopyGroup, Fence
from .warp_wide import WORD, assembled, need, together

_NEEDED = (9, 0)
BARRIERS = 16
_BASE = DYNAMIC_BASE - 256  # virtual address of the barriers, past any static array


@intrinsic
def elected(typingctx):
    """Whether this is the one lane of its warp that was elected."""
    text = "{ .reg .pred one; elect.sync _|one, 0xffffffff; selp.u32 $0, 1, 0, one; }"

    def codegen(context, builder, sig, args):
        need("elected", _NEEDED)
        found = assembled(builder, text, [WORD], [], memory=False)[0]
        return builder.icmp_unsigned("!=", found, ir.Constant(WORD, 0))

    return types.boolean(), codegen


@intrinsic
def meet(typingctx, number, threads):
    """Wait at a barrier of the block for so many threads."""

    def codegen(context, builder, sig, args):
        operands = [
            context.cast(builder, value, kind, types.uint32)
            for value, kind in zip(args, sig.args, strict=True)
        ]
        assembled(builder, "bar.sync $0, $1;", [], operands, memory=True)
        return context.get_dummy_value()

    return types.void(number, threads), codegen


def _registers(name: str, act: str, count: int) -> Any:
    if count % 8 or not 24 <= count <= 256:
        raise ValueError(f"{name}({count}): a multiple of 8 from 24 to 256")

    @intrinsic
    def kept(typingctx):
        def codegen(context, builder, sig, args):
            need(name, _NEEDED)
            text = f"setmaxnreg.{act}.sync.aligned.u32 {count};"
            assembled(builder, text, [], [], memory=True)
            return context.get_dummy_value()

        return types.void(), codegen

    lockstep_implementation(kept)(together(_NEEDED, _nothing))
    # found under its own name, as others of this module are, it is known as the package's own
    kept.__name__ = kept.__qualname__ = f"{name}_{count}"
    globals()[kept.__name__] = kept
    return kept


def _nothing(batch: Any, mask: Any, site: Any) -> None:
    """The engine has no registers."""


@cache
def registers_fewer(count: int) -> Any:
    """An intrinsic: give registers back, down to so many per thread."""
    return _registers("registers_fewer", "dec", count)


@cache
def registers_more(count: int) -> Any:
    """An intrinsic: wait for registers, up to so many per thread."""
    return _registers("registers_more", "inc", count)


def _elected(batch: Any, mask: Any, site: Any) -> Any:
    lane = np.arange(32).reshape(1, 1, 32)
    active = spread(mask, batch.shape)
    return active & (lane == np.argmax(active, axis=2)[..., None])


lockstep_implementation(elected)(together(_NEEDED, _elected))


class _Barriers:
    """The barriers of a batch's blocks: how many came, how often all had, and how many are all."""

    def __init__(self, batch: Any) -> None:
        self.come = np.zeros((BARRIERS, batch.count), np.int64)
        self.turns = np.zeros((BARRIERS, batch.count), np.int64)
        self.wanted = np.zeros((BARRIERS, batch.count), np.int64)
        store = SharedStore(np.zeros((batch.count, BARRIERS), np.uint64))
        kind = np.dtype(np.uint64)
        self.array = KernelArray("barriers", "shared", store, (BARRIERS,), kind, base=_BASE)


def _meet(batch: Any, mask: Any, site: Any, number: Any, threads: Any) -> None:
    """Count who comes, and let others run until all have."""
    if batch.barriers is None:
        batch.barriers = _Barriers(batch)
    state: _Barriers = batch.barriers
    active = spread(mask, batch.shape)
    given = [np.asarray(one).astype(np.int64) for one in (number, threads)]
    named = np.stack([spread(one, batch.shape)[active] for one in given])
    for which, count in np.unique(named, axis=1).T.tolist():
        here = active & (spread(number, batch.shape) == which)
        _meet_at(batch, here, site, state, which, count)


def _meet_at(batch: Any, active: Any, site: Any, state: _Barriers, which: int, count: int) -> None:
    if not 0 <= which < BARRIERS or count % 32 or not 32 <= count <= batch.launch.warps * 32:
        raise _stop(
            site,
            f"barrier {which} of {count} threads: barriers are 0 to {BARRIERS - 1}, of a multiple"
            f" of 32 threads, at most the block's {batch.launch.threads}",
        )
    _tell(batch, site, state, "store", which, active)
    come = active.sum(axis=(1, 2))
    here = come > 0
    if (here & (state.come[which] > 0) & (state.wanted[which] != count)).any():
        raise _stop(site, f"others wait at barrier {which} for another number than {count} threads")
    state.wanted[which][here] = count
    until = state.turns[which] + 1
    state.come[which] += come
    if (state.come[which] > count).any():
        raise _stop(site, f"more than {count} threads come to barrier {which}")
    full = state.come[which] == count
    state.turns[which] += full
    state.come[which][full] = 0
    if full.any():
        batch.writes += 1
    where = f"{site.text} in line {site.line}"
    while (here & (state.turns[which] < until)).any():
        batch.look(where, active, 1, still=True, quiet=True)
    _tell(batch, site, state, "load", which, active)


_meet.waits = True  # type: ignore[attr-defined]
lockstep_implementation(meet)(_meet)


def _tell(batch: Any, site: Any, state: _Barriers, kind: str, which: int, active: Any) -> None:
    """What was done before the barrier is ordered before what follows it, as by a flag."""
    if not batch.watched:
        return
    place = np.full((1, 1, 1), which, np.int64)
    where, turn = place * 8 + _BASE, state.turns[which].reshape(-1, 1, 1)
    if kind == "store":
        batch.report_fence(Fence(site, "block", active))
        batch.report_arrival(Arrival(site, active, where, turn))
    else:
        batch.report_copy_group(CopyGroup(site, "passed", active, barrier=where, phase=turn))
    batch.report_access(Access(site, state.array, kind, place, active, relaxed=True))


def _stop(site: Any, what: str) -> KernelStopped:
    return KernelStopped(f"{site.text} in line {site.line}: {what}")
