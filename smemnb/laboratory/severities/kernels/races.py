"""Races: some warps or blocks come late, so that the order is one that rarely happens by itself."""

from __future__ import annotations

import numpy as np
from numba import cuda, int32

from ..experiment import HALF, LATE, THREADS, Array, Experiment, lanes, numbers, vectors, zeros

BLOCKS = 64
ROUNDS = 3


@cuda.jit
def reversed_without_barrier(out, x):
    """A tile is read in reversed order, without a barrier after its stores."""
    tile = cuda.shared.array(THREADS, int32)
    tx = cuda.threadIdx.x
    if tx >= HALF:
        cuda.nanosleep(LATE)
    tile[tx] = x[tx]
    out[tx] = tile[THREADS - 1 - tx]


@cuda.jit
def tree_without_barriers(out, x):
    """A sum by halves, without a barrier between its steps."""
    tile = cuda.shared.array(THREADS, int32)
    tx = cuda.threadIdx.x
    tile[tx] = x[tx]
    cuda.syncthreads()
    if tx >= 32:
        cuda.nanosleep(LATE)
    half = HALF
    while half > 0:
        if tx < half:
            tile[tx] += tile[tx + half]
        half //= 2
    if tx == 0:
        out[0] = tile[0]


@cuda.jit
def tile_overwritten_too_early(out, x):
    """A loop over tiles with a barrier after the stores and none after the loads."""
    tile = cuda.shared.array(THREADS, int32)
    tx = cuda.threadIdx.x
    acc = int32(0)
    for k in range(ROUNDS):
        tile[tx] = x[k * THREADS + tx]
        cuda.syncthreads()
        if tx >= HALF:
            cuda.nanosleep(LATE)
        acc += tile[THREADS - 1 - tx] * (k + 1)
    out[tx] = acc


@cuda.jit
def swapped_in_one_warp(out, x):
    """Two halves of a warp swap through a tile; one is late."""
    tile = cuda.shared.array(32, int32)
    tx = cuda.threadIdx.x
    if tx >= 16:
        cuda.nanosleep(LATE)
        tile[tx] = x[tx]
    else:
        tile[tx] = x[tx]
        out[tx] = tile[31 - tx]
    cuda.syncwarp()
    if tx >= 16:
        out[tx] = tile[31 - tx]


@cuda.jit
def one_lane_stores_for_all(out, x):
    """One lane stores what the others load, in the two ways of an if."""
    total = cuda.shared.array(1, int32)
    tx = cuda.threadIdx.x
    if tx == 31:
        total[0] = x[0]
    else:
        out[tx] = total[0]
    cuda.syncwarp()
    if tx == 31:
        out[tx] = total[0]


@cuda.jit
def steps_of_one_warp(out, x):
    """A sum by halves inside one warp, as before 2017, without cuda.syncwarp()."""
    tile = cuda.shared.array(64, int32)
    tx = cuda.threadIdx.x
    tile[tx] = x[tx]
    tile[tx + 32] = x[tx + 32]
    cuda.syncwarp()
    half = 32
    while half > 0:
        if tx < half:
            tile[tx] += tile[tx + half]
        half //= 2
    if tx == 0:
        out[0] = tile[0]


@cuda.jit
def counted_in_one_warp(out, x):
    """A histogram in shared memory of the numbers of one warp, with a plain +=."""
    counts = cuda.shared.array(4, int32)
    tx = cuda.threadIdx.x
    if tx < 4:
        counts[tx] = 0
    cuda.syncthreads()
    counts[x[tx] & 3] += 1
    cuda.syncthreads()
    if tx < 4:
        out[tx] = counts[tx]


@cuda.jit
def summed_into_one_cell(out, x):
    """Each lane of a warp adds its number to one element, with a plain +=."""
    out[0] += x[cuda.threadIdx.x]


@cuda.jit
def largest_of_one_warp(out, x):
    """Each lane of a warp takes the larger of its number and of one element."""
    out[0] = max(out[0], x[cuda.threadIdx.x])


@cuda.jit
def shifted_in_place(out):
    """An array is shifted in place; each block reads one element of the next."""
    i = cuda.grid(1)
    if cuda.blockIdx.x == 0:
        cuda.nanosleep(LATE)
    value = out[i + 1]
    cuda.syncthreads()
    out[i] = value


@cuda.jit
def two_steps_in_one_launch(out, doubled, x):
    """What one block stores another one loads, in the same launch."""
    i = cuda.grid(1)
    if cuda.blockIdx.x == cuda.gridDim.x - 1:
        cuda.nanosleep(LATE)
    doubled[i] = 2 * x[i]
    cuda.syncthreads()
    out[i] = doubled[x.size - 1 - i]


@cuda.jit
def blocks_counted_without_atomics(out):
    """Each block adds 1 to one element with a plain +=."""
    if cuda.threadIdx.x == 0:
        out[0] += 1


