"""Products by a warpgroup: wgmma, whose matrices lie in shared memory.

    descriptor_of(swizzle, lead, stride)(tile, index)        where a matrix lies, in 64 bits
    wgmma_of(n, kind, a_turned=False, b_turned=False)        acc += a b, as an intrinsic:
        product(acc, a, b, adds)                             of two descriptors; adds=0: acc = a b
    wgmma_fence()                   what this warpgroup stored in acc is seen by the products
    wgmma_close()                   the products since the last call are a group
    wgmma_awaited(pending)(acc)     all groups of the warpgroup but the last `pending` are done

Four warps, the first of which has a number divisible by 4, multiply a (64 x 16) by b (16 x n) of
float16 ("f16") or bfloat16 ("bf16") and add the product to acc, a local array of n / 2 float32.
Warp w of the four holds rows 16 * w to 16 * w + 15; element 4 * j + i of a lane is

    row 16 * w + lane // 4 + 8 * (i // 2), column 8 * j + 2 * (lane % 4) + i % 2

The product is under way until a wait; meanwhile nobody reads or stores acc, nor stores in the
matrices. Products of the same shape into the same acc may follow each other without a wait.

A matrix is made of cores of 8 rows of 16 bytes. Of one that lies along k (a row of a, or a column
of b, has its 16 elements next to each other) and a swizzle of `span` bytes, byte i of row r is at

    start + r // 8 * stride + r % 8 * span + i                    span 32, 64 or 128
    start + r // 8 * stride + r % 8 * 16 + i // 16 * lead + i % 16    no swizzle

Of one that is turned (k runs from line to line, as b of a row-major matrix lies), element m of line
k is at

    start + m // e * lead + k // 8 * stride + k % 8 * span + m % e * 2    with e = span / 2

and then the chunks of 16 bytes are exchanged by their address, as `rules.bulk_swizzle` says. A step
of k by 16 within a swizzled tile adds 32 bytes to the start, 2 to the descriptor.

The rounding is that of `rules.tensor_core`: on an H200, all sums of 25 products of float16 and
bfloat16, of every layout above, were bit for bit the rule's (`python -m
smemnb.laboratory.bulk_values FILE products`). In the engine acc is empty until it is awaited, so
that a kernel which reads it too early reads what has no value, and is told.

Sources: PTX ISA, "Asynchronous Warpgroup Level Matrix Instructions", matrix descriptor and
canonical layouts; CUTLASS, `cute/arch/mma_sm90_desc.hpp`, for what lead and stride mean.

**Limits**: cc 9.0 and none after it. Base offset 0: a swizzled matrix begins where the pattern
does. a from registers, other types, negated and scaled operands are left out; turned matrices want
a swizzle. The engine places both matrices in arrays of the block's own.
"""

from __future__ import annotations

from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.core.errors import TypingError
from numba.cuda.extending import intrinsic

from ...errors import KernelStopped
from ...lockstep.batch import DYNAMIC_BASE
from ...lockstep.lanes import spread
from ...lockstep.memory.stores import WrittenCells
from ...lockstep.protocol import lockstep_implementation
from ...lockstep.watch import Bulk, BulkGroup, Region
from ...rules import tensor_core
from ...rules.bulk_swizzle import swizzled
from ...rules.tensor_core import arithmetic_of
from .accesses import _place
from .asynchronous import SHARED
from .bulk import _pointer, _rows
from .warp_wide import FLOAT, WORD, device_of, need, together

LONG = ir.IntType(64)
M, K = 64, 16
_NEEDED = (9, 0)
_SWIZZLE_CODE = {0: 0, 128: 1, 64: 2, 32: 3}
_SPAN = {code: span for span, code in _SWIZZLE_CODE.items()}
_ADDRESS_BITS, _FIELD = 0x3FFFF, 0x3FFF
_DYNAMIC = 46  # a bit that no descriptor of a GPU has: the engine's dynamic shared memory


