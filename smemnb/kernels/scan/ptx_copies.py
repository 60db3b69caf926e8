"""Copies from global to shared memory that no register holds on their way (`cp.async`, cc 8.0 on).

    copy16(tile, to, array, index)    16 bytes, from and to multiples of 16 bytes
    await_copies()                    until all copies of this thread are there

A thread that reads what it has copied itself needs no barrier. In the engine a copy is done at
once: that somebody reads too early is not found.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.cuda.extending import intrinsic

from ...lockstep.protocol import lockstep_implementation
from ...lockstep.watch import Access
from ..ptx import _address, _place_wide

_COPY = (
    "{ .reg .u64 to, at; cvta.to.shared.u64 to, $0; cvta.to.global.u64 at, $1; "
    "cp.async.cg.shared.global [to], [at], 16; }"
)


@intrinsic
def copy16(typingctx, tile, to, array, index):
    """Begin to copy 16 bytes of a global array into a shared one."""

    def codegen(context, builder, sig, args):
        wide = ir.IntType(64)
        first, second = (
            builder.ptrtoint(_address(context, builder, sig.return_type(*types_), values), wide)
            for types_, values in ((sig.args[:2], args[:2]), (sig.args[2:], args[2:]))
        )
        kind = ir.FunctionType(ir.VoidType(), [wide, wide])
        code = ir.InlineAsm(kind, _COPY, "l,l,~{memory}", side_effect=True)
        builder.call(code, [first, second])
        return context.get_dummy_value()

    return types.void(tile, to, array, index), codegen


@intrinsic
def await_copies(typingctx):
    """Wait for this thread's copies."""

    def codegen(context, builder, sig, args):
        kind = ir.FunctionType(ir.VoidType(), [])
        code = ir.InlineAsm(kind, "cp.async.wait_all;", "~{memory}", side_effect=True)
        builder.call(code, [])
        return context.get_dummy_value()

    return types.void(), codegen


@lockstep_implementation(copy16)
def _(batch: Any, mask: Any, site: Any, tile: Any, to: Any, array: Any, index: Any) -> None:
    source, active, count = _place_wide(batch, mask, site, array, index)
    target, inside, _ = _place_wide(batch, active, site, tile, to)
    places = [np.where(active, source + at, 0) for at in range(count)]
    values = tuple(array.store.read(batch, at) for at in places)
    if batch.watched:
        for one, kind, offset, lanes, shown in (
            (array, "load", source, active, None),
            (tile, "store", target, inside, values),
        ):
            if one.reported:
                batch.report_access(
                    Access(site, one.root, kind, offset, lanes, shown, count, unit=one.unit)
                )
    batch.writes += 1
    for at in range(count):
        tile.store.write(batch, np.where(inside, target + at, 0), inside, values[at])


@lockstep_implementation(await_copies)
def _(batch: Any, mask: Any, site: Any) -> None:
    return None
