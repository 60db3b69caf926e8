"""transpose_naive: out = inp.T, one element per thread, loads along rows.

Launch with blocks of 32x32 threads, one per 32x32 elements of inp.
"""

from __future__ import annotations

from numba import cuda


@cuda.jit
def transpose_naive(out, inp):
    """out = inp.T.  Each thread moves one element from global memory to global memory."""
    col, row = cuda.grid(2)
    if row < inp.shape[0] and col < inp.shape[1]:
        out[col, row] = inp[row, col]  # load: 4 sectors    store: 32 sectors
