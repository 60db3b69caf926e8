"""histogram_global: out[k] = how many elements of x are k, by an atomic of global memory for each.

Launch with blocks of any number of threads, and as many blocks as the GPU holds; out holds zeros.
"""

from __future__ import annotations

from numba import cuda, uint32

from ...unrolled import jit


@jit()
def histogram_global(out, x):
    """out[k] += the number of elements of x that are k.  Each one adds 1 in global memory."""
    at = uint32(cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x)
    step = uint32(cuda.gridDim.x * cuda.blockDim.x)
    while at < x.size:
        # 1. an element of 1 byte per lane    global: 1 sector
        value = x[at]
        # 2. its counter                      global: a sector for each distinct 32 bytes of out
        cuda.atomic.add(out, value, 1)
        at = uint32(at + step)
