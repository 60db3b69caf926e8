"""Kernels in the manner of well-known tutorials: sums, scans, stencils, sorts, products, rows.

Written for this set; what they have in common with a tutorial is the idea alone.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import cuda, float32, int32

from ...measure.verify.case import Case, empty, numbers

THREADS = 128
TILE = 16
HALO = 3
WINDOW = THREADS + 2 * HALO
STEP = TILE + 2
PAIRS = 2 * THREADS


@cuda.jit
def add(out, a, b):
    """out = a + b, one element per thread."""
    at = cuda.grid(1)
    if at < out.shape[0]:
        out[at] = a[at] + b[at]


@cuda.jit
def axpy_striding(out, x, y, alpha):
    """out = alpha * x + y, threads striding over the grid."""
    for at in range(cuda.grid(1), out.shape[0], cuda.gridsize(1)):
        out[at] = alpha * x[at] + y[at]


@cuda.jit
def reverse(out, inp):
    """A block's part backwards, through shared memory."""
    part = cuda.shared.array(THREADS, float32)
    tx = cuda.threadIdx.x
    part[tx] = inp[cuda.grid(1)]
    cuda.syncthreads()  # the part is full before anyone reads it
    out[cuda.blockIdx.x * THREADS + THREADS - 1 - tx] = part[THREADS - 1 - tx]


@cuda.jit
def reverse_dynamic(out, inp):
    """As reverse, in dynamic shared memory."""
    part = cuda.shared.array(0, float32)
    tx = cuda.threadIdx.x
    part[tx] = inp[tx]
    cuda.syncthreads()  # the part is full before anyone reads it
    out[tx] = part[cuda.blockDim.x - 1 - tx]


@cuda.jit
def sum_interleaved(out, inp):
    """A block's sum as a tree: neighbours first, threads 2 * step apart at work."""
    part = cuda.shared.array(THREADS, float32)
    tx = cuda.threadIdx.x
    part[tx] = inp[cuda.grid(1)]
    cuda.syncthreads()  # the part is full before anyone adds
    step = 1
    while step < cuda.blockDim.x:
        if tx % (2 * step) == 0:
            part[tx] += part[tx + step]
        cuda.syncthreads()  # this level is done before the next begins
        step *= 2
    if tx == 0:
        out[cuda.blockIdx.x] = part[0]


@cuda.jit
def sum_strided(out, inp):
    """As sum_interleaved, neighbouring threads at work: their words lie 2 * step apart."""
    part = cuda.shared.array(THREADS, float32)
    tx = cuda.threadIdx.x
    part[tx] = inp[cuda.grid(1)]
    cuda.syncthreads()  # the part is full before anyone adds
    step = 1
    while step < cuda.blockDim.x:
        at = 2 * step * tx
        if at < cuda.blockDim.x:
            part[at] += part[at + step]
        cuda.syncthreads()  # this level is done before the next begins
        step *= 2
    if tx == 0:
        out[cuda.blockIdx.x] = part[0]


@cuda.jit
def sum_halving(out, inp):
    """As sum_strided, the far half added to the near one: neighbouring words."""
    part = cuda.shared.array(THREADS, float32)
    tx = cuda.threadIdx.x
    part[tx] = inp[cuda.grid(1)]
    cuda.syncthreads()  # the part is full before anyone adds
    step = cuda.blockDim.x // 2
    while step > 0:
        if tx < step:
            part[tx] += part[tx + step]
        cuda.syncthreads()  # this level is done before the next begins
        step //= 2
    if tx == 0:
        out[cuda.blockIdx.x] = part[0]


@cuda.jit
def scan_doubling(out, inp):
    """Running sums of a block, two buffers in turn, distance doubled each time."""
    part = cuda.shared.array((2, THREADS), float32)
    tx = cuda.threadIdx.x
    now = 0
    part[0, tx] = inp[cuda.grid(1)]
    cuda.syncthreads()  # the part is full before anyone adds
    step = 1
    while step < cuda.blockDim.x:
        value = part[now, tx]
        if tx >= step:
            value += part[now, tx - step]
        now = 1 - now
        part[now, tx] = value
        cuda.syncthreads()  # this level is whole before the next begins
        step *= 2
    out[cuda.grid(1)] = part[now, tx]


