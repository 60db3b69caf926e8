"""A sum by blocks of 512: as sum_first_add, but lanes of a warp add by shuffles."""

from numba import cuda, float32

ALL = 0xFFFFFFFF
THREADS, WARP = 256, 32
WARPS = THREADS // WARP


@cuda.jit
def sum_shuffled(out, inp):
    """out[b] = the sum of block b.  One barrier and 8 words of shared memory are left."""
    sums = cuda.shared.array(WARPS, float32)
    tx, bx = cuda.threadIdx.x, cuda.blockIdx.x
    lane, warp = tx % WARP, tx // WARP
    at = bx * 2 * THREADS + tx

    # 1. two elements per thread, 0 behind the end    global: 4 sectors
    acc = inp[at] if at < inp.size else float32(0)
    if at + THREADS < inp.size:
        acc += inp[at + THREADS]

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
