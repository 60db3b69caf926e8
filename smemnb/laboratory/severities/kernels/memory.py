"""Shared memory and variables that are read before anyone stored them."""

from __future__ import annotations

import numpy as np
from numba import cuda, int32

from ..experiment import THREADS, Array, Experiment, numbers, vectors, zeros

BLOCKS = 4096
DIRT = 3 * 4096  # elements: 48 KB, all of a block's static shared memory


@cuda.jit
def leaves_numbers_in_shared_memory(out):
    """Nothing is wrong here: it fills shared memory before a launch that does not store all."""
    tile = cuda.shared.array(DIRT, int32)
    for at in range(cuda.threadIdx.x, DIRT, cuda.blockDim.x):
        tile[at] = 1_000_003 + at
    cuda.syncthreads()
    out[cuda.grid(1)] = tile[DIRT - 1 - cuda.threadIdx.x]


@cuda.jit
def sum_that_never_began(out, x):
    """A tile is added to that nobody has zeroed."""
    tile = cuda.shared.array(THREADS, int32)
    tx = cuda.threadIdx.x
    tile[tx] += x[tx]
    out[tx] = tile[tx]


@cuda.jit
def tail_of_a_tile(out, x, n):
    """A whole tile is added up of which only the front was stored."""
    tile = cuda.shared.array(THREADS, int32)
    tx = cuda.threadIdx.x
    if tx < n:
        tile[tx] = x[tx]
    cuda.syncthreads()
    if tx == 0:
        total = int32(0)
        for k in range(THREADS):
            total += tile[k]
        out[0] = total


@cuda.jit
def counter_that_nobody_zeroed(out, x):
    """Atomics count in an element that nobody has zeroed."""
    count = cuda.shared.array(1, int32)
    tx = cuda.threadIdx.x
    if x[tx] > 0:
        cuda.atomic.add(count, 0, 1)
    cuda.syncthreads()
    out[tx] = count[0]


@cuda.jit
def sum_in_a_large_tile(out, x):
    """As sum_that_never_began, in a tile as large as that of the kernel before it."""
    tile = cuda.shared.array(DIRT, int32)
    tx = cuda.threadIdx.x
    tile[tx] += x[tx]
    out[tx] = tile[tx]


@cuda.jit
def what_the_last_launch_left(out, x):
    """A tile is read before it is stored; the launch before was one of the same kernel."""
    tile = cuda.shared.array(THREADS, int32)
    tx = cuda.threadIdx.x
    out[tx] = tile[tx]
    tile[tx] = x[tx]
    cuda.syncthreads()
    out[tx] += tile[tx ^ 1] - x[tx ^ 1]


@cuda.jit
def counter_of_the_last_launch(out, x):
    """As counter_that_nobody_zeroed, without another kernel between the launches."""
    count = cuda.shared.array(1, int32)
    tx = cuda.threadIdx.x
    if x[tx] > 0:
        cuda.atomic.add(count, 0, 1)
    cuda.syncthreads()
    out[tx] = count[0]


@cuda.jit
def zeroed_by_the_first_block(out, x):
    """Only the first block zeroes the counter that each block has."""
    count = cuda.shared.array(1, int32)
    tx, bx = cuda.threadIdx.x, cuda.blockIdx.x
    if bx == 0 and tx == 0:
        count[0] = 0
    cuda.syncthreads()
    if x[cuda.grid(1)] > 0:
        cuda.atomic.add(count, 0, 1)
    cuda.syncthreads()
    if tx == 0:
        out[bx] = count[0]


@cuda.jit
def tail_of_the_last_blocks(out, x, n):
    """The last block stores half a tile and reads all of it."""
    tile = cuda.shared.array(THREADS, int32)
    tx, bx = cuda.threadIdx.x, cuda.blockIdx.x
    i = cuda.grid(1)
    if i < n:
        tile[tx] = x[i]
    cuda.syncthreads()
    if tx == 0:
        out[bx] = tile[0] + tile[THREADS - 1]


@cuda.jit
def found_that_nobody_cleared(out, x):
    """A block that finds nothing reads what another one has left."""
    found = cuda.shared.array(1, int32)
    tx, bx = cuda.threadIdx.x, cuda.blockIdx.x
    if x[cuda.grid(1)] < 0:
        found[0] = 1
    cuda.syncthreads()
    if tx == 0:
        out[bx] = found[0]


