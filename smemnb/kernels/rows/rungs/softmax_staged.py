"""softmax_staged: the softmax of every row, which waits in shared memory for its sum.

Launch with blocks of 256 threads, one block per row; rows of at most 8192 elements.
"""

from __future__ import annotations

import math

from numba import cuda, float32

from ...unrolled import jit

THREADS = 256
MOST = 8192  # elements of a row: 32 KiB
LOWEST = float32(-3.4028234663852886e38)  # the lowest finite number: where a maximum begins


@jit(launch_bounds=(THREADS, 1))
def softmax_staged(out, inp):
    """The softmax of every row.  As softmax_online, but global memory is read once."""
    shared = cuda.shared.array(THREADS, float32)
    staged = cuda.shared.array(MOST, float32)
    tx, row = cuda.threadIdx.x, cuda.blockIdx.x

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

    # 2. the block's maximum, by halves     shared: 1 wavefront
    shared[tx] = top
    cuda.syncthreads()  # all maxima are there before anyone compares
    half = THREADS // 2
    while half > 0:
        if tx < half:
            shared[tx] = max(shared[tx], shared[tx + half])
        cuda.syncthreads()  # this half is done before the next one reads it
        half //= 2
    own, top = top, shared[0]
    cuda.syncthreads()  # everyone has the maximum before sums take its place

    # 3. the block's sum, by halves         shared: 1 wavefront
    shared[tx] = acc * math.exp(own - top)
    cuda.syncthreads()  # all sums are there before anyone adds
    half = THREADS // 2
    while half > 0:
        if tx < half:
            shared[tx] += shared[tx + half]
        cuda.syncthreads()  # this half is done before the next one reads it
        half //= 2
    acc = shared[0]

    # 4. the quotients                      shared: 1 wavefront    global: 4 sectors for each store
    for col in range(tx, inp.shape[1], THREADS):
        out[row, col] = math.exp(staged[col] - top) / acc
