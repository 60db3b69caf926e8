"""Indices that leave their array, and index arithmetic that does not fit its type."""

from __future__ import annotations

import numpy as np
from numba import cuda, int16, int32, uint8, uint32

from ..experiment import THREADS, Array, Experiment, numbers, vectors, zeros

ROWS, COLS = 8, 31
FAR = 1 << 30


@cuda.jit
def one_past_the_row(out, x):
    """A store one past the end of a row lands in the next one."""
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    if tx < x.shape[1]:
        out[ty, tx + 1] = x[ty, tx]


@cuda.jit
def one_past_the_row_of_a_tile(out, x):
    """A store one past the end of a row of a tile lands in the next one."""
    tile = cuda.shared.array((ROWS, COLS), int32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    if tx < COLS:
        tile[ty, tx] = 0
    cuda.syncthreads()
    if tx < COLS:
        tile[ty, tx + 1] = x[ty, tx]
    cuda.syncthreads()
    if tx < COLS:
        out[ty, tx] = tile[ty, tx]


@cuda.jit
def far_past_the_end(out, x):
    """A store 4 GiB past the end of an array."""
    tx = cuda.threadIdx.x
    out[tx + FAR] = x[tx]


@cuda.jit
def far_past_a_tile(out, x):
    """Loads up to 1 MB past the end of a tile."""
    tile = cuda.shared.array(THREADS, int32)
    tx = cuda.threadIdx.x
    tile[tx] = x[tx]
    cuda.syncthreads()
    out[tx] = tile[tx * 1000]


@cuda.jit
def index_of_eight_bits(out, x):
    """An index of eight bits begins at 0 again after 255."""
    tx = cuda.threadIdx.x
    out[uint8(tx * 2)] = x[tx]


@cuda.jit
def index_of_sixteen_bits(out, x):
    """An index of sixteen bits becomes negative and counts from the end."""
    tx = cuda.threadIdx.x
    out[int16(tx * 200)] = x[tx]


@cuda.jit
def difference_below_zero(out, x):
    """An unsigned 0 - 1 becomes an index of four thousand millions."""
    tx = cuda.threadIdx.x
    out[uint32(uint32(tx) - uint32(1))] = x[tx]


def _rows(seed: int) -> tuple[Array, Array]:
    return np.zeros((ROWS, COLS), np.int32), numbers(seed, ROWS * COLS).reshape(ROWS, COLS)


def _shifted(out: Array, x: Array) -> Array:
    right = np.zeros_like(x)
    right[:, 1:] = x[:, :-1]
    return right


def _stored_at(out: Array, x: Array, step: int) -> Array:
    right = np.zeros_like(out)
    right[np.arange(THREADS) * step] = x
    return right


EXPERIMENTS = (
    Experiment(
        "out_of_range",
        one_past_the_row,
        _rows,
        _shifted,
        (1,),
        (32, ROWS),
    ),
    Experiment(
        "out_of_range",
        one_past_the_row_of_a_tile,
        _rows,
        _shifted,
        (1,),
        (32, ROWS),
    ),
    Experiment(
        "out_of_range",
        far_past_the_end,
        vectors,
        lambda out, x: out,
        (1,),
        (THREADS,),
    ),
    Experiment(
        "out_of_range",
        far_past_a_tile,
        vectors,
        lambda out, x: np.where(np.arange(THREADS) == 0, x, 0),
        (1,),
        (THREADS,),
    ),
    Experiment(
        "index_overflow",
        index_of_eight_bits,
        lambda n: (zeros(2 * THREADS), numbers(n)),
        lambda out, x: _stored_at(out, x, 2),
        (1,),
        (THREADS,),
    ),
    Experiment(
        "index_overflow",
        index_of_sixteen_bits,
        lambda n: (zeros(200 * THREADS), numbers(n)),
        lambda out, x: _stored_at(out, x, 200),
        (1,),
        (THREADS,),
    ),
    Experiment(
        "index_overflow",
        difference_below_zero,
        vectors,
        lambda out, x: np.append(x[1:], np.int32(0)),
        (1,),
        (THREADS,),
    ),
)
