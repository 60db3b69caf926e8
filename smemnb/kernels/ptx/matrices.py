"""8 x 8 matrices between shared memory and the registers of a warp: ldmatrix and stmatrix.

    ldmatrix_x1(tile, index), ldmatrix_x2, ldmatrix_x4                    a tuple of 1, 2, 4 words
    ldmatrix_x1_trans(tile, index), ldmatrix_x2_trans, ldmatrix_x4_trans  of turned matrices
    stmatrix_x1(tile, index, words), stmatrix_x2, stmatrix_x4             the way back; cc 9.0
    stmatrix_x1_trans(tile, index, words), stmatrix_x2_trans, stmatrix_x4_trans

A matrix is 8 rows of 16 bytes each. Lane i gives the place of one row: `index` is the flat offset
of its first element in `tile`, as in `ptx.accesses`, at a multiple of 16 bytes. Lanes 0 to 7 give
the rows of the first matrix, lanes 8 to 15 those of the second, and so on; the index of lanes
beyond that counts for nothing. Each lane then holds word r of its tuple out of matrix r: the 4
bytes `lane % 4` of row `lane // 4`. With `_trans`, of elements of 16 bits, it holds the elements
of rows 2 * (lane % 4) and the next one, in column `lane // 4`. So do fragments of `ptx.tensor` want
them; a tile of 4-byte elements is read without `_trans`, one element to a word.

All 32 lanes take part, or the engine refuses the call. Matrices are served one after the other,
each as 8 lanes of 16 bytes: one wavefront if its rows lie in different banks (`rules.bank`).

**Limits**: shared arrays of elements of 1, 2 or 4 bytes. `ldmatrix` needs cc 7.5, `stmatrix` 9.0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.core.errors import TypingError
from numba.core.types.misc import unliteral
from numba.cuda.extending import intrinsic

from ...errors import KernelStopped
from ...lockstep.protocol import lockstep_implementation
from ...lockstep.watch import Access
from .. import alignment as _alignment  # noqa: F401  shared arrays at multiples of 16 bytes
from .accesses import _address, _place_wide
from .warp_wide import (
    WORD,
    assembled,
    check_tuple,
    need,
    parts_of,
    registers,
    together,
    tuple_of,
)

SHARED = 3
ROWS = 8
_LANE = np.arange(32)


def _check_tile(name: str, tile: Any, index: Any, *, turned: bool) -> None:
    """Refuse what is no array of small elements, and an index that is no integer."""
    bits = (16,) if turned else (8, 16, 32)
    if not isinstance(tile, types.Array) or getattr(tile.dtype, "bitwidth", 0) not in bits:
        sizes = "2 bytes" if turned else "1, 2 or 4 bytes"
        raise TypingError(f"{name} takes a shared array of elements of {sizes}; this is {tile}")
    if not isinstance(unliteral(index), types.Integer):
        raise TypingError(f"{name} takes the offset of a row as an integer; this is {index}")


def _name(verb: str, count: int, *, turned: bool) -> str:
    return f"{verb}_x{count}{'_trans' if turned else ''}"


def _text(verb: str, count: int, *, turned: bool) -> str:
    return f"{verb}.sync.aligned.m8n8.x{count}{'.trans' if turned else ''}.shared.b16"


def _row_address(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    pointer = _address(context, builder, sig, args)
    shared = ir.PointerType(pointer.type.pointee, SHARED)
    return builder.ptrtoint(builder.addrspacecast(pointer, shared), WORD)


def _loading(tile: Any, index: Any, count: int, *, turned: bool) -> Any:
    name = _name("ldmatrix", count, turned=turned)
    _check_tile(name, tile, index, turned=turned)

    def codegen(context, builder, sig, args):
        need(name, (7, 5))
        at = _row_address(context, builder, sig, args)
        text = f"{_text('ldmatrix', count, turned=turned)} {registers(0, count)}, [${count}];"
        found = assembled(builder, text, [WORD] * count, [at], memory=True)
        return context.make_tuple(builder, sig.return_type, found)

    return tuple_of(types.uint32, count)(tile, index), codegen


def _storing(tile: Any, index: Any, words: Any, count: int, *, turned: bool) -> Any:
    name = _name("stmatrix", count, turned=turned)
    _check_tile(name, tile, index, turned=turned)
    check_tuple(name, "words", words, types.uint32, count)

    def codegen(context, builder, sig, args):
        need(name, (9, 0))
        at = _row_address(context, builder, sig, args)
        text = f"{_text('stmatrix', count, turned=turned)} [$0], {registers(1, count)};"
        assembled(builder, text, [], [at, *parts_of(builder, args[2], count)], memory=True)
        return context.get_dummy_value()

    return types.void(tile, index, tuple_of(types.uint32, count)), codegen


@intrinsic
def ldmatrix_x1(typingctx, tile, index):
    """A matrix out of shared memory: each lane's word, as a tuple."""
    return _loading(tile, index, 1, turned=False)


