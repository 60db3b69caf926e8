"""Barriers of a block and of a grid that some threads do not reach."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import cuda, int32

from ..experiment import HALF, LATE, THREADS, Array, Experiment, numbers, vectors, zeros

BLOCKS = 8
GONE = BLOCKS - 3  # the block that leaves, or whose first thread does


@cuda.jit
def one_warp_has_a_barrier_more(out, x):
    """One warp passes a barrier more, which meets the next one of the others."""
    tile = cuda.shared.array(THREADS, int32)
    tx = cuda.threadIdx.x
    tile[tx] = 0
    cuda.syncthreads()
    if tx < 32:
        cuda.syncthreads()
        cuda.nanosleep(LATE)
    tile[tx] = x[tx]
    cuda.syncthreads()
    out[tx] = tile[THREADS - 1 - tx]


@cuda.jit
def half_goes_round_once_more(out, x):
    """A loop with barriers has a round more in half of the warps."""
    tile = cuda.shared.array(THREADS, int32)
    tx = cuda.threadIdx.x
    acc = int32(0)
    rounds = 3 if tx < HALF else 2
    for k in range(rounds):
        tile[tx] = x[tx] + k
        cuda.syncthreads()
        acc += tile[tx ^ 1]
        cuda.syncthreads()
    if tx < HALF:
        cuda.nanosleep(LATE)
    tile[tx] = acc
    cuda.syncthreads()
    out[tx] = tile[THREADS - 1 - tx]


@cuda.jit
def waits_for_those_at_the_barrier(out, flag, x):
    """One warp waits at a barrier, the others in a loop for that warp."""
    tx = cuda.threadIdx.x
    if tx < 32:
        cuda.syncthreads()
        if tx == 0:
            cuda.atomic.exch(flag, 0, 1)
    else:
        while cuda.atomic.add(flag, 0, 0) == 0:
            pass
    out[tx] = x[tx]


@cuda.jit
def lanes_take_different_barriers(out, x):
    """Even and odd lanes of each warp take two different barriers."""
    tile = cuda.shared.array(THREADS, int32)
    tx = cuda.threadIdx.x
    if tx % 2 == 0:
        tile[tx] = x[tx]
        cuda.syncthreads()
        out[tx] = tile[THREADS - 1 - tx]
    else:
        cuda.nanosleep(LATE)
        tile[tx] = x[tx]
        cuda.syncthreads()
        out[tx] = tile[THREADS - 1 - tx]


@cuda.jit
def the_others_only_end(out, x):
    """A barrier inside an if; the other threads come to no barrier and end."""
    tile = cuda.shared.array(THREADS, int32)
    tx = cuda.threadIdx.x
    tile[tx] = x[tx]
    if tx < 100:
        cuda.syncthreads()
        out[tx] = tile[THREADS - 1 - tx]
    else:
        cuda.nanosleep(LATE)
        tile[tx] += 1


@cuda.jit
def the_rest_has_returned(out, x, n):
    """Most threads return before a barrier."""
    tile = cuda.shared.array(THREADS, int32)
    tx = cuda.threadIdx.x
    tile[tx] = -1
    if tx >= n:
        return
    tile[tx] = x[tx]
    cuda.syncthreads()
    out[tx] = tile[n - 1 - tx]


@cuda.jit
def stores_and_returns(out, x, n):
    """Threads that come late store, then return; those at the barrier read it."""
    tile = cuda.shared.array(THREADS, int32)
    tx = cuda.threadIdx.x
    if tx >= n:
        cuda.nanosleep(LATE)
        tile[tx] = x[tx]
        return
    tile[tx] = x[tx]
    cuda.syncthreads()
    out[tx] = tile[THREADS - 1 - tx]


@cuda.jit
def counted_after_a_return(out, x, n):
    """After a return, syncthreads_count counts those that are left."""
    tx = cuda.threadIdx.x
    if tx >= n:
        return
    out[tx] = cuda.syncthreads_count(int32(x[tx] > 0))


@cuda.jit
def all_asked_after_a_return(out, x, n):
    """After a return, syncthreads_and asks those that are left."""
    tx = cuda.threadIdx.x
    if tx >= n:
        return
    out[tx] = cuda.syncthreads_and(int32(x[tx] > 0))


@cuda.jit
def any_asked_after_a_return(out, x, n):
    """After a return, syncthreads_or asks those that are left."""
    tx = cuda.threadIdx.x
    if tx >= n:
        return
    out[tx] = cuda.syncthreads_or(int32(x[tx] < 0))


@cuda.jit
def a_block_has_returned(out, x):
    """A block returns before the barrier of the grid."""
    bx = cuda.blockIdx.x
    if bx == GONE:
        return
    i = cuda.grid(1)
    out[i] = x[i]
    cuda.cg.this_grid().sync()
    if bx == 0:
        out[i] = out[i + THREADS]


@cuda.jit
def a_first_thread_has_returned(out, x):
    """The first thread of a block returns before the barrier of the grid."""
    tx, bx = cuda.threadIdx.x, cuda.blockIdx.x
    if bx == GONE and tx == 0:
        return
    i = cuda.grid(1)
    out[i] = x[i]
    cuda.cg.this_grid().sync()
    if bx == 0:
        out[i] = out[i + THREADS]


@cuda.jit
def all_first_threads_have_returned(out, x):
    """The first thread of every block returns before the barrier of the grid."""
    tx, bx = cuda.threadIdx.x, cuda.blockIdx.x
    if tx == 0:
        return
    i = cuda.grid(1)
    if bx == 1:
        cuda.nanosleep(LATE)
    out[i] = x[i]
    cuda.cg.this_grid().sync()
    if bx == 0:
        out[i] = out[i + THREADS]


@cuda.jit
def some_last_threads_have_returned(out, x):
    """Some threads of a block return before the barrier of the grid, not its first."""
    tx, bx = cuda.threadIdx.x, cuda.blockIdx.x
    if bx == GONE and tx >= 100:
        return
    i = cuda.grid(1)
    out[i] = x[i]
    cuda.cg.this_grid().sync()
    if bx == 0:
        out[i] = out[i + THREADS]


def _first(n: int, values: Array) -> Array:
    """The first n of these values in a result of zeros."""
    out = zeros()
    out[:n] = values[:n]
    return out


def _rounds(out: Array, x: Array) -> Array:
    tx = np.arange(THREADS)
    own = np.where(tx < HALF, 3 * x[tx ^ 1] + 3, 2 * x[tx ^ 1] + 1)
    return np.asarray(own[::-1])


def _next_block(gone: Callable[[Array], Array]) -> Callable[[Array, Array], Array]:
    """Block 0 takes what block 1 stored; threads that are gone store nothing."""

    def right(out: Array, x: Array) -> Array:
        i = np.arange(BLOCKS * THREADS)
        stored = np.where(gone(i), 0, x)
        here = (i < THREADS) & ~gone(i)
        return np.where(here, np.roll(stored, -THREADS), stored).astype(np.int32)

    return right


def _staying(n: int) -> Callable[[int], tuple[Any, ...]]:
    """Arguments with which n threads stay."""
    return lambda seed: (*vectors(seed), n)


def _grid(n: int) -> tuple[Array, Array]:
    return zeros(BLOCKS * THREADS), numbers(n, BLOCKS * THREADS)


# why a GPU may give right values all the same
NOT_RETURNED = (
    "since compute capability 7.0 a barrier waits only for threads that have not returned"
)
NOT_ENDED = "since compute capability 7.0 a barrier waits only for threads that have not ended"

EXPERIMENTS = (
    Experiment(
        "divergent_barrier",
        one_warp_has_a_barrier_more,
        vectors,
        lambda out, x: np.asarray(x[::-1]),
        (1,),
        (THREADS,),
    ),
    Experiment(
        "divergent_barrier",
        half_goes_round_once_more,
        vectors,
        _rounds,
        (1,),
        (THREADS,),
    ),
    Experiment(
        "divergent_barrier",
        waits_for_those_at_the_barrier,
        lambda n: (zeros(), zeros(1), numbers(n)),
        lambda out, flag, x: x,
        (1,),
        (THREADS,),
    ),
    Experiment(
        "divergent_barrier",
        lanes_take_different_barriers,
        vectors,
        lambda out, x: np.asarray(x[::-1]),
        (1,),
        (THREADS,),
    ),
    Experiment(
        "divergent_barrier",
        the_others_only_end,
        vectors,
        lambda out, x: _first(100, x[::-1] + (np.arange(THREADS) < THREADS - 100)),
        (1,),
        (THREADS,),
        hides=NOT_ENDED,
    ),
    *(
        Experiment(
            "exited_before_barrier",
            the_rest_has_returned,
            _staying(n),
            lambda out, x, n: _first(n, x[:n][::-1]),
            (1,),
            (THREADS,),
            hides=NOT_RETURNED,
            variant=str(n),
        )
        for n in (1, 33, 64, 100)
    ),
    Experiment(
        "exited_before_barrier",
        stores_and_returns,
        lambda seed: (*vectors(seed), 100),
        lambda out, x, n: _first(n, x[::-1]),
        (1,),
        (THREADS,),
        hides=NOT_RETURNED,
    ),
    Experiment(
        "exited_before_barrier",
        counted_after_a_return,
        lambda seed: (*vectors(seed), 100),
        lambda out, x, n: _first(n, np.full(THREADS, n)),
        (1,),
        (THREADS,),
        hides=NOT_RETURNED,
    ),
    Experiment(
        "exited_before_barrier",
        all_asked_after_a_return,
        lambda seed: (*vectors(seed), 100),
        lambda out, x, n: _first(n, np.ones(THREADS)),
        (1,),
        (THREADS,),
        hides=NOT_RETURNED,
    ),
    Experiment(
        "exited_before_barrier",
        any_asked_after_a_return,
        lambda seed: (*vectors(seed), 100),
        lambda out, x, n: _first(n, np.zeros(THREADS)),
        (1,),
        (THREADS,),
        hides=NOT_RETURNED,
    ),
    Experiment(
        "exited_before_grid_barrier",
        a_block_has_returned,
        _grid,
        _next_block(lambda i: i // THREADS == GONE),
        (BLOCKS,),
        (THREADS,),
    ),
    Experiment(
        "exited_before_grid_barrier",
        a_first_thread_has_returned,
        _grid,
        _next_block(lambda i: i == GONE * THREADS),
        (BLOCKS,),
        (THREADS,),
    ),
    Experiment(
        "exited_before_grid_barrier",
        all_first_threads_have_returned,
        _grid,
        _next_block(lambda i: i % THREADS == 0),
        (BLOCKS,),
        (THREADS,),
    ),
    Experiment(
        "exited_before_grid_barrier",
        some_last_threads_have_returned,
        _grid,
        _next_block(lambda i: (i // THREADS == GONE) & (i % THREADS >= 100)),
        (BLOCKS,),
        (THREADS,),
        hides="the first thread of a block speaks for it, and it was there",
    ),
)