@cuda.jit
def assigned_in_one_way(out, x):
    """A variable is assigned in one way of an if, and zero is hoped for in the other."""
    tx = cuda.threadIdx.x
    if x[tx] % 2 == 0:
        value = x[tx]
    out[tx] = value


@cuda.jit
def assigned_in_a_loop_that_may_not_run(out, x):
    """A variable is assigned in a loop that has no round in some threads."""
    tx = cuda.threadIdx.x
    for k in range(tx % 3):
        last = x[tx] + k
    out[tx] = last


@cuda.jit
def assigned_by_the_first_thread(out, x):
    """One thread assigns what all are to use, as if variables were shared."""
    tx = cuda.threadIdx.x
    if tx == 0:
        total = int32(0)
        for k in range(x.size):
            total += x[k]
    out[tx] = total


def _blocks(seed: int) -> tuple[Array, Array]:
    return zeros(BLOCKS), numbers(seed, BLOCKS * THREADS) % 1000 + 1


def _found(seed: int) -> tuple[Array, Array]:
    """Every third block has a negative number."""
    out, x = _blocks(seed)
    x.reshape(BLOCKS, THREADS)[::3, 5] *= -1
    return out, x


def _tails(out: Array, x: Array, n: int) -> Array:
    stored = np.where(np.arange(x.size) < n, x, 0).reshape(BLOCKS, THREADS)
    return np.asarray(stored[:, 0] + stored[:, -1])


def _last(out: Array, x: Array) -> Array:
    rounds = np.arange(THREADS) % 3
    return np.where(rounds > 0, x + rounds - 1, 0)


# why a GPU may give right values all the same
ZEROS = "this GPU gave zeros in a launch that follows one of another kernel, which nothing promises"
BEGUN = "Numba 0.68 begins every variable as 0, and promises nowhere to do so"

EXPERIMENTS = (
    Experiment(
        "uninitialised",
        sum_that_never_began,
        vectors,
        lambda out, x: x,
        (1,),
        (THREADS,),
        dirty=True,
        hides=ZEROS,
    ),
    Experiment(
        "uninitialised",
        tail_of_a_tile,
        lambda n: (zeros(1), numbers(n), 200),
        lambda out, x, n: np.asarray([x[:n].sum()], np.int32),
        (1,),
        (THREADS,),
        dirty=True,
        hides=ZEROS,
    ),
    Experiment(
        "uninitialised",
        counter_that_nobody_zeroed,
        vectors,
        lambda out, x: np.full(THREADS, THREADS, np.int32),
        (1,),
        (THREADS,),
        dirty=True,
        hides=ZEROS,
    ),
    Experiment(
        "uninitialised",
        sum_in_a_large_tile,
        vectors,
        lambda out, x: x,
        (1,),
        (THREADS,),
        dirty=True,
    ),
    Experiment(
        "uninitialised",
        what_the_last_launch_left,
        vectors,
        lambda out, x: np.zeros(THREADS, np.int32),
        (1,),
        (THREADS,),
    ),
    Experiment(
        "uninitialised",
        counter_of_the_last_launch,
        vectors,
        lambda out, x: np.full(THREADS, THREADS, np.int32),
        (1,),
        (THREADS,),
    ),
    Experiment(
        "stale",
        zeroed_by_the_first_block,
        _blocks,
        lambda out, x: np.full(BLOCKS, THREADS, np.int32),
        (BLOCKS,),
        (THREADS,),
    ),
    Experiment(
        "stale",
        tail_of_the_last_blocks,
        lambda n: (*_blocks(n), (BLOCKS - 1) * THREADS + 77),
        _tails,
        (BLOCKS,),
        (THREADS,),
    ),
    Experiment(
        "stale",
        found_that_nobody_cleared,
        _found,
        lambda out, x: np.asarray(np.arange(BLOCKS) % 3 == 0, np.int32),
        (BLOCKS,),
        (THREADS,),
    ),
    Experiment(
        "unassigned",
        assigned_in_one_way,
        vectors,
        lambda out, x: np.where(x % 2 == 0, x, 0),
        (1,),
        (THREADS,),
        hides=BEGUN,
    ),
    Experiment(
        "unassigned",
        assigned_in_a_loop_that_may_not_run,
        vectors,
        _last,
        (1,),
        (THREADS,),
        hides=BEGUN,
    ),
    Experiment(
        "unassigned",
        assigned_by_the_first_thread,
        vectors,
        lambda out, x: np.full(THREADS, x.sum(), np.int32),
        (1,),
        (THREADS,),
    ),
)
