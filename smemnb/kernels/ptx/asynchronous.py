"""Copies to shared memory that nobody waits for at once, and kernels that begin early.

    copy4(tile, to, array, index, present)    4 bytes on their way from global to shared memory
    copy8(tile, to, array, index, present)    8 bytes; at multiples of 8 bytes on both sides
    copy16(tile, to, array, index, present)   16 bytes, past L1; at multiples of 16 bytes
    copy16_ca(tile, to, array, index, present)   the same, kept in L1 on their way
    copy16_first(tile, to, array, index, elements)   16 bytes, of which the first elements are read
    close_group()                             the copies since the last call are a group
    groups_awaited(pending)()                 all groups of this thread but the last `pending` are
                                              there
    all_arrived(), all_but_one(), all_but_two()   the same for none, one and two of them
    await_copies()                            all copies of this thread are there, closed or not
    await_previous()                          what the stream ran before this kernel is done

Where `present` is not true, nothing is read and 0 is put there; `copy16_first` puts 0 behind the
elements that it reads. Offsets count elements, as in `accesses`; both arrays have one dtype. What a
thread copied it sees itself after that wait; others see it behind a barrier after it. Until then
nobody may read or store there.

`await_previous` is for kernels that are launched to overlap with the one before them in their
stream (programmatic dependent launch): they touch no global memory before it. In a launch of any
other kind it does nothing.

Each is an instruction where the chip has it (copies from cc 8.0 on, `await_previous` from 9.0 on).
Where it has not, copies load and store, and the others are nothing: the compiler is asked for the
chip by `__nvvm_reflect`. In the engine a copy reads when it is issued, and lands at once or, under
`order="late"`, when its thread waits for it (`lockstep.copies`); a trace finds what is read,
stored or overwritten in between (`tracing.watchers.copies`).

Source: PTX ISA, `cp.async`, `cp.async.commit_group`, `cp.async.wait_group`.
"""

from __future__ import annotations

from functools import cache, partial
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.cuda.extending import intrinsic

from ...errors import KernelStopped
from ...lockstep.copies import UnderWay
from ...lockstep.protocol import lockstep_implementation
from ...lockstep.watch import Access, CopyGroup
from .accesses import WIDE_BYTES, _address, _place, _place_wide

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


def _issued(context: Any, builder: Any, sig: Any, args: Any, size: int, cache: str) -> None:
    """`cp.async` with the number of bytes that are read; the rest is 0."""
    tile, array, last = sig.args[0], sig.args[2], sig.args[4]
    to = _address(context, builder, _Sides(tile, sig.args[1]), args[:2])
    at = _address(context, builder, _Sides(array, sig.args[3]), args[2:4])
    element, itemsize = to.type.pointee, array.dtype.bitwidth // 8
    if last == types.boolean:
        there = builder.zext(args[4], _WORD) if args[4].type.width < 32 else args[4]
        read = builder.mul(there, ir.Constant(_WORD, size))
    else:
        there = context.cast(builder, args[4], last, types.uint32)
        read = builder.mul(there, ir.Constant(_WORD, itemsize))
    with builder.if_else(_since(builder, 80)) as (then, otherwise):
        with then:
            to_shared = builder.addrspacecast(to, ir.PointerType(element, SHARED))
            at_global = builder.addrspacecast(at, ir.PointerType(element, GLOBAL))
            operands = [
                builder.ptrtoint(to_shared, _WORD),
                builder.ptrtoint(at_global, _ADDRESS),
                read,
            ]
            text = f"cp.async.{cache}.shared.global [$0], [$1], {size}, $2;"
            kind = ir.FunctionType(ir.VoidType(), [one.type for one in operands])
            code = ir.InlineAsm(kind, text, "r,l,r,~{memory}", side_effect=True)
            builder.call(code, operands)
        with otherwise:
            _at_once(builder, (to, at), read, (size, itemsize), whole=last == types.boolean)


