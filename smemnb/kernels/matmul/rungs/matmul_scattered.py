"""matmul_scattered: one thread per element of out; neighbouring threads take neighbouring rows.

Launch blocks of 16x16 threads over columns and rows of out, as for matmul_naive. A request for a
touches 16 rows, and so 16 sectors for 16 words.
"""

from __future__ import annotations

from numba import cuda, float32


@cuda.jit
def matmul_scattered(out, a, b):
    """out = a @ b.  As matmul_naive, but threadIdx.x walks along the rows: nothing is coalesced."""
    row = cuda.blockIdx.y * cuda.blockDim.x + cuda.threadIdx.x
    col = cuda.blockIdx.x * cuda.blockDim.y + cuda.threadIdx.y
    if row < out.shape[0] and col < out.shape[1]:
        acc = float32(0)
        for k in range(a.shape[1]):
            acc += a[row, k] * b[k, col]  # a: 16 sectors    b: 1 sector
        out[row, col] = acc  # 16 sectors
