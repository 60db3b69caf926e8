"""Sums of whatever a grid takes: as sum_shuffled, but threads walk by 16 bytes over the array."""

from numba import cuda, float32, uint32

from ...ptx import load1, load16
from ...unrolled import jit

ALL = 0xFFFFFFFF
THREADS, WARP = 256, 32
WARPS = THREADS // WARP
QUAD, AHEAD = 4, 4  # elements of a load; loads that a thread has under way
CHUNK = THREADS * AHEAD  # loads of a block at a time
RESIDENT = 8  # blocks that a multiprocessor has room for: as many as the grid has for each


@jit(launch_bounds=(THREADS, RESIDENT))
def sum_wide(out, inp):
    """out[b] = the sum of every chunk that is block b's.  A thread adds 16 elements at a time."""
    sums = cuda.shared.array(WARPS, float32)
    tx, bx = uint32(cuda.threadIdx.x), uint32(cuda.blockIdx.x)
    lane, warp = tx % uint32(WARP), tx // uint32(WARP)
    size = uint32(inp.size)
    quads = uint32(size // uint32(QUAD))

    # 1. whole chunks, four loads under way    global: 16 sectors each
    acc = float32(0)
    at = uint32(bx * uint32(CHUNK) + tx)
    while at + uint32(3 * THREADS) < quads:
        a = load16(inp, uint32(uint32(QUAD) * at))
        b = load16(inp, uint32(uint32(QUAD) * (at + uint32(THREADS))))
        c = load16(inp, uint32(uint32(QUAD) * (at + uint32(2 * THREADS))))
        d = load16(inp, uint32(uint32(QUAD) * (at + uint32(3 * THREADS))))
        ab = ((a[0] + a[1]) + (a[2] + a[3])) + ((b[0] + b[1]) + (b[2] + b[3]))
        cd = ((c[0] + c[1]) + (c[2] + c[3])) + ((d[0] + d[1]) + (d[2] + d[3]))
        acc += ab + cd
        at += uint32(cuda.gridDim.x * uint32(CHUNK))

    # what is left of the last chunk, and up to three elements behind it
    while at < quads:
        a = load16(inp, uint32(uint32(QUAD) * at))
        acc += (a[0] + a[1]) + (a[2] + a[3])
        at += uint32(THREADS)
    rest = uint32(uint32(QUAD) * quads + tx)
    if bx == 0 and rest < size:
        acc += load1(inp, rest)

    # 2. the sum of a warp, in its lane 0    no memory
    apart = WARP // 2
    while apart > 0:
        acc += cuda.shfl_down_sync(ALL, acc, apart)
        apart //= 2
    if lane == 0:
        sums[warp] = acc
    cuda.syncthreads()  # every warp's sum is there before the first warp reads them

    # 3. the sum of the block, by the first warp    shared: 1 wavefront
    if warp == 0:
        acc = sums[lane] if lane < WARPS else float32(0)
        apart = WARPS // 2
        while apart > 0:
            acc += cuda.shfl_down_sync(ALL, acc, apart)
            apart //= 2
        if lane == 0:
            out[bx] = acc
