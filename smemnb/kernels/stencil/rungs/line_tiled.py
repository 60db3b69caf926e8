"""line_tiled: the block's elements and 4 more on each side go through shared memory.

Launch with blocks of 256 threads, one per element of out; `weights` is a tuple of 9 numbers.
"""

from __future__ import annotations

from numba import cuda, float32

from ...unrolled import device, jit

SIZE = 9  # weights
HALO = 4  # elements of the window on each side of its middle
THREADS = 256
WIDE = THREADS + 2 * HALO  # elements of the tile


@device
def reflected(at, size):
    """Where element `at` lies in a row of `size` elements that is mirrored at both ends."""
    while at < 0 or at >= size:
        at = -1 - at if at < 0 else 2 * size - 1 - at
    return at


@jit()
def line_tiled(out, inp, weights):
    """out = the window of 9 elements of inp, weighted.  As line_naive, from a tile with a halo."""
    tile = cuda.shared.array(WIDE, float32)
    tx = cuda.threadIdx.x
    at, size = cuda.grid(1), inp.shape[0]

    # 1. load the tile: an element per thread, then 8 that are left of it
    for x in range(tx, WIDE, THREADS):
        tile[x] = inp[reflected(at - tx + x - HALO, size)]  # 5 sectors, then 2; 1 wavefront
    cuda.syncthreads()  # the tile is full before anyone reads it

    # 2. weigh the window
    if at < size:
        acc = float32(0)
        for j in range(SIZE):
            acc += weights[j] * tile[tx + j]  # 1 wavefront
        out[at] = acc  # 4 sectors
