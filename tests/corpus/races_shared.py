"""Races in shared memory: reductions, scans, stencils, tiles, sorts and queues."""

import numpy as np
from numba import cuda, float32, int32

from tests.corpus.pairs import buggy, clean, floats, ints, vectors, zeros

N = 64
HALO = 66
T = 8


@buggy("race", 128, 2, N, args=vectors(128))  # each of 64 cells crosses the two warps, 2 blocks
def reverse(out, inp):
    tile = cuda.shared.array(N, float32)
    tx = cuda.threadIdx.x
    i = cuda.grid(1)
    tile[tx] = inp[i]  # (1)
    out[i] = tile[N - 1 - tx]  # (2)


@clean
def reverse_ordered(out, inp):
    tile = cuda.shared.array(N, float32)
    tx = cuda.threadIdx.x
    i = cuda.grid(1)
    tile[tx] = inp[i]
    cuda.syncthreads()
    out[i] = tile[N - 1 - tx]


@buggy("race", 96, 3, 128, args=lambda: (zeros(3), floats(384)))  # cells 32..63 of 3 blocks
def tree_sum(out, inp):
    tile = cuda.shared.array(128, float32)
    tx = cuda.threadIdx.x
    tile[tx] = inp[cuda.grid(1)]
    cuda.syncthreads()
    half = 64
    while half > 0:
        if tx < half:
            tile[tx] += tile[tx + half]  # (1) (2)
        half //= 2
    cuda.syncthreads()
    if tx == 0:
        out[cuda.blockIdx.x] = tile[0]


@clean
def tree_sum_ordered(out, inp):
    tile = cuda.shared.array(128, float32)
    tx = cuda.threadIdx.x
    tile[tx] = inp[cuda.grid(1)]
    cuda.syncthreads()
    half = 64
    while half > 0:
        if tx < half:
            tile[tx] += tile[tx + half]
        cuda.syncthreads()
        half //= 2
    if tx == 0:
        out[cuda.blockIdx.x] = tile[0]


@buggy("race", 62, 2, N, args=vectors(128))  # 1 + 2 + 4 + 8 + 16 cells of 2 blocks
def scan_in_place(out, inp):
    tile = cuda.shared.array(N, float32)
    tx = cuda.threadIdx.x
    tile[tx] = inp[cuda.grid(1)]
    cuda.syncthreads()
    step = 1
    while step < N:
        if tx >= step:
            tile[tx] += tile[tx - step]  # (1) (2)
        cuda.syncthreads()
        step *= 2
    out[cuda.grid(1)] = tile[tx]


@clean
def scan_in_two_steps(out, inp):
    tile = cuda.shared.array(N, float32)
    tx = cuda.threadIdx.x
    tile[tx] = inp[cuda.grid(1)]
    cuda.syncthreads()
    step = 1
    while step < N:
        left = float32(0)
        if tx >= step:
            left = tile[tx - step]
        cuda.syncthreads()
        tile[tx] += left
        cuda.syncthreads()
        step *= 2
    out[cuda.grid(1)] = tile[tx]


@buggy("race", 4, 4, N, args=vectors(256))  # one cell at the edge of the warps, 4 blocks
def stencil(out, inp):
    tile = cuda.shared.array(HALO, float32)
    tx = cuda.threadIdx.x
    i = cuda.grid(1)
    tile[tx + 1] = inp[i]  # (1)
    if tx == 0:
        tile[0] = inp[max(i - 1, 0)]
    if tx == N - 1:
        tile[N + 1] = inp[min(i + 1, inp.size - 1)]
    out[i] = tile[tx] + tile[tx + 1] + tile[tx + 2]  # (2)


@clean
def stencil_ordered(out, inp):
    tile = cuda.shared.array(HALO, float32)
    tx = cuda.threadIdx.x
    i = cuda.grid(1)
    tile[tx + 1] = inp[i]
    if tx == 0:
        tile[0] = inp[max(i - 1, 0)]
    if tx == N - 1:
        tile[N + 1] = inp[min(i + 1, inp.size - 1)]
    cuda.syncthreads()
    out[i] = tile[tx] + tile[tx + 1] + tile[tx + 2]


