"""scan_shuffled: out[row] = running sums of inp[row]; a warp scans by shuffles, then warps do.

Launch with a block of 1024 threads per row; rows of at most 1024 elements.
"""

from __future__ import annotations

from numba import cuda, float32

from ...unrolled import device, jit

SIZE = 1024  # elements of a row, and threads
WARPS = SIZE // 32
EVERYONE = 0xFFFFFFFF  # lanes that take part


@device
def scanned(acc, lane):
    """The sum of acc over this lane and those before it: five shuffles."""
    left = cuda.shfl_up_sync(EVERYONE, acc, 1)
    if lane >= 1:
        acc += left
    left = cuda.shfl_up_sync(EVERYONE, acc, 2)
    if lane >= 2:
        acc += left
    left = cuda.shfl_up_sync(EVERYONE, acc, 4)
    if lane >= 4:
        acc += left
    left = cuda.shfl_up_sync(EVERYONE, acc, 8)
    if lane >= 8:
        acc += left
    left = cuda.shfl_up_sync(EVERYONE, acc, 16)
    if lane >= 16:
        acc += left
    return acc


@jit()
def scan_shuffled(out, inp):
    """out[row] = running sums of inp[row].  32 words of shared memory, one barrier."""
    sums = cuda.shared.array(WARPS, float32)
    tx, row = cuda.threadIdx.x, cuda.blockIdx.x
    lane, warp = tx % 32, tx // 32

    # 1. load a row, zeros behind its end        global: 4 sectors
    acc = float32(0)
    if tx < inp.shape[1]:
        acc = inp[row, tx]

    # 2. each warp scans its 32 elements         shared: 1 wavefront for its sum
    acc = scanned(acc, lane)
    if lane == 31:
        sums[warp] = acc
    cuda.syncthreads()  # all sums are there before a warp reads them

    # 3. each warp scans all sums of warps       shared: 1 wavefront
    upto = scanned(sums[lane], lane)
    before = cuda.shfl_sync(EVERYONE, upto, max(warp - 1, 0))
    if warp > 0:
        acc += before

    # 4. store the row                           global: 4 sectors
    if tx < inp.shape[1]:
        out[row, tx] = acc