class Matrix(NamedTuple):
    """What a descriptor says: bytes, and the swizzle's span; `dynamic` memory or arrays' own."""

    start: int
    lead: int
    stride: int
    swizzle: int
    base_offset: int
    dynamic: bool

    @classmethod
    def decoded(cls, descriptor: int) -> Matrix:
        """Take a descriptor apart.

        >>> Matrix.decoded(0x4000004000010040)[:4]
        (1024, 16, 1024, 128)
        """
        return cls(
            (descriptor & _FIELD) << 4,
            (descriptor >> 16 & _FIELD) << 4,
            (descriptor >> 32 & _FIELD) << 4,
            _SPAN[descriptor >> 62],
            descriptor >> 49 & 7,
            bool(descriptor >> _DYNAMIC & 1),
        )

    def places(self, rows: int, *, turned: bool) -> Any:
        """Address of each element of rows x 16: of a its rows, of b its columns."""
        row, k = np.ogrid[:rows, :K]
        span = self.swizzle
        if turned:
            wide = span // 2
            at = row // wide * self.lead + k // 8 * self.stride + k % 8 * span + row % wide * 2
        elif span:
            at = row // 8 * self.stride + row % 8 * span + k * 2
        else:
            at = row // 8 * self.stride + row % 8 * 16 + k // 8 * self.lead + k % 8 * 2
        return swizzled(self.start + at, span)


@cache
def descriptor_of(swizzle: int, lead: int, stride: int) -> Any:
    """An intrinsic of a tile and a flat offset in it: the descriptor of the matrix there.

    Args:
        swizzle: span in bytes: 0, 32, 64 or 128.
        lead: bytes, a multiple of 16; what it is from and to, the module says.
        stride: the same.

    Raises:
        ValueError: no descriptor holds these.
    """
    if swizzle not in _SWIZZLE_CODE:
        raise ValueError(f"swizzle={swizzle}: the hardware swizzles 32, 64 or 128 bytes, or 0")
    for what, value in (("lead", lead), ("stride", stride)):
        if value % 16 or not 0 <= value < 1 << 18:
            raise ValueError(f"{what}={value}: bytes, a multiple of 16 below 262144")
    name = f"descriptor_{swizzle}_{lead}_{stride}"
    fields = (lead >> 4) << 16 | (stride >> 4) << 32 | _SWIZZLE_CODE[swizzle] << 62

    @intrinsic
    def descriptor(typingctx, tile, index):
        def codegen(context, builder, sig, args):
            need("descriptor_of", _NEEDED)
            place = _pointer(context, builder, sig.args, args, SHARED)
            place = builder.and_(place, ir.Constant(WORD, _ADDRESS_BITS))
            place = builder.lshr(place, ir.Constant(WORD, 4))
            return builder.or_(builder.zext(place, LONG), ir.Constant(LONG, fields))

        return types.uint64(tile, index), codegen

    lockstep_implementation(descriptor)(partial(_descriptor, fields))
    descriptor.__name__ = descriptor.__qualname__ = name
    globals()[name] = descriptor
    return descriptor


def _said(builder: Any, text: str) -> None:
    kind = ir.FunctionType(ir.VoidType(), [])
    code = ir.InlineAsm(kind, text, "~{memory}", side_effect=True)
    builder.call(code, [], attrs=("convergent", "nounwind"))


def _cells(context: Any, builder: Any, kind: Any, acc: Any, count: int) -> list[Any]:
    data = context.make_array(kind)(context, builder, value=acc).data
    return [builder.gep(data, [ir.Constant(WORD, at)]) for at in range(count)]


def _with_registers(builder: Any, text: str, cells: list[Any], more: list[Any]) -> None:
    """Inline PTX that changes registers: $0 ... are these, then come the other operands."""
    count = len(cells)
    letters = {FLOAT: "f", WORD: "r", LONG: "l"}
    constraints = ["=f"] * count + [letters[one.type] for one in more]
    constraints += [str(at) for at in range(count)] + ["~{memory}"]
    values = [builder.load(cell) for cell in cells]
    result = ir.LiteralStructType([FLOAT] * count)
    kind = ir.FunctionType(result, [one.type for one in more] + [FLOAT] * count)
    code = ir.InlineAsm(kind, text, ",".join(constraints), side_effect=True)
    found = builder.call(code, [*more, *values], attrs=("convergent", "nounwind"))
    for at, cell in enumerate(cells):
        builder.store(builder.extract_value(found, at), cell)


def _check_sums(name: str, acc: Any, count: int | None = None) -> None:
    """Refuse what is no array of float32; how long it is only the engine knows."""
    if not isinstance(acc, types.Array) or acc.dtype != types.float32 or acc.ndim != 1:
        size = f"{count} " if count else ""
        raise TypingError(f"{name} takes acc as a local array of {size}float32; this is {acc}")


