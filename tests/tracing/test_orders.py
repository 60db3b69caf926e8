"""Barriers that order nothing, lanes that do not fit together, and kernels that stop early."""

import numpy as np
import pytest
from numba import cuda, float32, int32

from smemnb.errors import KernelStopped
from smemnb.tracing import trace

N = 64
ALL = 0xFFFFFFFF


def ramp(count):
    return np.arange(count, dtype=np.float32)


def useless(kernel, grid, block, *args):
    """{line from the kernel's first: times} of the barriers that order nothing."""
    first = kernel.py_func.__code__.co_firstlineno
    found = trace(kernel)[grid, block](*args).findings
    return {one.line - first: one.count for one in found if one.kind == "unused_barrier"}


@cuda.jit
def in_turn(out, inp, rounds, shift):
    tile = cuda.shared.array(N, float32)
    tx = cuda.threadIdx.x
    acc = float32(0)
    for k in range(rounds):
        tile[tx] = inp[tx + k]
        cuda.syncthreads()
        acc += tile[(tx + shift) % N]
        cuda.syncthreads()
    out[cuda.grid(1)] = acc


@pytest.mark.parametrize(
    ("rounds", "shift", "expected"),
    [
        (3, 1, {}),  # the second barrier keeps the next pass from storing too early
        (3, 0, {7: 6, 9: 6}),  # every thread keeps to its own cell: 3 rounds of 2 blocks
        (1, 1, {}),  # the second barrier is for a next round, which this launch has not
        (0, 1, {}),
    ],
)
def test_barriers_of_a_loop(rounds, shift, expected):
    """Both barriers of a loop are needed as soon as cells change hands."""
    assert useless(in_turn, 2, N, ramp(2 * N), ramp(2 * N), rounds, shift) == expected


@cuda.jit
def twice(out, inp):
    tile = cuda.shared.array(N, float32)
    tx = cuda.threadIdx.x
    tile[tx] = inp[tx]
    cuda.syncthreads()
    cuda.syncthreads()
    out[tx] = tile[tx ^ 1]


def test_two_barriers_in_a_row():
    """One of two is enough: the first is reported, the second is the needed one."""
    assert useless(twice, 1, N, ramp(N), ramp(N)) == {5: 1}


@cuda.jit
def counted(out, inp):
    tx = cuda.threadIdx.x
    out[tx] = cuda.syncthreads_count(1 if inp[tx] > 3 else 0)


@cuda.jit
def by_global(out, inp):
    tx = cuda.threadIdx.x
    out[tx] = inp[tx]
    cuda.syncthreads()
    out[tx] += out[tx ^ 1] if tx < 0 else inp[tx]
    cuda.syncthreads()
    inp[tx] = out[N - 1 - tx]


@cuda.jit
def released(out, inp, ticket):
    tx = cuda.threadIdx.x
    out[tx] = inp[tx]
    cuda.syncthreads()
    if tx == 0:
        cuda.atomic.add(ticket, 0, 1)


@cuda.jit
def some_return(out, inp):
    tx = cuda.threadIdx.x
    if tx > 40:
        return
    out[tx] = inp[tx]
    cuda.syncthreads()
    out[tx] += inp[tx]


@pytest.mark.parametrize(
    ("kernel", "args", "expected"),
    [
        (some_return, (), {}),  # that is an error, and not to be made light of by a note
        (counted, (), {}),  # its value is used
        (by_global, (), {4: 1}),  # the second orders global memory
        (released, (np.zeros(1, np.int32),), {}),  # other blocks may wait for the ticket
    ],
)
def test_barriers_that_are_needed_otherwise(kernel, args, expected):
    """A value, cells of global memory, and what other blocks may rely on."""
    assert useless(kernel, 1, N, ramp(N), ramp(N), *args) == expected


