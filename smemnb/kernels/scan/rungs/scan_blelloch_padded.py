"""scan_blelloch_padded: out[row] = running sums of inp[row], by a tree with a pad word per 32.

Launch with a block of 512 threads per row; rows of at most 1024 elements.
"""

from __future__ import annotations

from numba import cuda, float32

from ...unrolled import device, jit

SIZE = 1024  # elements of a row
HALF = SIZE // 2  # threads
PADDED = SIZE + SIZE // 32  # words of the tile


@device
def place(i):
    """Where element i of the tile lies: one pad word after each 32."""
    return i + i // 32


@jit()
def scan_blelloch_padded(out, inp):
    """out[row] = running sums of inp[row].  As scan_blelloch, a pad word after each 32."""
    tile = cuda.shared.array(PADDED, float32)
    tx, row = cuda.threadIdx.x, cuda.blockIdx.x

    # 1. load two elements per thread            global: 4 sectors    shared: 1 wavefront
    left = float32(0)
    right = float32(0)
    if tx < inp.shape[1]:
        left = inp[row, tx]
    if tx + HALF < inp.shape[1]:
        right = inp[row, tx + HALF]
    tile[place(tx)] = left
    tile[place(tx + HALF)] = right

    # 2. up: sums of 2, 4, 8 ... 1024            shared: 1 wavefront
    step = 1
    while step < SIZE:
        cuda.syncthreads()  # the sums of the step before are there
        if tx < HALF // step:
            last = (tx + 1) * 2 * step - 1
            tile[place(last)] += tile[place(last - step)]
        step *= 2

    # 3. down: what lies before each half        shared: the same, backwards
    if tx == 0:
        tile[place(SIZE - 1)] = float32(0)
    step = HALF
    while step > 0:
        cuda.syncthreads()  # the prefixes of the step before are there
        if tx < HALF // step:
            last = (tx + 1) * 2 * step - 1
            before = tile[place(last)]
            tile[place(last)] = before + tile[place(last - step)]
            tile[place(last - step)] = before
        step //= 2
    cuda.syncthreads()  # all prefixes are there before they are read in another order

    # 4. store: the prefix and the element       shared: 1 wavefront    global: 4 sectors
    if tx < inp.shape[1]:
        out[row, tx] = tile[place(tx)] + left
    if tx + HALF < inp.shape[1]:
        out[row, tx + HALF] = tile[place(tx + HALF)] + right
