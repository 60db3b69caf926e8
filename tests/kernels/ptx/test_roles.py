"""Warps that do different things: elected lanes, barriers of some warps, registers."""

import numpy as np
import pytest
from numba import cuda, int32

from smemnb.errors import KernelStopped
from smemnb.kernels.ptx.roles import elected, meet, registers_fewer, registers_more
from smemnb.simulator.seam import OUT_OF_TREE
from smemnb.tracing import trace

fewer, more = registers_fewer(40), registers_more(232)


@cuda.jit(launch_bounds=(128, 1))
def pairs(out, tile_of):
    """Two halves of a block each reverse a piece of their own, at barriers of their own."""
    tile = cuda.shared.array(128, int32)
    tx = cuda.threadIdx.x
    half = tx // 64
    fewer()
    more()
    for turn in range(2):
        tile[tx] = tile_of[turn, tx]
        meet(1 + half, 64)
        out[turn, tx] = tile[half * 64 + 63 - tx % 64]
        meet(1 + half, 64)
    if elected():
        out[2, tx] = 1


@pytest.mark.first(1)
@pytest.mark.parametrize("order", [None, "reversed", "random"])
def test_halves(order):
    """Values, no race between what a barrier of half a block separates, one lane of each warp."""
    out, tile_of = np.zeros((3, 128), np.int32), np.arange(256, dtype=np.int32).reshape(2, 128)
    found = trace(pairs, order=order)[1, 128](out, tile_of)
    expected = tile_of.reshape(2, 2, 64)[:, :, ::-1].reshape(2, 128)
    np.testing.assert_array_equal(out[:2], expected)
    np.testing.assert_array_equal(np.flatnonzero(out[2]), np.arange(0, 128, 32))
    assert [str(one) for one in found.findings if not one.price] == []


def met(number, threads, by):
    """The first `by` threads meet."""

    @cuda.jit
    def kernel(out):
        tx = cuda.threadIdx.x
        if tx < by:
            meet(number, threads)
        out[tx] = 1

    return kernel


@pytest.mark.first(2)
@pytest.mark.parametrize(
    ("number", "threads", "by"), [(16, 64, 64), (1, 48, 64), (1, 128, 64), (1, 32, 64), (1, 64, 32)]
)
def test_meetings_that_fail(number, threads, by):
    """Another number, part of a warp, more than the block has, more than come, fewer than come."""
    with pytest.raises(KernelStopped, match="meet"):
        trace(met(number, threads, by))[1, 64](np.zeros(64, np.int32))


@pytest.mark.parametrize("count", [20, 42, 264])
def test_registers(count):
    """A multiple of 8 from 24 to 256."""
    with pytest.raises(ValueError, match=str(count)):
        registers_more(count)


@pytest.mark.toolchain
@pytest.mark.skipif(not OUT_OF_TREE, reason="the numba.cuda inside Numba links nothing")
def test_instructions():
    """Each call is the instruction that it names."""
    kinds = (int32[:, ::1], int32[:, ::1])
    ptx, _ = cuda.compile_ptx(pairs.py_func, kinds, cc=(9, 0, "a"), launch_bounds=(128, 1))
    wanted = {"setmaxnreg.dec.sync.aligned.u32 40": 1, "setmaxnreg.inc.sync.aligned.u32 232": 1}
    wanted |= {"elect.sync": 1}
    assert {text: ptx.count(text) for text in wanted} == wanted
    assert ptx.count("bar.sync") >= 2