@cuda.jit
def needed_in_one_block(out, inp):
    tile = cuda.shared.array(N, float32)
    tx = cuda.threadIdx.x
    tile[tx] = inp[tx]
    cuda.syncthreads()
    out[cuda.grid(1)] = tile[(tx + cuda.blockIdx.x // 2) % N]


@pytest.mark.parametrize(("grid", "expected"), [(2, {5: 2}), (3, {})])
def test_one_block_that_needs_it(grid, expected):
    """A barrier that a single block of the launch needs is needed."""
    assert useless(needed_in_one_block, grid, N, ramp(3 * N), ramp(N)) == expected


# lanes of a warp


@cuda.jit
def half_syncs(out, named, again):
    tx = cuda.threadIdx.x
    if tx % 32 < 16:
        cuda.syncwarp(named)
    out[tx] = tx
    if again:
        cuda.syncwarp()


@pytest.mark.parametrize(
    ("named", "again", "count"),
    [
        (ALL, True, 32),
        (ALL, False, 0),  # the others run to the end, and are not waited for any more
        (0xFFFF, True, 0),
        (0x1FFFF, True, 2),
    ],
)
def test_syncwarp(named, again, count):
    """Lanes that are named and come to another barrier, in each of two warps."""
    found = trace(half_syncs)[1, N](ramp(N), np.uint32(named), again).findings
    assert sum(one.count for one in found) == count
    assert all(one.kind == "divergent_syncwarp" for one in found)
    if count:
        assert found[0].cause.startswith("16 lanes of a warp reach cuda.syncwarp(named) in line")
        assert f"which waits for {count // 2} more" in found[0].cause
        assert (found[0].threads, found[0].warps) == (((0, 0, 0), (16, 0, 0)), (0, 0))


@cuda.jit
def returned_before(out):
    tx = cuda.threadIdx.x
    if tx >= 40:
        return
    cuda.syncwarp()
    out[tx] = cuda.ballot_sync(ALL, tx >= 0) != 0


def test_returned_lanes_are_not_waited_for():
    """Lanes that have returned are named in vain, and a GPU does not wait for them."""
    assert trace(returned_before)[1, N](ramp(N)).findings == ()


@cuda.jit
def shift(out, inp, mask):
    tx = cuda.threadIdx.x
    value = inp[tx]
    if tx < 20:
        value = cuda.shfl_down_sync(mask, value, 4)
    out[tx] = value


def test_stray_shuffle():
    """Lanes 16 to 19 read 20 to 23, which are elsewhere."""
    found = trace(shift)[1, 32](ramp(32), ramp(32), np.uint32(0xFFFFF)).findings
    assert [(one.kind, one.count, one.threads[0][0]) for one in found] == [("stray_shuffle", 4, 16)]
    assert "thread 16, warp 0, reads lane 20, which takes no part in it" in found[0].cause


def test_masks():
    """A mask that names too many waits, one that names too few leaves lanes out."""
    many = trace(shift)[1, 32](ramp(32), ramp(32), np.uint32(ALL)).findings
    assert {one.kind: one.count for one in many} == {"missing_lane": 12, "stray_shuffle": 4}
    few = trace(shift)[1, 32](ramp(32), ramp(32), np.uint32(0xFFFF)).findings
    assert {one.kind: one.count for one in few} == {"unnamed_lane": 4, "stray_shuffle": 8}
    (stray,) = [one for one in few if one.kind == "stray_shuffle"]
    assert "which the mask leaves out" in stray.cause
    assert "0xffffffff" in stray.cure and "if" not in stray.cure.split()


# kernels that stop


@cuda.jit
def never_ends(out, inp):
    tile = cuda.shared.array(N, float32)
    tx = cuda.threadIdx.x
    tile[tx] = inp[tx]
    out[tx] = tile[N - 1 - tx]
    going = int32(1)
    while going > 0:
        going = going * 1


def test_findings_before_a_stop():
    """What was found before an endless loop is in the error, with the trace so far."""
    with pytest.raises(KernelStopped) as caught:
        trace(never_ends, patience_s=0.2)[1, N](ramp(N), ramp(N))
    (race,) = [one for one in caught.value.trace.findings if one.severity == "error"]
    assert (race.kind, race.count) == ("race", 64)
    assert f"Found until then:\n  {race.cause} {race.cure}" in str(caught.value)
    assert caught.value.trace.shared.requests == 4


def test_stop_without_findings():
    """A clean kernel that stops says nothing of findings."""

    @cuda.jit
    def waits(out):
        going = int32(1)
        while going > 0:
            out[0] = going

    with pytest.raises(KernelStopped) as caught:
        trace(waits, patience_s=0.2)[1, 1](np.zeros(1, np.int32))
    assert "Found until then" not in str(caught.value)
