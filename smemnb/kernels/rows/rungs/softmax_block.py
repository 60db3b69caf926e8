"""softmax_block: the softmax of every row, one block per row, in three passes.

Launch with blocks of 256 threads, one block per row.
"""

from __future__ import annotations

import math

from numba import cuda, float32

from ...unrolled import jit

THREADS = 256
LOWEST = float32(-3.4028234663852886e38)  # the lowest finite number: where a maximum begins


@jit(launch_bounds=(THREADS, 1))
def softmax_block(out, inp):
    """The softmax of every row.  As softmax_naive, but the threads of a block share a row."""
    shared = cuda.shared.array(THREADS, float32)
    tx, row = cuda.threadIdx.x, cuda.blockIdx.x

    # 1. each thread's maximum              global: 4 sectors
    top = LOWEST
    for col in range(tx, inp.shape[1], THREADS):
        top = max(top, inp[row, col])

    # 2. the block's, by halves             shared: 1 wavefront
    shared[tx] = top
    cuda.syncthreads()  # all maxima are there before anyone compares
    half = THREADS // 2
    while half > 0:
        if tx < half:
            shared[tx] = max(shared[tx], shared[tx + half])
        cuda.syncthreads()  # this half is done before the next one reads it
        half //= 2
    top = shared[0]
    cuda.syncthreads()  # everyone has the maximum before sums take its place

    # 3. each thread's sum                  global: 4 sectors
    acc = float32(0)
    for col in range(tx, inp.shape[1], THREADS):
        acc += math.exp(inp[row, col] - top)

    # 4. the block's, by halves             shared: 1 wavefront
    shared[tx] = acc
    cuda.syncthreads()  # all sums are there before anyone adds
    half = THREADS // 2
    while half > 0:
        if tx < half:
            shared[tx] += shared[tx + half]
        cuda.syncthreads()  # this half is done before the next one reads it
        half //= 2
    acc = shared[0]

    # 5. the quotients                      global: 4 sectors, and 4 for each store
    for col in range(tx, inp.shape[1], THREADS):
        out[row, col] = math.exp(inp[row, col] - top) / acc
