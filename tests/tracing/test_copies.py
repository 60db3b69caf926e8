"""Copies under way: right pipelines of 2 to 5 stages are clean, values go wrong where they may."""

import numpy as np
import pytest
from numba import cuda, float32

from smemnb.kernels.ptx.asynchronous import await_copies, close_group, copy4, groups_awaited
from smemnb.tracing import trace
from smemnb.tracing.watchers import copies
from tests.corpus.copies import bias_too_early, mirrored, one_stage, tail_of_three
from tests.corpus.pairs import PAIRS

N = 64
ROUNDS = 7


def one_barrier(stages, pending):
    """Wait, barrier, issue the next, read: one barrier a round."""
    arrived = groups_awaited(pending)

    @cuda.jit
    def pipeline(out, inp):
        tile = cuda.shared.array((stages, N), float32)
        tx, i = cuda.threadIdx.x, cuda.grid(1)
        first = i - tx
        acc = float32(0)
        for s in range(stages - 1):
            copy4(tile, s * N + tx, inp, s * out.size + i, s < ROUNDS)
            close_group()
        for r in range(ROUNDS):
            arrived()
            cuda.syncthreads()
            ahead = r + stages - 1
            copy4(tile, ahead % stages * N + tx, inp, ahead * out.size + i, ahead < ROUNDS)
            close_group()
            acc += tile[r % stages, (tx + 33) % N]
        out[first + tx] = acc

    return pipeline


def two_barriers(stages, pending):
    """Issue, wait, barrier, read, barrier; the issue may then stand first."""
    arrived = groups_awaited(pending)

    @cuda.jit
    def pipeline(out, inp):
        tile = cuda.shared.array((stages, N), float32)
        tx, i = cuda.threadIdx.x, cuda.grid(1)
        acc = float32(0)
        for s in range(stages - 1):
            copy4(tile, s * N + tx, inp, s * out.size + i, s < ROUNDS)
            close_group()
        for r in range(ROUNDS):
            ahead = r + stages - 1
            copy4(tile, ahead % stages * N + tx, inp, ahead * out.size + i, ahead < ROUNDS)
            close_group()
            arrived()
            cuda.syncthreads()
            acc += tile[r % stages, (tx + 33) % N]
            cuda.syncthreads()
        out[i] = acc

    return pipeline


def drained(stages):
    """A tail of its own: the last rounds wait for everything."""
    arrived = groups_awaited(stages - 2)

    @cuda.jit
    def pipeline(out, inp):
        tile = cuda.shared.array((stages, N), float32)
        tx, i = cuda.threadIdx.x, cuda.grid(1)
        acc = float32(0)
        for s in range(stages - 1):
            copy4(tile, s * N + tx, inp, s * out.size + i, True)
            close_group()
        for r in range(ROUNDS - stages + 1):
            arrived()
            cuda.syncthreads()
            ahead = r + stages - 1
            copy4(tile, ahead % stages * N + tx, inp, ahead * out.size + i, True)
            close_group()
            acc += tile[r % stages, (tx + 33) % N]
        await_copies()
        cuda.syncthreads()
        for r in range(ROUNDS - stages + 1, ROUNDS):
            acc += tile[r % stages, (tx + 33) % N]
        out[i] = acc

    return pipeline


def run(kernel, order=None, blocks=2):
    inp = np.random.default_rng(3).integers(0, 99, (ROUNDS, blocks * N)).astype(np.float32)
    out = np.zeros(blocks * N, np.float32)
    found = trace(kernel, order=order)[blocks, N](out, inp.reshape(-1))
    sums = inp.sum(0).reshape(blocks, N)
    return found, out, np.roll(sums, -33, axis=1).reshape(-1)


@pytest.mark.first(2)
@pytest.mark.parametrize("order", [None, "late", "reversed", "random"])
@pytest.mark.parametrize("stages", [2, 3, 4, 5])
def test_right_pipelines(stages, order):
    """No false alarm, and the right values in every order."""
    for kernel in (
        one_barrier(stages, stages - 2),
        two_barriers(stages, stages - 1),
        drained(stages),
    ):
        found, out, expected = run(kernel, order)
        assert [str(one) for one in found.findings] == []
        np.testing.assert_array_equal(out, expected)


