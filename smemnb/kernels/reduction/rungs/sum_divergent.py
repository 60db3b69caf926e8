"""A sum by blocks of 256: pairs of neighbours; every second thread works, then every fourth."""

from numba import cuda, float32

THREADS = 256


@cuda.jit
def sum_divergent(out, inp):
    """out[b] = the sum of 256 elements of block b; the lanes at work stand ever further apart."""
    tile = cuda.shared.array(THREADS, float32)
    tx, bx = cuda.threadIdx.x, cuda.blockIdx.x
    at = bx * THREADS + tx

    # 1. an element per thread, 0 behind the end    global: 4 sectors    shared: 1 wavefront
    tile[tx] = inp[at] if at < inp.size else float32(0)
    cuda.syncthreads()  # the tile is full before anyone reads it

    # 2. half as many sums at each step    shared: 1 wavefront per read, in all 8 warps at first
    apart = 1
    while apart < THREADS:
        if tx % (2 * apart) == 0:
            tile[tx] += tile[tx + apart]
        cuda.syncthreads()  # sums of this step are there before the next one reads them
        apart *= 2

    # 3. the sum of the block
    if tx == 0:
        out[bx] = tile[0]