@intrinsic
def ldmatrix_x2(typingctx, tile, index):
    """Two matrices out of shared memory: two words of each lane."""
    return _loading(tile, index, 2, turned=False)


@intrinsic
def ldmatrix_x4(typingctx, tile, index):
    """Four matrices out of shared memory: four words of each lane."""
    return _loading(tile, index, 4, turned=False)


@intrinsic
def ldmatrix_x1_trans(typingctx, tile, index):
    """A turned matrix out of shared memory: each lane's word, as a tuple."""
    return _loading(tile, index, 1, turned=True)


@intrinsic
def ldmatrix_x2_trans(typingctx, tile, index):
    """Two turned matrices out of shared memory: two words of each lane."""
    return _loading(tile, index, 2, turned=True)


@intrinsic
def ldmatrix_x4_trans(typingctx, tile, index):
    """Four turned matrices out of shared memory: four words of each lane."""
    return _loading(tile, index, 4, turned=True)


@intrinsic
def stmatrix_x1(typingctx, tile, index, words):
    """Put a matrix, of which each lane has a word, into shared memory."""
    return _storing(tile, index, words, 1, turned=False)


@intrinsic
def stmatrix_x2(typingctx, tile, index, words):
    """Put two matrices, of which each lane has two words, into shared memory."""
    return _storing(tile, index, words, 2, turned=False)


@intrinsic
def stmatrix_x4(typingctx, tile, index, words):
    """Put four matrices, of which each lane has four words, into shared memory."""
    return _storing(tile, index, words, 4, turned=False)


@intrinsic
def stmatrix_x1_trans(typingctx, tile, index, words):
    """Put a matrix into shared memory, turned."""
    return _storing(tile, index, words, 1, turned=True)


@intrinsic
def stmatrix_x2_trans(typingctx, tile, index, words):
    """Put two matrices into shared memory, turned."""
    return _storing(tile, index, words, 2, turned=True)


@intrinsic
def stmatrix_x4_trans(typingctx, tile, index, words):
    """Put four matrices into shared memory, turned."""
    return _storing(tile, index, words, 4, turned=True)


def _rows(batch: Any, mask: Any, site: Any, tile: Any, index: Any, count: int) -> Any:
    """Offsets of the rows, the lanes whose row is inside, and how many elements a row has."""
    if tile.space != "shared":
        raise KernelStopped(
            f"{site.text} in line {site.line} goes to shared memory; {tile.name} is an array in "
            f"{tile.space} memory. Stage it in a shared array first."
        )
    giving = mask & (_LANE < ROWS * count).reshape(1, 1, 32)
    offset, inside, elements = _place_wide(batch, giving, site, tile, index)
    return np.where(inside, offset, 0), inside, elements


