"""Patterns of requests: few, exact, and adding up to what the trace counted."""

from dataclasses import replace

import numpy as np
import pytest
from numba import cuda, float32, float64

from smemnb.kernels.transpose import transpose_padded, transpose_tiled
from smemnb.tracing import Trace, trace
from smemnb.tracing.patterns import patterns_of
from tests.tiers import exhaustive


def transposed(kernel):
    inp = np.arange(100 * 70, dtype=np.float32).reshape(100, 70)
    return trace(kernel)[(3, 4), (32, 32)](np.zeros((70, 100), np.float32), inp)


@pytest.mark.parametrize(
    ("kernel", "whole", "ragged"),
    [(transpose_tiled, 32, 4), (transpose_padded, 1, 1)],
    ids=["tiled", "padded"],
)
def test_of_a_column(kernel, whole, ragged):
    """The 31 other columns of a tile are the first one, moved; ragged blocks have less lanes."""
    report = transposed(kernel)
    load = next(row for row in report.lines if (row.space, row.kind) == ("shared", "load"))
    (found,) = patterns_of(report, [load])
    assert found is not None
    # a warp has a column: 70 of them in 3 rows of blocks with 32 rows, and in one with 4
    assert [(one.times, one.each) for one in found.patterns] == [(210, whole), (70, ragged)]
    assert [sum(one.active) for one in found.patterns] == [32, 4]
    assert (found.warps, found.made) == (12 * 32, (1,) * 280)


def test_alignment_makes_patterns():
    """In global memory what differs is the distance from the last sector's start."""

    @cuda.jit
    def rows(out, inp):
        tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
        out[ty, tx] = inp[ty, tx + 1]

    report = trace(rows)[1, (32, 8)](np.zeros((8, 32), np.float32), np.zeros((8, 34), np.float32))
    store, load = patterns_of(report, report.lines)
    assert store is not None and load is not None
    assert [(one.times, one.each) for one in store.patterns] == [(8, 4)]
    begins = {min(one.address) % 32: (one.times, one.each) for one in load.patterns}
    assert begins == {4: (2, 5), 12: (2, 5), 20: (2, 5), 28: (2, 5)}


def test_loops_and_absent_warps():
    """Requests per warp of those that come, in ascending order; a warp without lanes makes none."""

    @cuda.jit
    def kernel(out, inp):
        tile = cuda.shared.array(64, float64)
        tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
        if ty > 0:
            for k in range(ty):
                tile[tx] = inp[tx] + k
        out[tx] = tile[tx]

    report = trace(kernel, checks=False)[2, (32, 4)](np.zeros(32), np.zeros(32))
    store = next(row for row in report.lines if (row.kind, row.space) == ("store", "shared"))
    (found,) = patterns_of(report, [store])
    assert found is not None
    assert (found.warps, found.made) == (8, (1, 1, 2, 2, 3, 3))
    assert [(one.times, one.each) for one in found.patterns] == [(12, 2)]


def test_none_without_a_launch():
    """A trace from JSON cannot run again."""
    report = Trace.from_json(transposed(transpose_tiled).to_json())
    assert patterns_of(report, report.lines[:2]) == [None, None]


@exhaustive
def test_another_course():
    """A launch that counts something else when it runs again has no patterns."""

    @cuda.jit
    def once(out, flag):
        i = cuda.grid(1)
        if flag[0] == 0:
            out[i] = float32(1)

    flag = cuda.to_device(np.zeros(1, np.float32))
    report = trace(once)[1, 32](np.zeros(32, np.float32), flag)
    rows = [row for row in report.lines if row.kind == "store"]
    assert patterns_of(report, rows) != [None]
    assert patterns_of(report, [replace(row, requests=2) for row in rows]) == [None]
