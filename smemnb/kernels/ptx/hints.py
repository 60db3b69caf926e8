"""Hints to the caches, and a fence: what they change is time, never a value.

    load16_once(array, index)            as `load16`, of global memory; L1 keeps none of it
    store16_once(array, index, values)   as `store16`, to global memory; caches drop it first
    fence_async()                        what this thread stored in shared memory is seen by copies
                                         of the bulk engine (TMA) and by tensor cores (wgmma)
                                         that come after it

Of elements of 4 bytes. In the engine the first two are `load16` and `store16`; a trace finds where
the fence is missing. `cuda.threadfence_block()` and its like are Numba's.

Source: PTX ISA, `ld.global.L1::no_allocate`, `st.global.cs`, `fence.proxy.async`.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import types
from numba.cuda.extending import intrinsic

from ...lockstep.protocol import implementation_of, lockstep_implementation
from ...lockstep.watch import BulkGroup
from .accesses import _address, load16, store16
from .asynchronous import GLOBAL, _said, _since

_WORD, _PLACE = ir.IntType(32), ir.IntType(64)
_LOAD = "ld.global.L1::no_allocate.v4.b32 {$0, $1, $2, $3}, [$4];"
_STORE = "st.global.cs.v4.b32 [$0], {$1, $2, $3, $4};"


def _quads(array: Any) -> Any:
    """The type of four elements of an array, if these have 4 bytes each."""
    return array.dtype.bitwidth == 32 and types.containers.UniTuple(array.dtype, 4)


def _in_global(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    pointer = _address(context, builder, sig, args)
    kind = ir.PointerType(pointer.type.pointee, GLOBAL)
    return builder.ptrtoint(builder.addrspacecast(pointer, kind), _PLACE)


@intrinsic
def load16_once(typingctx, array, index):
    """The 16 bytes from a flat offset on, which no other thread needs soon."""
    four = _quads(array)

    def codegen(context, builder, sig, args):
        whole = ir.LiteralStructType([_WORD] * 4)
        place = _in_global(context, builder, sig, args)
        kind = ir.FunctionType(whole, [_PLACE])
        code = ir.InlineAsm(kind, _LOAD, "=r,=r,=r,=r,l,~{memory}", side_effect=True)
        found = builder.call(code, [place])
        element = context.get_value_type(array.dtype)
        parts = [builder.bitcast(builder.extract_value(found, at), element) for at in range(4)]
        return context.make_tuple(builder, sig.return_type, parts)

    return four and (four(array, index), codegen)


@intrinsic
def store16_once(typingctx, array, index, values):
    """Put 16 bytes at a flat offset, which nobody reads soon."""
    four = _quads(array)

    def codegen(context, builder, sig, args):
        place = _in_global(context, builder, sig, args)
        words = [builder.bitcast(builder.extract_value(args[2], at), _WORD) for at in range(4)]
        kind = ir.FunctionType(ir.VoidType(), [_PLACE, *[_WORD] * 4])
        code = ir.InlineAsm(kind, _STORE, "l,r,r,r,r,~{memory}", side_effect=True)
        builder.call(code, [place, *words])
        return context.get_dummy_value()

    return four and (types.void(array, index, four), codegen)


@intrinsic
def fence_async(typingctx):
    """Let bulk copies see what this thread has stored in shared memory."""

    def codegen(context, builder, sig, args):
        with builder.if_then(_since(builder, 90)):
            _said(builder, "fence.proxy.async.shared::cta;")
        return context.get_dummy_value()

    return types.void(), codegen


for _one, _other in ((load16_once, load16), (store16_once, store16)):
    lockstep_implementation(_one)(implementation_of(_other))  # type: ignore[arg-type]


@lockstep_implementation(fence_async)
def _(batch: Any, mask: Any, site: Any) -> None:
    if batch.watched:
        batch.report_bulk_group(BulkGroup(site, "bulk", "fence", mask))
