"""Races in global memory: inside a block, between blocks, with atomics, and without a fence."""

import numpy as np
from numba import cuda, float32, int32

from tests.corpus.pairs import buggy, clean, floats, ints, vectors, zeros

N = 64


@buggy("race_between_blocks", 1, 4, N, args=lambda: (zeros(1), floats(256)))  # the one cell
def grand_total(out, inp):
    tile = cuda.shared.array(N, float32)
    tx = cuda.threadIdx.x
    tile[tx] = inp[cuda.grid(1)]
    cuda.syncthreads()
    if tx == 0:
        total = float32(0)
        for k in range(N):
            total += tile[k]
        out[0] += total  # (1) (2)


@clean
def grand_total_atomic(out, inp):
    tile = cuda.shared.array(N, float32)
    tx = cuda.threadIdx.x
    tile[tx] = inp[cuda.grid(1)]
    cuda.syncthreads()
    if tx == 0:
        total = float32(0)
        for k in range(N):
            total += tile[k]
        cuda.atomic.add(out, 0, total)


@buggy("race_between_blocks", 1, 2, N, args=lambda: (floats(128),))  # cell 63, of two blocks
def smooth_in_place(x):
    i = cuda.grid(1)
    if i > 0:
        left = x[i - 1]  # (2)
        x[i] = float32(0.5) * (left + x[i])  # (1)


@clean
def shift_by_block(x):
    tile = cuda.shared.array(N, float32)
    tx = cuda.threadIdx.x
    i = cuda.grid(1)
    tile[tx] = x[i]
    cuda.syncthreads()
    if tx > 0:
        x[i] = float32(0.5) * (tile[tx - 1] + tile[tx])


@buggy("race", 3, 1, 128, args=lambda: (floats(128),))  # cells 31, 63 and 95
def smooth_in_one_block(x):
    i = cuda.threadIdx.x
    if i > 0:
        left = x[i - 1]  # (2)
        x[i] = float32(0.5) * (left + x[i])  # (1)


@clean
def smooth_in_one_block_ordered(x):
    i = cuda.threadIdx.x
    left = x[max(i - 1, 0)]
    cuda.syncthreads()
    x[i] = float32(0.5) * (left + x[i])


@buggy("race", 128, 2, N, args=lambda: (zeros(128), zeros(128), floats(128)))  # every cell
def scratch_in_global(out, scratch, inp):
    i = cuda.grid(1)
    scratch[i] = inp[i]  # (1)
    out[i] = scratch[i ^ 32]  # (2)


@clean
def scratch_in_global_ordered(out, scratch, inp):
    i = cuda.grid(1)
    scratch[i] = inp[i]
    cuda.syncthreads()
    out[i] = scratch[i ^ 32]


@buggy("race_between_blocks", 128, 2, N, args=lambda: (zeros(128), zeros(128), floats(128)))
def two_phases(out, scratch, inp):  # every cell is read by the other block
    i = cuda.grid(1)
    scratch[i] = inp[i]  # (1)
    cuda.syncthreads()
    out[i] = scratch[scratch.size - 1 - i]  # (2)


@clean
def two_phases_by_block(out, scratch, inp):
    i = cuda.grid(1)
    tx = cuda.threadIdx.x
    scratch[i] = inp[i]
    cuda.syncthreads()
    out[i] = scratch[cuda.blockIdx.x * N + N - 1 - tx]


@buggy("race_between_blocks", 8, 2, N, args=lambda: (np.zeros(8, np.int32), ints(128)))
def histogram_in_global(out, inp):  # all of 8 bins
    out[inp[cuda.grid(1)] & 7] += 1  # (1) (2)


@clean
def histogram_in_global_atomic(out, inp):
    cuda.atomic.add(out, inp[cuda.grid(1)] & 7, 1)


@buggy("race_atomic", 1, 1, N, args=lambda: (np.zeros(N, np.int32), np.zeros(1, np.int32)))
def rank_by_reading(out, count):  # the counter
    tx = cuda.threadIdx.x
    cuda.atomic.add(count, 0, 1)  # (1)
    out[tx] = count[0]  # (2)


@clean
def rank_by_old_value(out, count):
    tx = cuda.threadIdx.x
    out[tx] = cuda.atomic.add(count, 0, 1)


@buggy("race_atomic", 1, 2, N, args=lambda: (np.zeros(1, np.int32), ints(128)))  # the counter
def count_with_reset(out, inp):
    i = cuda.grid(1)
    if i == 0:
        out[0] = 0  # (1)
    if inp[i] > 500:
        cuda.atomic.add(out, 0, 1)  # (2)


@clean
def count_without_reset(out, inp):
    if inp[cuda.grid(1)] > 500:
        cuda.atomic.add(out, 0, 1)


def _blocks(size):
    return lambda: (zeros(1), zeros(4), np.zeros(1, np.int32), floats(size))


