"""Views across blocks, batches, orders of warps, and device functions."""

import numpy as np
import pytest
from numba import cuda, float32, int16, int32

from smemnb.lockstep import launch
from smemnb.simulator.inference import infer

from .kernels import RECORD

BLOCK, BLOCKS = 48, 5


@cuda.jit(device=True)
def total(row, scale=1):
    result = 0.0
    for x in row:
        result += x * scale
    return result


@cuda.jit(device=True)
def put(row, at, value):
    row[at] = value
    return row


@cuda.jit(device=True)
def shift(record, by):
    record.x += by
    return record.v


def tile_rows(out, inp):
    """Each thread sums a row, then a column, of the block's tile."""
    tile = cuda.shared.array((6, 8), float32)
    tx, i = cuda.threadIdx.x, cuda.grid(1)
    tile[tx // 8, tx % 8] = inp[i]
    cuda.syncthreads()
    row, column = tile[tx % 6], tile[:, tx % 8]
    out[i] = total(row[1:]) + 100 * total(column[::2], 2)


def tile_rows_expected(inp):
    tiles = inp.reshape(BLOCKS, 6, 8).astype(float)
    tx = np.arange(BLOCK)
    rows, columns = tiles[:, :, 1:].sum(axis=2), tiles[:, ::2].sum(axis=1) * 2
    return (rows[:, tx % 6] + 100 * columns[:, tx % 8]).reshape(-1)


def records_in_tile(out, inp):
    """Records in shared memory, changed through a device function, read by a neighbour."""
    tile = cuda.shared.array(48, RECORD)
    tx, i = cuda.threadIdx.x, cuda.grid(1)
    tile[tx].x = inp[i]
    tile[tx].v = tx
    cuda.syncthreads()
    mine = tile[47 - tx]
    out[i] = shift(mine, 2) + mine.x


def records_in_tile_expected(inp):
    other = inp.reshape(BLOCKS, BLOCK)[:, ::-1].astype(float)
    return (other + 2 + np.arange(BLOCK)[::-1]).reshape(-1)


def bytes_in_tile(out, inp):
    """Dynamic shared memory: floats first, then 16-bit numbers behind them."""
    floats = cuda.shared.array(0, float32)
    shorts = cuda.shared.array(0, int16)[2 * 48 :]
    tx, i = cuda.threadIdx.x, cuda.grid(1)
    floats[tx] = inp[i]
    shorts[tx] = tx * 3
    cuda.syncthreads()
    out[i] = floats[47 - tx] + shorts[(tx + 1) % 48]


def bytes_in_tile_expected(inp):
    other = inp.reshape(BLOCKS, BLOCK)[:, ::-1].astype(float)
    return (other + (np.arange(1, BLOCK + 1) % BLOCK) * 3).reshape(-1)


def rows_of_threads(out, inp):
    """Each thread's own array, written and read through views."""
    own = cuda.local.array((3, 4), int32)
    i = cuda.grid(1)
    for k, row in enumerate(own):
        row[:] = i % 7
        put(row, k, 10 * k)
    cells = own.reshape(12).view(int16)
    out[i] = total(own[i % 3]) + total(own.T[i % 4]) + cells[2 * (i % 12)]


def rows_of_threads_expected(inp):
    result = []
    for i in range(BLOCK * BLOCKS):
        own = np.full((3, 4), i % 7)
        own[range(3), range(3)] = (0, 10, 20)
        result.append(own[i % 3].sum() + own[:, i % 4].sum() + own.reshape(-1)[i % 12])
    return np.array(result, float)


KERNELS = [
    (tile_rows, tile_rows_expected),
    (records_in_tile, records_in_tile_expected),
    (bytes_in_tile, bytes_in_tile_expected),
    (rows_of_threads, rows_of_threads_expected),
]


@pytest.mark.parametrize("order", [None, "reversed", "random"])
@pytest.mark.parametrize("lanes", [1, 128, 1 << 16])
@pytest.mark.parametrize(("kernel", "expected"), KERNELS)
def test_batches_and_orders_change_nothing(kernel, expected, lanes, order):
    """One block at a time or all, lockstep or warp by warp: the same values."""
    inp = np.random.default_rng(3).integers(-9, 9, BLOCK * BLOCKS).astype(np.float32)
    out = np.zeros(BLOCK * BLOCKS)
    launch(
        kernel, (BLOCKS, 1, 1), (BLOCK, 1, 1), (out, inp), types=infer(kernel, (out, inp)),
        lanes_per_batch=lanes, order=order, seed=5, shared_bytes=BLOCK * 6,
    )  # fmt: skip
    np.testing.assert_array_equal(out, expected(inp))
