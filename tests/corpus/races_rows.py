"""Races of row normalisation: words that a second reduction, or the next row, takes over."""

import math

from numba import cuda, float32

from tests.corpus.pairs import buggy, clean, floats, zeros

N = 128
WARPS = N // 32
ALL = 0xFFFFFFFF


@buggy("race", 2, 2, N, args=lambda: (zeros(2, N), floats(2, N)))  # word 0 of 2 blocks
def maximum_and_sum(out, inp):
    """The softmax of rows; the sums' first store may come before a warp has read the maximum."""
    shared = cuda.shared.array(N, float32)
    tx, row = cuda.threadIdx.x, cuda.blockIdx.x
    shared[tx] = inp[row, tx]
    cuda.syncthreads()
    half = N // 2
    while half > 0:
        if tx < half:
            shared[tx] = max(shared[tx], shared[tx + half])
        cuda.syncthreads()
        half //= 2
    power = math.exp(inp[row, tx] - shared[0])  # (1)
    shared[tx] = power  # (2)
    cuda.syncthreads()
    half = N // 2
    while half > 0:
        if tx < half:
            shared[tx] += shared[tx + half]
        cuda.syncthreads()
        half //= 2
    out[row, tx] = power / shared[0]


@clean
def maximum_before_sum(out, inp):
    """The same with a barrier between the two."""
    shared = cuda.shared.array(N, float32)
    tx, row = cuda.threadIdx.x, cuda.blockIdx.x
    shared[tx] = inp[row, tx]
    cuda.syncthreads()
    half = N // 2
    while half > 0:
        if tx < half:
            shared[tx] = max(shared[tx], shared[tx + half])
        cuda.syncthreads()
        half //= 2
    power = math.exp(inp[row, tx] - shared[0])
    cuda.syncthreads()
    shared[tx] = power
    cuda.syncthreads()
    half = N // 2
    while half > 0:
        if tx < half:
            shared[tx] += shared[tx + half]
        cuda.syncthreads()
        half //= 2
    out[row, tx] = power / shared[0]


@buggy("race", 16, 2, N, args=lambda: (zeros(6, N), floats(6, N)))  # 4 words, twice, 2 blocks
def rows_in_turn(out, inp):
    """Each row less its mean, several rows per block; the next row's sums come too early."""
    sums = cuda.shared.array(WARPS, float32)
    tx = cuda.threadIdx.x
    for row in range(cuda.blockIdx.x, inp.shape[0], cuda.gridDim.x):
        acc = inp[row, tx]
        for mask in (16, 8, 4, 2, 1):
            acc += cuda.shfl_xor_sync(ALL, acc, mask)
        if tx % 32 == 0:
            sums[tx // 32] = acc  # (2)
        cuda.syncthreads()
        mean = float32(0)
        for warp in range(WARPS):
            mean += sums[warp] / float32(N)  # (1)
        out[row, tx] = inp[row, tx] - mean


@clean
def rows_one_by_one(out, inp):
    """The same with a barrier at the end of a turn."""
    sums = cuda.shared.array(WARPS, float32)
    tx = cuda.threadIdx.x
    for row in range(cuda.blockIdx.x, inp.shape[0], cuda.gridDim.x):
        acc = inp[row, tx]
        for mask in (16, 8, 4, 2, 1):
            acc += cuda.shfl_xor_sync(ALL, acc, mask)
        if tx % 32 == 0:
            sums[tx // 32] = acc
        cuda.syncthreads()
        mean = float32(0)
        for warp in range(WARPS):
            mean += sums[warp] / float32(N)
        out[row, tx] = inp[row, tx] - mean
        cuda.syncthreads()