@cache
def wgmma_of(n: int, kind: str, *, a_turned: bool = False, b_turned: bool = False) -> Any:
    """An intrinsic: acc += a b for 64 x n sums, of two descriptors.

    Args:
        n: columns of b, a multiple of 8 up to 256.
        kind: "f16" or "bf16".
        a_turned: a's elements along m are neighbours, not those along k.
        b_turned: b's elements along n are neighbours, not those along k.

    Raises:
        ValueError: there is no such instruction.
    """
    if n % 8 or not 8 <= n <= 256:
        raise ValueError(f"n={n}: wgmma has 8 to 256 columns, a multiple of 8")
    if kind not in ("f16", "bf16"):
        raise ValueError(f"kind={kind!r}: 'f16' or 'bf16'")
    count = n // 2
    name = f"wgmma_m64n{n}k16_f32_{kind}" + "_at" * a_turned + "_bt" * b_turned
    registers = ", ".join(f"${at}" for at in range(count))
    text = (
        f"{{ .reg .pred p; setp.ne.b32 p, ${count + 2}, 0; "
        f"wgmma.mma_async.sync.aligned.m64n{n}k16.f32.{kind}.{kind} {{{registers}}}, "
        f"${count}, ${count + 1}, p, 1, 1, {int(a_turned)}, {int(b_turned)}; }}"
    )

    @intrinsic
    def product(typingctx, acc, a, b, adds):
        _check_sums(name, acc, count)

        def codegen(context, builder, sig, args):
            need(name, _NEEDED)
            cells = _cells(context, builder, sig.args[0], args[0], count)
            _with_registers(builder, text, cells, list(args[1:]))
            return context.get_dummy_value()

        return types.void(acc, types.uint64, types.uint64, types.int32), codegen

    shape = _Shape(n, kind, a_turned, b_turned)
    implementation: Any = together(_NEEDED, partial(_multiply, shape))
    implementation.of_tiles = implementation.by_constants = True
    lockstep_implementation(product)(implementation)
    # found under its own name, as others of this module are, it is known as the package's own
    product.__name__ = product.__qualname__ = name
    globals()[name] = product
    return product


@intrinsic
def wgmma_fence(typingctx):
    """Let products see what this warpgroup has stored in its sums."""

    def codegen(context, builder, sig, args):
        need("wgmma_fence", _NEEDED)
        _said(builder, "wgmma.fence.sync.aligned;")
        return context.get_dummy_value()

    return types.void(), codegen


@intrinsic
def wgmma_close(typingctx):
    """The products since the last call are a group."""

    def codegen(context, builder, sig, args):
        need("wgmma_close", _NEEDED)
        _said(builder, "wgmma.commit_group.sync.aligned;")
        return context.get_dummy_value()

    return types.void(), codegen


@cache
def wgmma_awaited(pending: int, count: int) -> Any:
    """An intrinsic of acc, of `count` sums: wait until all groups but the last ones are done."""
    name = f"wgmma_awaited_all_but_{pending}_of_{count}"
    text = f"wgmma.wait_group.sync.aligned {pending};"

    @intrinsic
    def wait(typingctx, acc):
        _check_sums("wgmma_awaited", acc)

        def codegen(context, builder, sig, args):
            need("wgmma_awaited", _NEEDED)
            if pending:  # no sum is there yet
                _said(builder, text)
            else:  # the sums are operands, so that the compiler uses none of them before
                cells = _cells(context, builder, sig.args[0], args[0], count)
                _with_registers(builder, text, cells, [])
            return context.get_dummy_value()

        return types.void(acc), codegen

    implementation: Any = together(_NEEDED, partial(_await, pending))
    implementation.by_constants = True
    lockstep_implementation(wait)(implementation)
    wait.__name__ = wait.__qualname__ = name
    globals()[name] = wait
    return wait


class _Shape(NamedTuple):
    n: int
    kind: str
    a_turned: bool
    b_turned: bool


class _Sums:
    """Sums under way: of an array, what it will hold, and the lanes for which it will."""

    def __init__(self, batch: Any, acc: Any) -> None:
        self.acc, self.values = acc, np.zeros((acc.shape[0], *batch.shape), np.float32)
        self.lanes, self.group = np.zeros(batch.shape, bool), np.zeros(batch.shape, np.int64)
        self.count = 0


class _Warpgroups:
    """Per lane of a batch: how many groups were closed, and whether a fence was since a store."""

    def __init__(self, batch: Any) -> None:
        self.closed = np.zeros(batch.shape, np.int64)
        self.fenced = np.zeros(batch.shape, bool)
        self.sums: dict[int, _Sums] = {}


def _state(batch: Any) -> _Warpgroups:
    if batch.warpgroups is None:
        batch.warpgroups = _Warpgroups(batch)
    found: _Warpgroups = batch.warpgroups
    return found


def _stop(site: Any, what: str) -> KernelStopped:
    return KernelStopped(f"{site.text} in line {site.line}: {what}")


