"""Copies to shared memory that nobody waits for at once, and kernels that begin early.

    copy1(tile, to, array, index, present)    an element on its way from global to shared memory
    copy16(tile, to, array, index, present)   16 bytes; at multiples of 16 bytes on both sides
    close_group()                             the copies since the last call are a group
    groups_awaited(pending)()                 all groups of this thread but the last `pending` are
                                              there
    await_previous()                          what the stream ran before this kernel is done

Where `present` is not true, nothing is read and 0 is put there. Offsets count elements, as in
`ptx`. What a thread copied it sees itself after that wait; others see it behind a barrier after it.

`await_previous` is for kernels that are launched to overlap with the one before them in their
stream (programmatic dependent launch): they touch no global memory before it. In a launch of any
other kind it does nothing.

Each is an instruction where the chip has it (copies from cc 8.0 on, `await_previous` from 9.0 on).
Where it has not, copies load and store, and the others are nothing: the compiler is asked for the
chip by `__nvvm_reflect`. In the engine a copy is a load and a store, done at once.

**Limits**: the engine does not say that something was read before it had arrived.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.cuda.extending import intrinsic

from ...lockstep.protocol import lockstep_implementation
from .accesses import WIDE_BYTES, _address, load1, load16, store1, store16

SHARED, GLOBAL = 3, 1
_WORD, _ADDRESS = ir.IntType(32), ir.IntType(64)


def _since(builder: Any, architecture: int) -> Any:
    """Whether the chip is of this architecture (times 10) or later, known when NVVM compiles."""
    module, name = builder.module, "smemnb_arch"
    text = bytearray(b"__CUDA_ARCH\x00")
    kind = ir.ArrayType(ir.IntType(8), len(text))
    if name in module.globals:
        said = module.globals[name]
    else:
        said = ir.GlobalVariable(module, kind, name)
        said.initializer = ir.Constant(kind, text)
        said.linkage, said.global_constant = "internal", True
    pointer = builder.bitcast(said, ir.PointerType(ir.IntType(8)))
    function = ir.FunctionType(_WORD, [pointer.type])
    if "__nvvm_reflect" in module.globals:
        reflect = module.globals["__nvvm_reflect"]
    else:
        reflect = ir.Function(module, function, "__nvvm_reflect")
    found = builder.call(reflect, [pointer])
    return builder.icmp_signed(">=", found, ir.Constant(_WORD, architecture * 10))


def _said(builder: Any, text: str) -> None:
    kind = ir.FunctionType(ir.VoidType(), [])
    builder.call(ir.InlineAsm(kind, text, "~{memory}", side_effect=True), [])


def _copied(context: Any, builder: Any, sig: Any, args: Any, size: int) -> None:
    """`cp.async` with the number of bytes that are read; the rest is 0."""
    tile, array = sig.args[0], sig.args[2]
    to = _address(context, builder, _Sides(tile, sig.args[1]), args[:2])
    at = _address(context, builder, _Sides(array, sig.args[3]), args[2:4])
    there = builder.zext(args[4], _WORD) if args[4].type.width < 32 else args[4]
    read = builder.mul(there, ir.Constant(_WORD, size))
    element = to.type.pointee
    with builder.if_else(_since(builder, 80)) as (then, otherwise):
        with then:
            to_shared = builder.addrspacecast(to, ir.PointerType(element, SHARED))
            at_global = builder.addrspacecast(at, ir.PointerType(element, GLOBAL))
            operands = [
                builder.ptrtoint(to_shared, _WORD),
                builder.ptrtoint(at_global, _ADDRESS),
                read,
            ]
            kept = "ca" if size < WIDE_BYTES else "cg"
            text = f"cp.async.{kept}.shared.global [$0], [$1], {size}, $2;"
            kind = ir.FunctionType(ir.VoidType(), [one.type for one in operands])
            code = ir.InlineAsm(kind, text, "r,l,r,~{memory}", side_effect=True)
            builder.call(code, operands)
        with otherwise:
            count = size // 4
            moved = element if count == 1 else ir.VectorType(element, count)
            zero = ir.Constant(moved, None)
            source = builder.bitcast(at, ir.PointerType(moved, at.type.addrspace))
            target = builder.bitcast(to, ir.PointerType(moved, to.type.addrspace))
            kept_value = builder.alloca(moved)
            builder.store(zero, kept_value)
            with builder.if_then(builder.icmp_signed("!=", there, ir.Constant(_WORD, 0))):
                loaded = builder.load(source)
                loaded.align = size
                builder.store(loaded, kept_value)
            builder.store(builder.load(kept_value), target).align = size


def _nothing(batch: Any, mask: Any, site: Any, *args: Any) -> None:
    """What these do in the engine, where copies are there at once, and launches come in order."""


class _Sides:
    """The part of a signature that `_address` looks at."""

    def __init__(self, *args: Any) -> None:
        self.args = args


def _copy(typed: Any, size: int) -> Any:
    tile, to, array, index, _ = typed

    def codegen(context, builder, sig, args):
        _copied(context, builder, sig, args, size)
        return context.get_dummy_value()

    return types.void(tile, to, array, index, types.boolean), codegen


@intrinsic
def copy1(typingctx, tile, to, array, index, present):
    """Send an element of 4 bytes from a flat offset of an array to one of a shared array."""
    return _copy((tile, to, array, index, present), 4)


@intrinsic
def copy16(typingctx, tile, to, array, index, present):
    """Send 16 bytes; at multiples of 16 bytes on both sides."""
    return _copy((tile, to, array, index, present), WIDE_BYTES)


@intrinsic
def close_group(typingctx):
    """The copies of this thread since the last call are a group."""

    def codegen(context, builder, sig, args):
        with builder.if_then(_since(builder, 80)):
            _said(builder, "cp.async.commit_group;")
        return context.get_dummy_value()

    return types.void(), codegen


@cache
def groups_awaited(pending: int) -> Any:
    """An intrinsic: wait until all groups of this thread but the last `pending` have arrived."""

    @intrinsic
    def await_groups(typingctx):
        def codegen(context, builder, sig, args):
            with builder.if_then(_since(builder, 80)):
                _said(builder, f"cp.async.wait_group {pending};")
            return context.get_dummy_value()

        return types.void(), codegen

    lockstep_implementation(await_groups)(_nothing)
    return await_groups


@intrinsic
def await_previous(typingctx):
    """Wait until what the stream ran before this kernel is done, and its memory seen."""

    def codegen(context, builder, sig, args):
        with builder.if_then(_since(builder, 90)):
            _said(builder, "griddepcontrol.wait;")
        return context.get_dummy_value()

    return types.void(), codegen


for _one in (close_group, await_previous):
    lockstep_implementation(_one)(_nothing)


def _copied_at_once(load: Any, store: Any) -> Any:
    def copied(batch, mask, site, tile, to, array, index, present):
        there = np.asarray(present).astype(bool)
        value = load.__lockstep__(batch, mask & there, site, array, index)
        if isinstance(value, tuple):
            value = tuple(np.where(there, one, np.zeros((), array.dtype)) for one in value)
        else:
            value = np.where(there, value, np.zeros((), array.dtype))
        store.__lockstep__(batch, mask, site, tile, to, value)

    return copied


lockstep_implementation(copy1)(_copied_at_once(load1, store1))
lockstep_implementation(copy16)(_copied_at_once(load16, store16))
