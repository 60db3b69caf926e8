"""Bulk copies of tiles: the copy engine (TMA) moves a box of an array by one instruction.

    bulk_load(tile, to, words, (y, x), barriers, index)    a box to shared memory, on its way; its
                                                           bytes count at an mbarrier
    bulk_store(words, (y, x), tile, at)                    a tile of shared memory to a box
    bulk_close()                    the stores of this thread since the last call are a group
    bulk_awaited(pending)()         all groups of this thread but the last `pending` are done
    bulk_read(pending)()            all but so many have read shared memory, which may change again
    bulk_prefetch(words)            the map itself is fetched ahead
    fence_async()                   (`ptx.hints`) bulk copies and tensor cores see what this thread
                                    has stored in shared memory

One thread asks, for the whole box. `words` are a map's (`ptx.tensor_maps`); the coordinates are
elements, in the order of the array's axes, and the box may lie outside of it: there a load brings
0, and a store does nothing. A box begins at a multiple of 16 bytes of a row, and one that is stored
at no negative coordinate; a GPU stops at others, and the engine refuses them. `to` and `at` are
flat offsets in the tile, at multiples of 128 bytes. The box lies in the tile row by row, and its
chunks of 16 bytes are exchanged as the map's swizzle says (`rules.bulk_swizzle`).

A load brings all bytes of its box, also those that lie outside. The thread that asks for it says
so before, `mbarrier_arrive_expecting(barriers, index, bytes)`; who finds that phase over sees the
tile. A store sees what was stored in the tile by threads that set `fence_async()` before a barrier.

In the engine a load reads at once and lands as late as it may: when somebody asks for its phase who
otherwise had to wait. A trace finds what touches the tile before its phase is over
(`tracing.watchers.bulk`). Each instruction is counted as none: neither its reads of global memory
nor its traffic in shared memory is a request of a warp.

Source: PTX ISA, `cp.async.bulk.tensor`, `cp.async.bulk.commit_group`, `cp.async.bulk.wait_group`;
CUDA C++ Programming Guide, "Tensor Memory Access". On an H200, boxes landed where the rule says in
all of 24 cases of loads and 20 of stores (`python -m smemnb.laboratory.bulk_values FILE loads
stores`). All of 11 loads that began 2, 3, 4, 8 or 12 bytes behind a multiple of 16 stopped there
with an illegal instruction, of 1, 2 and 4 bytes for an element, with and without swizzle. So did
stores that began at 8 bytes, at row -1 and at column -8 (16 bytes before the array).

**Limits**: cc 9.0 or higher. Tiled mode, from and to a block's own shared memory; no multicast, no
reduction.
"""

from __future__ import annotations

from functools import cache, partial
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.core.errors import TypingError
from numba.core.types.containers import BaseTuple
from numba.cuda.extending import intrinsic

from ...errors import KernelStopped, MisalignedAddress
from ...lockstep.lanes import EVERY_LANE, spread
from ...lockstep.protocol import lockstep_implementation
from ...lockstep.watch import Bulk, BulkGroup, Region
from ...rules.bulk_swizzle import swizzled
from .accesses import _address, _place
from .asynchronous import GLOBAL, SHARED, _said, _Sides
from .mbarriers import _asm, _at_barrier, _phase, cells_of, changed
from .tensor_maps import MAP_WORDS, TensorMap, map_of
from .warp_wide import _check_device, need

_WORD, _PLACE = ir.IntType(32), ir.IntType(64)
_LOAD = (
    "cp.async.bulk.tensor.{rank}d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
    " [$0], [$1, {{{at}}}], [$2];"
)
_STORE = "cp.async.bulk.tensor.{rank}d.global.shared::cta.tile.bulk_group [$1, {{{at}}}], [$0];"
_ALIGNMENT = 128
_CHUNK = 16
_NEEDED = (9, 0)


def _pointer(context: Any, builder: Any, typed: Any, args: Any, space: int) -> Any:
    found = _address(context, builder, _Sides(*typed), args)
    kind = ir.PointerType(found.type.pointee, space)
    return builder.ptrtoint(
        builder.addrspacecast(found, kind), _WORD if space == SHARED else _PLACE
    )


