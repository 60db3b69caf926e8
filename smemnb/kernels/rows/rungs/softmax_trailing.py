"""softmax_trailing: the softmax of long rows, each over several blocks that wait for earlier ones.

Launch with blocks of 256 threads and a grid of (parts of 8192 elements, rows + behind), with 1 to
`rows` for `behind`; rows have a multiple of 4 elements and begin at multiples of 16 bytes; below
2^32 elements. `flags` holds 2 words per row and one before them, all 0, and 0 again at the end.
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
def softmax_trailing(out, inp, part_tops, part_sums, flags, behind):
    """The softmax of every row.  As softmax_joined, but a block waits for an earlier row alone.

    It ends the part of a row `behind` rows before its own, which it reads from the L2 cache.
    """
    tops = cuda.shared.array(WARPS, float32)
    sums = cuda.shared.array(WARPS, float32)
    number = cuda.shared.array(1, uint32)
    held = cuda.local.array((QUADS, 4), float32)
    tx, parts = uint32(cuda.threadIdx.x), uint32(cuda.gridDim.x)
    warp, lane = uint32(tx // uint32(32)), uint32(tx % uint32(32))

    # 1. the block's number: those before it have begun, whatever the order of the grid
    if tx == 0:
        number[0] = cuda.atomic.inc(flags, 0, uint32(parts * cuda.gridDim.y - uint32(1)))
    cuda.syncthreads()  # the number is there before anyone reads it
    block = number[0]
    row = uint32(block // parts)
    first = uint32((block % parts) * PART)

    # 2. the part into registers            global: 16 sectors
    start = uint32(row * uint32(inp.strides[0] // 4))
    for k in range(QUADS):
        col = uint32(first + (tx + k * THREADS) * 4)
        for e in range(4):
            held[k, e] = float32(-math.inf)  # exp(-inf) adds nothing to a sum
        if col < inp.shape[1] and row < inp.shape[0]:
            four = load16(inp, uint32(start + col))
            for e in range(4):
                held[k, e] = four[e]

    # 3. its maximum and sum, for the blocks that end the row; nobody is waited for
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
    if tx == 0 and row < inp.shape[0]:
        part_tops[block] = top  # global: 1 sector
        part_sums[block] = acc  # global: 1 sector
        cuda.threadfence()  # both are in memory before the block counts as arrived
        cuda.atomic.add(flags, uint32(1 + 2 * row), uint32(1))

    if row < behind:
        return  # the whole block: the first rows are ended by blocks that come later

    # 4. the row `behind` rows before: blocks of smaller numbers, so they have begun
    row -= uint32(behind)
    arrived, left = uint32(1 + 2 * row), uint32(2 + 2 * row)
    if tx == 0:
        while cuda.atomic.add(flags, arrived, uint32(0)) != parts:
            pass
    cuda.syncthreads()  # all parts are there before anyone reads them
    cuda.threadfence()
    if tx == 0:  # whoever leaves last puts both words back to 0
        if cuda.atomic.inc(flags, left, uint32(parts - uint32(1))) == parts - uint32(1):
            cuda.atomic.exch(flags, arrived, uint32(0))

    # 5. maximum and sum of the row, from those of its parts
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

    # 6. the part once more                 global: 16 sectors
    start = uint32(row * uint32(inp.strides[0] // 4))
    for k in range(QUADS):
        col = uint32(first + (tx + k * THREADS) * 4)
        for e in range(4):
            held[k, e] = float32(-math.inf)
        if col < inp.shape[1]:
            four = load16(inp, uint32(start + col))
            for e in range(4):
                held[k, e] = four[e]

    # 7. the quotients                      global: 16 sectors for each store
    scale = float32(1) / acc
    start = uint32(row * uint32(out.strides[0] // 4))
    for k in range(QUADS):
        col = uint32(first + (tx + k * THREADS) * 4)
        for e in range(4):
            held[k, e] = math.exp(held[k, e] - top) * scale
        if col < out.shape[1]:
            four = (held[k, 0], held[k, 1], held[k, 2], held[k, 3])
            store16(out, uint32(start + col), four)