def _at_once(builder: Any, pointers: Any, read: Any, sizes: Any, *, whole: bool) -> None:
    """The same by loads and stores: zeros, then what is read."""
    (to, at), (size, itemsize) = pointers, sizes
    words = _WORD if size == 4 else ir.VectorType(_WORD, size // 4)
    source = builder.bitcast(at, ir.PointerType(words, at.type.addrspace))
    target = builder.bitcast(to, ir.PointerType(words, to.type.addrspace))
    builder.store(ir.Constant(words, None), target).align = size
    if whole:
        with builder.if_then(builder.icmp_unsigned("!=", read, ir.Constant(_WORD, 0))):
            loaded = builder.load(source)
            loaded.align = size
            builder.store(loaded, target).align = size
        return
    for place in range(size // itemsize):
        beyond = ir.Constant(_WORD, place * itemsize)
        with builder.if_then(builder.icmp_unsigned(">", read, beyond)):
            step = [ir.Constant(_WORD, place)]
            builder.store(builder.load(builder.gep(at, step)), builder.gep(to, step))


class _Sides:
    """The part of a signature that `_address` looks at."""

    def __init__(self, *args: Any) -> None:
        self.args = args


def _copy(typed: Any, size: int, cache: str, last: Any = types.boolean) -> Any:
    tile, to, array, index, _ = typed
    if tile.dtype != array.dtype or tile.dtype.bitwidth // 8 not in (1, 2, 4, 8, 16):
        return None
    if tile.dtype.bitwidth // 8 > size:
        return None

    def codegen(context, builder, sig, args):
        _issued(context, builder, sig, args, size, cache)
        return context.get_dummy_value()

    return types.void(tile, to, array, index, last), codegen


@intrinsic
def copy4(typingctx, tile, to, array, index, present):
    """Send 4 bytes from a flat offset of an array to one of a shared array."""
    return _copy((tile, to, array, index, present), 4, "ca")


@intrinsic
def copy8(typingctx, tile, to, array, index, present):
    """Send 8 bytes; at multiples of 8 bytes on both sides."""
    return _copy((tile, to, array, index, present), 8, "ca")


@intrinsic
def copy16(typingctx, tile, to, array, index, present):
    """Send 16 bytes past L1; at multiples of 16 bytes on both sides."""
    return _copy((tile, to, array, index, present), WIDE_BYTES, "cg")


@intrinsic
def copy16_ca(typingctx, tile, to, array, index, present):
    """Send 16 bytes that L1 keeps; at multiples of 16 bytes on both sides."""
    return _copy((tile, to, array, index, present), WIDE_BYTES, "ca")


@intrinsic
def copy16_first(typingctx, tile, to, array, index, elements):
    """Send 16 bytes: the first `elements` of the array, and 0 behind them."""
    return _copy((tile, to, array, index, elements), WIDE_BYTES, "cg", types.uint32)


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

    lockstep_implementation(await_groups)(partial(_await_groups, pending))
    # found under its own name, as others of this module are, it is known as the package's own
    await_groups.__name__ = await_groups.__qualname__ = f"await_all_groups_but_{pending}"
    globals()[await_groups.__name__] = await_groups
    return await_groups


@intrinsic
def await_copies(typingctx):
    """Wait until all copies of this thread have arrived, also those that no group has."""

    def codegen(context, builder, sig, args):
        with builder.if_then(_since(builder, 80)):
            _said(builder, "cp.async.wait_all;")
        return context.get_dummy_value()

    return types.void(), codegen


@intrinsic
def await_previous(typingctx):
    """Wait until what the stream ran before this kernel is done, and its memory seen."""

    def codegen(context, builder, sig, args):
        with builder.if_then(_since(builder, 90)):
            _said(builder, "griddepcontrol.wait;")
        return context.get_dummy_value()

    return types.void(), codegen


@lockstep_implementation(await_previous)
def _(batch: Any, mask: Any, site: Any) -> None:
    """Nothing: the engine runs one launch after the other."""


def _under_way(batch: Any) -> UnderWay:
    if batch.under_way is None:
        batch.under_way = UnderWay(batch)
    found: UnderWay = batch.under_way
    return found


@lockstep_implementation(close_group)
def _close_group(batch: Any, mask: Any, site: Any) -> None:
    if batch.launch.lands_late:
        _under_way(batch).commit(mask)
    if batch.watched:
        batch.report_copy_group(CopyGroup(site, "commit", mask))


def _await_groups(pending: int, batch: Any, mask: Any, site: Any) -> None:
    if batch.launch.lands_late:
        _under_way(batch).land(batch, mask, pending)
    if batch.watched:
        batch.report_copy_group(CopyGroup(site, "wait", mask, pending))


@lockstep_implementation(await_copies)
def _(batch: Any, mask: Any, site: Any) -> None:
    _close_group(batch, mask, site)
    _await_groups(0, batch, mask, site)


all_arrived, all_but_one, all_but_two = (groups_awaited(pending) for pending in (0, 1, 2))
"""Waits for all groups of this thread, for all but the last one, for all but the last two."""


def _sides(batch: Any, site: Any, tile: Any, array: Any) -> None:
    """Raise KernelStopped unless the copy goes from global to shared memory."""
    if tile.space != "shared" or array.space != "global":
        raise KernelStopped(
            f"{site.text} in line {site.line} copies from {array.name} ({array.space} memory) to "
            f"{tile.name} ({tile.space} memory): asynchronous copies go from global to shared "
            "memory. The shared array comes first."
        )


def _read(
    batch: Any, mask: Any, site: Any, array: Any, index: Any, size: int, *, past_l1: bool
) -> list[Any]:
    """What the active lanes read, element by element; 0 in the others."""
    offset, active, count = _place_wide(batch, mask, site, array, index, size)
    if batch.watched and array.reported:
        root, unit = array.root, array.unit
        batch.report_access(
            Access(
                *(site, root, "load", offset, active),
                elements=count,
                unit=unit,
                copy=True,
                past_l1=past_l1,
            )
        )
    zero = np.zeros((), array.dtype)
    places = [np.where(active, offset + at, 0) for at in range(count)]
    return [np.where(active, array.store.read(batch, at), zero) for at in places]


def _read_first(
    batch: Any, mask: Any, site: Any, array: Any, index: Any, elements: Any
) -> list[Any]:
    """The first elements of 16 bytes, of each lane as many as it says; 0 behind them."""
    wanted, count = np.asarray(elements).astype(np.int64), WIDE_BYTES // array.itemsize
    offset, active, _ = _place_wide(batch, mask & (wanted > 0), site, array, index, array.itemsize)
    if batch.watched and array.reported:
        root, unit = array.root, array.unit
        few = None if (wanted >= count).all() else wanted
        batch.report_access(
            Access(
                *(site, root, "load", offset, active),
                elements=count,
                unit=unit,
                copy=True,
                first=few,
                past_l1=True,
            )
        )
    zero, found = np.zeros((), array.dtype), []
    for at in range(count):
        place, here = _place(batch, mask & (wanted > at), site, array, index, at)
        found.append(np.where(here, array.store.read(batch, np.where(here, place, 0)), zero))
    return found


def _issue(
    batch: Any, mask: Any, site: Any, tile: Any, to: Any, values: list[Any], *, past_l1: bool
) -> None:
    """Let the values land: now, or when their thread waits for them."""
    size = len(values) * tile.itemsize
    offset, active, count = _place_wide(batch, mask, site, tile, to, size)
    if batch.watched and tile.reported:
        root, unit = tile.root, tile.unit
        shown = tuple(values) if count > 1 else values[0]
        batch.report_access(
            Access(
                *(site, root, "store", offset, active, shown, count),
                unit=unit,
                copy=True,
                past_l1=past_l1,
            )
        )
    places = [np.where(active, offset + at, 0) for at in range(count)]
    if batch.launch.lands_late:
        _under_way(batch).issue(tile.store, places, values, active)
        return
    batch.writes += 1
    for place, value in zip(places, values, strict=True):
        tile.store.write(batch, place, active, value)


def _copies(size: int, *, past_l1: bool) -> Any:
    def copied(batch, mask, site, tile, to, array, index, present):
        _sides(batch, site, tile, array)
        there = np.asarray(present).astype(bool)
        read = mask if there.ndim == 0 and there else mask & there
        values = _read(batch, read, site, array, index, size, past_l1=past_l1)
        _issue(batch, mask, site, tile, to, values, past_l1=past_l1)

    copied.starts_copies = True  # type: ignore[attr-defined]
    return copied


def _copies_first(batch, mask, site, tile, to, array, index, elements):
    _sides(batch, site, tile, array)
    most, wanted = WIDE_BYTES // array.itemsize, np.asarray(elements).astype(np.int64)
    if (mask & ((wanted < 0) | (wanted > most))).any():
        raise KernelStopped(
            f"{site.text} in line {site.line} is to read fewer than 0 or more than {most} elements:"
            " a copy of 16 bytes reads 16 at most, and what a GPU does with another number is "
            "undefined. Pass a number between the two, such as min(left, most)."
        )
    values = _read_first(batch, mask, site, array, index, elements)
    _issue(batch, mask, site, tile, to, values, past_l1=True)


_copies_first.starts_copies = True  # type: ignore[attr-defined]
lockstep_implementation(copy16_first)(_copies_first)
for _one, _size in ((copy4, 4), (copy8, 8), (copy16_ca, WIDE_BYTES)):
    lockstep_implementation(_one)(_copies(_size, past_l1=False))
lockstep_implementation(copy16)(_copies(WIDE_BYTES, past_l1=True))
