"""line_naive: out[at] = the sum of weights[j] * inp[at + j - 4], nine elements of a line.

Launch with blocks of 256 threads, one per element of out; `weights` is a tuple of 9 numbers. Where
the window reaches over an end, it reads the line as a mirror shows it: b a | a b c d | d c.
"""

from __future__ import annotations

from numba import cuda, float32

from ...unrolled import device, jit

SIZE = 9  # weights
HALO = 4  # elements of the window on each side of its middle


@device
def reflected(at, size):
    """Where element `at` lies in a row of `size` elements that is mirrored at both ends."""
    while at < 0 or at >= size:
        at = -1 - at if at < 0 else 2 * size - 1 - at
    return at


@jit()
def line_naive(out, inp, weights):
    """out = the window of 9 elements of inp, weighted.  A thread reads all 9 of them."""
    at, size = cuda.grid(1), inp.shape[0]
    if at < size:
        acc = float32(0)
        for j in range(SIZE):
            acc += weights[j] * inp[reflected(at + j - HALO, size)]  # 4 or 5 sectors
        out[at] = acc  # 4 sectors
