"""scan_hillis_steele: out[row] = running sums of inp[row], by adding what lies 1, 2, 4 ... before.

Launch with a block of 1024 threads per row; rows of at most 1024 elements.
"""

from __future__ import annotations

from numba import cuda, float32

from ...unrolled import jit

SIZE = 1024  # elements of a row, and threads


@jit()
def scan_hillis_steele(out, inp):
    """out[row] = running sums of inp[row].  Ten steps over all of it, between two buffers."""
    buffers = cuda.shared.array((2, SIZE), float32)
    tx, row = cuda.threadIdx.x, cuda.blockIdx.x

    # 1. load a row, zeros behind its end        global: 4 sectors    shared: 1 wavefront
    acc = float32(0)
    if tx < inp.shape[1]:
        acc = inp[row, tx]
    buffers[0, tx] = acc
    cuda.syncthreads()  # the row is there before anyone looks to the left

    # 2. add what lies `step` before             shared: 1 wavefront for each read and store
    old, step = 0, 1
    while step < SIZE:
        acc = buffers[old, tx]
        if tx >= step:
            acc += buffers[old, tx - step]
        buffers[1 - old, tx] = acc  # not where others still read
        cuda.syncthreads()  # all sums of this step are there before the next one
        old = 1 - old
        step *= 2

    # 3. store the row                           shared: 1 wavefront    global: 4 sectors
    if tx < inp.shape[1]:
        out[row, tx] = buffers[old, tx]
