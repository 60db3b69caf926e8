"""scan_wide: out[row] = running sums of inp[row], four neighbours per lane, 16 bytes per access.

Launch with a block of 256 threads per row; rows of at most 1024 elements, below 2^32 in all, that
begin at multiples of 16 bytes, of a multiple of 4 elements.
"""

from __future__ import annotations

from numba import cuda, float32, uint32

from ...ptx import load16, store16
from ...unrolled import device, jit

CHUNK = 4  # elements in 16 bytes
THREADS = 256
WARPS = THREADS // 32
SIZE = THREADS * CHUNK  # elements of a row
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


@jit(launch_bounds=THREADS)
def scan_wide(out, inp):
    """out[row] = running sums of inp[row].  As scan_shuffled, but four elements per lane."""
    sums = cuda.shared.array(WARPS, float32)
    tid, row = uint32(cuda.threadIdx.x), uint32(cuda.blockIdx.x)
    lane, warp = uint32(tid % uint32(32)), uint32(tid // uint32(32))
    col = uint32(tid * uint32(CHUNK))

    # 1. load four neighbours, zeros behind the end        global: 16 sectors
    four = (float32(0), float32(0), float32(0), float32(0))
    if col < inp.shape[1]:
        four = load16(inp, uint32(row * uint32(inp.strides[0] // 4) + col))

    # 2. each lane adds up its four, each warp scans its 32 sums
    first = four[0]
    second = first + four[1]
    third = second + four[2]
    fourth = third + four[3]
    upto = scanned(fourth, lane)
    before = cuda.shfl_up_sync(EVERYONE, upto, 1)
    if lane == 0:
        before = float32(0)
    if lane == 31:
        sums[warp] = upto  # shared: 1 wavefront
    cuda.syncthreads()  # all sums are there before a warp reads them

    # 3. each warp scans all sums of warps                 shared: 1 wavefront
    acc = float32(0)
    if lane < WARPS:
        acc = sums[lane]
    upto = scanned(acc, lane)
    earlier = cuda.shfl_sync(EVERYONE, upto, max(int(warp) - 1, 0))
    if warp > 0:
        before += earlier

    # 4. store four neighbours                             global: 16 sectors
    if col < inp.shape[1]:
        at = uint32(row * uint32(out.strides[0] // 4) + col)
        store16(out, at, (before + first, before + second, before + third, before + fourth))