@buggy("race", 896, (2, 2), (16, 16), args=lambda: (zeros(32, 32), floats(32, 32)))
def turn_tile(out, inp):  # 256 cells less the 32 whose two threads share a warp, 4 blocks
    tile = cuda.shared.array((16, 17), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    tile[ty, tx] = inp[row, col]  # (1)
    out[cuda.blockIdx.x * 16 + ty, cuda.blockIdx.y * 16 + tx] = tile[tx, ty]  # (2)


@clean
def turn_tile_ordered(out, inp):
    tile = cuda.shared.array((16, 17), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    tile[ty, tx] = inp[row, col]
    cuda.syncthreads()
    out[cuda.blockIdx.x * 16 + ty, cuda.blockIdx.y * 16 + tx] = tile[tx, ty]


@buggy("race", 256, (2, 2), (T, T), args=lambda: (zeros(16, 16), floats(16, 16), floats(16, 16)))
def product(out, a, b):  # 64 cells of b_tile between two passes, 4 blocks
    a_tile = cuda.shared.array((T, T), float32)
    b_tile = cuda.shared.array((T, T), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    acc = float32(0)
    for start in range(0, 16, T):
        a_tile[ty, tx] = a[row, start + tx]
        b_tile[ty, tx] = b[start + ty, col]  # (1)
        cuda.syncthreads()
        for k in range(T):
            factor = a_tile[ty, k]
            acc += factor * b_tile[k, tx]  # (2)
    out[row, col] = acc


@clean
def product_ordered(out, a, b):
    a_tile = cuda.shared.array((T, T), float32)
    b_tile = cuda.shared.array((T, T), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    acc = float32(0)
    for start in range(0, 16, T):
        a_tile[ty, tx] = a[row, start + tx]
        b_tile[ty, tx] = b[start + ty, col]
        cuda.syncthreads()
        for k in range(T):
            factor = a_tile[ty, k]
            acc += factor * b_tile[k, tx]
        cuda.syncthreads()
    out[row, col] = acc


def _binned():
    return np.zeros(8, np.int32), (np.arange(128) * 5).astype(np.int32)


@buggy("race", 16, 2, N, args=_binned)  # 8 bins, each hit by both warps, 2 blocks
def histogram(out, inp):
    bins = cuda.shared.array(8, int32)
    tx = cuda.threadIdx.x
    if tx < 8:
        bins[tx] = 0
    cuda.syncthreads()
    bins[inp[cuda.grid(1)] & 7] += 1  # (1) (2)
    cuda.syncthreads()
    if tx < 8:
        cuda.atomic.add(out, tx, bins[tx])


@clean
def histogram_atomic(out, inp):
    bins = cuda.shared.array(8, int32)
    tx = cuda.threadIdx.x
    if tx < 8:
        bins[tx] = 0
    cuda.syncthreads()
    cuda.atomic.add(bins, inp[cuda.grid(1)] & 7, 1)
    cuda.syncthreads()
    if tx < 8:
        cuda.atomic.add(out, tx, bins[tx])


def _falling():
    return zeros(256), np.arange(256, 0, -1).astype(np.float32)


@buggy("race", 2, 2, N, args=_falling)
def odd_even_sort(out, inp):  # cell 64, where the warps meet, 2 blocks
    tile = cuda.shared.array(128, float32)
    tx = cuda.threadIdx.x
    first = cuda.blockIdx.x * 128
    tile[tx] = inp[first + tx]
    tile[tx + N] = inp[first + tx + N]
    cuda.syncthreads()
    for phase in range(2):
        k = 2 * tx + phase
        if k + 1 < 128:
            left = tile[k]
            right = tile[k + 1]  # (2)
            if left > right:
                tile[k] = right  # (1)
                tile[k + 1] = left
    cuda.syncthreads()
    out[first + tx] = tile[tx]
    out[first + tx + N] = tile[tx + N]


@clean
def odd_even_sort_ordered(out, inp):
    tile = cuda.shared.array(128, float32)
    tx = cuda.threadIdx.x
    first = cuda.blockIdx.x * 128
    tile[tx] = inp[first + tx]
    tile[tx + N] = inp[first + tx + N]
    cuda.syncthreads()
    for phase in range(2):
        k = 2 * tx + phase
        if k + 1 < 128:
            left = tile[k]
            right = tile[k + 1]
            if left > right:
                tile[k] = right
                tile[k + 1] = left
        cuda.syncthreads()
    out[first + tx] = tile[tx]
    out[first + tx + N] = tile[tx + N]


@buggy("race_in_warp", 16, 2, 32, args=lambda: (zeros(2), floats(64)))  # cells 8..15, 2 blocks
def warp_sum(out, inp):
    tile = cuda.shared.array(32, float32)
    tx = cuda.threadIdx.x
    tile[tx] = inp[cuda.grid(1)]
    cuda.syncwarp()
    if tx < 16:
        tile[tx] += tile[tx + 16]  # (1)
    if tx < 8:
        tile[tx] += tile[tx + 8]  # (2)
    cuda.syncwarp()
    if tx == 0:
        total = float32(0)
        for k in range(8):
            total += tile[k]
        out[cuda.blockIdx.x] = total


@clean
def warp_sum_ordered(out, inp):
    tile = cuda.shared.array(32, float32)
    tx = cuda.threadIdx.x
    tile[tx] = inp[cuda.grid(1)]
    cuda.syncwarp()
    if tx < 16:
        tile[tx] += tile[tx + 16]
    cuda.syncwarp()
    if tx < 8:
        tile[tx] += tile[tx + 8]
    cuda.syncwarp()
    if tx == 0:
        total = float32(0)
        for k in range(8):
            total += tile[k]
        out[cuda.blockIdx.x] = total


@buggy("lost_update", 56, 2, 32, args=lambda: (zeros(2, 4), np.arange(64)))  # 28 of each block
def counts_of_a_warp(out, inp):
    counts = cuda.shared.array(4, int32)
    tx = cuda.threadIdx.x
    if tx < 4:
        counts[tx] = 0
    cuda.syncwarp()
    counts[inp[cuda.grid(1)] % 4] += 1  # (1)
    cuda.syncwarp()
    if tx < 4:
        out[cuda.blockIdx.x, tx] = counts[tx]


@clean
def counts_of_a_warp_atomic(out, inp):
    counts = cuda.shared.array(4, int32)
    tx = cuda.threadIdx.x
    if tx < 4:
        counts[tx] = 0
    cuda.syncwarp()
    cuda.atomic.add(counts, inp[cuda.grid(1)] % 4, 1)
    cuda.syncwarp()
    if tx < 4:
        out[cuda.blockIdx.x, tx] = counts[tx]


@buggy("race", 2, 2, N, args=lambda: (zeros(2), floats(128)))  # the one cell, 2 blocks
def block_max(out, inp):
    best = cuda.shared.array(1, float32)
    tx = cuda.threadIdx.x
    if tx == 0:
        best[0] = 0
    cuda.syncthreads()
    value = inp[cuda.grid(1)]
    if value > best[0]:
        best[0] = value  # (1) (2)
    cuda.syncthreads()
    if tx == 0:
        out[cuda.blockIdx.x] = best[0]


@clean
def block_max_atomic(out, inp):
    best = cuda.shared.array(1, float32)
    tx = cuda.threadIdx.x
    if tx == 0:
        best[0] = 0
    cuda.syncthreads()
    cuda.atomic.max(best, 0, inp[cuda.grid(1)])
    cuda.syncthreads()
    if tx == 0:
        out[cuda.blockIdx.x] = best[0]


@buggy("race", 3, 3, N, args=lambda: (ints(192), floats(192)))  # the counter, 3 blocks
def push(out, inp):
    queue = cuda.shared.array(N, int32)
    length = cuda.shared.array(1, int32)
    tx = cuda.threadIdx.x
    queue[tx] = -1
    if tx == 0:
        length[0] = 0
    cuda.syncthreads()
    if inp[cuda.grid(1)] > 25:
        place = length[0]  # (1)
        length[0] = place + 1  # (2)
        queue[place] = tx
    cuda.syncthreads()
    out[cuda.grid(1)] = queue[tx]


@clean
def push_atomic(out, inp):
    queue = cuda.shared.array(N, int32)
    length = cuda.shared.array(1, int32)
    tx = cuda.threadIdx.x
    queue[tx] = -1
    if tx == 0:
        length[0] = 0
    cuda.syncthreads()
    if inp[cuda.grid(1)] > 25:
        place = cuda.atomic.add(length, 0, 1)
        queue[place] = tx
    cuda.syncthreads()
    out[cuda.grid(1)] = queue[tx]


@buggy("race_same_value", 2, 2, N, args=lambda: (ints(2), floats(128)))  # the flag, 2 blocks
def any_negative(out, inp):
    found = cuda.shared.array(1, int32)
    tx = cuda.threadIdx.x
    if tx == 0:
        found[0] = 0
    cuda.syncthreads()
    if inp[cuda.grid(1)] > 0:
        found[0] = 1  # (1) (2)
    cuda.syncthreads()
    if tx == 0:
        out[cuda.blockIdx.x] = found[0]


@clean
def any_negative_voted(out, inp):
    tx = cuda.threadIdx.x
    found = cuda.syncthreads_or(1 if inp[cuda.grid(1)] > 0 else 0)
    if tx == 0:
        out[cuda.blockIdx.x] = found


@buggy("race_atomic", 2, 2, N, args=vectors(128))  # the total, 2 blocks
def share_of_total(out, inp):
    total = cuda.shared.array(1, float32)
    tx = cuda.threadIdx.x
    if tx == 0:
        total[0] = 0
    cuda.syncthreads()
    value = inp[cuda.grid(1)]
    cuda.atomic.add(total, 0, value)  # (1)
    out[cuda.grid(1)] = value / total[0]  # (2)


@clean
def share_of_total_ordered(out, inp):
    total = cuda.shared.array(1, float32)
    tx = cuda.threadIdx.x
    if tx == 0:
        total[0] = 0
    cuda.syncthreads()
    value = inp[cuda.grid(1)]
    cuda.atomic.add(total, 0, value)
    cuda.syncthreads()
    out[cuda.grid(1)] = value / total[0]