@cuda.jit
def scan_tree(out, inp):
    """Running sums before each element, up and down a tree: words 2, 4, 8 ... apart."""
    part = cuda.shared.array(PAIRS, float32)
    tx = cuda.threadIdx.x
    size = PAIRS
    part[2 * tx] = inp[2 * tx]
    part[2 * tx + 1] = inp[2 * tx + 1]
    step = 1
    at = size // 2
    while at > 0:
        cuda.syncthreads()  # the level below is whole
        if tx < at:
            left = step * (2 * tx + 1) - 1
            part[left + step] += part[left]
        step *= 2
        at //= 2
    cuda.syncthreads()  # the total is there
    if tx == 0:
        part[size - 1] = float32(0)
    at = 1
    while at < size:
        step //= 2
        cuda.syncthreads()  # the level above is whole
        if tx < at:
            left = step * (2 * tx + 1) - 1
            kept = part[left]
            part[left] = part[left + step]
            part[left + step] += kept
        at *= 2
    cuda.syncthreads()  # the sums are whole
    out[2 * tx] = part[2 * tx]
    out[2 * tx + 1] = part[2 * tx + 1]


@cuda.jit
def stencil_line(out, inp):
    """Sums over 7 neighbours of a line, halo in shared memory."""
    part = cuda.shared.array(WINDOW, float32)
    tx = cuda.threadIdx.x
    at = cuda.grid(1)
    for place in range(tx, WINDOW, THREADS):
        there = cuda.blockIdx.x * THREADS + place - HALO
        value = float32(0)
        if there >= 0 and there < inp.shape[0]:
            value = inp[there]
        part[place] = value
    cuda.syncthreads()  # the window is full before anyone reads it
    if at < out.shape[0]:
        acc = float32(0)
        for by in range(2 * HALO + 1):
            acc += part[tx + by]
        out[at] = acc


