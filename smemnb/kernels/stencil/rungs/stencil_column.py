"""stencil_column: a thread makes 8 elements below each other, and reads each row of them once.

A row of the tile belongs to the windows of 5 elements of a column. While a thread goes down its
column, it reads 12 rows of 5 elements for 8 results: 60 reads, where 8 threads read 200.

Launch with blocks of 32x8 threads, one per 64x32 elements of out; `weights` is a tuple of 25
numbers.
"""

from __future__ import annotations

from numba import cuda, float32

from ...unrolled import device, jit

SIZE = 5  # rows and columns of the weights
HALO = 2  # elements of the window on each side of its middle
COLS, WARPS = 32, 8
EACH = 8  # elements of a column for a thread
ROWS = WARPS * EACH  # of out, for a block
WIDE = COLS + 2 * HALO  # columns of the tile
HIGH = ROWS + 2 * HALO


@device
def reflected(at, size):
    """Where element `at` lies in a row of `size` elements that is mirrored at both ends."""
    while at < 0 or at >= size:
        at = -1 - at if at < 0 else 2 * size - 1 - at
    return at


@device
def add(i, y, acc, weights, window):
    """Add a row of the tile to the result for whose window it is row i, if this thread has it."""
    if y - i >= 0 and y - i < EACH:
        for j in range(SIZE):
            acc[y - i] += weights[i * SIZE + j] * window[j]


@device
def take_row(y, acc, weights, window, tile, ty, tx):
    """Read row y of this thread's windows, and add it to the 5 results that have it."""
    for j in range(SIZE):
        window[j] = tile[ty * EACH + y, tx + j]  # 1 wavefront
    add(0, y, acc, weights, window)
    add(1, y, acc, weights, window)
    add(2, y, acc, weights, window)
    add(3, y, acc, weights, window)
    add(4, y, acc, weights, window)


@jit(launch_bounds=(COLS * WARPS, 4))
def stencil_column(out, inp, weights):
    """out = the 5x5 window of inp, weighted.  As stencil_constant, 8 elements per thread."""
    tile = cuda.shared.array((HIGH, WIDE), float32)
    window = cuda.local.array(SIZE, float32)
    acc = cuda.local.array(EACH, float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    rows, cols = inp.shape
    col = cuda.blockIdx.x * COLS + tx
    row0 = cuda.blockIdx.y * ROWS

    # 1. load the tile: 32 columns of a row per warp, then the 4 that are left of it
    for y in range(ty, HIGH, WARPS):
        for x in range(tx, WIDE, COLS):
            from_row = reflected(row0 + y - HALO, rows)
            from_col = reflected(col - tx + x - HALO, cols)
            tile[y, x] = inp[from_row, from_col]  # 5 sectors, then 1; 1 wavefront
    cuda.syncthreads()  # the tile is full before anyone reads it

    # 2. go down the column: each row is read once for up to 5 results
    for r in range(EACH):
        acc[r] = float32(0)
    take_row(0, acc, weights, window, tile, ty, tx)
    take_row(1, acc, weights, window, tile, ty, tx)
    take_row(2, acc, weights, window, tile, ty, tx)
    take_row(3, acc, weights, window, tile, ty, tx)
    take_row(4, acc, weights, window, tile, ty, tx)
    take_row(5, acc, weights, window, tile, ty, tx)
    take_row(6, acc, weights, window, tile, ty, tx)
    take_row(7, acc, weights, window, tile, ty, tx)
    take_row(8, acc, weights, window, tile, ty, tx)
    take_row(9, acc, weights, window, tile, ty, tx)
    take_row(10, acc, weights, window, tile, ty, tx)
    take_row(11, acc, weights, window, tile, ty, tx)

    # 3. store the 8 results
    for r in range(EACH):
        row = row0 + ty * EACH + r
        if row < rows and col < cols:
            out[row, col] = acc[r]  # 4 sectors
