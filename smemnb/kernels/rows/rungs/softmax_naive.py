"""softmax_naive: the softmax of every row, one thread per row, in three passes.

Launch with blocks of 128 threads, one thread per row.
"""

from __future__ import annotations

import math

from numba import cuda, float32

from ...unrolled import jit

THREADS = 128
LOWEST = float32(-3.4028234663852886e38)  # the lowest finite number: where a maximum begins


@jit(launch_bounds=(THREADS, 1))
def softmax_naive(out, inp):
    """out[row] = exp(inp[row] - its maximum), divided by the sum of the row."""
    row = cuda.grid(1)
    if row >= inp.shape[0]:
        return

    # 1. the maximum                        global: 32 sectors, as 32 lanes are in 32 rows
    top = LOWEST
    for col in range(inp.shape[1]):
        top = max(top, inp[row, col])

    # 2. the sum                            global: 32 sectors
    acc = float32(0)
    for col in range(inp.shape[1]):
        acc += math.exp(inp[row, col] - top)

    # 3. the quotients                      global: 32 sectors, and 32 for each store
    for col in range(inp.shape[1]):
        out[row, col] = math.exp(inp[row, col] - top) / acc
