"""stencil_constant: the weights are arguments of the kernel, so they lie in constant memory.

An array of weights is loaded from global memory, an instruction for each. An argument costs
none: a multiply-add takes it from constant memory, or from a register that a warp has once. Which
argument must be known when the kernel is compiled, so rows of the window are laid out.

Launch with blocks of 32x8 threads, one per element of out; `weights` is a tuple of 25 numbers.
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


@device
def weighed(i, weights, tile, ty, tx):
    """Row i of the window, weighted."""
    total = float32(0)
    for j in range(SIZE):
        total += weights[i * SIZE + j] * tile[ty + i, tx + j]  # 1 wavefront
    return total


@jit()
def stencil_constant(out, inp, weights):
    """out = the 5x5 window of inp, weighted.  As stencil_tiled, the weights as arguments."""
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
        acc = weighed(0, weights, tile, ty, tx)
        acc += weighed(1, weights, tile, ty, tx)
        acc += weighed(2, weights, tile, ty, tx)
        acc += weighed(3, weights, tile, ty, tx)
        acc += weighed(4, weights, tile, ty, tx)
        out[row, col] = acc  # 4 sectors
