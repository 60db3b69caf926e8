"""matmul_naive: every thread walks a row of a and a column of b in global memory.

Launch with blocks of 16x16 threads and a grid of ceil(cols / 16) x ceil(rows / 16) blocks, where
out has rows x cols elements; any shapes with a.shape[1] == b.shape[0] will do, 0 included.

Taught in the chapter on tiled multiplication.
"""

from __future__ import annotations

from numba import cuda, float32


@cuda.jit
def matmul_naive(out, a, b):
    """out = a @ b.  One thread per element of out, straight from global memory."""
    col, row = cuda.grid(2)
    if row < out.shape[0] and col < out.shape[1]:
        acc = float32(0)
        for k in range(a.shape[1]):
            acc += a[row, k] * b[k, col]  # a: 2 sectors    b: 2 sectors
        out[row, col] = acc  # 4 sectors: two rows of 16
