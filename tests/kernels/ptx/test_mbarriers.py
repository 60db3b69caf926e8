"""Barriers in shared memory: phases, who is let through, copies that arrive, machine code."""

import numpy as np
import pytest
from numba import cuda, float32, int32, uint32, uint64

from smemnb.errors import KernelStopped
from smemnb.kernels.ptx.asynchronous import copy4
from smemnb.kernels.ptx.mbarriers import (
    mbarrier_arrive,
    mbarrier_arrive_after_copies,
    mbarrier_arrive_expecting,
    mbarrier_complete,
    mbarrier_expect,
    mbarrier_init,
    mbarrier_init_fence,
    mbarrier_passed,
    mbarrier_tried,
)
from smemnb.simulator.seam import OUT_OF_TREE
from smemnb.tracing import trace
from tests.facts import facts

N = 64


@cuda.jit
def phases(out):
    """Threads 0 and 33 arrive in turn at a barrier of two; who asks sees both parities."""
    barriers = cuda.shared.array(2, uint64)
    tx = cuda.threadIdx.x
    if tx == 0:
        mbarrier_init(barriers, 1, uint32(2))
    cuda.syncthreads()
    for at in range(5):
        if tx == 0:
            out[0, at] = mbarrier_passed(barriers, 1, uint32(0))
            out[1, at] = mbarrier_passed(barriers, 1, uint32(1))
        cuda.syncthreads()
        if tx == at % 2 * 33:
            mbarrier_arrive(barriers, 1)
        cuda.syncthreads()


def test_phases():
    """Two arrivals end a phase; parity 1 is that of the phase before the first one."""
    out = np.full((2, 5), -1, np.int32)
    found = trace(phases)[1, N](out)
    np.testing.assert_array_equal(out, [[0, 0, 1, 1, 0], [1, 1, 0, 0, 1]])
    assert {row.space for row in found.lines} == {"shared", "global"}  # of shared, its store alone
    assert [row.kind for row in found.lines if row.space == "shared"] == ["store"]


def handed_over(waits, after_copies=True):
    """A warp copies, the other one reads what it sent."""

    @cuda.jit
    def kernel(out, inp):
        barriers = cuda.shared.array(1, uint64)
        tile = cuda.shared.array(32, float32)
        tx = cuda.threadIdx.x
        if tx == 0:
            mbarrier_init(barriers, 0, uint32(32))
        cuda.syncthreads()
        if tx < 32:
            copy4(tile, tx, inp, tx, True)
            if after_copies:
                mbarrier_arrive_after_copies(barriers, 0)
            else:
                mbarrier_arrive(barriers, 0)
        else:
            if waits:
                while not mbarrier_tried(barriers, 0, uint32(0)):
                    pass
            out[tx - 32] = tile[63 - tx]

    return kernel


@pytest.mark.parametrize("order", [None, "reversed", "late"])
def test_copies_that_an_mbarrier_awaits(order):
    """Who passes sees them, whichever warp comes first."""
    inp, out = np.arange(32, dtype=np.float32), np.zeros(32, np.float32)
    found = trace(handed_over(waits=True), order=order)[1, N](out, inp)
    np.testing.assert_array_equal(out, inp[::-1])
    assert [str(one) for one in found.findings if not one.price] == []
    assert any("mbarriers" in said for said in found.limits)


def test_who_does_not_wait():
    """Reading without asking, and arriving without waiting for one's copies, are found."""
    inp, out = np.arange(32, dtype=np.float32), np.zeros(32, np.float32)
    for kernel in (handed_over(waits=False), handed_over(waits=True, after_copies=False)):
        found = [one for one in trace(kernel)[1, N](out, inp).findings if not one.price]
        assert ("read_before_arrival", 32) in {(one.kind, one.count) for one in found}


