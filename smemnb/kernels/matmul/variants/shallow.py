"""Products of a shallow depth: the result is written once, and that takes the time.

`matmul_shallow_of(steps, ...)` makes the kernel `(out, a, b, alpha, beta)` for a depth of at most
`steps`. A thread keeps all steps of its 4 columns of b in registers, and goes down the rows of its
piece of the result: for each row it reads the row's elements of a, the same as all lanes of its
warp, and stores 4 columns. Neighbouring lanes store neighbouring columns, by 16 bytes where rows of
the result begin at multiples of 16 bytes.

**Limits**: flat offsets are 32 bits without a sign.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from numba import cuda, float32, uint32

from ...ptx import load1, load16, store1, store16
from ...ptx.asynchronous import await_previous
from ...unrolled import device, jit, named, smaller, unroll

WARP, WARPS, QUAD = 32, 4, 4
THREADS = WARP * WARPS
COLUMNS = WARP * QUAD
"""Columns of a block: all its warps have the same, each takes rows of its own."""
TOGETHER = 4
"""Rows whose elements of a are loaded at once."""
STEPS = (1, 2, 3, 4, 6, 8, 12, 16)
"""Depths that kernels are made for; one between two takes the next, and skips what is not there."""

TURN = WARPS * TOGETHER
"""Rows of a block at a time."""


@cache
def matmul_shallow_of(
    steps: int,
    a_columns: bool = False,
    b_columns: bool = False,
    wide_out: bool = False,
    name: str = "matmul_shallow",
) -> Any:
    """The kernel, with the grid (pieces of `COLUMNS` columns, pieces of the rows).

    Each block of the grid's second axis takes every `gridDim.y`-th group of `WARPS * TOGETHER`
    rows.

    Args:
        steps: of the depth at most.
        a_columns: a lies by columns; the array passed is a.T, which lies by rows.
        b_columns: the same of b.
        wide_out: rows of the result begin at multiples of 16 bytes, and hold whole quads.
        name: of the kernel.
    """
    sure = max([0, *(one for one in STEPS if one < steps)])
    apart, near = (1, QUAD) if wide_out else (WARP, 1)
    fetch_b, fetch_a = _fetched_b(steps, sure, apart), _fetched_a(steps, sure, a_columns)
    row, pitch = _row(steps, wide_out), steps | 1
    stage_b, take_b = _staged_b(steps, pitch), _taken_b(steps, pitch, apart)
    size = COLUMNS * pitch if b_columns else 1

    @device
    def one_row(r, out, acc, a_part, b_part, first, last, col, cols, scale, keep):
        at = uint32(first + r)
        if at < last:
            row(r, out, acc, a_part, b_part, at, col, cols, scale, keep)

    all_rows = unroll(TOGETHER, one_row)

    @jit(launch_bounds=THREADS)
    def shallow_product(out, a, b, alpha, beta):
        shared = cuda.shared.array(size, float32)
        a_part = cuda.local.array((TOGETHER, steps), float32)
        b_part = cuda.local.array((steps, QUAD), float32)
        acc = cuda.local.array(QUAD, float32)
        rows, cols = uint32(out.shape[0]), uint32(out.shape[1])
        depth = uint32(a.shape[0]) if a_columns else uint32(a.shape[1])
        lane, warp = uint32(cuda.threadIdx.x % WARP), uint32(cuda.threadIdx.x // WARP)
        col = uint32(cuda.blockIdx.x * COLUMNS + lane * uint32(near))
        first = uint32(cuda.blockIdx.y * uint32(TURN) + warp * uint32(TOGETHER))
        scale, keep = float32(alpha), float32(beta)
        await_previous()
        if b_columns:
            stage_b(b, shared, uint32(cuda.blockIdx.x * COLUMNS), cols, depth)
            cuda.syncthreads()  # the columns are there before anyone reads them
        if col < cols and first < rows:
            if b_columns:
                take_b((shared, b_part, uint32(lane * uint32(near))))
            else:
                fetch_b((b, b_part, col, cols, depth))
            while first < rows:
                fetch_a((a, a_part, first, rows, depth))
                all_rows((out, acc, a_part, b_part, first, rows, col, cols, scale, keep))
                first = uint32(first + cuda.gridDim.y * uint32(TURN))

    return named(shallow_product, name)


def _fetched_b(steps: int, sure: int, apart: int) -> Any:
    """All steps of 4 columns; 0 behind the depth. Columns beyond the last are those of the last."""

    @device
    def step(k, b, b_part, col, cols, depth):
        pitch = uint32(b.strides[0] // 4)
        there = k < sure or uint32(k) < depth
        for q in range(QUAD):
            this = smaller(uint32(col + q * apart), uint32(cols - uint32(1)))
            b_part[k, q] = float32(0)
            if there:
                b_part[k, q] = load1(b, uint32(uint32(k) * pitch + this))

    return unroll(steps, step)


def _staged_b(steps: int, pitch: int) -> Any:
    """The block's columns of a b that lies by columns, to shared memory, 0 behind the depth.

    Neighbouring threads load neighbours along the depth. The pitch is odd, so that lanes read
    neighbouring columns from banks of their own.
    """

    @device
    def stage(b, shared, first, cols, depth):
        pitch_of = uint32(b.strides[0] // 4)
        for turn in range(steps):
            at = uint32(cuda.threadIdx.x + turn * THREADS)
            col, k = uint32(at // uint32(steps)), uint32(at % uint32(steps))
            this = smaller(uint32(first + col), uint32(cols - uint32(1)))
            value = float32(0)
            if k < depth:
                value = load1(b, uint32(this * pitch_of + k))
            store1(shared, uint32(col * uint32(pitch) + k), value)

    return stage


def _taken_b(steps: int, pitch: int, apart: int) -> Any:
    """All steps of 4 columns, from there."""

    @device
    def step(k, shared, b_part, col):
        for q in range(QUAD):
            b_part[k, q] = load1(shared, uint32(uint32(col + q * apart) * uint32(pitch) + k))

    return unroll(steps, step)


def _fetched_a(steps: int, sure: int, a_columns: bool) -> Any:
    """All steps of some rows, which lie one below the other."""

    @device
    def step(k, a, a_part, first, rows, depth):
        pitch = uint32(a.strides[0] // 4)
        there = k < sure or uint32(k) < depth
        for r in range(TOGETHER):
            this = smaller(uint32(first + r), uint32(rows - uint32(1)))
            a_part[r, k] = float32(0)
            if there:
                if a_columns:
                    a_part[r, k] = load1(a, uint32(uint32(k) * pitch + this))
                else:
                    a_part[r, k] = load1(a, uint32(this * pitch + uint32(k)))

    return unroll(steps, step)


def _row(steps: int, wide_out: bool) -> Any:
    """One row's 4 columns: multiply, and store what lies inside."""

    @device
    def product(k, r, acc, a_part, b_part):
        for q in range(QUAD):
            acc[q] += a_part[r, k] * b_part[k, q]

    products = unroll(steps, product)

    @device
    def wide(r, out, acc, a_part, b_part, at, col, cols, scale, keep):
        for q in range(QUAD):
            acc[q] = float32(0)
        products((r, acc, a_part, b_part))
        to = uint32(at * uint32(out.strides[0] // 4) + col)
        v0, v1, v2, v3 = scale * acc[0], scale * acc[1], scale * acc[2], scale * acc[3]
        if keep != float32(0):
            old = load16(out, to)
            v0, v1, v2, v3 = (
                v0 + keep * old[0],
                v1 + keep * old[1],
                v2 + keep * old[2],
                v3 + keep * old[3],
            )
        store16(out, to, (v0, v1, v2, v3))

    @device
    def narrow(r, out, acc, a_part, b_part, at, col, cols, scale, keep):
        for q in range(QUAD):
            acc[q] = float32(0)
        products((r, acc, a_part, b_part))
        to = uint32(at * uint32(out.strides[0] // 4) + col)
        for q in range(QUAD):
            if col + uint32(q * WARP) < cols:
                value = scale * acc[q]
                if keep != float32(0):
                    value += keep * load1(out, uint32(to + q * WARP))
                store1(out, uint32(to + q * WARP), value)

    return wide if wide_out else narrow
