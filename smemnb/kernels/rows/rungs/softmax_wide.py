"""softmax_wide: the softmax of every row, 16 bytes per access of global memory.

Launch with blocks of 256 threads, one block per row; rows of at most 8192 elements, a multiple of
4, that begin at multiples of 16 bytes; below 2^32 elements.
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
LOWEST = float32(-3.4028234663852886e38)  # the lowest finite number: where a maximum begins


@jit(launch_bounds=(THREADS, RESIDENT))
def softmax_wide(out, inp):
    """The softmax of every row.  As softmax_held, but a lane loads and stores 4 neighbours."""
    tops = cuda.shared.array(WARPS, float32)
    sums = cuda.shared.array(WARPS, float32)
    held = cuda.local.array((QUADS, 4), float32)
    tx, row = uint32(cuda.threadIdx.x), uint32(cuda.blockIdx.x)
    warp, lane = uint32(tx // uint32(32)), uint32(tx % uint32(32))

    # 1. the row into registers             global: 16 sectors
    start = uint32(row * uint32(inp.strides[0] // 4))
    for k in range(QUADS):
        col = uint32((tx + k * THREADS) * 4)
        for e in range(4):
            held[k, e] = float32(-math.inf)  # exp(-inf) adds nothing to a sum
        if col < inp.shape[1]:
            four = load16(inp, uint32(start + col))
            for e in range(4):
                held[k, e] = four[e]

    # 2. the warp's maximum, then the block's: each warp takes it from the 8 words
    top = LOWEST
    for k in range(QUADS):
        for e in range(4):
            top = max(top, held[k, e])
    for mask in (16, 8, 4, 2, 1):
        top = max(top, cuda.shfl_xor_sync(ALL, top, mask))
    if lane == 0:
        tops[warp] = top  # shared: 1 wavefront
    cuda.syncthreads()  # the maxima of all warps are there before anyone compares
    top = tops[lane % uint32(WARPS)]  # shared: 1 wavefront
    for mask in (4, 2, 1):
        top = max(top, cuda.shfl_xor_sync(ALL, top, mask))

    # 3. the sums likewise, in words of their own
    acc = float32(0)
    for k in range(QUADS):
        for e in range(4):
            held[k, e] = math.exp(held[k, e] - top)
            acc += held[k, e]
    for mask in (16, 8, 4, 2, 1):
        acc += cuda.shfl_xor_sync(ALL, acc, mask)
    if lane == 0:
        sums[warp] = acc  # shared: 1 wavefront
    cuda.syncthreads()  # the sums of all warps are there before anyone adds
    acc = sums[lane % uint32(WARPS)]  # shared: 1 wavefront
    for mask in (4, 2, 1):
        acc += cuda.shfl_xor_sync(ALL, acc, mask)

    # 4. the quotients                      global: 16 sectors for each store
    scale = float32(1) / acc
    start = uint32(row * uint32(out.strides[0] // 4))
    for k in range(QUADS):
        col = uint32((tx + k * THREADS) * 4)
        for e in range(4):
            held[k, e] *= scale
        if col < out.shape[1]:
            four = (held[k, 0], held[k, 1], held[k, 2], held[k, 3])
            store16(out, uint32(start + col), four)
