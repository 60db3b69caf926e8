"""Shared memory that is read before anyone stored it, and indices that leave an axis."""

import numpy as np
from numba import cuda, float32, int32

from tests.corpus.pairs import buggy, clean, floats, ints, matrices, vectors, zeros

N = 64
HALO, ONE_MORE, TWO_LESS = 66, 65, 62


@buggy("uninitialised", 1, 1, N, args=vectors(64))  # each of two halo cells, once
def stencil_without_halo(out, inp):
    tile = cuda.shared.array(HALO, float32)
    tx = cuda.threadIdx.x
    tile[tx + 1] = inp[tx]
    cuda.syncthreads()
    left = tile[tx]
    if tx == N - 1:
        left += tile[tx + 2] + tile[0]  # (1)
    out[tx] = left + tile[tx + 1]


@clean
def stencil_with_halo(out, inp):
    tile = cuda.shared.array(HALO, float32)
    tx = cuda.threadIdx.x
    tile[tx + 1] = inp[tx]
    if tx == 0:
        tile[0] = inp[0]
        tile[N + 1] = inp[N - 1]
    cuda.syncthreads()
    left = tile[tx]
    if tx == N - 1:
        left += tile[tx + 2] + tile[0]
    out[tx] = left + tile[tx + 1]


@buggy("stale", 28, 2, N, args=lambda: (zeros(2), floats(100)))  # cells 36..63 of block 1
def sum_of_a_partial_tile(out, inp):
    tile = cuda.shared.array(N, float32)
    tx = cuda.threadIdx.x
    i = cuda.grid(1)
    if i < inp.size:
        tile[tx] = inp[i]
    cuda.syncthreads()
    if tx == 0:
        total = float32(0)
        for k in range(N):
            total += tile[k]  # (1)
        out[cuda.blockIdx.x] = total


@clean
def sum_of_a_filled_tile(out, inp):
    tile = cuda.shared.array(N, float32)
    tx = cuda.threadIdx.x
    i = cuda.grid(1)
    tile[tx] = inp[i] if i < inp.size else float32(0)
    cuda.syncthreads()
    if tx == 0:
        total = float32(0)
        for k in range(N):
            total += tile[k]
        out[cuda.blockIdx.x] = total


@buggy("uninitialised", 64, 1, N, args=lambda: (np.zeros(8, np.int32), ints(64)))
def bins_not_zeroed(out, inp):  # every thread adds to a bin that no one stored, at one line
    bins = cuda.shared.array(8, int32)
    tx = cuda.threadIdx.x
    cuda.atomic.add(bins, inp[tx] & 7, 1)  # (1)
    cuda.syncthreads()
    if tx < 8:
        out[tx] = bins[tx]


@clean
def bins_zeroed(out, inp):
    bins = cuda.shared.array(8, int32)
    tx = cuda.threadIdx.x
    if tx < 8:
        bins[tx] = 0
    cuda.syncthreads()
    cuda.atomic.add(bins, inp[tx] & 7, 1)
    cuda.syncthreads()
    if tx < 8:
        out[tx] = bins[tx]


@buggy("uninitialised", 32, 1, N, args=vectors(64))  # the upper 32 threads
def upper_half_forgotten(out, inp):
    tile = cuda.shared.array(N, float32)
    tx = cuda.threadIdx.x
    if tx < 32:
        tile[tx] = inp[tx]
    cuda.syncthreads()
    out[tx] = tile[tx]  # (1)


@clean
def upper_half_stored(out, inp):
    tile = cuda.shared.array(N, float32)
    tx = cuda.threadIdx.x
    if tx < 32:
        tile[tx] = inp[tx]
        tile[tx + 32] = inp[tx + 32]
    cuda.syncthreads()
    out[tx] = tile[tx]


@buggy("uninitialised", 1, 1, N, args=vectors(64))  # the first thread, in the first round
def scan_reads_before_zero(out, inp):
    tile = cuda.shared.array(ONE_MORE, float32)
    tx = cuda.threadIdx.x
    tile[tx + 1] = inp[tx]
    cuda.syncthreads()
    out[tx] = tile[tx]  # (1)


@clean
def exclusive_scan_with_zero(out, inp):
    tile = cuda.shared.array(ONE_MORE, float32)
    tx = cuda.threadIdx.x
    tile[tx + 1] = inp[tx]
    if tx == 0:
        tile[0] = 0
    cuda.syncthreads()
    out[tx] = tile[tx]


