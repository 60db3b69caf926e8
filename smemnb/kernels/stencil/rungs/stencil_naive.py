"""stencil_naive: out[row, col] = the sum of weights[i, j] * inp[row + i - 2, col + j - 2].

Launch with blocks of 32x8 threads, one per element of out. Where the window reaches over an edge,
it reads the picture as a mirror shows it: b a | a b c d | d c.
"""

from __future__ import annotations

from numba import cuda, float32

from ...unrolled import device, jit

SIZE = 5  # rows and columns of the weights
HALO = 2  # elements of the window on each side of its middle


@device
def reflected(at, size):
    """Where element `at` lies in a row of `size` elements that is mirrored at both ends."""
    while at < 0 or at >= size:
        at = -1 - at if at < 0 else 2 * size - 1 - at
    return at


@jit()
def stencil_naive(out, inp, weights):
    """out = the 5x5 window of inp, weighted.  A thread reads all 25 elements of its window."""
    col, row = cuda.grid(2)
    rows, cols = inp.shape
    if row < rows and col < cols:
        acc = float32(0)
        for i in range(SIZE):
            y = reflected(row + i - HALO, rows)
            for j in range(SIZE):
                x = reflected(col + j - HALO, cols)
                acc += weights[i, j] * inp[y, x]  # 4 or 5 sectors, and 1 for the weight
        out[row, col] = acc  # 4 sectors