def test_what_is_stored_before_an_arrival():
    """A plain store before an arrival is seen behind the wait; without the wait it races."""

    def stored(waits):
        @cuda.jit
        def kernel(out, inp):
            barriers = cuda.shared.array(1, uint64)
            tile = cuda.shared.array(32, float32)
            tx = cuda.threadIdx.x
            if tx == 0:
                mbarrier_init(barriers, 0, uint32(32))
            cuda.syncthreads()
            if tx < 32:
                tile[tx] = inp[tx]
                mbarrier_arrive(barriers, 0)
            else:
                if waits:
                    while not mbarrier_passed(barriers, 0, uint32(0)):
                        pass
                out[tx - 32] = tile[63 - tx]

        return kernel

    inp, out = np.arange(32, dtype=np.float32), np.zeros(32, np.float32)
    assert [one.kind for one in trace(stored(True))[1, N](out, inp).findings if one.race] == []
    np.testing.assert_array_equal(out, inp[::-1])
    kinds = [one.kind for one in trace(stored(False))[1, N](out, inp).findings if one.race]
    assert kinds == ["race"]


@pytest.mark.toolchain
@pytest.mark.skipif(not OUT_OF_TREE, reason="the numba.cuda inside Numba links nothing")
@pytest.mark.parametrize(("cc", "test", "tries"), [((8, 0), 1, 0), ((9, 0), 0, 1)])
def test_instructions(cc, test, tries):
    """Instructions from cc 8.0 on; trying from 9.0 on."""
    kernel = handed_over(waits=True).py_func
    ptx, _ = cuda.compile_ptx(kernel, "void(float32[::1], float32[::1])", cc=cc)
    wanted = {"mbarrier.init.": True, "cp.async.mbarrier.arrive.noinc": True, "trap;": False}
    wanted |= {"mbarrier.test_wait.": bool(test), "mbarrier.try_wait.": bool(tries)}
    assert {text: text in ptx for text in wanted} == wanted  # loops have them more than once


@cuda.jit
def bytes_counted(out):
    """A barrier of one arrival, of which 48 bytes are expected and come in two parts."""
    barriers = cuda.shared.array(1, uint64)
    if cuda.threadIdx.x == 0:
        mbarrier_init(barriers, 0, uint32(1))
        mbarrier_init_fence()
        mbarrier_complete(barriers, 0, uint32(16))  # bytes may come before they are expected
        mbarrier_arrive_expecting(barriers, 0, uint32(48))
        out[0] = mbarrier_passed(barriers, 0, uint32(0))
        mbarrier_complete(barriers, 0, uint32(32))
        out[1] = mbarrier_passed(barriers, 0, uint32(0))
        mbarrier_expect(barriers, 0, uint32(8))
        mbarrier_arrive(barriers, 0)
        out[2] = mbarrier_passed(barriers, 0, uint32(1))
        mbarrier_complete(barriers, 0, uint32(8))
        out[3] = mbarrier_passed(barriers, 0, uint32(1))


def test_bytes():
    """A phase is over when its arrivals have come and no byte is missing."""
    out = np.full(4, -1, np.int32)
    trace(bytes_counted)[1, 32](out)
    assert out.tolist() == [0, 1, 0, 1]


def refused(made, expected, brought):
    """A barrier that one thread makes or not, and bytes."""

    @cuda.jit
    def kernel():
        barriers = cuda.shared.array(1, uint64)
        if cuda.threadIdx.x == 0:
            if made:
                mbarrier_init(barriers, 0, uint32(1))
            mbarrier_complete(barriers, 0, uint32(brought))
            mbarrier_arrive_expecting(barriers, 0, uint32(expected))

    return kernel


@pytest.mark.parametrize(
    ("made", "expected", "brought", "said"),
    [(False, 16, 0, {"mbarrier_init"}), (True, 16, 48, {"32"}), (True, 0, 600_000, {"524287"})],
)
def test_phases_that_never_end(made, expected, brought, said):
    """No barrier, more bytes than are expected, more than the engine counts: each is refused."""
    with pytest.raises(KernelStopped) as stopped:
        trace(refused(made, expected, brought))[1, 32]()
    assert said <= set(facts(str(stopped.value)))


@pytest.mark.toolchain
@pytest.mark.skipif(not OUT_OF_TREE, reason="the numba.cuda inside Numba links nothing")
def test_bytes_in_machine_code():
    """Each call is the instruction that it names."""
    found, _ = cuda.compile_ptx(bytes_counted.py_func, (int32[::1],), cc=(9, 0))
    wanted = (
        "arrive.expect_tx",
        "mbarrier.expect_tx",
        "mbarrier.complete_tx",
        "mbarrier_init.release",
    )
    assert [found.count(name) for name in wanted] == [1, 1, 3, 1]