def _descriptor(fields: int, batch: Any, mask: Any, site: Any, tile: Any, index: Any) -> Any:
    if tile.space != "shared":
        raise _stop(site, f"a matrix lies in shared memory; {tile.name} is in {tile.space} memory")
    offset, _ = _place(batch, mask, site, tile, index)
    address = np.asarray(offset).astype(np.int64) * tile.unit + tile.root.base
    if (mask & (address % 16 != 0)).any():
        raise _stop(site, "a matrix begins at a multiple of 16 bytes")
    dynamic = tile.root.base >= DYNAMIC_BASE
    start = ((address & _ADDRESS_BITS) >> 4).astype(np.uint64)
    return start | np.uint64(fields) | np.uint64(int(dynamic) << _DYNAMIC)


def _memory(batch: Any, site: Any, matrix: Matrix, places: Any) -> tuple[Any, Any]:
    """The array that a matrix lies in, and where in its memory."""
    if matrix.dynamic:
        whole = batch.dynamic
        inside = places
    else:
        whole = inside = None
        for array in batch.shared.values():
            if array.base >= DYNAMIC_BASE or array.memory is not array:
                continue
            if array.base <= matrix.start < array.base + array.size * array.itemsize:
                whole, inside = array, places - array.base
    if whole is None or inside.min() < 0 or inside.max() + 2 > whole.size * whole.itemsize:
        name = "no array" if whole is None else f"{whole.name}, and goes past its end"
        raise _stop(site, f"the descriptor's matrix begins in {name}: {matrix}")
    return whole, inside


def _check_descriptor(site: Any, which: str, matrix: Matrix, *, turned: bool) -> None:
    if turned and not matrix.swizzle:
        raise _stop(site, f"{which} is turned: the engine knows turned matrices with a swizzle")
    if matrix.base_offset:
        raise _stop(site, f"{which} has a base offset of {matrix.base_offset}; the engine knows 0")


def _matrix(
    batch: Any, site: Any, which: str, descriptor: Any, rows: int, *, turned: bool
) -> tuple[Any, Any, Any]:
    """Bits of a matrix per block and warpgroup, its array, and the matrices by their place."""
    found: dict[tuple[int, int], tuple[Any, Any, int]] = {}
    blocks, warps = descriptor.shape[:2]
    values = np.zeros((blocks, warps, rows, K), np.uint16)
    for block in range(blocks):
        for warp in range(warps):
            word = int(descriptor[block, warp])
            if not word:
                continue
            matrix = Matrix.decoded(word)
            _check_descriptor(site, which, matrix, turned=turned)
            whole, inside = _memory(batch, site, matrix, matrix.places(rows, turned=turned))
            octets = _rows(whole)[block]
            values[block, warp] = (
                octets[inside].astype(np.uint16) | octets[inside + 1].astype(np.uint16) << 8
            )
            found[block, warp] = (whole, inside, matrix.swizzle)
    return values, found, None


def _multiply(
    shape: _Shape, batch: Any, mask: Any, site: Any, acc: Any, a: Any, b: Any, adds: Any
) -> None:
    """d = a b + c of each warp that comes: 16 of the 64 rows."""
    state, active = _state(batch), spread(mask, batch.shape)
    if acc.space != "local" or acc.size < shape.n // 2:
        raise _stop(site, f"acc is a local array of {shape.n // 2} float32; {acc.name} is none")
    here = active.any(axis=2)
    words = []
    for which, given in (("a", a), ("b", b)):
        word = spread(np.asarray(given).astype(np.uint64), batch.shape)
        if (np.where(active, word, word[..., :1]) != word[..., :1]).any():
            raise _stop(site, f"the lanes of a warp have different descriptors of {which}")
        words.append(np.where(here, word[..., 0], np.uint64(0)))
    first = _first_warp(batch)
    left, a_places, _ = _matrix(batch, site, "a", words[0], M, turned=shape.a_turned)
    right, b_places, _ = _matrix(batch, site, "b", words[1], shape.n, turned=shape.b_turned)
    quarter = (first + np.arange(batch.shape[1])) % 4
    if batch.watched:
        _report(batch, site, active, quarter, (a_places, b_places))
    rows = (16 * quarter[:, None] + np.arange(16))[None, :, :, None]
    left = np.take_along_axis(left, rows, axis=2)
    sums = state.sums.get(id(acc.store))
    if sums is None:
        sums = state.sums[id(acc.store)] = _Sums(batch, acc)
    count = shape.n // 2
    sums.count = max(sums.count, count)
    if (active & ~sums.lanes & ~state.fenced).any():
        raise _stop(
            site,
            "no wgmma_fence() between what this warpgroup did with acc and the product: a GPU may"
            " take registers that are not yet stored",
        )
    given = _given(batch, acc, sums, count, active, adds)
    row, col = _places(count)
    whole = np.zeros((*batch.shape[:2], 16, shape.n), np.float32)
    whole[..., row, col] = np.moveaxis(given, 0, 2)
    at = np.nonzero(here)
    result = tensor_core.multiplied(
        left[at], right[at].swapaxes(-1, -2), whole[at], kind=shape.kind,
        arithmetic=arithmetic_of(device_of(batch.launch)),
    )  # fmt: skip
    whole[at] = result
    by_lane = np.moveaxis(whole[..., row, col], 2, 0)
    sums.values[:count] = np.where(active, by_lane, sums.values[:count])
    if (active & ~sums.lanes).any():
        _empty(batch, acc, count, mask)
    sums.lanes |= active
    sums.group = np.where(active, state.closed, sums.group)
    batch.writes += 1


