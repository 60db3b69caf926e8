"""Kernels whose requests the tests of the explorer show."""

from numba import cuda, float32


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
