"""histogram_paired: as histogram_joined, but two chunks of a thread are under way at a time.

Launch with blocks of 1024 threads, as many as the GPU holds; out holds zeros. x begins at a
multiple of 16 bytes.
"""

from __future__ import annotations

from numba import cuda, uint32

from ...ptx import load16
from ...unrolled import jit

BINS = 256  # every value of a byte has one
LANES = 32  # copies of the counters, one per bank
COUNTERS = BINS * LANES
THREADS = 1024
CHUNK = 16  # elements that a thread loads at a time


@jit(launch_bounds=(THREADS, 2))
def histogram_paired(out, x):
    """out[k] += the number of elements of x that are k.  As histogram_joined, two loads at once."""
    part = cuda.shared.array(COUNTERS, uint32)
    tx = uint32(cuda.threadIdx.x)
    lane = uint32(cuda.laneid)

    # 1. all counters begin at 0              shared: 1 wavefront
    for first in range(0, COUNTERS, THREADS):
        part[uint32(first + tx)] = 0
    cuda.syncthreads()  # all counters are 0 before anyone adds

    # 2. each element adds 1                  global: 16 sectors for 512 elements
    chunks = uint32(x.size // CHUNK)
    chunk = uint32(cuda.blockIdx.x * THREADS + tx)
    step = uint32(cuda.gridDim.x * THREADS)
    rest = uint32(chunks * CHUNK + chunk)
    while chunk + step < chunks:
        one = load16(x, uint32(chunk * CHUNK))
        other = load16(x, uint32((chunk + step) * CHUNK))
        for value in one:
            cuda.atomic.add(part, uint32(value * LANES | lane), 1)  # 1 wavefront
        for value in other:
            cuda.atomic.add(part, uint32(value * LANES | lane), 1)  # 1 wavefront
        chunk = uint32(chunk + 2 * step)
    if chunk < chunks:
        for value in load16(x, uint32(chunk * CHUNK)):
            cuda.atomic.add(part, uint32(value * LANES | lane), 1)  # 1 wavefront
    if rest < x.size:  # up to 15 elements behind the last chunk
        cuda.atomic.add(part, uint32(x[rest] * LANES | lane), 1)
    cuda.syncthreads()  # all have added before anyone reads

    # 3. a thread adds the copies of a bin, from its own lane's on: 1 wavefront (32 from copy 0 on)
    if tx < BINS:
        acc = uint32(0)
        for turn in range(LANES):
            acc = uint32(acc + part[uint32(tx * LANES + (tx + turn) % LANES)])
        cuda.atomic.add(out, tx, acc)  # global: 8 sectors
