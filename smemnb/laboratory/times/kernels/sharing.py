"""Kernels whose threads work together: sums, running sums, counts, sorting, normalised rows."""

from __future__ import annotations

import math

from numba import cuda, float32, int32, uint32

THREADS = 256
BINS = 256
EDGE = 16
TAPS = 5
AROUND = EDGE + TAPS - 1


@cuda.jit
def timed_sum_tree(out, inp):
    """out = a sum per block, halved step by step in shared memory."""
    tile = cuda.shared.array(THREADS, float32)
    tx = cuda.threadIdx.x
    acc = float32(0)
    for at in range(cuda.grid(1), inp.size, cuda.gridsize(1)):
        acc += inp[at]
    tile[tx] = acc
    cuda.syncthreads()
    apart = THREADS // 2
    while apart > 0:
        if tx < apart:
            tile[tx] += tile[tx + apart]
        cuda.syncthreads()  # this step's sums are there before the next one reads them
        apart //= 2
    if tx == 0:
        out[cuda.blockIdx.x] = tile[0]


@cuda.jit
def timed_sum_shuffles(out, inp):
    """out = a sum per warp of four elements per lane, joined by shuffles."""
    first = cuda.grid(1) * 4
    acc = float32(0)
    for step in range(4):
        if first + step < inp.size:
            acc += inp[first + step]
    for apart in (16, 8, 4, 2, 1):
        acc += cuda.shfl_down_sync(0xFFFFFFFF, acc, apart)
    if cuda.threadIdx.x % 32 == 0:
        out[cuda.grid(1) // 32] = acc


@cuda.jit
def timed_largest(out, inp):
    """out = the largest element of each row, a block per row."""
    tile = cuda.shared.array(32, float32)
    tx, row = cuda.threadIdx.x, cuda.blockIdx.x
    top = float32(-math.inf)
    for col in range(tx, inp.shape[1], cuda.blockDim.x):
        top = max(top, inp[row, col])
    for apart in (16, 8, 4, 2, 1):
        top = max(top, cuda.shfl_xor_sync(0xFFFFFFFF, top, apart))
    if tx % 32 == 0:
        tile[tx // 32] = top
    cuda.syncthreads()
    if tx == 0:
        for warp in range(1, cuda.blockDim.x // 32):
            top = max(top, tile[warp])
        out[row] = top


@cuda.jit
def timed_running_sums(out, inp):
    """out = running sums within each block, by doubling steps (Hillis and Steele)."""
    tile = cuda.shared.array(THREADS, float32)
    tx = cuda.threadIdx.x
    at = cuda.grid(1)
    tile[tx] = inp[at]
    cuda.syncthreads()
    apart = 1
    while apart < THREADS:
        before = tile[tx - apart] if tx >= apart else float32(0)
        cuda.syncthreads()  # everyone has read before anyone adds
        tile[tx] += before
        cuda.syncthreads()
        apart *= 2
    out[at] = tile[tx]


@cuda.jit
def timed_counts_shared(counts, inp):
    """counts = how often each byte occurs, counted in shared memory first."""
    own = cuda.shared.array(BINS, int32)
    tx = cuda.threadIdx.x
    own[tx] = 0
    cuda.syncthreads()
    for at in range(cuda.grid(1), inp.size, cuda.gridsize(1)):
        cuda.atomic.add(own, inp[at], 1)
    cuda.syncthreads()
    cuda.atomic.add(counts, tx, own[tx])


@cuda.jit
def timed_counts_global(counts, inp):
    """counts = how often each value occurs, counted in global memory."""
    at = cuda.grid(1)
    if at < inp.size:
        cuda.atomic.add(counts, inp[at], 1)


@cuda.jit
def timed_sorted_blocks(out, inp):
    """out = each block's elements in order, by a bitonic network in shared memory."""
    tile = cuda.shared.array(THREADS, uint32)
    tx = cuda.threadIdx.x
    at = cuda.grid(1)
    tile[tx] = inp[at]
    cuda.syncthreads()
    size = 2
    while size <= THREADS:
        apart = size // 2
        while apart > 0:
            other = tx ^ apart
            if other > tx:
                low, high = tile[tx], tile[other]
                if (low > high) == (tx & size == 0):
                    tile[tx] = high
                    tile[other] = low
            cuda.syncthreads()
            apart //= 2
        size *= 2
    out[at] = tile[tx]


@cuda.jit
def timed_convolution(out, inp, weights):
    """out = a picture with 5x5 weights, each block's part staged with its halo."""
    tile = cuda.shared.array((AROUND, AROUND), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    left, top = cuda.blockIdx.x * EDGE, cuda.blockIdx.y * EDGE
    for down in range(ty, AROUND, EDGE):
        for across in range(tx, AROUND, EDGE):
            if top + down < inp.shape[0] and left + across < inp.shape[1]:
                tile[down, across] = inp[top + down, left + across]
    cuda.syncthreads()
    acc = float32(0)
    for down in range(TAPS):
        for across in range(TAPS):
            acc += weights[down, across] * tile[ty + down, tx + across]
    if top + ty < out.shape[0] and left + tx < out.shape[1]:
        out[top + ty, left + tx] = acc


@cuda.jit
def timed_softmax(out, inp):
    """out = softmax of each row, a block per row: its largest, its sum, its quotients."""
    tile = cuda.shared.array(THREADS, float32)
    tx, row = cuda.threadIdx.x, cuda.blockIdx.x
    top = float32(-math.inf)
    for col in range(tx, inp.shape[1], THREADS):
        top = max(top, inp[row, col])
    tile[tx] = top
    cuda.syncthreads()
    apart = THREADS // 2
    while apart > 0:
        if tx < apart:
            tile[tx] = max(tile[tx], tile[tx + apart])
        cuda.syncthreads()
        apart //= 2
    top = tile[0]
    cuda.syncthreads()  # everyone has the largest before sums take its place
    total = float32(0)
    for col in range(tx, inp.shape[1], THREADS):
        total += math.exp(inp[row, col] - top)
    tile[tx] = total
    cuda.syncthreads()
    apart = THREADS // 2
    while apart > 0:
        if tx < apart:
            tile[tx] += tile[tx + apart]
        cuda.syncthreads()
        apart //= 2
    total = tile[0]
    for col in range(tx, inp.shape[1], THREADS):
        out[row, col] = math.exp(inp[row, col] - top) / total


@cuda.jit
def timed_rms_rows(out, inp, epsilon):
    """out = each row over its root mean square, a warp per row."""
    lane = cuda.threadIdx.x % 32
    row = cuda.grid(1) // 32
    if row < inp.shape[0]:
        acc = float32(0)
        for col in range(lane, inp.shape[1], 32):
            acc += inp[row, col] * inp[row, col]
        for apart in (16, 8, 4, 2, 1):
            acc += cuda.shfl_xor_sync(0xFFFFFFFF, acc, apart)
        scale = float32(1) / math.sqrt(acc / float32(inp.shape[1]) + epsilon)
        for col in range(lane, inp.shape[1], 32):
            out[row, col] = inp[row, col] * scale


@cuda.jit
def timed_int_product(out, a, b):
    """out = a times b of int32, by tiles of 16x16."""
    a_tile = cuda.shared.array((EDGE, EDGE), int32)
    b_tile = cuda.shared.array((EDGE, EDGE), int32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    acc = int32(0)
    for first in range(0, a.shape[1], EDGE):
        a_tile[ty, tx] = a[row, first + tx]
        b_tile[ty, tx] = b[first + ty, col]
        cuda.syncthreads()
        for k in range(EDGE):
            acc += a_tile[ty, k] * b_tile[k, tx]
        cuda.syncthreads()  # the tiles are read before they are filled again
    out[row, col] = acc
