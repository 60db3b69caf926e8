"""separable_tiled: rows, then columns in one launch; what is between them stays in a tile.

A block makes 32x32 elements of out. It loads 46x46 of inp, weighs their rows into a tile of 46x32,
and weighs the columns of that.

Launch with blocks of 32x8 threads, one per 32x32 elements of out; `down` and `across` are tuples of
15 numbers.
"""

from __future__ import annotations

from numba import cuda, float32

from ...unrolled import device, jit, unroll

SIZE = 15  # weights in each direction
HALO = 7  # elements of the window on each side of its middle
COLS, ROWS = 32, 32  # of out, for a block
WARPS = 8
WIDE = COLS + 2 * HALO  # columns of the tile of inp
HIGH = ROWS + 2 * HALO  # rows of both tiles


@device
def reflected(at, size):
    """Where element `at` lies in a row of `size` elements that is mirrored at both ends."""
    while at < 0 or at >= size:
        at = -1 - at if at < 0 else 2 * size - 1 - at
    return at


@device
def add_across(j, acc, across, tile, y, tx):
    """Element j of the window along a row of the tile."""
    acc[0] += across[j] * tile[y, tx + j]  # 1 wavefront


@device
def add_down(i, acc, down, sums, y, tx):
    """Element i of the window down a column of the sums."""
    acc[0] += down[i] * sums[y + i, tx]  # 1 wavefront


weigh_across = unroll(SIZE, add_across)  # one after the other, j = 0 to 14
weigh_down = unroll(SIZE, add_down)


@jit(launch_bounds=(COLS * WARPS, 4))
def separable_tiled(out, inp, down, across):
    """out = the 15x15 window of inp, weighted by down[i] * across[j].  Rows through a tile."""
    tile = cuda.shared.array((HIGH, WIDE), float32)
    sums = cuda.shared.array((HIGH, COLS), float32)
    acc = cuda.local.array(1, float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    rows, cols = inp.shape
    col0, row0 = cuda.blockIdx.x * COLS, cuda.blockIdx.y * ROWS

    # 1. load the tile: 32 columns of a row per warp, then the 14 that are left of it
    for y in range(ty, HIGH, WARPS):
        for x in range(tx, WIDE, COLS):
            from_row = reflected(row0 + y - HALO, rows)
            from_col = reflected(col0 + x - HALO, cols)
            tile[y, x] = inp[from_row, from_col]  # 5 sectors, then 3; 1 wavefront
    cuda.syncthreads()  # the tile is full before anyone reads it

    # 2. weigh its rows
    for y in range(ty, HIGH, WARPS):
        acc[0] = float32(0)
        weigh_across((acc, across, tile, y, tx))
        sums[y, tx] = acc[0]  # 1 wavefront
    cuda.syncthreads()  # all rows are weighed before anyone goes down a column

    # 3. weigh the columns of what came out
    for y in range(ty, ROWS, WARPS):
        if row0 + y < rows and col0 + tx < cols:
            acc[0] = float32(0)
            weigh_down((acc, down, sums, y, tx))
            out[row0 + y, col0 + tx] = acc[0]  # 4 sectors
