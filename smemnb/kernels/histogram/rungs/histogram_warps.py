"""histogram_warps: as histogram_block, but each warp of a block has counters of its own.

Launch with blocks of 256 threads, as many as the GPU holds; out holds zeros.
"""

from __future__ import annotations

from numba import cuda, uint32

from ...unrolled import jit

BINS = 256  # every value of a byte has one
THREADS = 256
WARPS = THREADS // 32
COUNTERS = WARPS * BINS  # of warp w and value k at w * BINS + k


@jit(launch_bounds=(THREADS, 1))
def histogram_warps(out, x):
    """out[k] += the number of elements of x that are k.  A warp has counters of its own."""
    part = cuda.shared.array(COUNTERS, uint32)
    tx = uint32(cuda.threadIdx.x)

    # 1. all counters begin at 0              shared: 1 wavefront
    for warp in range(WARPS):
        part[uint32(warp * BINS + tx)] = 0
    cuda.syncthreads()  # all counters are 0 before anyone adds

    # 2. each element adds 1                  global: 1 sector
    mine = uint32(tx // 32 * BINS)
    at = uint32(cuda.blockIdx.x * THREADS + tx)
    step = uint32(cuda.gridDim.x * THREADS)
    while at < x.size:
        # equal values take 1 wavefront, random 3.15: the lanes of a warp still meet in its banks
        cuda.atomic.add(part, uint32(mine + x[at]), 1)
        at = uint32(at + step)
    cuda.syncthreads()  # all have added before anyone reads

    # 3. the block's counts are added to out  shared: 1 wavefront    global: 8 sectors
    acc = uint32(0)
    for warp in range(WARPS):
        acc = uint32(acc + part[uint32(warp * BINS + tx)])
    cuda.atomic.add(out, tx, acc)