def _rank(name: str, words: Any, at: Any) -> int:
    """How many coordinates there are, of a map that is one."""
    if not isinstance(words, types.Array) or words.dtype != types.uint64:
        raise TypingError(f"{name} takes the words of a TensorMap; this is {words}")
    if not isinstance(at, BaseTuple) or not 1 <= len(at) <= 5:
        raise TypingError(f"{name} takes coordinates as a tuple of 1 to 5 integers; this is {at}")
    return len(at)


def _coordinates(context: Any, builder: Any, typed: Any, given: Any) -> list[Any]:
    """The coordinates as 32-bit integers, first the one along neighbours, as PTX wants them."""
    parts = [
        context.cast(builder, builder.extract_value(given, axis), kind, types.int32)
        for axis, kind in enumerate(typed)
    ]
    return parts[::-1]


def _text(text: str, rank: int, first: int) -> str:
    at = ", ".join(f"${first + axis}" for axis in range(rank))
    return text.format(rank=rank, at=at)


@intrinsic
def bulk_load(typingctx, tile, to, words, at, barriers, index):
    """Send a box of a map's array to a tile; its bytes count at an mbarrier."""
    rank = _rank("bulk_load", words, at)

    def codegen(context, builder, sig, args):
        need("bulk_load", _NEEDED)
        typed, zero = sig.args, ir.Constant(_PLACE, 0)
        operands = [
            _pointer(context, builder, typed[:2], args[:2], SHARED),
            _pointer(context, builder, (typed[2], types.int64), (args[2], zero), GLOBAL),
            _pointer(context, builder, typed[4:], args[4:], SHARED),
            *_coordinates(context, builder, typed[3], args[3]),
        ]
        constraints = ",".join(["r", "l", "r"] + ["r"] * rank)
        _asm(builder, _text(_LOAD, rank, 3), constraints, ir.VoidType(), operands)
        return context.get_dummy_value()

    return types.void(tile, to, words, at, barriers, index), codegen


@intrinsic
def bulk_store(typingctx, words, at, tile, place):
    """Send a tile to a box of a map's array."""
    rank = _rank("bulk_store", words, at)

    def codegen(context, builder, sig, args):
        need("bulk_store", _NEEDED)
        typed, zero = sig.args, ir.Constant(_PLACE, 0)
        operands = [
            _pointer(context, builder, typed[2:], args[2:], SHARED),
            _pointer(context, builder, (typed[0], types.int64), (args[0], zero), GLOBAL),
            *_coordinates(context, builder, typed[1], args[1]),
        ]
        constraints = ",".join(["r", "l"] + ["r"] * rank)
        _asm(builder, _text(_STORE, rank, 2), constraints, ir.VoidType(), operands)
        return context.get_dummy_value()

    return types.void(words, at, tile, place), codegen


@intrinsic
def bulk_prefetch(typingctx, words):
    """Fetch a map ahead."""

    def codegen(context, builder, sig, args):
        need("bulk_prefetch", _NEEDED)
        zero = ir.Constant(_PLACE, 0)
        typed = _Sides(sig.args[0], types.int64)
        # a generic address: of state spaces, PTX takes .const and .param alone here
        place = builder.ptrtoint(_address(context, builder, typed, (args[0], zero)), _PLACE)
        _asm(builder, "prefetch.tensormap [$0];", "l", ir.VoidType(), [place])
        return context.get_dummy_value()

    return types.void(words), codegen


@intrinsic
def bulk_close(typingctx):
    """The stores of this thread since the last call are a group."""

    def codegen(context, builder, sig, args):
        need("bulk_close", _NEEDED)
        _said(builder, "cp.async.bulk.commit_group;")
        return context.get_dummy_value()

    return types.void(), codegen


