"""stencil_sliding: a block walks down its columns, one row of inp in shared memory at a time.

Five rows of out are under way. The row that has just been loaded is row 4 of the window of the
first of them, row 3 of that of the second ... So the 5 sums of a column stay in registers: the
first is complete and stored, the others move up. Every row is loaded once, 4 of 36 twice.

Launch with blocks of 128 threads, one per 32x128 elements of out; `weights` is a tuple of 25
numbers.
"""

from __future__ import annotations

from numba import cuda, float32

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
def stencil_sliding(out, inp, weights):
    """out = the 5x5 window of inp, weighted.  As stencil_column, row by row, the sums move."""
    line = cuda.shared.array(WIDE, float32)
    window = cuda.local.array(SIZE, float32)
    acc = cuda.local.array(SUMS, float32)
    tx = cuda.threadIdx.x
    rows, cols = inp.shape
    col = cuda.blockIdx.x * COLS + tx
    row0 = cuda.blockIdx.y * ROWS
    for s in range(SUMS):
        acc[s] = float32(0)
    for y in range(row0 - HALO, min(row0 + ROWS, rows) + HALO):
        # 1. load the next row with its halo
        from_row = reflected(y, rows)
        for x in range(tx, WIDE, COLS):
            from_col = reflected(col - tx + x - HALO, cols)
            line[x] = inp[from_row, from_col]  # 5 sectors, then 1; 1 wavefront
        cuda.syncthreads()  # the row is complete before anyone reads it

        # 2. add it to the 5 sums
        for j in range(SIZE):
            window[j] = line[tx + j]  # 1 wavefront
        add_row(0, acc, weights, window)
        add_row(1, acc, weights, window)
        add_row(2, acc, weights, window)
        add_row(3, acc, weights, window)
        add_row(4, acc, weights, window)

        # 3. store the one that is complete
        row = y - HALO
        if row >= row0 and col < cols:
            out[row, col] = acc[0]  # 4 sectors
        cuda.syncthreads()  # everyone has read the row before the next one takes its place
