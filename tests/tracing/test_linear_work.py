"""The work of a trace grows with the number of accesses, in whatever order blocks and warps pass.

Work is counted as calls of functions, of Python and of NumPy: twice the rounds, twice the calls.
"""

import sys

import numpy as np
import pytest
from numba import cuda, float32, int32

from smemnb import trace
from smemnb.tracing.watchers.races import in_shared

ROUNDS = 16


@cuda.jit
def neighbours(out, rounds):
    tile = cuda.shared.array(32, float32)
    tx = cuda.threadIdx.x
    tile[tx] = 0.0
    cuda.syncthreads()
    for _ in range(rounds[cuda.blockIdx.x]):
        near = tile[(tx + 1) % 32]
        cuda.syncthreads()
        tile[tx] += near + 1.0
        cuda.syncthreads()
    out[cuda.grid(1)] = tile[tx]


@cuda.jit
def neighbours_racing(out, rounds):
    tile = cuda.shared.array(64, float32)
    tx = cuda.threadIdx.x
    tile[tx] = 0.0
    for _ in range(rounds[cuda.blockIdx.x]):
        tile[tx] += tile[63 - tx]
        cuda.syncthreads()
    out[cuda.grid(1)] = tile[tx]


@cuda.jit
def barriers_in_turn(out, rounds):
    tile = cuda.shared.array(32, float32)
    tx = cuda.threadIdx.x
    tile[tx] = 0.0
    cuda.syncthreads()
    for k in range(rounds[0]):
        if (cuda.blockIdx.x + k) % 3:
            tile[tx] += 1.0
            cuda.syncthreads()
        else:
            far = tile[31 - tx]
            cuda.syncthreads()
            tile[tx] = far
            cuda.syncthreads()
    out[cuda.grid(1)] = tile[tx]


@cuda.jit
def one_by_one(out, rounds):
    tile = cuda.shared.array(32, float32)
    tx = cuda.threadIdx.x
    for _ in range(rounds[0]):
        tile[tx] = 1.0
    for block in range(cuda.gridDim.x):
        if block == cuda.blockIdx.x:
            cuda.syncthreads()
    out[cuda.grid(1)] = tile[31 - tx]


@cuda.jit
def warps_in_turn(out, rounds):
    tile = cuda.shared.array(64, float32)
    tx = cuda.threadIdx.x
    tile[tx] = 0.0
    cuda.syncwarp()
    for _ in range(rounds[tx // 32]):
        near = tile[tx ^ 1]
        cuda.syncwarp()
        tile[tx] = near + 1.0
        cuda.syncwarp()
    out[cuda.grid(1)] = tile[tx]


@cuda.jit
def global_neighbours(out, rounds):
    tx, first = cuda.threadIdx.x, cuda.blockIdx.x * 32
    for _ in range(rounds[cuda.blockIdx.x]):
        far = out[first + 31 - tx]
        cuda.syncthreads()
        out[first + tx] = far + 1.0
        cuda.syncthreads()


@cuda.jit
def own_cells(out, rounds):
    tile = cuda.shared.array(32, float32)
    tx = cuda.threadIdx.x
    tile[tx] = 1.0
    for _ in range(rounds[0]):
        tile[tx] += 1.0
        cuda.syncthreads()
    out[cuda.grid(1)] = tile[tx]


@cuda.jit
def fenced_atomics(out, rounds):
    tile = cuda.shared.array(32, int32)
    tx = cuda.threadIdx.x
    tile[tx] = 0
    cuda.syncthreads()
    for k in range(rounds[cuda.blockIdx.x]):
        tile[tx] = k
        cuda.threadfence()
        cuda.atomic.add(out, 0, 1)
        near = tile[31 - tx]
        cuda.syncthreads()
    out[1 + cuda.grid(1)] = near


def calls(run):
    """How many functions are called in a run."""
    count = 0

    def seen(frame, event, argument):
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(seen)
    try:
        run()
    finally:
        sys.setprofile(before)
    return count


def work(kernel, rounds, block=32):
    """Calls of a trace with these rounds per block or warp."""
    grid = 1 if kernel is warps_in_turn else len(rounds)
    out, each = np.zeros(grid * block + 1, np.float32), np.array(rounds)
    if kernel is fenced_atomics:
        out = out.astype(np.int32)
    return calls(lambda: trace(kernel)[grid, block](out, each))


def growth(measured, *rounds):
    """How much more the last step takes than the one before, of half as many rounds."""
    measured(rounds[0])  # compiles the kernel
    fewer, some, more = map(measured, rounds)
    return (more - some) / (some - fewer)


@pytest.mark.first(3)
@pytest.mark.parametrize(
    "kernel, shares, block",
    [
        pytest.param(neighbours, [0.25, 1], 32, id="one block goes on"),
        pytest.param(neighbours, [k / 8 for k in range(1, 9)], 32, id="blocks leave one by one"),
        pytest.param(neighbours_racing, [0.25, 1], 64, id="racing"),
        pytest.param(barriers_in_turn, [1, 1, 1], 32, id="barriers in turn"),
        pytest.param(one_by_one, [1, 1, 1, 1], 32, id="each block at its own time"),
        pytest.param(warps_in_turn, [0.25, 1], 64, id="warps in unequal numbers"),
        pytest.param(global_neighbours, [0.25, 1], 32, id="global memory"),
        pytest.param(own_cells, [1], 32, id="a barrier that orders nothing"),
    ],
)
def test_work_grows_with_accesses(kernel, shares, block):
    """Twice the rounds take twice the work, and not more."""
    rounds = ROUNDS, 2 * ROUNDS, 4 * ROUNDS
    assert (
        growth(lambda n: work(kernel, [int(share * n) for share in shares], block), *rounds) < 2.2
    )


def test_work_of_fences_is_bounded():
    """Fences and atomics of intervals that are over are not gone through again."""
    assert growth(lambda n: work(fenced_atomics, [n // 4, n]), 8, 16, 32) < 2.2


@cuda.jit
def long_interval(out, rounds):
    tile = cuda.shared.array(64, float32)
    tx = cuda.threadIdx.x
    for k in range(rounds):
        tile[tx] = 1.0
        out[cuda.grid(1)] += tile[(tx + k) % 64]


def racing_cells(rounds):
    run = trace(long_interval)[2, 64](np.zeros(128, np.float32), rounds)
    (found,) = run.findings
    return found.kind, found.count


def test_work_of_a_long_interval(monkeypatch):
    """What is folded is not examined again each time, and its cells are counted once."""
    monkeypatch.setattr(in_shared, "LANES_BEFORE_FOLDING", 256)
    assert growth(lambda n: calls(lambda: racing_cells(n)), 50, 100, 200) < 2.2
    assert racing_cells(200) == ("race", 128)
