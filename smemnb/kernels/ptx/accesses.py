"""Loads and stores of one element or several, by flat offset, each with two implementations.

    load1(array, index)              the element at a flat offset
    store1(array, index, value)
    load4(array, index)              the 4 bytes from there, as a uint32
    store4(array, index, word)
    load16(array, index)             the 16 bytes from there, as a tuple of elements
    store16(array, index, values)
    misalignment(array)              elements from a multiple of 16 bytes to the array's first one
    permuted(low, high, selector)    4 of the 8 bytes of two words
    cycles()                         the multiprocessor's counter of cycles; 0 in the engine

On a GPU they are one instruction each: no negative index counts from the end, an unsigned index
costs no 64-bit arithmetic, and 16 bytes move at once. The offset counts elements from the array's
first one, in memory: `row * (array.strides[0] // array.itemsize) + col`. In the engine they are
checked: every element must lie inside the array, 16 bytes at an address divisible by 16, 4 bytes
at one divisible by 4.

**Limits**: arrays whose last axis has neighbouring elements of 1, 2, 4 or 8 bytes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.cuda.extending import intrinsic

from ...errors import KernelStopped, MisalignedAddress
from ...lockstep.lanes import EVERY_LANE
from ...lockstep.protocol import lockstep_implementation
from ...lockstep.watch import Access
from .. import alignment as _alignment  # noqa: F401  shared arrays at multiples of 16 bytes

WIDE_BYTES, WORD_BYTES = 16, 4


def _address(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    """Pointer to the element: unsigned offsets are extended with zeros, none wraps around."""
    array_type, index_type = sig.args[:2]
    wide = types.intp if index_type.signed else types.uintp
    data = context.make_array(array_type)(context, builder, value=args[0]).data
    return builder.gep(data, [context.cast(builder, args[1], index_type, wide)])


def _moved(pointer: Any, count: int) -> Any:
    """The vector that is moved: of elements, or of words, as smaller ones would go in pieces."""
    if count <= 4:
        return ir.VectorType(pointer.type.pointee, count)
    return ir.VectorType(ir.IntType(32), 4)


def _as(builder: Any, pointer: Any, vector: Any) -> Any:
    return builder.bitcast(pointer, ir.PointerType(vector, pointer.type.addrspace))


def _pieces(builder: Any, words: list[Any], per_word: int) -> list[Any]:
    """Words taken apart to integers of 1 or 2 bytes."""
    bits = 32 // per_word
    small, shifts = ir.IntType(bits), [_lane(at * bits) for at in range(per_word)]
    return [builder.trunc(builder.lshr(word, by), small) for word in words for by in shifts]


def _words(builder: Any, parts: list[Any]) -> list[Any]:
    """Integers of 1 or 2 bytes put together to words."""
    word, per_word = ir.IntType(32), len(parts) // 4
    wide = [builder.zext(part, word) for part in parts]
    for at, part in enumerate(wide):
        shift = ir.Constant(word, at % per_word * 32 // per_word)
        wide[at] = builder.shl(part, shift)
    words = wide[::per_word]
    for at in range(1, per_word):
        words = [builder.or_(*pair) for pair in zip(words, wide[at::per_word], strict=True)]
    return words


def _lane(at: int) -> Any:
    return ir.Constant(ir.IntType(32), at)


def _wide_tuple(array: Any) -> Any:
    return types.containers.UniTuple(array.dtype, WIDE_BYTES // (array.dtype.bitwidth // 8))


@intrinsic
def load1(typingctx, array, index):
    """The element at a flat offset."""

    def codegen(context, builder, sig, args):
        return builder.load(_address(context, builder, sig, args))

    return array.dtype(array, index), codegen


@intrinsic
def store1(typingctx, array, index, value):
    """Put an element at a flat offset."""

    def codegen(context, builder, sig, args):
        builder.store(args[2], _address(context, builder, sig, args))
        return context.get_dummy_value()

    return types.void(array, index, array.dtype), codegen


@intrinsic
def load16(typingctx, array, index):
    """The 16 bytes from a flat offset on, as a tuple of elements; at a multiple of 16 bytes."""
    several = _wide_tuple(array)

    def codegen(context, builder, sig, args):
        pointer = _address(context, builder, sig, args)
        moved = _moved(pointer, several.count)
        whole = builder.load(_as(builder, pointer, moved))
        whole.align = WIDE_BYTES
        parts = [builder.extract_element(whole, _lane(at)) for at in range(moved.count)]
        if several.count > 4:
            parts = _pieces(builder, parts, several.count // 4)
        return context.make_tuple(builder, sig.return_type, parts)

    return several(array, index), codegen


@intrinsic
def store16(typingctx, array, index, values):
    """Put a tuple of elements, 16 bytes, at a flat offset; at a multiple of 16 bytes."""
    several = _wide_tuple(array)

    def codegen(context, builder, sig, args):
        pointer = _address(context, builder, sig, args)
        moved = _moved(pointer, several.count)
        parts = [builder.extract_value(args[2], at) for at in range(several.count)]
        if several.count > 4:
            parts = _words(builder, parts)
        whole = ir.Constant(moved, ir.Undefined)
        for at, part in enumerate(parts):
            whole = builder.insert_element(whole, part, _lane(at))
        builder.store(whole, _as(builder, pointer, moved)).align = WIDE_BYTES
        return context.get_dummy_value()

    return types.void(array, index, several), codegen


def _small(array: Any) -> Any:
    """The array's type, of 1, 2 or 4 bytes per element, or None: nothing else goes into a word."""
    return array if array.dtype.bitwidth in (8, 16, 32) else None


