"""Barriers that some threads miss, and lanes of a warp that do not fit together."""

import numpy as np
from numba import cuda, float32

from tests.corpus.pairs import buggy, clean, floats, vectors, zeros

N = 64
ALL = 0xFFFFFFFF


@buggy("divergent_barrier", 48, 1, N, args=vectors(64))  # 64 - 16 threads are elsewhere
def halo_with_barrier_inside(out, inp):
    tile = cuda.shared.array(N, float32)
    tx = cuda.threadIdx.x
    tile[tx] = float32(0)
    if tx < 16:
        tile[tx] = inp[tx]
        cuda.syncthreads()  # (1)
    out[tx] = tile[tx]


@clean
def halo_with_barrier_outside(out, inp):
    tile = cuda.shared.array(N, float32)
    tx = cuda.threadIdx.x
    tile[tx] = float32(0)
    if tx < 16:
        tile[tx] = inp[tx]
    cuda.syncthreads()
    out[tx] = tile[tx]


@buggy("exited_before_barrier", 28, 2, N, args=lambda: (zeros(128), floats(100)))  # 128 - 100
def guard_by_return(out, inp):
    tile = cuda.shared.array(N, float32)
    tx = cuda.threadIdx.x
    i = cuda.grid(1)
    if i >= inp.size:
        return
    tile[tx] = inp[i]
    cuda.syncthreads()  # (1)
    out[i] = tile[tx]


@clean
def guard_by_if(out, inp):
    tile = cuda.shared.array(N, float32)
    tx = cuda.threadIdx.x
    i = cuda.grid(1)
    if i < inp.size:
        tile[tx] = inp[i]
    cuda.syncthreads()
    if i < inp.size:
        out[i] = tile[tx]


@buggy("divergent_barrier", 32, 1, N, args=vectors(64))  # the second warp goes round once less
def rounds_by_warp(out, inp):
    tile = cuda.shared.array(N, float32)
    tx = cuda.threadIdx.x
    tile[tx] = inp[tx]
    cuda.syncthreads()
    for _ in range(2 - tx // 32):
        value = tile[tx]
        cuda.syncthreads()  # (1)
        tile[tx] = value + float32(1)
    out[tx] = tile[tx]


@clean
def rounds_for_all(out, inp):
    tile = cuda.shared.array(N, float32)
    tx = cuda.threadIdx.x
    tile[tx] = inp[tx]
    cuda.syncthreads()
    for k in range(2):
        value = tile[tx]
        cuda.syncthreads()
        if k < 2 - tx // 32:
            tile[tx] = value + float32(1)
    out[tx] = tile[tx]


@buggy("divergent_barrier", 32, 1, N, args=vectors(64))  # the warp that goes the other way
def barrier_in_both_ways(out, inp):
    tile = cuda.shared.array(N, float32)
    tx = cuda.threadIdx.x
    if tx < 32:
        tile[tx] = inp[tx]
        cuda.syncthreads()  # (1)
    else:
        tile[tx] = -inp[tx]
        cuda.syncthreads()
    out[tx] = tile[N - 1 - tx]


@clean
def barrier_after_both_ways(out, inp):
    tile = cuda.shared.array(N, float32)
    tx = cuda.threadIdx.x
    if tx < 32:
        tile[tx] = inp[tx]
    else:
        tile[tx] = -inp[tx]
    cuda.syncthreads()
    out[tx] = tile[N - 1 - tx]


@buggy("divergent_syncwarp", 24, 1, 32, args=vectors(32))  # 32 - 8 lanes are elsewhere
def syncwarp_inside(out, inp):
    tile = cuda.shared.array(32, float32)
    tx = cuda.threadIdx.x
    tile[tx] = inp[tx]
    cuda.syncwarp()
    if tx < 8:
        value = tile[tx] + tile[tx + 8]
        cuda.syncwarp()  # (1)
        tile[tx] = value
    cuda.syncwarp()
    out[tx] = tile[tx]


@clean
def syncwarp_named(out, inp):
    tile = cuda.shared.array(32, float32)
    tx = cuda.threadIdx.x
    tile[tx] = inp[tx]
    cuda.syncwarp()
    if tx < 8:
        value = tile[tx] + tile[tx + 8]
        cuda.syncwarp(0xFF)
        tile[tx] = value
    cuda.syncwarp()
    out[tx] = tile[tx]


@buggy("stray_shuffle", 8, 1, 32, args=vectors(32))  # lanes 8 to 15 read 16 to 23
def shuffle_inside(out, inp):
    lane = cuda.threadIdx.x
    value = inp[lane]
    if lane < 16:
        value += cuda.shfl_down_sync(0xFFFF, value, 8)  # (1)
    out[lane] = value


@clean
def shuffle_outside(out, inp):
    lane = cuda.threadIdx.x
    value = inp[lane]
    other = cuda.shfl_down_sync(ALL, value, 8)
    if lane < 16:
        value += other
    out[lane] = value


@buggy("stray_shuffle", 16, 1, 48, args=vectors(48))  # lanes 0..15 of a half warp read 16..31
def warp_sum_of_half_a_warp(out, inp):
    i = cuda.threadIdx.x
    value = inp[i]
    value += cuda.shfl_down_sync(ALL, value, 16)  # (1)
    out[i] = value


@clean
def warp_sum_of_halves(out, inp):
    i = cuda.threadIdx.x
    value = inp[i]
    if i < 32:
        value += cuda.shfl_down_sync(ALL, value, 16)
    out[i] = value


@buggy("missing_lane", 22, 1, 32, args=lambda: (np.zeros(32, np.int32), floats(10)))
def vote_under_guard(out, inp):  # 32 - 10 lanes do not come
    i = cuda.threadIdx.x
    if i < inp.size:
        out[i] = cuda.popc(cuda.ballot_sync(ALL, inp[i] > 20))  # (1)


@clean
def vote_by_all(out, inp):
    i = cuda.threadIdx.x
    votes = cuda.ballot_sync(ALL, i < inp.size and inp[i] > 20)
    if i < inp.size:
        out[i] = cuda.popc(votes)


@buggy("unnamed_lane", 16, 1, 32, args=vectors(32))  # the upper half
def mask_too_small(out, inp):
    lane = cuda.threadIdx.x
    out[lane] = cuda.shfl_sync(0xFFFF, inp[lane], 0)  # (1)


@clean
def mask_of_all(out, inp):
    lane = cuda.threadIdx.x
    out[lane] = cuda.shfl_sync(ALL, inp[lane], 0)


@buggy("missing_lane", 16, 2, 32, args=lambda: (np.zeros(64, np.int32), floats(64)))
def any_in_a_branch(out, inp):  # 8 lanes of each of 2 blocks
    i = cuda.grid(1)
    if i % 4 != 0:
        out[i] = cuda.any_sync(ALL, inp[i] > 40)  # (1)


@clean
def any_named_by_ballot(out, inp):
    i = cuda.grid(1)
    members = cuda.ballot_sync(ALL, i % 4 != 0)
    if i % 4 != 0:
        out[i] = cuda.any_sync(members, inp[i] > 40)
