"""transpose_gathered: out = inp.T, one element per thread, stores along rows.

Launch with blocks of 32x32 threads, one per 32x32 elements of inp.
"""

from __future__ import annotations

from numba import cuda


@cuda.jit
def transpose_gathered(out, inp):
    """out = inp.T.  As transpose_naive, but the store goes along a row, the load down a column."""
    out_row = cuda.blockIdx.x * cuda.blockDim.y + cuda.threadIdx.y
    out_col = cuda.blockIdx.y * cuda.blockDim.x + cuda.threadIdx.x
    if out_row < out.shape[0] and out_col < out.shape[1]:
        out[out_row, out_col] = inp[out_col, out_row]  # load: 32 sectors    store: 4 sectors
