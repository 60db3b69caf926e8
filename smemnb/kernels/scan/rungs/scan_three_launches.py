"""scan_three_launches: out = running sums of inp: of tiles, then of their sums, then both.

Three launches on one stream; each sees all that the one before it has stored:

1. scan_tiles, a block of 256 threads per 1024 elements: running sums inside each tile, and its sum;
2. scan_sums, one block of 1024 threads: running sums of the sums of tiles, in place;
3. add_before, a block of 256 threads per 1024 elements: each tile takes what lies before it.

Below 2^32 elements; both arrays begin at multiples of 16 bytes.
"""

from __future__ import annotations

from numba import cuda, float32, uint32

from ...ptx import load1, load16, store1, store16
from ...unrolled import device, jit

CHUNK = 4  # elements in 16 bytes
THREADS = 256
WARPS = THREADS // 32
TILE = THREADS * CHUNK  # elements of a tile
SUMS = 1024  # threads of the block that scans the sums, and sums that it takes at a time
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
def scan_tiles(out, totals, inp):
    """out = running sums of each tile of inp, totals = the sums of the tiles.  As scan_wide."""
    sums = cuda.shared.array(WARPS, float32)
    tid, tile = uint32(cuda.threadIdx.x), uint32(cuda.blockIdx.x)
    lane, warp = uint32(tid % uint32(32)), uint32(tid // uint32(32))
    start, size = uint32(tile * uint32(TILE) + tid * uint32(CHUNK)), uint32(inp.size)

    # 1. load four neighbours, zeros behind the end        global: 16 sectors
    first = second = third = fourth = float32(0)
    whole = start + uint32(CHUNK) <= size
    if whole:
        first, second, third, fourth = load16(inp, start)
    elif start < size:
        first = load1(inp, start)
        if start + uint32(1) < size:
            second = load1(inp, uint32(start + uint32(1)))
        if start + uint32(2) < size:
            third = load1(inp, uint32(start + uint32(2)))

    # 2. each lane adds up its four, each warp scans its 32 sums
    second += first
    third += second
    fourth += third
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
    if tid == THREADS - 1:
        totals[tile] = before + fourth

    # 4. store four neighbours                             global: 16 sectors
    if whole:
        store16(out, start, (before + first, before + second, before + third, before + fourth))
    elif start < size:
        store1(out, start, before + first)
        if start + uint32(1) < size:
            store1(out, uint32(start + uint32(1)), before + second)
        if start + uint32(2) < size:
            store1(out, uint32(start + uint32(2)), before + third)


@jit(launch_bounds=SUMS)
def scan_sums(totals):
    """totals = running sums of totals, by one block that goes from 1024 to the next 1024."""
    sums = cuda.shared.array(32, float32)
    carry = cuda.shared.array(1, float32)
    tx = cuda.threadIdx.x
    lane, warp = tx % 32, tx // 32
    if tx == 0:
        carry[0] = float32(0)
    for start in range(0, totals.size, SUMS):
        i = start + tx
        acc = float32(0)
        if i < totals.size:
            acc = totals[i]  # global: 4 sectors
        acc = scanned(acc, lane)
        if lane == 31:
            sums[warp] = acc
        cuda.syncthreads()  # sums and carry are there
        upto = scanned(sums[lane], lane)
        before = cuda.shfl_sync(EVERYONE, upto, max(warp - 1, 0))
        if warp > 0:
            acc += before
        acc += carry[0]
        cuda.syncthreads()  # all have read sums and carry before they are stored again
        if tx == SUMS - 1:
            carry[0] = acc
        if i < totals.size:
            totals[i] = acc  # global: 4 sectors


@jit(launch_bounds=THREADS)
def add_before(out, totals):
    """out += what lies before each tile."""
    tile = uint32(cuda.blockIdx.x + 1)  # before the first tile lies nothing
    start = uint32(tile * uint32(TILE) + uint32(cuda.threadIdx.x) * uint32(CHUNK))
    size = uint32(out.size)
    before = load1(totals, uint32(tile - uint32(1)))
    if start + uint32(CHUNK) <= size:
        four = load16(out, start)
        store16(
            out, start, (before + four[0], before + four[1], before + four[2], before + four[3])
        )
    else:
        for i in range(start, size):
            store1(out, uint32(i), before + load1(out, uint32(i)))