@buggy("out_of_range", 28, 2, N, args=vectors(100))  # 128 - 100 threads
def no_guard(out, inp):
    i = cuda.grid(1)
    out[i] = 2  # (1)


@clean
def guard(out, inp):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = 2


@buggy("out_of_range", 384, (2, 2), (20, 20), args=matrices(24, 40))
def indices_exchanged(out, inp):  # col reaches 39 where inp has 24 rows: 16 * 24 threads
    col, row = cuda.grid(2)
    if row < inp.shape[0] and col < inp.shape[1]:
        value = inp[col, row]  # (1)
        out[col, row] = value


@clean
def indices_in_order(out, inp):
    tile = cuda.shared.array((20, 21), float32)
    col, row = cuda.grid(2)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    tile[ty, tx] = 0
    if row < inp.shape[0] and col < inp.shape[1]:
        tile[ty, tx] = inp[row, col]
    cuda.syncthreads()
    row = cuda.blockIdx.x * 20 + ty
    col = cuda.blockIdx.y * 20 + tx
    if row < out.shape[0] and col < out.shape[1]:
        out[row, col] = tile[tx, ty]


@buggy("out_of_range", 1, 2, N, args=vectors(128))  # the last thread of all
def right_neighbour(out, inp):
    i = cuda.grid(1)
    out[i] = inp[i] + inp[i + 1]  # (1)


@clean
def right_neighbour_clamped(out, inp):
    i = cuda.grid(1)
    out[i] = inp[i] + inp[min(i + 1, inp.size - 1)]


@buggy("wrapped_index", 3, 2, N, args=vectors(128))  # threads 0, 1 and 2
def left_window(out, inp):
    i = cuda.grid(1)
    out[i] = inp[i] - inp[i - 3]  # (1)


@clean
def left_window_guarded(out, inp):
    i = cuda.grid(1)
    left = float32(0)
    if i >= 3:
        left = inp[i - 3]
    out[i] = inp[i] - left


@buggy(
    "out_of_range", 20, 1, N, args=lambda: (np.zeros(10, np.int32), np.arange(64, dtype=np.int32))
)
def bin_past_the_end(out, inp):  # values 30..49 are sent to bins 10 to 19
    cell = inp[cuda.grid(1)] // 2
    if cell >= 15 and cell < 25:
        cuda.atomic.add(out, cell - 5, 1)  # (1)


@clean
def bin_clamped(out, inp):
    cell = inp[cuda.grid(1)] // 2
    if cell >= 15 and cell < 25:
        cuda.atomic.add(out, min(cell - 5, 9), 1)


@buggy("out_of_range", 16, 1, (16, 16), args=lambda: (zeros(16, 16), floats(16, 16)))
def below(out, inp):  # the last row of 16
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    out[ty, tx] = inp[ty + 1, tx]  # (1)


@clean
def below_round(out, inp):
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    out[ty, tx] = inp[(ty + 1) % 16, tx]


@buggy("out_of_range", 2, 1, N, args=vectors(64))  # the two last threads, in shared memory
def tile_too_small(out, inp):
    tile = cuda.shared.array(TWO_LESS, float32)
    tx = cuda.threadIdx.x
    tile[tx] = inp[tx]  # (1)
    cuda.syncthreads()
    out[tx] = tile[max(tx - 2, 0)]


@clean
def tile_large_enough(out, inp):
    tile = cuda.shared.array(N, float32)
    tx = cuda.threadIdx.x
    tile[tx] = inp[tx]
    cuda.syncthreads()
    out[tx] = tile[max(tx - 2, 0)]


@buggy("wrapped_index", 4, 1, N, args=vectors(64))  # the ring has 4 cells before its first
def ring_buffer(out, inp):
    tile = cuda.shared.array(N, float32)
    tx = cuda.threadIdx.x
    tile[tx] = inp[tx]
    cuda.syncthreads()
    out[tx] = tile[tx - 4]  # (1)


@clean
def ring_buffer_round(out, inp):
    tile = cuda.shared.array(N, float32)
    tx = cuda.threadIdx.x
    tile[tx] = inp[tx]
    cuda.syncthreads()
    out[tx] = tile[(tx - 4) % N]


def _wide(value, kind=np.int64):
    return lambda: (zeros(64), floats(64), kind(value))


@buggy("index_overflow", 32, 1, N, args=_wide(1 << 26))  # threads 32..63: 2**31 and more
def row_times_width(out, inp, width):
    tx = cuda.threadIdx.x
    i = int32(tx * width)  # (1)
    if i < out.size:
        out[i] = inp[tx]


