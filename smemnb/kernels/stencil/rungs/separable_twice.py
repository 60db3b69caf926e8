"""separable_twice: weights that are a column times a row: 15 reads along rows, 15 down columns.

A window of 15x15 has 225 elements. Where weights[i, j] = down[i] * across[j], the weighted sums of
the rows can be made first, for all, and then be weighed down the columns: 30 multiply-adds in place
of 225. The sums of the rows take a second picture, so 4 bytes more are written and read.

Launch both kernels with blocks of 32x8 threads, one per element; `across` and `down` are tuples of
15 numbers. At the edges the picture is mirrored: b a | a b c d | d c.
"""

from __future__ import annotations

from numba import cuda, float32

from ...unrolled import device, jit, unroll

SIZE = 15  # weights in each direction
HALO = 7  # elements of the window on each side of its middle


@device
def reflected(at, size):
    """Where element `at` lies in a row of `size` elements that is mirrored at both ends."""
    while at < 0 or at >= size:
        at = -1 - at if at < 0 else 2 * size - 1 - at
    return at


@device
def add_across(j, acc, across, inp, row, col):
    """Element j of the window along a row."""
    acc[0] += across[j] * inp[row, reflected(col + j - HALO, inp.shape[1])]  # 4 or 5 sectors


@device
def add_down(i, acc, down, sums, row, col):
    """Element i of the window down a column."""
    acc[0] += down[i] * sums[reflected(row + i - HALO, sums.shape[0]), col]  # 4 sectors


weigh_across = unroll(SIZE, add_across)  # one after the other, j = 0 to 14
weigh_down = unroll(SIZE, add_down)


@jit()
def separable_twice(sums, inp, across):
    """sums = the 15 elements of inp along each row, weighted.  The first of two launches."""
    acc = cuda.local.array(1, float32)
    col, row = cuda.grid(2)
    if row < inp.shape[0] and col < inp.shape[1]:
        acc[0] = float32(0)
        weigh_across((acc, across, inp, row, col))
        sums[row, col] = acc[0]  # 4 sectors


@jit()
def columns_weighed(out, sums, down):
    """out = the 15 elements of sums down each column, weighted.  The second launch."""
    acc = cuda.local.array(1, float32)
    col, row = cuda.grid(2)
    if row < out.shape[0] and col < out.shape[1]:
        acc[0] = float32(0)
        weigh_down((acc, down, sums, row, col))
        out[row, col] = acc[0]  # 4 sectors
