"""histogram_wide: as histogram_block, but a thread loads 16 bytes at a time.

Launch with blocks of 256 threads, as many as the GPU holds; out holds zeros. x begins at a multiple
of 16 bytes.
"""

from __future__ import annotations

from numba import cuda, uint32

from ...ptx import load16
from ...unrolled import jit

BINS = 256  # every value of a byte has one
THREADS = 256
CHUNK = 16  # elements that a thread loads at a time


@jit(launch_bounds=(THREADS, 1))
def histogram_wide(out, x):
    """out[k] += the number of elements of x that are k.  16 elements of a thread come at once."""
    part = cuda.shared.array(BINS, uint32)
    tx = uint32(cuda.threadIdx.x)

    # 1. the block's counters begin at 0      shared: 1 wavefront
    part[tx] = 0
    cuda.syncthreads()  # all counters are 0 before anyone adds

    # 2. each element adds 1                  global: 16 sectors for 512 elements
    chunks = uint32(x.size // CHUNK)
    chunk = uint32(cuda.blockIdx.x * THREADS + tx)
    step = uint32(cuda.gridDim.x * THREADS)
    rest = uint32(chunks * CHUNK + chunk)
    while chunk < chunks:
        for value in load16(x, uint32(chunk * CHUNK)):
            # equal values take 1 wavefront, random 3.15
            cuda.atomic.add(part, value, 1)
        chunk = uint32(chunk + step)
    if rest < x.size:  # up to 15 elements behind the last chunk
        cuda.atomic.add(part, x[rest], 1)
    cuda.syncthreads()  # all have added before anyone reads

    # 3. the block's counts are added to out  shared: 1 wavefront    global: 8 sectors
    cuda.atomic.add(out, tx, part[tx])