def _waiting(name: str, text: str, pending: int) -> Any:
    @intrinsic
    def wait(typingctx):
        def codegen(context, builder, sig, args):
            need(name, _NEEDED)
            _said(builder, f"{text} {pending};")
            return context.get_dummy_value()

        return types.void(), codegen

    lockstep_implementation(wait)(partial(_step, "wait", pending))
    # found under its own name, as others of this module are, it is known as the package's own
    wait.__name__ = wait.__qualname__ = f"{name}_all_but_{pending}"
    globals()[wait.__name__] = wait
    return wait


@cache
def bulk_awaited(pending: int) -> Any:
    """An intrinsic: wait until all groups of this thread but the last `pending` are done."""
    return _waiting("bulk_awaited", "cp.async.bulk.wait_group", pending)


@cache
def bulk_read(pending: int) -> Any:
    """An intrinsic: wait until all groups but so many have read what they read."""
    return _waiting("bulk_read", "cp.async.bulk.wait_group.read", pending)


def _step(step: str, pending: int, batch: Any, mask: Any, site: Any) -> None:
    _check_device(batch.launch, site, _NEEDED)
    if batch.watched:
        batch.report_bulk_group(BulkGroup(site, "bulk", step, mask, pending))


lockstep_implementation(bulk_close)(partial(_step, "commit", 0))


@lockstep_implementation(bulk_prefetch)
def _(batch: Any, mask: Any, site: Any, words: Any) -> None:
    _check_device(batch.launch, site, _NEEDED)
    _map(batch, site, words)


def _map(batch: Any, site: Any, words: Any) -> TensorMap:
    """The map whose words these are."""
    read = []
    if words.space == "global" and words.size >= MAP_WORDS:
        places = [words.place(batch, (np.int64(at),), EVERY_LANE, site)[0] for at in range(16)]
        read = [int(np.asarray(words.store.read(batch, at)).flat[0]) for at in places]
    found = map_of(read)
    if found is None:
        raise KernelStopped(
            f"{site.text} in line {site.line}: {words.name} does not hold the words of a TensorMap"
            " that still exists. Pass the `words` of a map, and keep the map until the launch is"
            " done"
        )
    return found


