"""Matrices of 8 rows between shared memory and registers, by the places of their rows.

One warp each, so that the hardware's own counter is exact. A place is the number of a chunk of 16
bytes in a tile of 1024 of them; lanes beyond the matrices give places that count for nothing.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numba import cuda, uint16, uint32

from ...kernels.ptx import load4, matrices, store4
from ...measure.verify.case import Case, empty, numbers

CHUNKS = 1024
HALVES = CHUNKS * 8
_LANES = np.arange(32)
_ROW, _MATRIX = _LANES % 8, _LANES // 8


@cache
def loading(count: int, *, turned: bool) -> Any:
    """A kernel that loads so many matrices, rows at `place`, after it has filled the tile."""
    load = getattr(matrices, f"ldmatrix_x{count}{'_trans' if turned else ''}")

    @cuda.jit
    def ldmatrix_at(out, inp, place):
        tile = cuda.shared.array(HALVES, uint16, alignment=16)
        tx = uint32(cuda.threadIdx.x)
        for at in range(tx, HALVES // 2, 32):
            store4(tile, uint32(2 * at), load4(inp, uint32(2 * at)))
        cuda.syncwarp()  # the tile is full before anyone reads it
        words = load(tile, uint32(place[tx] * 8))
        for at in range(count):
            out[at, tx] = words[at]

    return ldmatrix_at


@cache
def storing(count: int, *, turned: bool) -> Any:
    """A kernel that stores so many matrices, rows at `place`, and then the whole tile."""
    store = getattr(matrices, f"stmatrix_x{count}{'_trans' if turned else ''}")
    load = {1: _one, 2: _two, 4: _four}[count]

    @cuda.jit
    def stmatrix_at(out, inp, place):
        tile = cuda.shared.array(HALVES, uint16, alignment=16)
        tx = uint32(cuda.threadIdx.x)
        for at in range(tx, HALVES // 2, 32):
            store4(tile, uint32(2 * at), uint32(0))
        cuda.syncwarp()  # no one writes before the tile is empty
        store(tile, uint32(place[tx] * 8), load(inp, tx))
        cuda.syncwarp()  # everyone has written
        for at in range(tx, HALVES // 2, 32):
            store4(out, uint32(2 * at), load4(tile, uint32(2 * at)))

    return stmatrix_at


@cuda.jit(device=True)
def _one(inp, tx):
    return (inp[0, tx],)


@cuda.jit(device=True)
def _two(inp, tx):
    return inp[0, tx], inp[1, tx]


@cuda.jit(device=True)
def _four(inp, tx):
    return inp[0, tx], inp[1, tx], inp[2, tx], inp[3, tx]


def _pitch(chunks: int) -> Any:
    """Row after row, so many chunks apart."""
    return _LANES * chunks


def _fragment(pitch: int) -> Any:
    """16 rows of a tile, two chunks of each: how a fragment of a is loaded."""
    return _LANES % 16 * pitch + _LANES // 16


def _swizzled(chunks: int, first: int = 0) -> Any:
    """The same 16 rows where chunk c of row r stands at c ^ (r // every % fold)."""
    fold = min(chunks, 8)
    row = _LANES % 16
    chunk = _LANES // 16 + first
    return row * chunks + (chunk ^ (row // (8 // fold) % fold))


PITCHES = {f"rows {16 * chunks} bytes apart": _pitch(chunks)
           for chunks in (1, 2, 3, 4, 5, 6, 8, 9, 12, 16, 24, 32)}  # fmt: skip
FRAGMENTS = {
    "fragment, rows of 64 bytes": _fragment(4),
    "fragment, rows of 128 bytes": _fragment(8),
    "fragment, rows of 144 bytes": _fragment(9),
    "fragment, rows of 64 bytes, swizzled": _swizzled(4),
    "fragment, rows of 128 bytes, swizzled": _swizzled(8),
    "fragment, rows of 128 bytes, swizzled, from chunk 6": _swizzled(8, 6),
    "fragment, rows of 256 bytes, swizzled": _swizzled(16),
}
REPEATED = {
    "one row": _LANES * 0 + 5,
    "one row of each matrix": _MATRIX * 8,
    "pairs (i, i ^ 1)": (_LANES & ~1) * 8,
    "pairs (i, i ^ 2)": (_LANES & ~2) * 8,
    "equal matrices": _ROW * 8,
    "equal matrices, swizzled": _ROW * 8 + _ROW,
    "backwards": 31 - _LANES,
    "scattered": np.random.default_rng(8).permutation(CHUNKS)[:32],
    "scattered, some rows twice": np.random.default_rng(9).integers(0, 40, 32) * 4,
}


def _case(verb: str, count: int, said: str, place: Any, *, turned: bool = False) -> Case:
    kernel = (loading if verb == "ldmatrix" else storing)(count, turned=turned)
    name = f"{verb}_x{count}{'_trans' if turned else ''}"

    def make(random: np.random.Generator) -> tuple[Any, ...]:
        rows = np.array(place, np.int32)
        if verb == "ldmatrix":
            inp = numbers(random, HALVES, dtype=np.uint16)
            return empty(count, 32, dtype=np.uint32), inp, rows
        inp = numbers(random, 4, 32, dtype=np.uint32)
        return empty(HALVES, dtype=np.uint16), inp, rows

    return Case(f"{name} {said}", kernel, (1,), (32,), make)


def _distinct(places: dict[str, Any]) -> dict[str, Any]:
    """Places of rows that no two lanes share: what several store is not determined."""
    return {said: place for said, place in places.items() if len(set(place.tolist())) == 32}


EVERY = PITCHES | FRAGMENTS | REPEATED
SOME = {said: EVERY[said] for said in (
    "rows 16 bytes apart", "rows 32 bytes apart", "rows 128 bytes apart", "rows 144 bytes apart",
    "fragment, rows of 64 bytes, swizzled", "fragment, rows of 128 bytes, swizzled",
    "pairs (i, i ^ 1)", "scattered",
)}  # fmt: skip
CASES = (
    *(_case("ldmatrix", 4, said, place) for said, place in EVERY.items()),
    *(_case("ldmatrix", 4, said, place, turned=True) for said, place in SOME.items()),
    *(_case("ldmatrix", 2, said, place) for said, place in SOME.items()),
    *(_case("ldmatrix", 2, said, EVERY[said], turned=True) for said in list(SOME)[2:4]),
    *(_case("ldmatrix", 1, said, place) for said, place in SOME.items()),
    *(_case("ldmatrix", 1, said, EVERY[said], turned=True) for said in list(SOME)[2:4]),
    *(_case("stmatrix", 4, said, place) for said, place in _distinct(SOME).items()),
    *(_case("stmatrix", 4, said, EVERY[said], turned=True) for said in list(SOME)[2:4]),
    *(_case("stmatrix", 2, said, EVERY[said]) for said in list(SOME)[2:4]),
    *(_case("stmatrix", 1, said, EVERY[said]) for said in list(SOME)[2:4]),
)
