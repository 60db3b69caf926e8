"""stencil_unsigned: places are flat offsets of 32 bits, which no index from the end can be.

Two indices into a picture are multiplied and added in 64 bits, and compared with 0. A flat offset
of 32 bits takes one addition.

Launch with blocks of 128 threads, one per 32x128 elements of out; elements of each picture follow
each other, less than 2^31 of them; `weights` is a tuple of 25 numbers.
"""

from __future__ import annotations

from numba import cuda, float32, int32, uint32

from ...ptx import load1, store1
from ...unrolled import device, jit

SIZE = 5  # rows and columns of the weights
HALO = 2  # elements of the window on each side of its middle
COLS, ROWS = 128, 32  # of out, for a block
WIDE = COLS + 2 * HALO  # elements of a row in shared memory
SUMS = SIZE + 1  # under way, and a zero below them


@device
def reflected(at, size):
    """Where element `at` lies in a row of `size` elements that is mirrored at both ends."""
    while at < 0 or at >= size:
        at = -1 - at if at < 0 else 2 * size - 1 - at
    return at


@device
def add_row(s, acc, weights, window):
    """Sum s moves up by one row, and takes what its window has of this row."""
    total = acc[s + 1]
    for j in range(SIZE):
        total += weights[(SIZE - 1 - s) * SIZE + j] * window[j]
    acc[s] = total


@jit(launch_bounds=(COLS, 8))
def stencil_unsigned(out, inp, weights):
    """out = the 5x5 window of inp, weighted.  As stencil_sliding, by flat offsets."""
    line = cuda.shared.array(WIDE, float32)
    window = cuda.local.array(SIZE, float32)
    acc = cuda.local.array(SUMS, float32)
    tx = int32(cuda.threadIdx.x)
    rows, cols = int32(inp.shape[0]), int32(inp.shape[1])
    col0 = int32(cuda.blockIdx.x * COLS)
    row0 = int32(cuda.blockIdx.y * ROWS)
    for s in range(SUMS):
        acc[s] = float32(0)
    for y in range(row0 - HALO, min(row0 + ROWS, rows) + HALO):
        # 1. load the next row with its halo
        start = int32(reflected(int32(y), rows) * cols)
        for x in range(tx, WIDE, COLS):
            from_col = reflected(int32(col0 + x - HALO), cols)
            value = load1(inp, uint32(start + from_col))  # 5 sectors, then 1
            store1(line, uint32(x), value)  # 1 wavefront
        cuda.syncthreads()  # the row is complete before anyone reads it

        # 2. add it to the 5 sums
        for j in range(SIZE):
            window[j] = load1(line, uint32(tx + j))  # 1 wavefront
        add_row(0, acc, weights, window)
        add_row(1, acc, weights, window)
        add_row(2, acc, weights, window)
        add_row(3, acc, weights, window)
        add_row(4, acc, weights, window)

        # 3. store the one that is complete
        row = int32(y - HALO)
        if row >= row0 and col0 + tx < cols:
            store1(out, uint32(row * cols + col0 + tx), acc[0])  # 4 sectors
        cuda.syncthreads()  # everyone has read the row before the next one takes its place