@buggy("race_between_blocks", 3, 4, N, args=_blocks(256))  # the sums of the three other blocks
def last_block_sum(out, partial, ticket, inp):
    tile = cuda.shared.array(N, float32)
    last = cuda.shared.array(1, int32)
    tx = cuda.threadIdx.x
    tile[tx] = inp[cuda.grid(1)]
    cuda.syncthreads()
    if tx == 0:
        total = float32(0)
        for k in range(N):
            total += tile[k]
        partial[cuda.blockIdx.x] = total  # (1)
        last[0] = cuda.atomic.add(ticket, 0, 1)
    cuda.syncthreads()
    if last[0] == cuda.gridDim.x - 1 and tx == 0:
        total = float32(0)
        for k in range(4):
            total += partial[k]  # (2)
        out[0] = total


@clean
def last_block_sum_fenced(out, partial, ticket, inp):
    tile = cuda.shared.array(N, float32)
    last = cuda.shared.array(1, int32)
    tx = cuda.threadIdx.x
    tile[tx] = inp[cuda.grid(1)]
    cuda.syncthreads()
    if tx == 0:
        total = float32(0)
        for k in range(N):
            total += tile[k]
        partial[cuda.blockIdx.x] = total
        cuda.threadfence()
        last[0] = cuda.atomic.add(ticket, 0, 1)
    cuda.syncthreads()
    if last[0] == cuda.gridDim.x - 1 and tx == 0:
        cuda.threadfence()
        total = float32(0)
        for k in range(4):
            total += partial[k]
        out[0] = total


@buggy(
    "race_between_blocks", 1, 2, N, args=lambda: (np.full(128, -1, np.int32), np.zeros(1, np.int32))
)
def queue_in_global(queue, length):  # the length
    place = length[0]  # (1)
    length[0] = place + 1  # (2)
    queue[place] = cuda.grid(1)


@clean
def queue_in_global_atomic(queue, length):
    place = cuda.atomic.add(length, 0, 1)
    queue[place] = cuda.grid(1)


def _chain():
    return zeros(256), zeros(4), np.zeros(4, np.int32), floats(256)


@buggy("race_between_blocks", 3, 4, N, args=_chain)  # the sums of the three blocks before
def chained_scan(out, sums, flags, inp):
    tile = cuda.shared.array(N, float32)
    before = cuda.shared.array(1, float32)
    tx, bx = cuda.threadIdx.x, cuda.blockIdx.x
    tile[tx] = inp[cuda.grid(1)]
    cuda.syncthreads()
    if tx == 0:
        total = float32(0)
        for k in range(N):
            total += tile[k]
        before[0] = 0
        if bx > 0:
            while cuda.atomic.add(flags, bx - 1, 0) == 0:
                pass
            before[0] = sums[bx - 1]  # (2)
        sums[bx] = before[0] + total  # (1)
        cuda.atomic.exch(flags, bx, 1)
    cuda.syncthreads()
    out[cuda.grid(1)] = before[0] + tile[tx]


@clean
def chained_scan_fenced(out, sums, flags, inp):
    tile = cuda.shared.array(N, float32)
    before = cuda.shared.array(1, float32)
    tx, bx = cuda.threadIdx.x, cuda.blockIdx.x
    tile[tx] = inp[cuda.grid(1)]
    cuda.syncthreads()
    if tx == 0:
        total = float32(0)
        for k in range(N):
            total += tile[k]
        before[0] = 0
        if bx > 0:
            while cuda.atomic.add(flags, bx - 1, 0) == 0:
                pass
            cuda.threadfence()
            before[0] = sums[bx - 1]
        sums[bx] = before[0] + total
        cuda.threadfence()
        cuda.atomic.exch(flags, bx, 1)
    cuda.syncthreads()
    out[cuda.grid(1)] = before[0] + tile[tx]


def _handed_over():
    return zeros(64), zeros(64), np.zeros(1, np.int32), floats(64)


@buggy("race_flag", 1, 2, N, args=_handed_over)  # the flag
def hand_over(out, box, flag, inp):
    tx = cuda.threadIdx.x
    if cuda.blockIdx.x == 0:
        box[tx] = inp[tx]
        cuda.threadfence()
        cuda.syncthreads()
        if tx == 0:
            cuda.atomic.exch(flag, 0, 1)  # (1)
    else:
        if tx == 0:
            while flag[0] == 0:  # (2)
                pass
        cuda.threadfence()
        cuda.syncthreads()
        out[tx] = box[N - 1 - tx]


@clean
def hand_over_by_atomics(out, box, flag, inp):
    tx = cuda.threadIdx.x
    if cuda.blockIdx.x == 0:
        box[tx] = inp[tx]
        cuda.threadfence()
        cuda.syncthreads()
        if tx == 0:
            cuda.atomic.exch(flag, 0, 1)
    else:
        if tx == 0:
            while cuda.atomic.add(flag, 0, 0) == 0:
                pass
        cuda.threadfence()
        cuda.syncthreads()
        out[tx] = box[N - 1 - tx]


@buggy("race", 64, 1, N, args=vectors(64))  # every cell but none with itself: 64
def reverse_in_place(out, inp):
    tx = cuda.threadIdx.x
    out[tx] = inp[tx]  # (1)
    out[tx] += out[N - 1 - tx]  # (2)


@clean
def reverse_out_of_place(out, inp):
    tx = cuda.threadIdx.x
    out[tx] = inp[tx]
    out[tx] += inp[N - 1 - tx]
