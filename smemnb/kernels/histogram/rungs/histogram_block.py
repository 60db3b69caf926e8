"""histogram_block: as histogram_global, but a block counts in shared memory first.

Launch with blocks of 256 threads, as many as the GPU holds; out holds zeros.
"""

from __future__ import annotations

from numba import cuda, uint32

from ...unrolled import jit

BINS = 256  # every value of a byte has one
THREADS = 256


@jit(launch_bounds=(THREADS, 1))
def histogram_block(out, x):
    """out[k] += the number of elements of x that are k.  A block has counters of its own."""
    part = cuda.shared.array(BINS, uint32)
    tx = uint32(cuda.threadIdx.x)

    # 1. the block's counters begin at 0      shared: 1 wavefront
    part[tx] = 0
    cuda.syncthreads()  # all counters are 0 before anyone adds

    # 2. each element adds 1                  global: 1 sector
    at = uint32(cuda.blockIdx.x * THREADS + tx)
    step = uint32(cuda.gridDim.x * THREADS)
    while at < x.size:
        # the constant 1 merges lanes of one counter: equal values take 1 wavefront, random 3.15
        cuda.atomic.add(part, x[at], 1)
        at = uint32(at + step)
    cuda.syncthreads()  # all have added before anyone reads

    # 3. the block's counts are added to out  shared: 1 wavefront    global: 8 sectors
    cuda.atomic.add(out, tx, part[tx])
