"""softmax_held: the softmax of every row, which waits in registers for its sum.

Launch with blocks of 256 threads, one block per row; rows of at most 8192 elements.
"""

from __future__ import annotations

import math

from numba import cuda, float32

from ...unrolled import jit

THREADS = 256
WARPS = THREADS // 32
HELD = 32  # elements of a thread, one register each
MOST = THREADS * HELD  # elements of a row
RESIDENT = 4  # blocks that a multiprocessor holds: 64 registers for a thread
ALL = 0xFFFFFFFF  # every lane takes part in a shuffle
LOWEST = float32(-3.4028234663852886e38)  # the lowest finite number: where a maximum begins


@jit(launch_bounds=(THREADS, RESIDENT))
def softmax_held(out, inp):
    """The softmax of every row.  As softmax_shuffled, but a thread keeps its part in registers."""
    tops = cuda.shared.array(WARPS, float32)
    sums = cuda.shared.array(WARPS, float32)
    held = cuda.local.array(HELD, float32)
    tx, row = cuda.threadIdx.x, cuda.blockIdx.x
    warp, lane = tx // 32, tx % 32

    # 1. the row into registers             global: 4 sectors
    for k in range(HELD):
        col = tx + k * THREADS
        held[k] = float32(-math.inf)  # exp(-inf) adds nothing to a sum
        if col < inp.shape[1]:
            held[k] = inp[row, col]

    # 2. the warp's maximum, then the block's: each warp takes it from the 8 words
    top = LOWEST
    for k in range(HELD):
        top = max(top, held[k])
    for mask in (16, 8, 4, 2, 1):
        top = max(top, cuda.shfl_xor_sync(ALL, top, mask))
    if lane == 0:
        tops[warp] = top  # shared: 1 wavefront
    cuda.syncthreads()  # the maxima of all warps are there before anyone compares
    top = tops[lane % WARPS]  # shared: 1 wavefront
    for mask in (4, 2, 1):
        top = max(top, cuda.shfl_xor_sync(ALL, top, mask))

    # 3. the sums likewise, in words of their own
    acc = float32(0)
    for k in range(HELD):
        held[k] = math.exp(held[k] - top)
        acc += held[k]
    for mask in (16, 8, 4, 2, 1):
        acc += cuda.shfl_xor_sync(ALL, acc, mask)
    if lane == 0:
        sums[warp] = acc  # shared: 1 wavefront
    cuda.syncthreads()  # the sums of all warps are there before anyone adds
    acc = sums[lane % WARPS]  # shared: 1 wavefront
    for mask in (4, 2, 1):
        acc += cuda.shfl_xor_sync(ALL, acc, mask)

    # 4. the quotients                      global: 4 sectors for each store
    scale = float32(1) / acc
    for k in range(HELD):
        col = tx + k * THREADS
        if col < out.shape[1]:
            out[row, col] = held[k] * scale