def _pieces(row: Any, inside: Any, count: int, tile: Any, *, turned: bool) -> Any:
    """Per word of each lane: offset and presence of its pieces, in the order of their bytes.

    A piece is an element, two bytes at least for turned matrices.
    """
    shape = np.broadcast_shapes(np.shape(row), np.shape(inside), (1, 1, 32))
    row, inside = np.broadcast_to(row, shape), np.broadcast_to(inside, shape)
    per_word = 4 // tile.itemsize
    for matrix in range(count):
        for at in range(per_word):
            if turned:
                giver, col = ROWS * matrix + 2 * (_LANE % 4) + at, _LANE // 4
            else:
                giver, col = ROWS * matrix + _LANE // 4, per_word * (_LANE % 4) + at
            yield matrix, at, row[..., giver] + col, inside[..., giver]


def _report(
    batch: Any, site: Any, tile: Any, kind: str, rows: Any, count: int, touched: Any
) -> None:
    """Notify the watchers: of the rows that are asked for, and of what each lane gets or gives."""
    offset, inside, elements = rows
    event = Access(
        site,
        tile.root,
        kind,
        offset,
        inside,
        elements=elements,
        unit=tile.unit,
        matrices=count,
        touched=touched,
    )
    batch.report_access(event)


def _loaded(count: int, *, turned: bool) -> Callable[..., Any]:
    def run(batch: Any, mask: Any, site: Any, tile: Any, index: Any) -> Any:
        rows = _rows(batch, mask, site, tile, index, count)
        pieces = list(_pieces(rows[0], rows[1], count, tile, turned=turned))
        if batch.watched and tile.reported:
            touched = tuple((at, there) for _, _, at, there in pieces)
            _report(batch, site, tile, "load", rows, count, touched)
        words = [np.zeros((1, 1, 1), np.uint32)] * count
        kind, bits = np.dtype(f"u{tile.itemsize}"), 8 * tile.itemsize
        for matrix, at, place, there in pieces:
            part = np.asarray(tile.store.read(batch, np.where(there, place, 0)))
            part = np.where(there, part.astype(tile.dtype).view(kind), kind.type(0))
            words[matrix] = words[matrix] | (part.astype(np.uint32) << np.uint32(at * bits))
        return tuple(words)

    return together((7, 5), run)


def _stored(count: int, *, turned: bool) -> Callable[..., Any]:
    def run(batch: Any, mask: Any, site: Any, tile: Any, index: Any, words: Any) -> None:
        rows = _rows(batch, mask, site, tile, index, count)
        kind, bits = np.dtype(f"u{tile.itemsize}"), 8 * tile.itemsize
        found = []
        for matrix, at, place, there in _pieces(rows[0], rows[1], count, tile, turned=turned):
            word = np.asarray(words[matrix]).astype(np.uint32)
            value = np.asarray(word >> np.uint32(at * bits)).astype(kind).view(tile.dtype)
            found.append((place, there, value))
        if batch.watched and tile.reported:
            _report(batch, site, tile, "store", rows, count, tuple(found))
        batch.writes += 1
        for place, there, value in found:
            tile.store.write(batch, np.where(there, place, 0), there, value)

    return together((9, 0), run)


for _count, _plain, _turned in (
    (1, ldmatrix_x1, ldmatrix_x1_trans),
    (2, ldmatrix_x2, ldmatrix_x2_trans),
    (4, ldmatrix_x4, ldmatrix_x4_trans),
):
    lockstep_implementation(_plain)(_loaded(_count, turned=False))
    lockstep_implementation(_turned)(_loaded(_count, turned=True))
for _count, _plain, _turned in (
    (1, stmatrix_x1, stmatrix_x1_trans),
    (2, stmatrix_x2, stmatrix_x2_trans),
    (4, stmatrix_x4, stmatrix_x4_trans),
):
    lockstep_implementation(_plain)(_stored(_count, turned=False))
    lockstep_implementation(_turned)(_stored(_count, turned=True))
