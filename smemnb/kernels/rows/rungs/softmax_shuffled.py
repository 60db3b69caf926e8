"""softmax_shuffled: the softmax of every row, the warps' maxima and sums by shuffles.

Launch with blocks of 256 threads, one block per row; rows of at most 8192 elements.
"""

from __future__ import annotations

import math

from numba import cuda, float32

from ...unrolled import jit

THREADS = 256
WARPS = THREADS // 32
MOST = 8192  # elements of a row: 32 KiB
ALL = 0xFFFFFFFF  # every lane takes part in a shuffle
LOWEST = float32(-3.4028234663852886e38)  # the lowest finite number: where a maximum begins


@jit(launch_bounds=(THREADS, 1))
def softmax_shuffled(out, inp):
    """The softmax of every row.  As softmax_staged, but lanes exchange by shuffles."""
    tops = cuda.shared.array(WARPS, float32)
    sums = cuda.shared.array(WARPS, float32)
    staged = cuda.shared.array(MOST, float32)
    tx, row = cuda.threadIdx.x, cuda.blockIdx.x
    warp, lane = tx // 32, tx % 32

    # 1. each thread's maximum and sum      global: 4 sectors    shared: 1 wavefront
    top = LOWEST
    acc = float32(0)
    for col in range(tx, inp.shape[1], THREADS):
        value = inp[row, col]
        staged[col] = value  # no barrier: a thread reads what it stored itself
        if value > top:
            acc *= math.exp(top - value)
            top = value
        acc += math.exp(value - top)

    # 2. the warp's maximum, then the block's: each warp takes it from the 8 words
    own = top
    for mask in (16, 8, 4, 2, 1):
        top = max(top, cuda.shfl_xor_sync(ALL, top, mask))
    if lane == 0:
        tops[warp] = top  # shared: 1 wavefront
    cuda.syncthreads()  # the maxima of all warps are there before anyone compares
    top = tops[lane % WARPS]  # shared: 1 wavefront
    for mask in (4, 2, 1):
        top = max(top, cuda.shfl_xor_sync(ALL, top, mask))

    # 3. the sums likewise, in words of their own
    acc *= math.exp(own - top)
    for mask in (16, 8, 4, 2, 1):
        acc += cuda.shfl_xor_sync(ALL, acc, mask)
    if lane == 0:
        sums[warp] = acc  # shared: 1 wavefront
    cuda.syncthreads()  # the sums of all warps are there before anyone adds
    acc = sums[lane % WARPS]  # shared: 1 wavefront
    for mask in (4, 2, 1):
        acc += cuda.shfl_xor_sync(ALL, acc, mask)

    # 4. the quotients                      shared: 1 wavefront    global: 4 sectors for each store
    for col in range(tx, inp.shape[1], THREADS):
        out[row, col] = math.exp(staged[col] - top) / acc
