"""A sum by blocks of 512: as sum_sequential, but a thread adds two elements as it loads them."""

from numba import cuda, float32

THREADS = 256


@cuda.jit
def sum_first_add(out, inp):
    """out[b] = the sum of 512 elements of block b.  Half as many blocks, and idle lanes."""
    tile = cuda.shared.array(THREADS, float32)
    tx, bx = cuda.threadIdx.x, cuda.blockIdx.x
    at = bx * 2 * THREADS + tx

    # 1. two elements per thread, 0 behind the end    global: 4 sectors    shared: 1 wavefront
    acc = inp[at] if at < inp.size else float32(0)
    if at + THREADS < inp.size:
        acc += inp[at + THREADS]
    tile[tx] = acc
    cuda.syncthreads()  # the tile is full before anyone reads it

    # 2. half as many sums at each step    shared: 1 wavefront per read
    apart = THREADS // 2
    while apart > 0:
        if tx < apart:
            tile[tx] += tile[tx + apart]
        cuda.syncthreads()  # sums of this step are there before the next one reads them
        apart //= 2

    # 3. the sum of the block
    if tx == 0:
        out[bx] = tile[0]
