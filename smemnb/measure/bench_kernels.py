"""Kernels that the engine is timed with besides those of the package: divergent loops, atomics.

Each has a maker `size -> (kernel, grid, block, arguments)` in `MAKERS`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import cuda, float32, int32

Dim3 = tuple[int, int, int]
Launched = tuple[Any, Dim3, Dim3, tuple[Any, ...]]
BINS = 64
LONGEST_ROW = 64  # the cost of a divergent loop in the engine goes with its longest lane
THREADS = 128


@cuda.jit
def csr_matvec(out, start, column, value, x):
    """out = A @ x for A in compressed rows: a thread per row, rows of very different lengths."""
    row = cuda.grid(1)
    if row < out.size:
        acc = float32(0)
        for at in range(start[row], start[row + 1]):
            acc += value[at] * x[column[at]]
        out[row] = acc


@cuda.jit
def mandelbrot(out, most):
    """Rounds until a point leaves the circle of radius 2, `most` if it stays; a thread each."""
    col, row = cuda.grid(2)
    if row < out.shape[0] and col < out.shape[1]:
        real = float32(-2) + float32(3) * float32(col) / float32(out.shape[1])
        imaginary = float32(-1.5) + float32(3) * float32(row) / float32(out.shape[0])
        x, y = float32(0), float32(0)
        rounds = 0
        while rounds < most and x * x + y * y <= float32(4):
            x, y = x * x - y * y + real, float32(2) * x * y + imaginary
            rounds += 1
        out[row, col] = rounds


@cuda.jit
def histogram(out, values):
    """Adds up how often each value occurs: atomics on a shared copy, then on `out`."""
    counts = cuda.shared.array(BINS, int32)
    tx = cuda.threadIdx.x
    for at in range(tx, BINS, cuda.blockDim.x):
        counts[at] = 0
    cuda.syncthreads()  # the copy is zero before anyone adds
    for at in range(cuda.grid(1), values.size, cuda.gridsize(1)):
        cuda.atomic.add(counts, values[at], 1)
    cuda.syncthreads()  # all have added before the copy is read
    for at in range(tx, BINS, cuda.blockDim.x):
        cuda.atomic.add(out, at, counts[at])


def _csr(size: int) -> Launched:
    random = np.random.default_rng(size)
    lengths = np.minimum(random.pareto(1.2, size) * 4, LONGEST_ROW).astype(np.int32)
    start = np.zeros(size + 1, np.int32)
    np.cumsum(lengths, out=start[1:])
    column = random.integers(0, size, start[-1], dtype=np.int32)
    value = random.random(start[-1], dtype=np.float32)
    x, out = random.random(size, dtype=np.float32), np.zeros(size, np.float32)
    blocks = -(-size // THREADS)
    return csr_matvec, (blocks, 1, 1), (THREADS, 1, 1), (out, start, column, value, x)


def _mandelbrot(size: int) -> Launched:
    blocks = -(-size // 16)
    return mandelbrot, (blocks, blocks, 1), (16, 16, 1), (np.zeros((size, size), np.int32), 100)


def _histogram(size: int) -> Launched:
    values = (np.random.default_rng(size).random(size) ** 3 * BINS).astype(np.int32)
    blocks = max(1, size // (THREADS * 4))
    return histogram, (blocks, 1, 1), (THREADS, 1, 1), (np.zeros(BINS, np.int32), values)


MAKERS: dict[str, Callable[[int], Launched]] = {
    "csr_matvec": _csr,
    "mandelbrot": _mandelbrot,
    "histogram": _histogram,
}
