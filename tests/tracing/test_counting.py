"""Counts of loops that few warps stay in: rows without an active lane are left out, no others."""

import numpy as np
from numba import cuda

from smemnb.tracing import trace


def drained(out, inp, rounds):
    """Block b goes round rounds[b] times, only in its warp b % 4."""
    block, warp = cuda.blockIdx.x, cuda.threadIdx.x // 32
    most = rounds[block] if warp == block % 4 else 0
    for at in range(most):
        out[block, cuda.threadIdx.x] += inp[at, (cuda.threadIdx.x * (at + 1)) % 128]


def test_few_warps():
    """Rounds 7, 1, 0, 40 of one warp each: requests, and the worst one with its block and warp."""
    rounds = np.array([7, 1, 0, 40, 3, 0, 0, 0, 0], np.int64)
    inp = np.ones((64, 128), np.float32)
    out = np.zeros((9, 128), np.float32)
    report = trace(drained)[9, 128](out, inp, rounds)
    loads = next(row for row in report.lines if row.text.startswith("inp["))
    total = int(rounds.sum())
    assert (loads.requests, loads.lanes) == (total, 32 * total)
    # stride s of 4-byte words, modulo 128: distinct words 128 / gcd(s, 128), 32 lanes each
    expected = 0
    for block, count in enumerate(rounds):
        lanes = np.arange(32) + 32 * (block % 4)
        for at in range(count):
            expected += len(np.unique(lanes * (at + 1) % 128 // 8))
    assert loads.sectors == expected
    assert loads.worst is not None
    assert (loads.worst.block, loads.worst.warp) == ((0, 0, 0), 0)
    assert out.sum(axis=1).tolist() == [32.0 * count for count in rounds]
