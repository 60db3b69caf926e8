"""Accesses of 8 and 16 bytes, with pairs of lanes that share addresses; shuffles and votes.

The counter of patched code has a simpler rule for pairs of lanes; for these one-warp launches the
hardware counter is recorded beside it.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numba import cuda, float32, from_dtype, uint32, uint64

from ...kernels.ptx import load1, load16, store1, store16
from ...measure.verify.case import Case, empty, numbers

WORDS, DOUBLES = 1024, 512
_LANES = np.arange(32)
ALL = np.ones(32, np.int32)


@cuda.jit
def load16_at(out, inp, place, active):
    """Lanes named by `active` read the 16 bytes of chunk `place`."""
    tile = cuda.shared.array(WORDS, uint32, alignment=16)
    tx = uint32(cuda.threadIdx.x)
    for at in range(tx, WORDS, cuda.blockDim.x):
        tile[at] = inp[at]
    cuda.syncthreads()  # the tile is full before anyone reads it
    if active[tx] != 0:
        store16(out, uint32(tx * 4), load16(tile, uint32(place[tx] * 4)))


@cuda.jit
def store16_at(out, inp, place, active):
    """Lanes named by `active` write the 16 bytes of chunk `place`."""
    tile = cuda.shared.array(WORDS, uint32, alignment=16)
    tx = uint32(cuda.threadIdx.x)
    for at in range(tx, WORDS, cuda.blockDim.x):
        tile[at] = uint32(0)
    cuda.syncthreads()  # no one writes before the tile is empty
    if active[tx] != 0:
        store16(tile, uint32(place[tx] * 4), load16(inp, uint32(tx * 4)))
    cuda.syncthreads()  # everyone has written
    for at in range(tx, WORDS, cuda.blockDim.x):
        out[at] = tile[at]


@cuda.jit
def load8_at(out, inp, place, active):
    """Lanes named by `active` read element `place` of 8 bytes."""
    tile = cuda.shared.array(DOUBLES, uint64)
    tx = cuda.threadIdx.x
    for at in range(tx, DOUBLES, cuda.blockDim.x):
        tile[at] = inp[at]
    cuda.syncthreads()  # the tile is full before anyone reads it
    if active[tx] != 0:
        out[tx] = tile[place[tx]]


@cuda.jit
def store8_at(out, inp, place, active):
    """Lanes named by `active` write element `place` of 8 bytes."""
    tile = cuda.shared.array(DOUBLES, uint64)
    tx = cuda.threadIdx.x
    for at in range(tx, DOUBLES, cuda.blockDim.x):
        tile[at] = uint64(0)
    cuda.syncthreads()  # no one writes before the tile is empty
    if active[tx] != 0:
        tile[place[tx]] = inp[tx]
    cuda.syncthreads()  # everyone has written
    for at in range(tx, DOUBLES, cuda.blockDim.x):
        out[at] = tile[at]


@cache
def wide_copy(dtype: Any) -> Any:
    """A kernel that copies by 16 bytes, through shared memory, for elements of this type."""
    kind = from_dtype(np.dtype(dtype))
    count = 16 // np.dtype(dtype).itemsize
    size = 64 * count

    @cuda.jit
    def copy16(out, inp):
        tile = cuda.shared.array(size, kind, alignment=16)
        tx = uint32(cuda.threadIdx.x)
        at = uint32(tx * count)
        store16(tile, at, load16(inp, at))
        cuda.syncthreads()  # the tile is full before anyone reads it
        store16(out, at, load16(tile, uint32((uint32(63) - tx) * count)))

    copy16.py_func.__name__ = copy16.__name__ = f"copy16_{np.dtype(dtype).name}"
    return copy16


@cuda.jit
def turned_by_one(out, inp):
    """Elements by flat offset: load1 and store1."""
    tile = cuda.shared.array(1024, float32)
    tx = uint32(cuda.threadIdx.x)
    for at in range(tx, uint32(1024), uint32(cuda.blockDim.x)):
        store1(tile, uint32(at), load1(inp, uint32(at)))
    cuda.syncthreads()  # the tile is full before anyone reads it
    store1(out, tx, load1(tile, uint32(tx * 33 % 1024)))


@cuda.jit
def warp_sum(out, inp):
    """The sum of each warp by shuffles; lane 0 stores it."""
    at = cuda.grid(1)
    acc = inp[at]
    for step in (16, 8, 4, 2, 1):
        acc += cuda.shfl_xor_sync(0xFFFFFFFF, acc, step)
    if cuda.laneid == 0:
        out[at // 32] = acc


@cuda.jit
def block_sum(out, inp):
    """The sum of a block: shuffles, one word per warp, shuffles again."""
    parts = cuda.shared.array(32, float32)
    tx = cuda.threadIdx.x
    acc = inp[cuda.grid(1)]
    for step in (16, 8, 4, 2, 1):
        acc += cuda.shfl_down_sync(0xFFFFFFFF, acc, step)
    if tx % 32 == 0:
        parts[tx // 32] = acc
    cuda.syncthreads()  # every warp's sum is there
    if tx < 32:
        acc = float32(0)
        if tx < cuda.blockDim.x // 32:
            acc = parts[tx]
        for step in (16, 8, 4, 2, 1):
            acc += cuda.shfl_down_sync(0xFFFFFFFF, acc, step)
        if tx == 0:
            out[cuda.blockIdx.x] = acc


@cuda.jit
def vote_compact(out, inp, limit):
    """Values above a limit, packed to the front of each warp's part by a ballot."""
    at = cuda.grid(1)
    lane = at % 32
    kept = inp[at] > limit
    mask = cuda.ballot_sync(0xFFFFFFFF, kept)
    before = cuda.popc(mask & ((1 << lane) - 1))
    if kept:
        out[at - lane + before] = inp[at]


