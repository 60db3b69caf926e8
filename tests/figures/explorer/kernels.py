"""Kernels whose requests the tests of the explorer show."""

from numba import cuda, float32, uint16, uint32

from smemnb.kernels.ptx.matrices import ldmatrix_x4


@cuda.jit
def neighbours(out, inp):
    """A tile of one dimension, of which no whole number of rows of 32 can be made."""
    tile = cuda.shared.array(130, float32)
    tx = cuda.threadIdx.x
    tile[tx] = inp[tx]
    if tx < 2:
        tile[128 + tx] = inp[128 + tx]
    cuda.syncthreads()
    out[tx] = tile[tx] + tile[tx + 2]


@cuda.jit
def plain(out):
    """Global memory alone."""
    out[cuda.grid(1)] = 1


@cuda.jit
def rows_in_pairs(out):
    """Four matrices, every row of which two lanes give."""
    tile = cuda.shared.array(16 * 72, uint16, alignment=16)
    tx = cuda.threadIdx.x
    for at in range(tx, 16 * 72, 32):
        tile[at] = at
    cuda.syncthreads()
    words = ldmatrix_x4(tile, uint32(tx // 2 * 72))
    for at in range(4):
        out[at, tx] = words[at]