@pytest.mark.first(1)
@pytest.mark.parametrize("stages", [2, 3, 4, 5])
def test_one_group_too_few(stages):
    """A wait that leaves one group more than come after it: each round reads what is under way."""
    found, out, expected = run(one_barrier(stages, stages - 1))
    ahead, later = stages - 1, min(stages, ROUNDS - stages + 1)  # stages of both lines, 2 blocks
    assert {(one.kind, one.count) for one in found.findings} == {
        ("wrong_group", 2 * N * ahead),
        ("wrong_group", 2 * N * later),
    }
    np.testing.assert_array_equal(out, expected)  # the values of lockstep look right
    _, late, _ = run(one_barrier(stages, stages - 1), "late")
    assert not np.array_equal(late, expected)


@pytest.mark.parametrize("order", [None, "late", "reversed", "random"])
@pytest.mark.parametrize(
    "kernel, kind",
    [
        (mirrored, "read_before_arrival"),
        (tail_of_three, "wrong_group"),
        (one_stage, "overwritten_stage"),
        (bias_too_early, "store_under_way"),
    ],
)
def test_every_order(kernel, kind, order):
    """Findings do not depend on the order in which warps run."""
    (pair,) = [one for one in PAIRS if one.buggy is kernel]
    found = trace(kernel, order=order)[pair.launch](*pair.args()).findings
    told = {(one.kind, tuple(sorted((one.line, one.other_line))), one.count) for one in found}
    assert (kind, pair.lines, pair.count) in told


def test_late_values():
    """Copies land at their own thread's wait: what is read before it is what was there."""

    @cuda.jit
    def early(out, inp):
        tile = cuda.shared.array(N, float32)
        tx = cuda.threadIdx.x
        tile[tx] = float32(-1)
        copy4(tile, tx, inp, tx, tx < 60)
        close_group()
        out[tx] = tile[tx]
        await_copies()
        out[N + tx] = tile[tx]

    inp, out = np.arange(1, N + 1, dtype=np.float32), np.zeros(2 * N, np.float32)
    trace(early, order="late")[1, N](out, inp)
    assert set(out[:N]) == {-1.0}
    np.testing.assert_array_equal(out[N:], np.where(inp <= 60, inp, 0))


def test_blocks_of_unequal_work():
    """Blocks that go round unequal numbers of times are judged each by its own barriers."""
    arrived = groups_awaited(0)

    @cuda.jit
    def uneven(out, inp, short):
        tile = cuda.shared.array(N, float32)
        tx, bx = cuda.threadIdx.x, cuda.blockIdx.x
        acc = float32(0)
        for r in range(ROUNDS - 2 * bx):
            copy4(tile, tx, inp, r * N + tx, True)
            close_group()
            arrived()
            cuda.syncthreads()
            acc += tile[N - 1 - tx]
            if bx != short:
                cuda.syncthreads()
        out[bx * N + tx] = acc

    inp, out = np.ones(ROUNDS * N, np.float32), np.zeros(3 * N, np.float32)
    assert trace(uneven)[3, N](out, inp, 9).findings == ()
    np.testing.assert_array_equal(out.reshape(3, N)[:, 0], [ROUNDS, ROUNDS - 2, ROUNDS - 4])
    found = [one for one in trace(uneven)[3, N](out, inp, 1).findings if one.race]
    assert [(one.kind, one.block, one.count) for one in found] == [
        ("overwritten_stage", (1, 0, 0), N)
    ]


def test_launch_without_copies_is_left_alone(monkeypatch):
    """Nothing is laid flat, not even once."""

    @cuda.jit
    def plain(out, inp):
        tile = cuda.shared.array(N, float32)
        tx = cuda.threadIdx.x
        tile[tx] = inp[tx]
        cuda.syncthreads()
        out[tx] = tile[N - 1 - tx]

    monkeypatch.setattr(copies.Copies, "_requested", None)
    inp, out = np.arange(N, dtype=np.float32), np.zeros(N, np.float32)
    assert trace(plain)[1, N](out, inp).findings == ()
    np.testing.assert_array_equal(out, inp[::-1])
