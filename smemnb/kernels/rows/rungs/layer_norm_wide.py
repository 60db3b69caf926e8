"""layer_norm_wide: every row less its mean, by its standard deviation, times weight, plus bias.

Launch with blocks of 256 threads, one block per row; rows of at most 8192 elements, a multiple of
4, that begin at multiples of 16 bytes, as weight and bias do; below 2^32 elements.
"""

from __future__ import annotations

import math

from numba import cuda, float32, uint32

from ...ptx import load16, store16
from ...unrolled import jit

THREADS = 256
WARPS = THREADS // 32
QUADS = 8  # 16 bytes each, of a thread: 32 registers
MOST = THREADS * QUADS * 4  # elements of a row
RESIDENT = 4  # blocks that a multiprocessor holds: 64 registers for a thread
ALL = 0xFFFFFFFF  # every lane takes part in a shuffle


@jit(launch_bounds=(THREADS, RESIDENT))
def layer_norm_wide(out, inp, weight, bias, eps):
    """(inp - mean) / sqrt(variance + eps) * weight + bias, of every row.

    As softmax_wide, but the row waits for its mean, and then for its variance.
    """
    sums = cuda.shared.array(WARPS, float32)
    squares = cuda.shared.array(WARPS, float32)
    held = cuda.local.array((QUADS, 4), float32)
    tx, row = uint32(cuda.threadIdx.x), uint32(cuda.blockIdx.x)
    warp, lane = uint32(tx // uint32(32)), uint32(tx % uint32(32))
    length = float32(inp.shape[1])

    # 1. the row into registers             global: 16 sectors
    start = uint32(row * uint32(inp.strides[0] // 4))
    for k in range(QUADS):
        col = uint32((tx + k * THREADS) * 4)
        for e in range(4):
            held[k, e] = float32(0)
        if col < inp.shape[1]:
            four = load16(inp, uint32(start + col))
            for e in range(4):
                held[k, e] = four[e]

    # 2. the mean: the warp's sum, then the block's: each warp takes it from the 8 words
    acc = float32(0)
    for k in range(QUADS):
        for e in range(4):
            acc += held[k, e]
    for mask in (16, 8, 4, 2, 1):
        acc += cuda.shfl_xor_sync(ALL, acc, mask)
    if lane == 0:
        sums[warp] = acc  # shared: 1 wavefront
    cuda.syncthreads()  # the sums of all warps are there before anyone adds
    acc = sums[lane % uint32(WARPS)]  # shared: 1 wavefront
    for mask in (4, 2, 1):
        acc += cuda.shfl_xor_sync(ALL, acc, mask)
    mean = acc / length

    # 3. the variance likewise, in words of its own: the mean of squared differences
    acc = float32(0)
    for k in range(QUADS):
        col = uint32((tx + k * THREADS) * 4)
        if col < inp.shape[1]:
            for e in range(4):
                held[k, e] -= mean
                acc += held[k, e] * held[k, e]
    for mask in (16, 8, 4, 2, 1):
        acc += cuda.shfl_xor_sync(ALL, acc, mask)
    if lane == 0:
        squares[warp] = acc  # shared: 1 wavefront
    cuda.syncthreads()  # the sums of all warps are there before anyone adds
    acc = squares[lane % uint32(WARPS)]  # shared: 1 wavefront
    for mask in (4, 2, 1):
        acc += cuda.shfl_xor_sync(ALL, acc, mask)

    # 4. the quotients                      global: 16 sectors for each load and store
    scale = float32(1) / math.sqrt(acc / length + eps)
    start = uint32(row * uint32(out.strides[0] // 4))
    for k in range(QUADS):
        col = uint32((tx + k * THREADS) * 4)
        if col < out.shape[1]:
            factors = load16(weight, col)
            terms = load16(bias, col)
            for e in range(4):
                held[k, e] = held[k, e] * scale * factors[e] + terms[e]
            four = (held[k, 0], held[k, 1], held[k, 2], held[k, 3])
            store16(out, uint32(start + col), four)
