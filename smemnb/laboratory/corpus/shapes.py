"""Blocks of two and three dimensions, ragged edges, partial warps, branches that part lanes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import cuda, float32, int32

from ...measure.verify.case import Case, empty, numbers

EDGE = 32
PAD = EDGE + 1


@cuda.jit
def rows_to_columns(out, inp):
    """A block's tile, read by column: out[y, x] = inp[x, y] within the tile."""
    tile = cuda.shared.array((EDGE, EDGE), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    tile[ty, tx] = inp[ty, tx]
    cuda.syncthreads()  # the tile is full before anyone reads it
    out[tx, ty] = tile[tx % cuda.blockDim.y, ty % cuda.blockDim.x]


@cuda.jit
def rows_to_columns_padded(out, inp):
    """As rows_to_columns, a pad word per row of the tile."""
    tile = cuda.shared.array((EDGE, PAD), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    tile[ty, tx] = inp[ty, tx]
    cuda.syncthreads()  # the tile is full before anyone reads it
    out[tx, ty] = tile[tx % cuda.blockDim.y, ty % cuda.blockDim.x]


@cuda.jit
def cube_turned(out, inp):
    """A block of three dimensions: the axes in reverse, through shared memory."""
    tile = cuda.shared.array((8, 8, 8), float32)
    tx, ty, tz = cuda.threadIdx.x, cuda.threadIdx.y, cuda.threadIdx.z
    tile[tz, ty, tx] = inp[tz, ty, tx]
    cuda.syncthreads()  # the tile is full before anyone reads it
    out[tx, ty, tz] = tile[tz, ty, tx] + tile[tz, tx % cuda.blockDim.y, ty % cuda.blockDim.x]


@cuda.jit
def shifted(out, inp, by):
    """out = inp, each element `by` places further: requests that begin between sectors."""
    at = cuda.grid(1)
    if at + by < out.shape[0]:
        out[at + by] = inp[at]


@cuda.jit
def gathered(out, inp, place):
    """out[i] = inp[place[i]]."""
    at = cuda.grid(1)
    if at < out.shape[0]:
        out[at] = inp[place[at]]


@cuda.jit
def parted(out, inp):
    """Even and odd lanes take different ways through shared memory."""
    tile = cuda.shared.array(256, float32)
    tx = cuda.threadIdx.x
    tile[tx] = inp[tx]
    cuda.syncthreads()  # the tile is full before anyone reads it
    if tx % 2 == 0:
        out[tx] = tile[tx * 4 % cuda.blockDim.x] * float32(3)
    else:
        out[tx] = tile[cuda.blockDim.x - 1 - tx] + float32(1)


@cuda.jit
def three_ways(out, inp, limit):
    """Lanes leave early, take a branch within a branch, or read a column."""
    tile = cuda.shared.array(1024, float32)
    tx = cuda.threadIdx.x
    for at in range(tx, 1024, cuda.blockDim.x):
        tile[at] = inp[at]
    cuda.syncthreads()  # the tile is full before anyone reads it
    if tx >= limit:
        return
    if inp[tx] > float32(50):
        if tx % 3 == 0:
            out[tx] = tile[tx * 32 % 1024]
        else:
            out[tx] = -tile[tx]


@cuda.jit
def trips(out, inp, count):
    """Each lane goes round its own number of times, reading further on each time."""
    tile = cuda.shared.array(1024, float32)
    tx = cuda.threadIdx.x
    for at in range(tx, 1024, cuda.blockDim.x):
        tile[at] = inp[at]
    cuda.syncthreads()  # the tile is full before anyone reads it
    acc = float32(0)
    at = int32(tx)
    for _ in range(count[tx]):
        acc += tile[at]
        at = (at * 5 + 33) % 1024
    out[tx] = acc


def _tile(kernel: Any, block: tuple[int, ...]) -> Case:
    shape = block[::-1]
    return Case(
        f"{kernel.__name__} block {'x'.join(map(str, block))}",
        kernel,
        (1,),
        block,
        lambda random: (empty(*block), numbers(random, *shape)),
    )


def _cube(block: tuple[int, int, int]) -> Case:
    edge = max(block)
    return Case(
        f"cube_turned block {'x'.join(map(str, block))}",
        cube_turned,
        (1,),
        block,
        lambda random: (empty(edge, edge, edge), numbers(random, edge, edge, edge)),
    )


def _shifted(by: int, size: int, dtype: Any = np.float32) -> Case:
    return Case(
        f"shifted by {by}, {size} of {np.dtype(dtype).name}",
        shifted,
        (-(-size // 64),),
        (64,),
        lambda random: (
            empty(size, dtype=dtype),
            numbers(random, 64 * -(-size // 64), dtype=dtype),
            np.int64(by),
        ),
    )


def _gathered(said: str, step: int, size: int) -> Case:
    return Case(
        f"gathered {said}",
        gathered,
        (-(-size // 96),),
        (96,),
        lambda random: (
            empty(size),
            numbers(random, 4096),
            np.arange(size, dtype=np.int64) * step % 4096,
        ),
    )


def _left(limit: int, block: int) -> Case:
    return Case(
        f"three_ways, {limit} of {block}",
        three_ways,
        (1,),
        (block,),
        lambda random: (empty(256), numbers(random, 1024), np.int64(limit)),
    )


CASES = (
    *(_tile(rows_to_columns, block) for block in ((32, 32), (16, 16), (8, 8), (32, 4), (5, 7))),
    *(_tile(rows_to_columns_padded, block) for block in ((32, 32), (8, 32))),
    _cube((8, 8, 8)),
    _cube((4, 8, 4)),
    *(_shifted(by, 256) for by in (0, 1, 8, 13)),
    _shifted(0, 203),
    _shifted(0, 45),
    _shifted(3, 256, np.uint8),
    _shifted(1, 192, np.float64),
    _shifted(1, 192, np.int16),
    _gathered("every second", 2, 192),
    _gathered("every eighth", 8, 192),
    _gathered("a column of 64", 64, 192),
    _gathered("backwards", -1, 192),
    _gathered("one element", 0, 77),
    Case("parted", parted, (1,), (256,), lambda random: (empty(256), numbers(random, 256))),
    Case("parted, partial warp", parted, (1,), (77,), lambda r: (empty(256), numbers(r, 256))),
    *(_left(limit, block) for limit, block in ((128, 128), (50, 128), (33, 61))),
    Case(
        "trips",
        trips,
        (1,),
        (64,),
        lambda random: (empty(64), numbers(random, 1024), np.arange(64) * 7 % 13),
    ),
)