@cuda.jit
def zeroed_beside_atomics(out):
    """One thread zeroes a counter while others add to it."""
    count = cuda.shared.array(1, int32)
    tx = cuda.threadIdx.x
    if tx == 0:
        cuda.nanosleep(LATE)
        count[0] = 0
    cuda.atomic.add(count, 0, 1)
    cuda.syncthreads()
    out[tx] = count[0]


@cuda.jit
def read_before_all_have_added(out):
    """A counter is loaded without a barrier after the atomics."""
    count = cuda.shared.array(1, int32)
    tx = cuda.threadIdx.x
    if tx == 0:
        count[0] = 0
    cuda.syncthreads()
    if tx >= HALF:
        cuda.nanosleep(LATE)
    cuda.atomic.add(count, 0, 1)
    out[tx] = count[0]


@cuda.jit
def plain_sum_beside_atomics(out):
    """One block adds with a plain load and store, the others with an atomic."""
    if cuda.threadIdx.x == 0:
        if cuda.blockIdx.x == 0:
            value = out[0]
            cuda.nanosleep(LATE)
            out[0] = value + 1
        else:
            cuda.atomic.add(out, 0, 1)


def _reversed(out: Array, x: Array) -> Array:
    return np.asarray(x[::-1])


def _total(out: Array, x: Array) -> Array:
    return np.asarray([x.sum()], np.int32)


def _weighted(out: Array, x: Array) -> Array:
    weights = np.arange(1, ROUNDS + 1, dtype=np.int32)
    return np.asarray(weights @ x.reshape(ROUNDS, THREADS)[:, ::-1])


def _two_steps(out: Array, doubled: Array, x: Array) -> Array:
    return np.asarray(2 * x[::-1])


EXPERIMENTS = (
    Experiment(
        "race",
        reversed_without_barrier,
        vectors,
        _reversed,
        (1,),
        (THREADS,),
    ),
    Experiment(
        "race",
        tree_without_barriers,
        lambda n: (zeros(1), numbers(n)),
        _total,
        (1,),
        (THREADS,),
    ),
    Experiment(
        "race",
        tile_overwritten_too_early,
        lambda n: (zeros(), numbers(n, ROUNDS * THREADS)),
        _weighted,
        (1,),
        (THREADS,),
    ),
    Experiment(
        "race_in_warp",
        swapped_in_one_warp,
        lanes,
        _reversed,
        (1,),
        (32,),
    ),
    Experiment(
        "race_in_warp",
        one_lane_stores_for_all,
        lanes,
        lambda out, x: np.full(32, x[0], np.int32),
        (1,),
        (32,),
        hides="this compiler lets the lane that stores go first, which nothing promises",
    ),
    Experiment(
        "race_in_warp",
        steps_of_one_warp,
        lambda n: (zeros(1), numbers(n, 64)),
        _total,
        (1,),
        (32,),
        hides="the lanes ran in step, which nothing promises",
    ),
    Experiment(
        "lost_update",
        counted_in_one_warp,
        lambda n: (zeros(4), numbers(n, 32)),
        lambda out, x: np.bincount(x & 3, minlength=4).astype(np.int32),
        (1,),
        (32,),
    ),
    Experiment(
        "lost_update",
        summed_into_one_cell,
        lambda n: (zeros(1), numbers(n, 32)),
        _total,
        (1,),
        (32,),
    ),
    Experiment(
        "lost_update",
        largest_of_one_warp,
        lambda n: (zeros(1), numbers(n, 32)[np.random.default_rng(n).permutation(32)]),
        lambda out, x: np.array([x.max()], np.int32),
        (1,),
        (32,),
    ),
    Experiment(
        "race_between_blocks",
        shifted_in_place,
        lambda n: (numbers(n, BLOCKS * THREADS + 1),),
        lambda out: np.append(out[1:], out[-1:]),
        (BLOCKS,),
        (THREADS,),
    ),
    Experiment(
        "race_between_blocks",
        two_steps_in_one_launch,
        lambda n: (
            zeros(BLOCKS * THREADS),
            zeros(BLOCKS * THREADS),
            numbers(n, BLOCKS * THREADS),
        ),
        _two_steps,
        (BLOCKS,),
        (THREADS,),
    ),
    Experiment(
        "race_between_blocks",
        blocks_counted_without_atomics,
        lambda n: (zeros(1),),
        lambda out: np.asarray([BLOCKS], np.int32),
        (BLOCKS,),
        (THREADS,),
    ),
    Experiment(
        "race_atomic",
        zeroed_beside_atomics,
        lambda n: (zeros(),),
        lambda out: np.full(THREADS, THREADS, np.int32),
        (1,),
        (THREADS,),
    ),
    Experiment(
        "race_atomic",
        read_before_all_have_added,
        lambda n: (zeros(),),
        lambda out: np.full(THREADS, THREADS, np.int32),
        (1,),
        (THREADS,),
    ),
    Experiment(
        "race_atomic",
        plain_sum_beside_atomics,
        lambda n: (zeros(1),),
        lambda out: np.asarray([BLOCKS], np.int32),
        (BLOCKS,),
        (THREADS,),
    ),
)
