"""Sums of eight neighbours: the order in which threads walk through a tile decides the banks."""

# mypy: disable-error-code="attr-defined"

from functools import partial

import numpy as np
from numba import cuda, float32

from ..exercise import Budget, Case, Exercise, Wrong, cover, scattered, sizes


@cuda.jit
def eights(out, inp):
    """Sums of 8 neighbours: out[i] = inp[8 * i] + ... + inp[8 * i + 7].  Blocks of up to 64."""
    # FILL (about 12 lines)
    tile = cuda.shared.array(512, float32)
    tx, n = cuda.threadIdx.x, cuda.blockDim.x
    first = cuda.blockIdx.x * n  # the block's first sum
    for k in range(8):
        if 8 * first + k * n + tx < inp.shape[0]:
            tile[k * n + tx] = inp[8 * first + k * n + tx]
    cuda.syncthreads()
    if first + tx < out.shape[0]:
        acc = float32(0)
        for k in range(8):
            acc += tile[8 * tx + (k + tx // 4) % 8]
        out[first + tx] = acc


def _row(sums, unit, seed=0):
    return (scattered(8 * sums, seed=sums + seed) * np.float32(unit),)


def _cases():
    """Four full blocks with their budget; one sum, ragged and drawn sizes, smaller blocks."""
    once = Budget(sectors_per_request=4, requests={"inp": 64, "out": 8}, shared_bytes=2048)
    yield Case(partial(_row, 256, 1), grid=(4,), block=(64,), budget=once)
    many = [(n, 64, 1) for n in (1, 63, 65, *sizes(2, seed=14, low=66, high=300))]
    for sums, threads, unit in [*many, (70, 32, 2.0**64), (45, 16, 1), (200, 48, 1)]:
        yield Case(partial(_row, sums, unit), grid=cover((sums,), (threads,)), block=(threads,))


def _fresh(draw):
    """Full blocks, held to the budget of the first case; a ragged number of sums, large numbers."""
    blocks, threads = draw.size(2, 6), draw.one_of(32, 64)
    yield Case(partial(_row, blocks * threads, 1, draw.numbers()), (blocks,), (threads,), like=0)
    sums, threads = draw.size(2, 300), draw.one_of(8, 16, 32, 64)
    data = partial(_row, sums, 2.0**64, draw.numbers())
    yield Case(data, cover((sums,), (threads,)), (threads,))


EXERCISE = Exercise(
    name="ex14_eights",
    chapter="14_banks",
    title="Sums of eight neighbours",
    specification=lambda inp: inp.reshape(-1, 8).sum(axis=1),
    solution=eights,
    wrong=(
        Wrong(
            "All threads begin with the first of their eight: the lanes lie 8 words apart.",
            {"acc += tile": "acc += tile[8 * tx + k]"},
            ("wavefronts", "8-way"),
        ),
        Wrong(
            "Every thread begins one further than its neighbour: after 8 lanes it begins anew.",
            {"acc += tile": "acc += tile[8 * tx + (k + tx) % 8]"},
            ("wavefronts", "4-way"),
        ),
        Wrong(
            "Adds from global memory, where the lanes lie a sector apart.",
            {"acc += tile": "acc += inp[8 * (first + tx) + k]"},
            ("sectors", "32 per request; budget 4"),
        ),
        Wrong(
            "Every thread stages its own eight: each request takes 32 sectors.",
            {
                "if 8 *": "if 8 * (first + tx) + k < inp.shape[0]:",
                "tile[k": "tile[8 * tx + k] = inp[8 * (first + tx) + k]",
            },
            ("wavefronts", "8-way"),
        ),
        Wrong(
            "No barrier: a thread adds what another has not stored yet.",
            {"cuda.syncthreads": "pass"},
            ("findings", "race"),
        ),
        Wrong(
            "Takes 64 threads for granted; a block may have fewer.",
            {"tx, n": "tx, n = cuda.threadIdx.x, 64"},
            ("output", "not written"),
        ),
        Wrong(
            "Rows of 9: the sums are clean, the stores of the staging are not.",
            {
                "tile = cuda": "tile = cuda.shared.array((64, 9), float32)",
                "tile[k": "tile[(k * n + tx) // 8, tx % 8] = inp[8 * first + k * n + tx]",
                "acc += tile": "acc += tile[tx, k]",
            },
            ("wavefronts", "2-way"),
        ),
    ),
    cases=tuple(_cases()),
    fresh=_fresh,
    hints=(
        "A block's sums need 8 elements for each of its threads. Stage all of them first, as in "
        "the last chapters: 8 rounds, in each of which neighbouring threads load neighbours.",
        "Thread tx then adds elements 8 * tx to 8 * tx + 7 of the tile. Which lanes meet in one "
        "bank if all begin with their first? A sum may be added up in any order: let these "
        "lanes begin at different places.",
        "8 words apart, lanes 0, 4, 8, ... 28 have the same bank. Let a lane begin `tx // 4` "
        "further on, and come back to its first element behind its last one: modulo 8.",
    ),
    budget=Budget(shared_bytes=2048),
)
