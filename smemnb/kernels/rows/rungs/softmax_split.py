"""softmax_split: the softmax of long rows, each over several blocks, in two launches.

The first leaves maximum and sum of every part, the second reads the row again. Launch both with
blocks of 256 threads and a grid of (parts of 8192 elements, rows); rows have a multiple of 4
elements and begin at multiples of 16 bytes; below 2^32 elements.
"""

from __future__ import annotations

import math

from numba import cuda, float32, uint32

from ...ptx import load16, store16
from ...unrolled import jit

THREADS = 256
WARPS = THREADS // 32
QUADS = 8  # 16 bytes each, of a thread: 32 registers
PART = THREADS * QUADS * 4  # elements of a row that a block has
RESIDENT = 4  # blocks that a multiprocessor holds: 64 registers for a thread
ALL = 0xFFFFFFFF  # every lane takes part in a shuffle
LOWEST = float32(-3.4028234663852886e38)  # the lowest finite number: where a maximum begins


@jit(launch_bounds=(THREADS, RESIDENT))
def softmax_parts(part_tops, part_sums, inp):
    """Maximum of each part of a row, and its sum of exp(element - maximum)."""
    tops = cuda.shared.array(WARPS, float32)
    sums = cuda.shared.array(WARPS, float32)
    held = cuda.local.array((QUADS, 4), float32)
    tx, row = uint32(cuda.threadIdx.x), uint32(cuda.blockIdx.y)
    warp, lane = uint32(tx // uint32(32)), uint32(tx % uint32(32))
    first = uint32(cuda.blockIdx.x * PART)

    # 1. the part into registers            global: 16 sectors
    start = uint32(row * uint32(inp.strides[0] // 4))
    for k in range(QUADS):
        col = uint32(first + (tx + k * THREADS) * 4)
        for e in range(4):
            held[k, e] = float32(-math.inf)  # exp(-inf) adds nothing to a sum
        if col < inp.shape[1]:
            four = load16(inp, uint32(start + col))
            for e in range(4):
                held[k, e] = four[e]

    # 2. maximum and sum
    top = LOWEST
    for k in range(QUADS):
        for e in range(4):
            top = max(top, held[k, e])
    for mask in (16, 8, 4, 2, 1):
        top = max(top, cuda.shfl_xor_sync(ALL, top, mask))
    if lane == 0:
        tops[warp] = top  # shared: 1 wavefront
    cuda.syncthreads()  # the maxima of all warps are there before anyone compares
    top = tops[lane % uint32(WARPS)]  # shared: 1 wavefront
    for mask in (4, 2, 1):
        top = max(top, cuda.shfl_xor_sync(ALL, top, mask))
    acc = float32(0)
    for k in range(QUADS):
        for e in range(4):
            acc += math.exp(held[k, e] - top)
    for mask in (16, 8, 4, 2, 1):
        acc += cuda.shfl_xor_sync(ALL, acc, mask)
    if lane == 0:
        sums[warp] = acc  # shared: 1 wavefront
    cuda.syncthreads()  # the sums of all warps are there before anyone adds
    acc = sums[lane % uint32(WARPS)]  # shared: 1 wavefront
    for mask in (4, 2, 1):
        acc += cuda.shfl_xor_sync(ALL, acc, mask)
    if tx == 0:
        block = cuda.blockIdx.y * cuda.gridDim.x + cuda.blockIdx.x
        part_tops[block] = top  # global: 1 sector
        part_sums[block] = acc  # global: 1 sector


@jit(launch_bounds=(THREADS, RESIDENT))
def softmax_split(out, inp, part_tops, part_sums):
    """The softmax of every row.  As softmax_wide, but the maxima and sums are those of all parts.

    Blocks begin at the end: what the launch before read last is still in the L2 cache.
    """
    tops = cuda.shared.array(WARPS, float32)
    sums = cuda.shared.array(WARPS, float32)
    held = cuda.local.array((QUADS, 4), float32)
    tx, parts = uint32(cuda.threadIdx.x), uint32(cuda.gridDim.x)
    warp, lane = uint32(tx // uint32(32)), uint32(tx % uint32(32))
    row = uint32(cuda.gridDim.y - uint32(1) - cuda.blockIdx.y)
    first = uint32((parts - uint32(1) - cuda.blockIdx.x) * PART)

    # 1. the part into registers            global: 16 sectors
    start = uint32(row * uint32(inp.strides[0] // 4))
    for k in range(QUADS):
        col = uint32(first + (tx + k * THREADS) * 4)
        for e in range(4):
            held[k, e] = float32(-math.inf)
        if col < inp.shape[1]:
            four = load16(inp, uint32(start + col))
            for e in range(4):
                held[k, e] = four[e]

    # 2. maximum and sum of the row, from those of its parts
    top = LOWEST
    for part in range(tx, parts, THREADS):
        top = max(top, part_tops[row * parts + part])
    for mask in (16, 8, 4, 2, 1):
        top = max(top, cuda.shfl_xor_sync(ALL, top, mask))
    if lane == 0:
        tops[warp] = top  # shared: 1 wavefront
    cuda.syncthreads()  # the maxima of all warps are there before anyone compares
    top = tops[lane % uint32(WARPS)]  # shared: 1 wavefront
    for mask in (4, 2, 1):
        top = max(top, cuda.shfl_xor_sync(ALL, top, mask))
    acc = float32(0)
    for part in range(tx, parts, THREADS):
        own = part_tops[row * parts + part]
        acc += part_sums[row * parts + part] * math.exp(own - top)
    for mask in (16, 8, 4, 2, 1):
        acc += cuda.shfl_xor_sync(ALL, acc, mask)
    if lane == 0:
        sums[warp] = acc  # shared: 1 wavefront
    cuda.syncthreads()  # the sums of all warps are there before anyone adds
    acc = sums[lane % uint32(WARPS)]  # shared: 1 wavefront
    for mask in (4, 2, 1):
        acc += cuda.shfl_xor_sync(ALL, acc, mask)

    # 3. the quotients                      global: 16 sectors for each store
    scale = float32(1) / acc
    start = uint32(row * uint32(out.strides[0] // 4))
    for k in range(QUADS):
        col = uint32(first + (tx + k * THREADS) * 4)
        for e in range(4):
            held[k, e] = math.exp(held[k, e] - top) * scale
        if col < out.shape[1]:
            four = (held[k, 0], held[k, 1], held[k, 2], held[k, 3])
            store16(out, uint32(start + col), four)
