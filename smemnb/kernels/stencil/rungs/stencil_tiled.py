"""stencil_tiled: the block's elements and their halo go through a tile in shared memory.

32x8 elements of out need 36x12 of inp, the halo included. The block loads these once; each is then
read up to 25 times, from the tile.

Launch with blocks of 32x8 threads, one per element of out.
"""

from __future__ import annotations

from numba import cuda, float32

from ...unrolled import device, jit

SIZE = 5  # rows and columns of the weights
HALO = 2  # elements of the window on each side of its middle
COLS, ROWS = 32, 8  # of out, for a block
WIDE = COLS + 2 * HALO  # columns of the tile
HIGH = ROWS + 2 * HALO


@device
def reflected(at, size):
    """Where element `at` lies in a row of `size` elements that is mirrored at both ends."""
    while at < 0 or at >= size:
        at = -1 - at if at < 0 else 2 * size - 1 - at
    return at


@jit()
def stencil_tiled(out, inp, weights):
    """out = the 5x5 window of inp, weighted.  As stencil_naive, from a tile with a halo."""
    tile = cuda.shared.array((HIGH, WIDE), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    rows, cols = inp.shape

    # 1. load the tile: 32 columns of a row per warp, then the 4 that are left of it
    for y in range(ty, HIGH, ROWS):
        for x in range(tx, WIDE, COLS):
            from_row = reflected(row - ty + y - HALO, rows)
            from_col = reflected(col - tx + x - HALO, cols)
            tile[y, x] = inp[from_row, from_col]  # 5 sectors, then 1; 1 wavefront
    cuda.syncthreads()  # the tile is full before anyone reads it

    # 2. weigh the window
    if row < rows and col < cols:
        acc = float32(0)
        for i in range(SIZE):
            for j in range(SIZE):
                acc += weights[i, j] * tile[ty + i, tx + j]  # 1 wavefront; 1 sector of weights
        out[row, col] = acc  # 4 sectors