def _at(kernel: Any, said: str, place: Any, active: Any = ALL) -> Case:
    wide = "16" in kernel.__name__
    dtype, whole, per_lane = (np.uint32, WORDS, 4) if wide else (np.uint64, DOUBLES, 1)
    load = kernel.__name__.startswith("load")

    def make(random: np.random.Generator) -> tuple[Any, ...]:
        sizes = (32 * per_lane, whole) if load else (whole, 32 * per_lane)
        out, inp = empty(sizes[0], dtype=dtype), numbers(random, sizes[1], dtype=dtype)
        return out, inp, np.array(place, np.int32), np.array(active, np.int32)

    return Case(f"{kernel.__name__} {said}", kernel, (1,), (32,), make)


def _copied(dtype: Any) -> Case:
    size = 64 * (16 // np.dtype(dtype).itemsize)
    return Case(
        f"copy16 {np.dtype(dtype).name}",
        wide_copy(dtype),
        (1,),
        (64,),
        lambda random: (empty(size, dtype=dtype), numbers(random, size, dtype=dtype)),
    )


def _sums(kernel: Any, grid: int, block: int, results: int, *more: Any) -> Case:
    return Case(
        f"{kernel.__name__} {grid} x {block}",
        kernel,
        (grid,),
        (block,),
        lambda random: (empty(results), numbers(random, grid * block), *more),
    )


HALF = (_LANES < 16).astype(np.int32)
PATTERNS = {
    "neighbours": (_LANES, ALL),
    "all one": (np.zeros(32), ALL),
    "pairs (i, i ^ 1)": (_LANES // 2, ALL),
    "pairs (i, i ^ 2)": (_LANES // 4 * 2 + _LANES % 2, ALL),
    "pairs far apart": (_LANES // 2 * 8, ALL),
    "every second": (_LANES * 2, ALL),
    "every eighth": (_LANES * 8, ALL),
    "halves alike": (_LANES % 16, ALL),
    "first half": (_LANES * 3, HALF),
    "odd lanes": (_LANES * 5, _LANES % 2),
    "lanes 0, 1 of each 4": (_LANES * 7 % 256, (_LANES % 4 < 2).astype(np.int32)),
    "scattered": (_LANES * 37 % 101, ALL),
    # in these the patched counter and the hardware's differ
    "half in pairs ^ 1, half ^ 2": (
        _LANES // 8 * 2 + np.where(_LANES < 16, _LANES // 2, _LANES) % 2,
        ALL,
    ),
    "lanes 15 and 16": (np.full(32, 4), np.isin(_LANES, (15, 16)).astype(np.int32)),
    "fours": (np.repeat([0, 8, 1, 9, 4, 12, 5, 13], 4), ALL),
}
CASES = (
    *(
        _at(kernel, said, *pattern)
        for kernel in (load16_at, load8_at)
        for said, pattern in PATTERNS.items()
    ),
    *(
        _at(kernel, said, *PATTERNS[said])
        for kernel in (store16_at, store8_at)
        for said in ("neighbours", "every second", "every eighth", "first half", "scattered")
    ),
    *(_copied(dtype) for dtype in (np.uint8, np.uint16, np.float32, np.float64)),
    Case(
        "turned_by_one",
        turned_by_one,
        (1,),
        (96,),
        lambda random: (empty(96), numbers(random, 1024)),
    ),
    _sums(warp_sum, 2, 64, 4),
    _sums(block_sum, 2, 128, 2),
    _sums(vote_compact, 2, 64, 128, np.float32(40)),
)
