"""Numbers that are held as words, and two elements that are stored at once.

    single_of(word)             the float32 of these bits
    widened_pair(kind)(word)    the two numbers of 16 bits in a word as float32, the lower one first
    store2(array, index, pair)  put two elements at a flat offset; at a multiple of their bytes

`kind` is "f16" (IEEE half precision) or "bf16" (the upper 16 bits of a float32). The way back,
with its rounding, is `cvt_rn_f16x2` and `cvt_rn_bf16x2` of `ptx.tensor`.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.cuda.extending import intrinsic

from ...lockstep.protocol import lockstep_implementation
from ...lockstep.watch import Access
from .accesses import _address, _as, _lane, _place_wide

__all__ = ["single_of", "store2", "widened_pair"]

_WORD, _SINGLE = ir.IntType(32), ir.FloatType()
_WIDENED = {
    "f16": "{.reg .b16 l, h; mov.b32 {l, h}, $2; cvt.f32.f16 $0, l; cvt.f32.f16 $1, h;}",
    "bf16": "{.reg .b32 u; shl.b32 u, $2, 16; mov.b32 $0, u; and.b32 u, $2, 0xffff0000;"
    " mov.b32 $1, u;}",
}


@intrinsic
def single_of(typingctx, word):
    """The float32 whose bits a word is."""

    def codegen(context, builder, sig, args):
        return builder.bitcast(args[0], _SINGLE)

    return types.float32(types.uint32), codegen


@lockstep_implementation(single_of)
def _(batch: Any, mask: Any, site: Any, word: Any) -> Any:
    return np.asarray(word).astype(np.uint32).view(np.float32)


@cache
def widened_pair(kind: str) -> Any:
    """The intrinsic `(word)` of a type: its two numbers as float32."""

    @intrinsic
    def widened(typingctx, word):
        two = types.containers.UniTuple(types.float32, 2)

        def codegen(context, builder, sig, args):
            both = ir.LiteralStructType([_SINGLE, _SINGLE])
            function = ir.FunctionType(both, [_WORD])
            found = builder.call(ir.InlineAsm(function, _WIDENED[kind], "=f,=f,r"), args)
            parts = [builder.extract_value(found, at) for at in range(2)]
            return context.make_tuple(builder, sig.return_type, parts)

        return two(types.uint32), codegen

    @lockstep_implementation(widened)
    def _(batch: Any, mask: Any, site: Any, word: Any) -> Any:
        word = np.asarray(word).astype(np.uint32)
        return tuple(_single(half, kind) for half in (word & np.uint32(0xFFFF), word >> 16))

    return widened


def _single(bits: Any, kind: str) -> Any:
    bits = np.asarray(bits).astype(np.uint32)
    if kind == "f16":
        return bits.astype(np.uint16).view(np.float16).astype(np.float32)
    return (bits << np.uint32(16)).view(np.float32)


@intrinsic
def store2(typingctx, array, index, pair):
    """Put two elements at a flat offset; at a multiple of the bytes of both."""
    two = types.containers.UniTuple(array.dtype, 2)

    def codegen(context, builder, sig, args):
        pointer = _address(context, builder, sig, args)
        moved = ir.VectorType(pointer.type.pointee, 2)
        whole = ir.Constant(moved, ir.Undefined)
        for at in range(2):
            whole = builder.insert_element(whole, builder.extract_value(args[2], at), _lane(at))
        size = sig.args[0].dtype.bitwidth // 8
        builder.store(whole, _as(builder, pointer, moved)).align = 2 * size
        return context.get_dummy_value()

    return types.void(array, index, two), codegen


@lockstep_implementation(store2)
def _(batch: Any, mask: Any, site: Any, array: Any, index: Any, pair: Any) -> None:
    size = 2 * array.itemsize
    offset, active, count = _place_wide(batch, mask, site, array, index, size)
    values = tuple(np.asarray(value).astype(array.dtype) for value in pair)
    if batch.watched and array.reported:
        root, unit = array.root, array.unit
        batch.report_access(Access(site, root, "store", offset, active, values, count, unit=unit))
    batch.writes += 1
    for at in range(count):
        array.store.write(batch, np.where(active, offset + at, 0), active, values[at])
