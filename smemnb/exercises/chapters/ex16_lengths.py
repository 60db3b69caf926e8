"""Squared lengths of points: 8 bytes per lane, so that 16 lanes are served at a time."""

# mypy: disable-error-code="attr-defined"

from functools import partial

import numpy as np
from numba import cuda, float64

from ..exercise import Budget, Case, Exercise, Wrong, cover, scattered, sizes


@cuda.jit
def lengths(out, inp):
    """Squared lengths: out[i] = inp[2 * i] ** 2 + inp[2 * i + 1] ** 2.  Blocks of up to 64."""
    # FILL (about 13 lines)
    tile = cuda.shared.array(128, float64)
    tx, n = cuda.threadIdx.x, cuda.blockDim.x
    first = cuda.blockIdx.x * n  # the block's first point
    for k in range(2):
        if 2 * first + k * n + tx < inp.shape[0]:
            tile[k * n + tx] = inp[2 * first + k * n + tx]
    cuda.syncthreads()
    if first + tx < out.shape[0]:
        acc = float64(0)
        for k in range(2):
            x = tile[2 * tx + (k + tx // 8) % 2]
            acc += x * x
        out[first + tx] = acc


def _points(count, unit, seed=0):
    most = 6 * 10**7  # squares and their sum are whole numbers that a float64 holds
    return (scattered(2 * count, seed=count + seed, low=-most, high=most, dtype=np.float64) * unit,)


def _cases():
    """Four full blocks with their budget; one point, ragged and drawn sizes, smaller blocks."""
    once = Budget(sectors_per_request=8, requests={"inp": 16, "out": 8}, shared_bytes=1024)
    yield Case(partial(_points, 256, 1), grid=(4,), block=(64,), budget=once)
    many = [(n, 64, 1) for n in (1, 63, 65, *sizes(2, seed=16, low=66, high=300))]
    for count, threads, unit in [*many, (70, 32, 2.0**64), (45, 16, 1), (200, 48, 1)]:
        data = partial(_points, count, unit)
        yield Case(data, grid=cover((count,), (threads,)), block=(threads,))


def _fresh(draw):
    """Full blocks, held to the budget of the first case; a ragged number of points, large ones."""
    blocks, threads = draw.size(2, 6), draw.one_of(32, 64)
    data = partial(_points, blocks * threads, 1, draw.numbers())
    yield Case(data, (blocks,), (threads,), like=0)
    count, threads = draw.size(2, 300), draw.one_of(8, 16, 32, 64)
    data = partial(_points, count, 2.0**64, draw.numbers())
    yield Case(data, cover((count,), (threads,)), (threads,))


EXERCISE = Exercise(
    name="ex16_lengths",
    chapter="16_widths",
    title="Squared lengths of points",
    specification=lambda inp: (inp.reshape(-1, 2) ** 2).sum(axis=1),
    solution=lengths,
    wrong=(
        Wrong(
            "All threads begin with x: within a phase, lanes 8 apart have the same two banks.",
            {"x = tile": "x = tile[2 * tx + k]"},
            ("wavefronts", "2-way"),
        ),
        Wrong(
            "The halves of the warp begin apart, but they are served apart anyway.",
            {"x = tile": "x = tile[2 * tx + (k + tx // 16) % 2]"},
            ("wavefronts", "2-way"),
        ),
        Wrong(
            "Every other lane begins with y: lanes 8 apart still do the same.",
            {"x = tile": "x = tile[2 * tx + (k + tx) % 2]"},
            ("wavefronts", "2-way"),
        ),
        Wrong(
            "Reads global memory, where the lanes lie two elements apart.",
            {"x = tile": "x = inp[2 * (first + tx) + k]"},
            ("sectors", "16 per request; budget 8"),
        ),
        Wrong(
            "No barrier: a thread reads what another has not stored yet.",
            {"cuda.syncthreads": "pass"},
            ("findings", "race"),
        ),
        Wrong(
            "Takes 64 threads for granted; a block may have fewer.",
            {"tx, n": "tx, n = cuda.threadIdx.x, 64"},
            ("output", "not written"),
        ),
        Wrong(
            "A float32 holds seven digits of a float64.",
            {"tile = cuda": "tile = cuda.shared.array(128, np.float32)"},
            ("output", "wrong"),
        ),
    ),
    cases=tuple(_cases()),
    fresh=_fresh,
    hints=(
        "Stage first: a block's points are 2 elements for each of its threads, in 2 rounds in "
        "which neighbouring threads load neighbours. Then each thread squares its x and its y.",
        "Thread tx has elements 2 * tx and 2 * tx + 1. A phase is 16 lanes, and an element "
        "fills two banks. Which lanes of a phase meet, if all begin with x?",
        "Lanes 8 apart meet. So let lanes 0 to 7 begin with x and lanes 8 to 15 with y, and the "
        "same again in the second half: `tx // 8` modulo 2 says who begins with which.",
    ),
    budget=Budget(shared_bytes=1024),
)