def _word_at(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    return _as(builder, _address(context, builder, sig, args), ir.IntType(32))


@intrinsic
def load4(typingctx, array, index):
    """The 4 bytes from a flat offset on, the first one lowest; at a multiple of 4 bytes."""

    def codegen(context, builder, sig, args):
        word = builder.load(_word_at(context, builder, sig, args))
        word.align = WORD_BYTES
        return word

    return _small(array) and (types.uint32(array, index), codegen)


@intrinsic
def store4(typingctx, array, index, word):
    """Put 4 bytes at a flat offset, the lowest one first; at a multiple of 4 bytes."""

    def codegen(context, builder, sig, args):
        pointer = _word_at(context, builder, sig, args)
        builder.store(args[2], pointer).align = WORD_BYTES
        return context.get_dummy_value()

    return _small(array) and (types.void(array, index, types.uint32), codegen)


@intrinsic
def misalignment(typingctx, array):
    """Elements from the last multiple of 16 bytes to the array's first element."""

    def codegen(context, builder, sig, args):
        data = context.make_array(sig.args[0])(context, builder, value=args[0]).data
        beyond = builder.trunc(builder.ptrtoint(data, ir.IntType(64)), ir.IntType(32))
        size = sig.args[0].dtype.bitwidth // 8
        return builder.lshr(
            builder.and_(beyond, _lane(WIDE_BYTES - 1)), _lane(size.bit_length() - 1)
        )

    return types.uint32(array), codegen


@intrinsic
def permuted(typingctx, low, high, selector):
    """4 bytes of two words: digit k of the hexadecimal selector is the place, 0 to 7, of byte k."""
    word = types.uint32

    def codegen(context, builder, sig, args):
        kind = ir.FunctionType(ir.IntType(32), [ir.IntType(32)] * 3)
        code = ir.InlineAsm(kind, "prmt.b32 $0, $1, $2, $3;", "=r,r,r,r")
        return builder.call(code, args)

    return word(word, word, word), codegen


@intrinsic
def cycles(typingctx):
    """The counter of cycles of the thread's multiprocessor, 64 bits; two of them, subtracted, time.

    No access to memory moves from one side of it to the other. It does not wait for a load that is
    under way. In the engine, which has no time, it is 0.
    """

    def codegen(context, builder, sig, args):
        kind = ir.FunctionType(ir.IntType(64), [])
        code = ir.InlineAsm(kind, "mov.u64 $0, %clock64;", "=l,~{memory}", side_effect=True)
        return builder.call(code, [])

    return types.int64(), codegen


def _place(batch: Any, mask: Any, site: Any, array: Any, index: Any, at: int = 0) -> Any:
    """Offset in the store and the lanes inside, of the element `at` places after `index`."""
    # Rows of one element, or of none, have no neighbours: the stride between them says nothing.
    neighbours = array.strides[-1] == 1 or array.shape[-1] == 1 or 0 in array.shape
    if not neighbours or array.unit != array.itemsize or not array.uniform:
        raise KernelStopped(
            f"{site.text} in line {site.line} counts along rows of neighbouring elements; "
            f"{array.name} has strides of {array.strides} elements. Pass an array whose rows are "
            "contiguous."
        )
    rest, where = np.asarray(index).astype(np.int64) + at, []
    for stride in array.strides[:-1]:
        line = rest // stride if stride > 0 else rest * 0
        where.append(line)
        rest = rest - line * stride
    return array.place(batch, (*where, rest), mask, site)


def _place_wide(
    batch: Any, mask: Any, site: Any, array: Any, index: Any, moved_bytes: int = WIDE_BYTES
) -> Any:
    """Offset of the first element, the lanes whose bytes are all inside, and how many elements."""
    count = moved_bytes // array.itemsize
    offset, active = _place(batch, mask, site, array, index)
    _, last = _place(batch, mask, site, array, index, count - 1)
    if last is not mask:
        active = active & last
        offset = np.where(active, offset, 0)
    misaligned = (np.asarray(offset) * array.itemsize + array.root.base) % moved_bytes != 0
    if (misaligned & active).any():
        first = np.argwhere(np.broadcast_to(misaligned & active, batch.shape))[0]
        at = int(np.broadcast_to(index, batch.shape)[tuple(first)])
        raise MisalignedAddress(
            f"{site.text} in line {site.line} moves {moved_bytes} bytes at an address that is not "
            f"a multiple of {moved_bytes}: a GPU stops there. The offset counts elements of "
            f"{array.name}, {count} to a move; here it is {at}. Offsets, and the first elements of "
            f"rows, must be multiples of {count}; a shared array needs alignment={moved_bytes}.",
            count,
        )
    return offset, active, count


@lockstep_implementation(load1)
def _(batch: Any, mask: Any, site: Any, array: Any, index: Any) -> Any:
    offset, active = _place(batch, mask, site, array, index)
    if batch.watched and array.reported:
        batch.report_access(Access(site, array.root, "load", offset, active, unit=array.unit))
    value = array.store.read(batch, offset)
    return value if active is mask else np.where(active, value, np.zeros((), array.dtype))


@lockstep_implementation(store1)
def _(batch: Any, mask: Any, site: Any, array: Any, index: Any, value: Any) -> None:
    offset, active = _place(batch, mask, site, array, index)
    value = np.asarray(value).astype(array.dtype)
    if batch.watched and array.reported:
        batch.report_access(
            Access(site, array.root, "store", offset, active, value, unit=array.unit)
        )
    batch.writes += 1
    array.store.write(batch, offset, active, value)


@lockstep_implementation(load16)
def _(batch: Any, mask: Any, site: Any, array: Any, index: Any) -> Any:
    offset, active, count = _place_wide(batch, mask, site, array, index)
    if batch.watched and array.reported:
        root, unit = array.root, array.unit
        batch.report_access(Access(site, root, "load", offset, active, elements=count, unit=unit))
    if active is EVERY_LANE:
        return tuple(array.store.read(batch, offset + at) for at in range(count))
    zero = np.zeros((), array.dtype)
    # lanes that have left may stand at the end of the memory
    places = [np.where(active, offset + at, 0) for at in range(count)]
    return tuple(np.where(active, array.store.read(batch, at), zero) for at in places)


@lockstep_implementation(store16)
def _(batch: Any, mask: Any, site: Any, array: Any, index: Any, values: Any) -> None:
    offset, active, count = _place_wide(batch, mask, site, array, index)
    if not isinstance(values, tuple) or len(values) != count:
        raise KernelStopped(
            f"{site.text} in line {site.line} stores {count} elements of {array.name}: pass "
            f"a tuple of {count} values, such as load16 returns."
        )
    values = tuple(np.asarray(value).astype(array.dtype) for value in values)
    if batch.watched and array.reported:
        root, unit = array.root, array.unit
        batch.report_access(Access(site, root, "store", offset, active, values, count, unit=unit))
    batch.writes += 1
    for at in range(count):
        place = offset + at if active is mask else np.where(active, offset + at, 0)
        array.store.write(batch, place, active, values[at])


@lockstep_implementation(load4)
def _(batch: Any, mask: Any, site: Any, array: Any, index: Any) -> Any:
    offset, active, count = _place_wide(batch, mask, site, array, index, WORD_BYTES)
    if batch.watched and array.reported:
        root, unit = array.root, array.unit
        batch.report_access(Access(site, root, "load", offset, active, elements=count, unit=unit))
    word, bits = np.zeros((), np.uint32), 8 * array.itemsize
    kind = np.dtype(f"u{array.itemsize}")
    for at in range(count):
        place = np.where(active, offset + at, 0)
        part = np.asarray(array.store.read(batch, place)).astype(array.dtype).view(kind)
        word = word | (part.astype(np.uint32) << np.uint32(at * bits))
    return np.where(active, word, np.zeros((), np.uint32))


@lockstep_implementation(store4)
def _(batch: Any, mask: Any, site: Any, array: Any, index: Any, word: Any) -> None:
    offset, active, count = _place_wide(batch, mask, site, array, index, WORD_BYTES)
    word, bits = np.asarray(word).astype(np.uint32), 8 * array.itemsize
    kind = np.dtype(f"u{array.itemsize}")
    parts = tuple((word >> np.uint32(at * bits)).astype(kind) for at in range(count))
    values = tuple(part.view(array.dtype) for part in parts)
    if batch.watched and array.reported:
        root, unit, shown = array.root, array.unit, values if count > 1 else values[0]
        batch.report_access(Access(site, root, "store", offset, active, shown, count, unit=unit))
    batch.writes += 1
    for at in range(count):
        array.store.write(batch, np.where(active, offset + at, 0), active, values[at])


@lockstep_implementation(misalignment)
def _(batch: Any, mask: Any, site: Any, array: Any) -> Any:
    start = 0 if array.start is None else np.asarray(array.start).astype(np.int64)
    beyond = (start * array.unit + array.root.base) % WIDE_BYTES
    return np.asarray(beyond // array.itemsize).astype(np.uint32)


@lockstep_implementation(permuted)
def _(batch: Any, mask: Any, site: Any, low: Any, high: Any, selector: Any) -> Any:
    low, high, selector = (np.asarray(one).astype(np.uint64) for one in (low, high, selector))
    both, word = low | (high << np.uint64(32)), np.zeros((), np.uint64)
    for at in range(WORD_BYTES):
        place = (selector >> np.uint64(4 * at)) & np.uint64(7)
        byte = (both >> (place * np.uint64(8))) & np.uint64(0xFF)
        word = word | (byte << np.uint64(8 * at))
    return word.astype(np.uint32)


@lockstep_implementation(cycles)
def _(batch: Any, mask: Any, site: Any) -> Any:
    return np.zeros((), np.int64)
