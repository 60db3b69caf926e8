"""softmax_packed: the softmax of every row, 4 short rows per warp.

Launch with blocks of 128 threads, one block per 16 rows; rows of at most 128 elements.
"""

from __future__ import annotations

import math

from numba import cuda, float32

from ...unrolled import jit

THREADS = 128
LANES = 8  # of a row
ROWS = THREADS // LANES  # of a block
HELD = 16  # elements of a lane, one register each
MOST = LANES * HELD  # elements of a row
ALL = 0xFFFFFFFF  # every lane takes part in a shuffle
LOWEST = float32(-3.4028234663852886e38)  # the lowest finite number: where a maximum begins


@jit(launch_bounds=(THREADS, 1))
def softmax_packed(out, inp):
    """The softmax of every row.  As softmax_warps, but 8 lanes share a row, a warp has 4."""
    held = cuda.local.array(HELD, float32)
    lane = cuda.threadIdx.x % LANES
    row = cuda.blockIdx.x * ROWS + cuda.threadIdx.x // LANES

    # 1. the row into registers             global: 4 sectors, one for each row
    for k in range(HELD):
        col = lane + k * LANES
        held[k] = float32(-math.inf)  # exp(-inf) adds nothing to a sum
        if row < inp.shape[0] and col < inp.shape[1]:
            held[k] = inp[row, col]

    # 2. the maximum of the 8 lanes: with lanes beyond the last row, which no store follows
    top = LOWEST
    for k in range(HELD):
        top = max(top, held[k])
    for mask in (4, 2, 1):
        top = max(top, cuda.shfl_xor_sync(ALL, top, mask))

    # 3. the sum of the 8 lanes
    acc = float32(0)
    for k in range(HELD):
        held[k] = math.exp(held[k] - top)
        acc += held[k]
    for mask in (4, 2, 1):
        acc += cuda.shfl_xor_sync(ALL, acc, mask)

    # 4. the quotients                      global: 4 sectors, one for each row
    scale = float32(1) / acc
    for k in range(HELD):
        col = lane + k * LANES
        if row < out.shape[0] and col < out.shape[1]:
            out[row, col] = held[k] * scale