def _first_warp(batch: Any) -> int:
    """The number in its block of the batch's first warp."""
    fiber = getattr(batch, "fiber", None)
    return 0 if fiber is None else int(fiber.warp)


@cache
def _places(count: int) -> tuple[Any, Any]:
    """Row and column of each element of a warp's sums: (count, 32)."""
    at, lane = np.ogrid[:count, :32]
    row = lane // 4 + 8 * (at % 4 // 2)
    col = 8 * (at // 4) + 2 * (lane % 4) + at % 2
    return np.broadcast_arrays(row, col)  # type: ignore[return-value]


def _given(batch: Any, acc: Any, sums: _Sums, count: int, active: Any, adds: Any) -> Any:
    """What is added to: sums under way, or what acc holds; zeros where nothing is."""
    given = np.zeros((count, *batch.shape), np.float32)
    adding = spread(np.asarray(adds) != 0, batch.shape) & active
    if not adding.any():
        return given
    given = np.where(adding & sums.lanes, sums.values[:count], given)
    fresh = adding & ~sums.lanes
    for at in range(count if fresh.any() else 0):
        given[at] = np.where(fresh, acc.store.read(batch, np.int64(at)), given[at])
    return given


def _empty(batch: Any, acc: Any, count: int, mask: Any) -> None:
    """Leave no value in acc while the product is under way."""
    written = acc.store.written
    for at in range(count):
        acc.store.write(batch, np.int64(at), mask, np.float32(np.nan))
    if written is not None:
        if written.table is None:
            acc.store.written = fresh = WrittenCells(acc.store.size)
            fresh.masks = [
                one & ~mask if at < count else one for at, one in enumerate(written.masks)
            ]
        else:
            written.table[:count] &= ~spread(mask, batch.shape)


def _report(batch: Any, site: Any, active: Any, quarter: Any, matrices: Any) -> None:
    """Notify the watchers of what each warp's product reads: its rows of a, and b."""
    for which, places in enumerate(matrices):
        for (block, warp), (whole, inside, span) in places.items():
            alone = np.zeros(batch.shape, bool)
            alone[block, warp] = active[block, warp]
            mine = inside[16 * quarter[warp] :][:16] if which == 0 else inside
            octets = (mine.reshape(-1, 1) + np.arange(2)).reshape(-1)
            batch.report_bulk(Bulk(site, "load", "wgmma", whole, alone, Region(octets, span)))


def _group(step: str, batch: Any, mask: Any, site: Any) -> None:
    state, active = _state(batch), spread(mask, batch.shape)
    if step == "commit":
        state.closed = state.closed + active
    else:
        state.fenced = state.fenced | active
        return
    if batch.watched:
        batch.report_bulk_group(BulkGroup(site, "wgmma", step, mask))


lockstep_implementation(wgmma_fence)(together(_NEEDED, partial(_group, "registers")))
lockstep_implementation(wgmma_close)(together(_NEEDED, partial(_group, "commit")))


def _await(pending: int, batch: Any, mask: Any, site: Any, acc: Any) -> None:
    """Put sums that are done where they belong."""
    state, active = _state(batch), spread(mask, batch.shape)
    for sums in state.sums.values():
        done = sums.lanes & active & (sums.group < state.closed - pending)
        if not done.any():
            continue
        for at in range(sums.count):
            sums.acc.store.write(batch, np.int64(at), done, sums.values[at])
        sums.lanes &= ~done
    state.fenced &= ~active
    state.sums = {key: one for key, one in state.sums.items() if one.lanes.any()}
    if batch.watched:
        batch.report_bulk_group(BulkGroup(site, "wgmma", "wait", mask, pending))