@cuda.jit
def blur(out, inp):
    """Means of 3x3 neighbours of an image, a ring of cells around the tile."""
    tile = cuda.shared.array((STEP, STEP), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    for y in range(ty, STEP, TILE):
        for x in range(tx, STEP, TILE):
            there_y = cuda.blockIdx.y * TILE + y - 1
            there_x = cuda.blockIdx.x * TILE + x - 1
            value = float32(0)
            if 0 <= there_y < inp.shape[0] and 0 <= there_x < inp.shape[1]:
                value = inp[there_y, there_x]
            tile[y, x] = value
    cuda.syncthreads()  # tile and ring are full before anyone reads them
    if row < out.shape[0] and col < out.shape[1]:
        acc = float32(0)
        for y in range(3):
            for x in range(3):
                acc += tile[ty + y, tx + x]
        out[row, col] = acc / float32(9)


@cuda.jit
def product_tiled(out, a, b):
    """out = a @ b by tiles of 16x16, zeros beyond the edges."""
    a_tile = cuda.shared.array((TILE, TILE), float32)
    b_tile = cuda.shared.array((TILE, TILE), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    acc = float32(0)
    for first in range(0, a.shape[1], TILE):
        a_tile[ty, tx] = float32(0)
        b_tile[ty, tx] = float32(0)
        if row < a.shape[0] and first + tx < a.shape[1]:
            a_tile[ty, tx] = a[row, first + tx]
        if first + ty < b.shape[0] and col < b.shape[1]:
            b_tile[ty, tx] = b[first + ty, col]
        cuda.syncthreads()  # both tiles are full before anyone reads them
        for k in range(TILE):
            acc += a_tile[ty, k] * b_tile[k, tx]
        cuda.syncthreads()  # everyone has read before the next tiles come
    if row < out.shape[0] and col < out.shape[1]:
        out[row, col] = acc


@cuda.jit
def sort_bitonic(out, inp):
    """A block's keys sorted by a network of compare-and-exchange steps."""
    keys = cuda.shared.array(THREADS, int32)
    tx = cuda.threadIdx.x
    keys[tx] = inp[tx]
    cuda.syncthreads()  # the keys are there before anyone compares
    length = 2
    while length <= THREADS:
        apart = length // 2
        while apart > 0:
            other = tx ^ apart
            if other > tx:
                mine, yours = keys[tx], keys[other]
                if (mine > yours) == ((tx & length) == 0):
                    keys[tx] = yours
                    keys[other] = mine
            cuda.syncthreads()  # this step is done before the next begins
            apart //= 2
        length *= 2
    out[tx] = keys[tx]


@cuda.jit
def softmax_rows(out, inp):
    """exp(inp - max) / sum of each row, a block per row."""
    part = cuda.shared.array(THREADS, float32)
    tx, row = cuda.threadIdx.x, cuda.blockIdx.x
    part[tx] = inp[row, tx]
    cuda.syncthreads()  # the row is there
    step = THREADS // 2
    while step > 0:
        if tx < step:
            part[tx] = max(part[tx], part[tx + step])
        cuda.syncthreads()  # this level is done before the next begins
        step //= 2
    largest = part[0]
    cuda.syncthreads()  # everyone has the maximum before the words are used again
    value = math.exp(inp[row, tx] - largest)
    part[tx] = value
    cuda.syncthreads()  # the terms are there
    step = THREADS // 2
    while step > 0:
        if tx < step:
            part[tx] += part[tx + step]
        cuda.syncthreads()  # this level is done before the next begins
        step //= 2
    out[row, tx] = value / part[0]


@cuda.jit
def bodies(out, place, mass):
    """Pulls of all bodies on each, by tiles of bodies in shared memory."""
    x = cuda.shared.array(THREADS, float32)
    m = cuda.shared.array(THREADS, float32)
    tx, at = cuda.threadIdx.x, cuda.grid(1)
    mine = place[at]
    acc = float32(0)
    for first in range(0, place.shape[0], THREADS):
        x[tx] = place[first + tx]
        m[tx] = mass[first + tx]
        cuda.syncthreads()  # the tile of bodies is there
        for k in range(THREADS):
            apart = x[k] - mine
            acc += m[k] * apart / (apart * apart + float32(1))
        cuda.syncthreads()  # everyone has read before the next tile comes
    out[at] = acc


@cuda.jit
def generation(out, inp):
    """A step of the game of life on a torus."""
    col, row = cuda.grid(2)
    rows, cols = inp.shape
    if row < rows and col < cols:
        alive = int32(0)
        for dy in range(-1, 2):
            for dx in range(-1, 2):
                if dy != 0 or dx != 0:
                    alive += inp[(row + dy + rows) % rows, (col + dx + cols) % cols]
        out[row, col] = 1 if alive == 3 or (alive == 2 and inp[row, col] == 1) else 0


def _line(kernel: Any, blocks: int, results: int, size: int = 0, dtype: Any = np.float32) -> Case:
    given = size or blocks * THREADS
    return Case(
        f"{kernel.__name__} {blocks} x {THREADS}",
        kernel,
        (blocks,),
        (THREADS,),
        lambda random: (empty(results, dtype=dtype), numbers(random, given, dtype=dtype)),
    )


def _plane(kernel: Any, rows: int, cols: int, dtype: Any = np.float32) -> Case:
    grid = (-(-cols // TILE), -(-rows // TILE))
    return Case(
        f"{kernel.__name__} {rows} x {cols}",
        kernel,
        grid,
        (TILE, TILE),
        lambda random: (
            empty(rows, cols, dtype=dtype),
            numbers(random, rows, cols, dtype=dtype) % dtype(2 if dtype is np.int32 else 97),
        ),
    )


def _product(rows: int, cols: int, depth: int) -> Case:
    return Case(
        f"product_tiled {rows} x {cols} x {depth}",
        product_tiled,
        (-(-cols // TILE), -(-rows // TILE)),
        (TILE, TILE),
        lambda r: (empty(rows, cols), numbers(r, rows, depth), numbers(r, depth, cols)),
    )


CASES = (
    Case("add, ragged", add, (3,), (96,), lambda r: (empty(250), numbers(r, 250), numbers(r, 250))),
    Case(
        "axpy_striding, ragged",
        axpy_striding,
        (2,),
        (64,),
        lambda r: (empty(333), numbers(r, 333), numbers(r, 333), np.float32(2.5)),
    ),
    _line(reverse, 3, 3 * THREADS),
    Case(
        "reverse_dynamic 96",
        reverse_dynamic,
        (1,),
        (96,),
        lambda random: (empty(96), numbers(random, 96)),
        shared_bytes=384,
    ),
    _line(sum_interleaved, 2, 2),
    _line(sum_strided, 2, 2),
    _line(sum_halving, 2, 2),
    _line(scan_doubling, 2, 2 * THREADS),
    _line(scan_tree, 1, 2 * THREADS, 2 * THREADS),
    _line(stencil_line, 3, 300, 300),
    _plane(blur, 32, 32),
    _plane(blur, 37, 29),
    _product(32, 32, 32),
    _product(40, 35, 21),
    _line(sort_bitonic, 1, THREADS, dtype=np.int32),
    Case(
        "softmax_rows 3",
        softmax_rows,
        (3,),
        (THREADS,),
        lambda random: (empty(3, THREADS), numbers(random, 3, THREADS)),
    ),
    Case(
        "bodies 256",
        bodies,
        (2,),
        (THREADS,),
        lambda random: (empty(256), numbers(random, 256), numbers(random, 256)),
    ),
    _plane(generation, 24, 40, np.int32),
)
