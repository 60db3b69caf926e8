"""Threads that an exception ends: without debug=True nobody is informed of it."""

from __future__ import annotations

import numpy as np
from numba import cuda, int32

from ..experiment import THREADS, Array, Experiment, vectors


@cuda.jit
def raises_in_some_threads(out, x):
    """Some threads raise and store nothing."""
    tx = cuda.threadIdx.x
    if x[tx] % 2 == 0:
        raise ValueError("an even number")
    out[tx] = x[tx]


@cuda.jit
def asserts_in_some_threads(out, x):
    """An assert fails in some threads."""
    tx = cuda.threadIdx.x
    assert x[tx] % 3 != 0
    out[tx] = x[tx]


@cuda.jit
def raises_before_a_barrier(out, x):
    """Some threads raise before a barrier, and others read what they did not store."""
    tile = cuda.shared.array(THREADS, int32)
    tx = cuda.threadIdx.x
    tile[tx] = 0
    cuda.syncthreads()
    if x[tx] % 2 == 0:
        raise ValueError("an even number")
    tile[tx] = x[tx]
    cuda.syncthreads()
    out[tx] = tile[tx ^ 1]


def _everything(out: Array, x: Array) -> Array:
    return x


def _neighbours(out: Array, x: Array) -> Array:
    return np.asarray(x[np.arange(THREADS) ^ 1])


EXPERIMENTS = (
    Experiment(
        "ended_by_exception",
        raises_in_some_threads,
        vectors,
        _everything,
        (1,),
        (THREADS,),
    ),
    Experiment(
        "ended_by_exception",
        asserts_in_some_threads,
        vectors,
        _everything,
        (1,),
        (THREADS,),
    ),
    Experiment(
        "ended_by_exception",
        raises_before_a_barrier,
        vectors,
        _neighbours,
        (1,),
        (THREADS,),
    ),
)
