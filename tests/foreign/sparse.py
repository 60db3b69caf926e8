"""Products of a sparse matrix and a vector, by the format it is stored in."""

import numpy as np
from numba import cuda, float32

from tests.foreign.cases import blocks, case, equal, rng


def sparse(rows, columns, seed, most=10):
    """(dense, indptr, indices, data) with fewer than `most` whole entries per row."""
    r = rng(seed)
    dense = np.zeros((rows, columns), np.float32)
    for row in range(rows):
        used = r.choice(columns, r.integers(0, most), replace=False)
        dense[row, used] = r.integers(1, 20, used.size)
    row, indices = np.nonzero(dense)
    indptr = np.searchsorted(row, np.arange(rows + 1)).astype(np.int32)
    return dense, indptr, indices.astype(np.int32), dense[row, indices]


@cuda.jit
def spmv_csr(y, indptr, indices, data, x):
    row = cuda.grid(1)
    if row < y.shape[0]:
        acc = float32(0)
        for jj in range(indptr[row], indptr[row + 1]):
            acc += data[jj] * x[indices[jj]]
        y[row] = acc


@cuda.jit
def spmv_csr_vector(y, indptr, indices, data, x):
    row = cuda.grid(1) // 32
    lane = cuda.threadIdx.x % 32
    if row < y.shape[0]:
        acc = float32(0)
        for jj in range(indptr[row] + lane, indptr[row + 1], 32):
            acc += data[jj] * x[indices[jj]]
        for d in (16, 8, 4, 2, 1):
            acc += cuda.shfl_down_sync(0xFFFFFFFF, acc, d)
        if lane == 0:
            y[row] = acc


# Rows of 0 to 9 entries: lanes jump by the length of their row, and x is gathered.
@case(200, 130, finds="scattered")
def csr_scalar(run, rows):
    """A thread per row."""
    dense, indptr, indices, data = sparse(rows, 150, rows)
    x = rng(1).integers(1, 9, 150).astype(np.float32)
    y = np.zeros(rows, np.float32)
    run(spmv_csr)[blocks(rows, 64), 64](y, indptr, indices, data, x)
    equal(y, dense @ x)


@case(50, 61, finds="scattered")
def csr_vector(run, rows):
    """A warp per row; the gather from x stays."""
    dense, indptr, indices, data = sparse(rows, 3000, rows, most=40)
    x = rng(1).integers(1, 9, 3000).astype(np.float32)
    y = np.zeros(rows, np.float32)
    run(spmv_csr_vector)[blocks(rows, 4), 128](y, indptr, indices, data, x)
    equal(y, dense @ x)


@cuda.jit
def spmv_coo(y, rows, cols, vals, x):
    k = cuda.grid(1)
    if k < vals.size:
        cuda.atomic.add(y, rows[k], vals[k] * x[cols[k]])


@cuda.jit
def spmv_ell(y, cols, vals, x):
    row = cuda.grid(1)
    if row < y.size:
        dot = float32(0)
        for k in range(vals.shape[0]):
            col = cols[k, row]
            if col >= 0:
                dot += vals[k, row] * x[col]
        y[row] = dot


@case(90, finds="scattered")
def coo(run, rows):
    """An entry per thread, added atomically."""
    dense, _, indices, data = sparse(rows, 3000, rows)
    row = np.nonzero(dense)[0].astype(np.int32)
    x = rng(1).integers(1, 9, 3000).astype(np.float32)
    y = np.zeros(rows, np.float32)
    run(spmv_coo)[blocks(data.size, 64), 64](y, row, indices, data, x)
    equal(y, dense @ x)


@case(90, 131, finds="scattered")
def ell(run, rows):
    """Entries stored column by column: all but the gather is coalesced."""
    dense, indptr, indices, data = sparse(rows, 3000, rows)
    cols, vals = np.full((10, rows), -1, np.int32), np.zeros((10, rows), np.float32)
    for row in range(rows):
        own = slice(indptr[row], indptr[row + 1])
        cols[: own.stop - own.start, row] = indices[own]
        vals[: own.stop - own.start, row] = data[own]
    x = rng(1).integers(1, 9, 3000).astype(np.float32)
    y = np.zeros(rows, np.float32)
    run(spmv_ell)[blocks(rows, 64), 64](y, cols, vals, x)
    equal(y, dense @ x)
