"""softmax_warps: the softmax of every row, one warp per row.

Launch with blocks of 128 threads, one block per 4 rows; rows of at most 1024 elements.
"""

from __future__ import annotations

import math

from numba import cuda, float32

from ...unrolled import jit

THREADS = 128
WARPS = THREADS // 32  # rows of a block
HELD = 32  # elements of a lane, one register each
MOST = 32 * HELD  # elements of a row
ALL = 0xFFFFFFFF  # every lane takes part in a shuffle
LOWEST = float32(-3.4028234663852886e38)  # the lowest finite number: where a maximum begins


@jit(launch_bounds=(THREADS, 1))
def softmax_warps(out, inp):
    """The softmax of every row.  As softmax_held, but a row is one warp's: no barrier is left."""
    held = cuda.local.array(HELD, float32)
    lane = cuda.threadIdx.x % 32
    row = cuda.blockIdx.x * WARPS + cuda.threadIdx.x // 32
    if row >= inp.shape[0]:
        return

    # 1. the row into registers             global: 4 sectors
    for k in range(HELD):
        col = lane + k * 32
        held[k] = float32(-math.inf)  # exp(-inf) adds nothing to a sum
        if col < inp.shape[1]:
            held[k] = inp[row, col]

    # 2. the warp's maximum
    top = LOWEST
    for k in range(HELD):
        top = max(top, held[k])
    for mask in (16, 8, 4, 2, 1):
        top = max(top, cuda.shfl_xor_sync(ALL, top, mask))

    # 3. the warp's sum
    acc = float32(0)
    for k in range(HELD):
        held[k] = math.exp(held[k] - top)
        acc += held[k]
    for mask in (16, 8, 4, 2, 1):
        acc += cuda.shfl_xor_sync(ALL, acc, mask)

    # 4. the quotients                      global: 4 sectors for each store
    scale = float32(1) / acc
    for k in range(HELD):
        col = lane + k * 32
        if col < out.shape[1]:
            out[row, col] = held[k] * scale
