"""Local arrays with an index of the run, and the same work with indices that a compiler knows.

Which of them lie in local memory was told by their machine code (LDL, STL, a stack), compiled for
cc 9.0. The counts are source lines that touch the array at an index of the run.
"""

import numpy as np
from numba import cuda, float32, float64, int32, uint8

from tests.corpus.pairs import buggy, clean, floats, vectors, zeros

N = 64
BINS, TAPS = 48, 5


@buggy("local_array", 1, 2, N, args=lambda: (zeros(128), floats(20, 128)))
def votes(out, inp):
    """Each thread counts in bins of its own: the bin is in the data."""
    i = cuda.grid(1)
    bins = cuda.local.array(BINS, int32)
    for k in range(BINS):
        bins[k] = 0
    for k in range(inp.shape[0]):
        bins[int(inp[k, i]) % BINS] += 1  # (1)
    most = int32(0)
    for k in range(BINS):
        most = max(most, bins[k])
    out[i] = most


@clean
def votes_in_shared_memory(out, inp):
    bins = cuda.shared.array((BINS, N), int32)
    i, tx = cuda.grid(1), cuda.threadIdx.x
    for k in range(BINS):
        bins[k, tx] = 0
    for k in range(inp.shape[0]):
        bins[int(inp[k, i]) % BINS, tx] += 1
    most = int32(0)
    for k in range(BINS):
        most = max(most, bins[k, tx])
    out[i] = most


@buggy("local_array", 2, 2, N, args=vectors(128))
def average_of_a_ring(out, inp):
    """The place in the ring goes round with a loop whose length the launch gives."""
    i = cuda.grid(1)
    ring = cuda.local.array(TAPS, float64)
    for k in range(TAPS):
        ring[k] = 0
    total, at = 0.0, 0
    for k in range(inp.shape[0]):
        total += inp[k] - ring[at]  # (1)
        ring[at] = inp[k]
        at = at + 1 if at < TAPS - 1 else 0
    out[i] = total


@clean
def average_of_shifted_registers(out, inp):
    i = cuda.grid(1)
    ring = cuda.local.array(TAPS, float64)
    for k in range(TAPS):
        ring[k] = 0
    total = 0.0
    for k in range(inp.shape[0]):
        total += inp[k] - ring[0]
        for j in range(TAPS - 1):
            ring[j] = ring[j + 1]
        ring[TAPS - 1] = inp[k]
    out[i] = total


@buggy("local_array", 1, 2, N, args=vectors(128))
def largest_of_a_window(out, inp):
    """`for value in window` goes by addresses."""
    i = cuda.grid(1)
    window = cuda.local.array(4, float32)
    for k in range(4):
        window[k] = inp[(i + k) % 128]
    most = window[0]
    for value in window:  # (1)
        most = max(most, value)
    out[i] = most


@clean
def largest_of_a_window_by_index(out, inp):
    i = cuda.grid(1)
    window = cuda.local.array(4, float32)
    for k in range(4):
        window[k] = inp[(i + k) % 128]
    most = window[0]
    for k in range(4):
        most = max(most, window[k])
    out[i] = most


@buggy("local_array", 3, 1, N, args=lambda: (np.zeros(64, np.uint8), np.arange(96, dtype=np.uint8)))
def median_by_least(out, inp):
    """Which element is the least is found at run time, and taken by its number."""
    i = cuda.grid(1)
    v = cuda.local.array(5, uint8)
    for k in range(5):
        v[k] = inp[i + k]
    for k in range(3):
        least = k
        for j in range(k + 1, 5):
            if v[j] < v[least]:  # (1)
                least = j
        kept = v[k]
        v[k] = v[least]
        v[least] = kept
    out[i] = v[2]


@clean
def median_by_exchanges(out, inp):
    i = cuda.grid(1)
    v = cuda.local.array(5, uint8)
    for k in range(5):
        v[k] = inp[i + k]
    for k in range(3):
        for j in range(k + 1, 5):
            low = min(v[k], v[j])
            v[j] = max(v[k], v[j])
            v[k] = low
    out[i] = v[2]


@buggy("open_local_array", 1, 2, N, args=vectors(128))
def one_of_eight(out, inp):
    """One of eight: the compiler picks it by selections, or loads it."""
    i = cuda.grid(1)
    weights = cuda.local.array(8, float32)
    for k in range(8):
        weights[k] = float32(1) / float32(k + 1)
    out[i] = weights[i % 8] * inp[i]  # (1)


@clean
def a_weight_by_arithmetic(out, inp):
    i = cuda.grid(1)
    out[i] = inp[i] / float32(i % 8 + 1)