@clean
def row_times_width_in_64_bits(out, inp, width):
    tx = cuda.threadIdx.x
    i = tx * width
    if i < out.size:
        out[i] = inp[tx]


@buggy("index_overflow", 2, 1, N, args=_wide(70_000_000))  # 62 * 70,000,000 > 2**32
def offset_in_uint32(out, inp, stride):
    tx = cuda.threadIdx.x
    i = np.uint32(tx // 62 * 62 * stride)  # (1)
    if i < out.size and tx == 0:
        out[i] = inp[tx]


@clean
def offset_in_uint64(out, inp, stride):
    tx = cuda.threadIdx.x
    i = tx // 62 * 62 * stride
    if i < out.size and tx == 0:
        out[i] = inp[tx]


@buggy("index_overflow", 56, 1, N, args=_wide(1 << 60))  # 8 * 2**60 = 2**63 and more
def product_of_64_bits(out, inp, pitch):
    tx = cuda.threadIdx.x
    i = tx * pitch  # (1)
    if i >= 0 and i < out.size:
        out[i] = inp[tx]


@clean
def product_after_guard(out, inp, pitch):
    tx = cuda.threadIdx.x
    if tx < 8:
        i = tx * pitch
        if i < out.size:
            out[i] = inp[tx]


@buggy("index_overflow", 23, 1, N, args=_wide(819))  # 40 * 819 still fits into 16 bits
def index_in_int16(out, inp, pitch):
    tx = cuda.threadIdx.x
    i = np.int16(tx * pitch)  # (1)
    if i >= 0 and i < out.size:
        out[i] = inp[tx]


@clean
def index_in_int64(out, inp, pitch):
    tx = cuda.threadIdx.x
    i = tx * pitch
    if i >= 0 and i < out.size:
        out[i] = inp[tx]


@buggy("index_overflow", 1, 1, N, args=lambda: (zeros(64), floats(64), np.int64(62)))
def shifted_too_far(out, inp, bits):  # only thread 2: 2 << 62 is 2**63
    tx = cuda.threadIdx.x
    if tx == 1 or tx == 2:
        i = tx << bits  # (1)
        if i >= 0 and i < out.size:
            out[i] = inp[tx]


@clean
def shifted(out, inp, bits):
    tx = cuda.threadIdx.x
    if tx == 1:
        i = tx << bits
        if i < out.size:
            out[i] = inp[tx]


@buggy("index_overflow", 48, 1, N, args=_wide(1 << 27))  # from thread 16 on
def plane_of_a_volume(out, inp, plane):
    tx = cuda.threadIdx.x
    start = np.int32(plane * tx)  # (1)
    if start == 0:
        out[start + tx] = inp[tx]


@clean
def hash_that_wraps(out, inp, plane):
    tx = cuda.threadIdx.x
    for k in range(2):
        if inp[k] < 0:
            return
    k = np.uint32(tx * 2654435761)  # another k than the one above
    h = np.uint32((k ^ (k >> 15)) * 2246822519)
    cuda.atomic.add(out, h % 64, inp[tx])


@buggy("index_overflow", 30, 1, N, args=_wide(1 << 30))  # threads 2..31 take this way
def chosen_offset(out, inp, far):
    tx = cuda.threadIdx.x
    start = np.int32(tx * far) if tx < 32 else tx  # (1)
    if start >= 0 and start < out.size:
        out[start] = inp[tx]


@clean
def hash_in_64_bits(out, inp, far):
    tx = cuda.threadIdx.x
    h = np.uint64(tx) * np.uint64(0x9E3779B97F4A7C15)
    h ^= h >> np.uint64(31)
    h = h * np.uint64(0xBF58476D1CE4E5B9)
    h %= np.uint64(64)
    cuda.atomic.add(out, h, inp[tx])


@buggy("uninitialised", 96, 1, 32, args=vectors(32))  # elements 1..3 of each of 32 threads
def sums_of_a_thread(out, inp):
    acc = cuda.local.array(4, float32)
    i = cuda.grid(1)
    acc[0] = 0
    for k in range(4):
        acc[k] += inp[(i + k) % 32]  # (1)
    out[i] = acc[0] + acc[1] + acc[2] + acc[3]


@clean
def sums_of_a_thread_zeroed(out, inp):
    acc = cuda.local.array(4, float32)
    i = cuda.grid(1)
    for k in range(4):
        acc[k] = 0
    for k in range(4):
        acc[k] += inp[(i + k) % 32]
    out[i] = acc[0] + acc[1] + acc[2] + acc[3]