def _tile_octets(batch: Any, site: Any, tile: Any, offset: Any, one: TensorMap) -> Any:
    """Where each element of the box lies: bytes in the tile's memory, in the box's shape."""
    size, base = one.dtype.itemsize, tile.root.base
    start = int(offset) * tile.unit + base
    if start % _ALIGNMENT:
        raise MisalignedAddress(
            f"{site.text} in line {site.line} moves a tile at an address that is {start % 128}"
            f" bytes behind a multiple of {_ALIGNMENT}: a GPU stops there. The offset counts"
            f" elements of {tile.name}, and a shared array needs alignment={_ALIGNMENT}"
            " (1024 for 128-byte swizzle).",
            _ALIGNMENT // tile.itemsize,
        )
    flat = np.arange(one.box_bytes // size, dtype=np.int64) * size
    octets = swizzled(start + flat, one.swizzle) - tile.memory.base
    whole = tile.memory.size * tile.memory.itemsize
    if octets.max() + size > whole:
        raise KernelStopped(
            f"{site.text} in line {site.line} moves {one.box_bytes:,} bytes, past the end of"
            f" {tile.name}, which has {whole:,}: {one!r}"
        )
    return octets.reshape(one.box)


def _asked(batch: Any, mask: Any, site: Any, tile: Any, place: Any, at: Any, words: Any) -> Any:
    """Per lane that asks: its block, its mask, the map, the tile's bytes and the coordinates."""
    _check_device(batch.launch, site, _NEEDED)
    if tile.space != "shared" or words.space != "global":
        raise KernelStopped(
            f"{site.text} in line {site.line} is between shared memory and a map in global memory;"
            f" {tile.name} is in {tile.space} memory, {words.name} in {words.space} memory"
        )
    one = _map(batch, site, words)
    size = one.dtype.itemsize
    if len(at) != len(one.shape):
        raise KernelStopped(
            f"{site.text} in line {site.line} has {len(at)} coordinates; {one!r} has"
            f" {len(one.shape)} axes"
        )
    offset, active = _place(batch, mask, site, tile, place)
    lanes = np.argwhere(spread(active, batch.shape))
    offset = spread(offset, batch.shape)
    where = [spread(np.asarray(axis).astype(np.int64), batch.shape) for axis in at]
    for block, warp, lane in lanes.tolist():
        alone = np.zeros(batch.shape, bool)
        alone[block, warp, lane] = True
        octets = _tile_octets(batch, site, tile, offset[block, warp, lane], one)
        corner = [int(axis[block, warp, lane]) for axis in where]
        if corner[-1] * size % _CHUNK:
            raise KernelStopped(
                f"{site.text} in line {site.line} moves a box that begins at {tuple(corner)}, which"
                f" is {corner[-1] * size % _CHUNK} bytes behind a multiple of {_CHUNK} bytes of a"
                f" row: a GPU stops with an illegal instruction. The last coordinate counts"
                f" elements of {size} bytes, so it is a multiple of {_CHUNK // size}"
            )
        yield block, alone, one, octets, corner


def _inside(one: TensorMap, corner: list[int]) -> tuple[Any, Any]:
    """The part of the array that a box covers, and the same part of the box, as slices."""
    array, box = [], []
    for first, extent, size in zip(corner, one.shape, one.box, strict=True):
        low, high = min(max(first, 0), extent), min(max(first + size, 0), extent)
        array.append(slice(low, high))
        box.append(slice(low - first, max(high - first, low - first)))
    return tuple(array), tuple(box)


def _rows(tile: Any) -> Any:
    """The bytes of a shared memory, a row for each block."""
    return tile.memory.store.typed(np.dtype(np.uint8)).rows


@lockstep_implementation(bulk_load)
def _load(
    batch: Any, mask: Any, site: Any, tile: Any, to: Any, words: Any, at: Any, barriers: Any,
    index: Any,
) -> None:  # fmt: skip
    turn, waits = _place(batch, mask, site, barriers, index)
    for block, alone, one, octets, corner in _asked(batch, mask, site, tile, to, at, words):
        values = np.zeros(one.box, one.dtype)
        array, box = _inside(one, corner)
        values[box] = one.read(array)
        raw = values.reshape(-1).view(np.uint8).reshape(values.size, -1)
        places = octets.reshape(-1, 1) + np.arange(one.dtype.itemsize)
        if batch.watched:
            word = barriers.store.read(batch, np.where(alone & waits, turn, 0))
            region = Region(places.reshape(-1), one.swizzle)
            batch.report_bulk(
                Bulk(
                    site,
                    "store",
                    "bulk",
                    tile.root,
                    alone,
                    region,
                    _at_barrier(barriers, turn),
                    _phase(word).astype(np.int64),
                )
            )

        def land(block=block, places=places, raw=raw, here=alone & waits, size=one.box_bytes):
            _rows(tile)[block, places] = raw
            changed(batch, site, barriers, turn, here, 0, np.int64(-size))

        for cell in cells_of(batch, barriers, np.where(alone & waits, turn, 0), alone & waits):
            batch.arriving.setdefault(cell, []).append(land)


@lockstep_implementation(bulk_store)
def _store(batch: Any, mask: Any, site: Any, words: Any, at: Any, tile: Any, place: Any) -> None:
    for block, alone, one, octets, corner in _asked(batch, mask, site, tile, place, at, words):
        if min(corner) < 0:
            raise KernelStopped(
                f"{site.text} in line {site.line} stores a box that begins at {tuple(corner)}: a"
                " box that is stored begins at no negative coordinate (it may end outside), or a"
                " GPU stops with an illegal instruction"
            )
        places = octets.reshape(-1, 1) + np.arange(one.dtype.itemsize)
        if batch.watched:
            region = Region(places.reshape(-1), one.swizzle)
            batch.report_bulk(Bulk(site, "load", "bulk", tile.root, alone, region))
        raw = np.ascontiguousarray(_rows(tile)[block, places])
        values = raw.view(one.dtype).reshape(one.box)
        array, box = _inside(one, corner)
        one.write(array, values[box])
        batch.writes += 1


for _one in (_load, _store):
    _one.of_tiles = True  # type: ignore[attr-defined]
