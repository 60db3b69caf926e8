"""Copies under way: right pipelines of 2 to 5 stages are clean, values go wrong where they may."""

from functools import cache

import numpy as np
import pytest
from numba import cuda, float32, uint32, uint64

from smemnb.errors import SmemnbError
from smemnb.kernels.ptx.asynchronous import (
    await_copies,
    close_group,
    copy4,
    copy16,
    copy16_first,
    groups_awaited,
)
from smemnb.kernels.ptx.mbarriers import (
    mbarrier_arrive_after_copies,
    mbarrier_init,
    mbarrier_passed,
)
from smemnb.tracing import trace
from smemnb.tracing.requests import requests_of
from smemnb.tracing.watchers import copies
from tests.corpus.copies import (
    bias_too_early,
    both_warps_to_one_half,
    mirrored,
    one_stage,
    stored_a_round_too_far,
    tail_of_three,
)
from tests.corpus.pairs import PAIRS

N = 64
ROUNDS = 7


@cache
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


@cache
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


@cache
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


@pytest.mark.first(6)
@pytest.mark.parametrize("order", [None, "late", "reversed", "random"])
@pytest.mark.parametrize(
    "kernel, kind",
    [
        (mirrored, "read_before_arrival"),
        (tail_of_three, "wrong_group"),
        (one_stage, "overwritten_stage"),
        (bias_too_early, "store_under_way"),
        (both_warps_to_one_half, "store_under_way"),
        (stored_a_round_too_far, "overwritten_source"),
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


def kinds(found):
    return [(one.kind, one.count) for one in found.findings if one.kind != "uncoalesced"]


@pytest.mark.first(3)
@pytest.mark.parametrize("numbers, expected", [
    ([7] * N, [("race_same_value", 32)]),
    ([*range(32), *range(32)], [("race_same_value", 32)]),
    ([7] * (N - 1) + [8], [("store_under_way", 32)]),
])  # fmt: skip
@pytest.mark.parametrize("order", [None, "reversed"])
def test_copies_of_the_same_bits(numbers, expected, order):
    """Two warps copy to the same elements: harmless as long as all bring the same."""
    inp, out = np.array(numbers, np.float32), np.zeros(N, np.float32)
    assert kinds(trace(both_warps_to_one_half, order=order)[1, N](out, inp)) == expected


def test_same_bits_in_every_block():
    """The one block of two whose copies differ makes it an error."""

    @cuda.jit
    def to_one(out, inp):
        tile = cuda.shared.array(N, float32)
        tx, i = cuda.threadIdx.x, cuda.grid(1)
        copy4(tile, tx % 32, inp, i, True)
        await_copies()
        cuda.syncthreads()
        out[i] = tile[tx % 32]

    inp = np.ones(2 * N, np.float32)
    assert kinds(trace(to_one)[2, N](0 * inp, inp)) == [("race_same_value", 64)]
    inp[N + 40] = 2
    assert kinds(trace(to_one)[2, N](0 * inp, inp)) == [("store_under_way", 64)]


def source_stored(barrier_first, barrier_after):
    @cuda.jit
    def stored(out, inp):
        tile = cuda.shared.array(N, float32)
        tx = cuda.threadIdx.x
        copy4(tile, tx, inp, tx, True)
        if barrier_first:
            cuda.syncthreads()
        await_copies()
        if barrier_after:
            cuda.syncthreads()
        inp[tx ^ 1] = float32(1)
        out[tx] = tile[tx]

    return stored


@pytest.mark.parametrize("first", [False, True])
def test_one_finding_for_a_source(first):
    """A store without any barrier is told once, and not by the race check again."""
    inp, out = np.arange(N, dtype=np.float32), np.zeros(N, np.float32)
    found = trace(source_stored(first, barrier_after=False))[1, N](out, inp)
    assert [(one.kind, one.count) for one in found.findings if one.race] == [
        ("overwritten_source", N)
    ]
    right = trace(source_stored(first, barrier_after=True))[1, N](out, inp)
    assert [one.kind for one in right.findings if one.race] == []


def test_a_syncwarp_behind_the_wait_is_enough_in_a_warp():
    """Lanes know of each other's waits behind a syncwarp; other warps do not."""

    @cuda.jit
    def stored(out, inp, other):
        tile = cuda.shared.array(N, float32)
        tx = cuda.threadIdx.x
        copy4(tile, tx, inp, tx, True)
        cuda.syncthreads()
        await_copies()
        cuda.syncwarp()
        inp[tx ^ other] = float32(1)
        out[tx] = tile[tx]

    inp, out = np.arange(N, dtype=np.float32), np.zeros(N, np.float32)
    for other, expected in ((1, []), (32, [("overwritten_source", N)])):
        assert kinds(trace(stored)[1, N](out, inp, other)) == expected


@pytest.mark.parametrize("read, expected", [(4, [("overwritten_source", 2 * N)]), (2, [])])
def test_what_is_not_read_may_be_stored(read, expected):
    """Of copies that read the first elements only, the others are free: a race check knows it."""

    @cuda.jit
    def half(out, inp, read):
        tile = cuda.shared.array((N, 4), float32, alignment=16)
        tx = cuda.threadIdx.x
        copy16_first(tile, 4 * tx, inp, 4 * tx, read)
        inp[4 * (tx ^ 1) + 2] = float32(1)
        inp[4 * (tx ^ 1) + 3] = float32(1)
        await_copies()
        out[tx] = tile[tx, 0]

    inp, out = np.arange(4 * N, dtype=np.float32), np.zeros(N, np.float32)
    found = [one for one in trace(half)[1, N](out, inp, read).findings if one.race]
    assert sum(one.count for one in found) == sum(count for _, count in expected)
    assert {one.kind for one in found} == {kind for kind, _ in expected}


def test_a_source_that_a_flag_gives_free():
    """A thread waits, then tells by fence and atomic: who heard it may store."""

    @cuda.jit
    def told(out, inp, flag):
        tile = cuda.shared.array(N, float32)
        tx = cuda.threadIdx.x
        if tx < 32:
            copy4(tile, tx, inp, tx, True)
            await_copies()
            out[tx] = tile[tx]
            cuda.syncwarp()
            cuda.threadfence()
            if tx == 0:
                cuda.atomic.add(flag, 0, 1)
        else:
            if tx == 32:
                while cuda.atomic.add(flag, 0, 0) == 0:
                    pass
                cuda.threadfence()
            cuda.syncwarp()
            inp[tx - 32] = float32(0)

    inp, out = np.arange(N, dtype=np.float32), np.zeros(N, np.float32)
    found = trace(told)[1, N](out, inp, np.zeros(1, np.int32))
    assert [one.kind for one in found.findings if one.race] == []


@pytest.mark.parametrize("waits, expected", [(True, []), (False, ["overwritten_source"])])
def test_a_source_that_an_mbarrier_gives_free(waits, expected):
    """Who knows that the phase is over may store."""

    @cuda.jit
    def told(out, inp):
        tile = cuda.shared.array(N, float32)
        barriers = cuda.shared.array(1, uint64)
        tx = cuda.threadIdx.x
        if tx == 0:
            mbarrier_init(barriers, 0, uint32(N))
        cuda.syncthreads()
        copy4(tile, tx, inp, tx, True)
        mbarrier_arrive_after_copies(barriers, 0)
        if waits:
            while not mbarrier_passed(barriers, 0, uint32(0)):
                pass
        inp[tx] = float32(0)
        while not mbarrier_passed(barriers, 0, uint32(0)):
            pass
        out[tx] = tile[tx]

    inp, out = np.arange(N, dtype=np.float32), np.zeros(N, np.float32)
    found = trace(told)[1, N](out, inp)
    assert [one.kind for one in found.findings if one.race] == expected
    np.testing.assert_array_equal(out, np.arange(N))


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


@cuda.jit
def through_and_past(out, inp):
    """A row of 8 words for each lane, by copies of 4 bytes and of 16; the last are zeros."""
    tile = cuda.shared.array(1024, float32, alignment=16)
    tx = uint32(cuda.threadIdx.x)
    copy4(tile, uint32(tx * 8), inp, uint32(tx % 32 * 8), tx < 48)
    copy16(tile, uint32(512 + tx * 8), inp, uint32(tx % 32 * 4), tx < 32)
    await_copies()
    cuda.syncthreads()
    out[tx] = tile[tx]


@pytest.mark.parametrize("order", [None, "reversed"])
def test_counts_of_both_ways(order):
    """What each side takes, also of warps that run apart; explorer and map leave copies out."""
    inp, out = np.arange(256, dtype=np.float32), np.zeros(64, np.float32)
    report = trace(through_and_past, **({"order": order} if order else {}))[1, 64](out, inp)
    counts = {
        (row.text.split("(")[0], row.space): (row.requests, row.wavefronts, row.ideal, row.sectors)
        for row in report.lines
        if row.copy
    }
    assert counts == {
        # of four lines 4 lanes to a bank, in the order of the banks they read; two such groups of
        # the first warp, one of the second, and zeros 4 lanes to a bank
        ("copy4", "shared"): (2, 2 * 4 + 4 + 4, 3, 0),
        ("copy4", "global"): (2, 0, 0, 32 + 16),
        ("copy16", "shared"): (2, 8, 4, 0),
        ("copy16", "global"): (1, 0, 0, 32),
    }
    assert not any(one.row.copy for one in requests_of(report))
    (line,) = {row.line for row in report.lines if row.text.startswith("copy4") and row.copy}
    with pytest.raises(SmemnbError):
        report.bank_map(line)


@cuda.jit
def parts_of_rows(out, inp, wanted):
    """16 bytes for each lane, of which one warp reads all and the other one a part."""
    tile = cuda.shared.array(256, float32, alignment=16)
    tx = uint32(cuda.threadIdx.x)
    copy16_first(tile, uint32(tx * 4), inp, uint32(tx * 4), wanted[tx])
    await_copies()
    cuda.syncthreads()
    out[tx] = tile[tx]


@pytest.mark.parametrize("order", [None, "reversed"])
def test_loads_of_two_kinds_before_one_store(order):
    """Warps that run apart load for themselves and store together: each side is counted once."""
    inp, out = np.arange(256, dtype=np.float32), np.zeros(64, np.float32)
    wanted = np.repeat(np.array([4, 2], np.int32), 32)
    wanted[48:] = 0
    report = trace(parts_of_rows, **({"order": order} if order else {}))[1, 64](out, inp, wanted)
    counts = {
        row.space: (row.requests, row.lanes, row.wavefronts, row.sectors)
        for row in report.lines
        if row.copy
    }
    assert counts == {"shared": (2, 64, 2, 0), "global": (2, 48, 0, 16 + 8)}
