"""A sum by blocks of 256: as sum_divergent, but neighbouring threads take the pairs."""

from numba import cuda, float32

THREADS = 256


@cuda.jit
def sum_conflicting(out, inp):
    """out[b] = the sum of block b.  Whole warps go idle now, and lanes stand on one bank."""
    tile = cuda.shared.array(THREADS, float32)
    tx, bx = cuda.threadIdx.x, cuda.blockIdx.x
    at = bx * THREADS + tx

    # 1. an element per thread, 0 behind the end    global: 4 sectors    shared: 1 wavefront
    tile[tx] = inp[at] if at < inp.size else float32(0)
    cuda.syncthreads()  # the tile is full before anyone reads it

    # 2. half as many sums at each step    shared: 2 wavefronts per read, then 4, 8, 8, 8, 4, 2, 1
    apart = 1
    while apart < THREADS:
        first = 2 * apart * tx
        if first < THREADS:
            tile[first] += tile[first + apart]
        cuda.syncthreads()  # sums of this step are there before the next one reads them
        apart *= 2

    # 3. the sum of the block
    if tx == 0:
        out[bx] = tile[0]
