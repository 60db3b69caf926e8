"""Loops in which threads wait for each other: correct ones run, the others are stopped."""

import numpy as np
import pytest
from numba import cuda, int32

from smemnb import lockstep, trace
from smemnb.errors import KernelStopped, LaunchRefused
from smemnb.lockstep.fibers.waiting import local_bytes, needs
from smemnb.simulator import devices


def run(function, grid, block, *args, **options):
    options = {"patience_s": 60, **options}
    return lockstep.launch(function, (grid, 1, 1), (block, 1, 1), args, **options)


def zeros(*shape):
    return np.zeros(shape, np.int32)


# --- locks -------------------------------------------------------------------------------------


def locked_by_warps(total, lock):
    """Lane 0 of every warp takes a lock; what it does inside depends on the order."""
    if cuda.threadIdx.x % 32 == 0:
        while cuda.atomic.cas(lock, 0, 0, 1) != 0:
            pass
        total[0] = total[0] * 3 % 10007 + 1
        cuda.threadfence()
        cuda.atomic.exch(lock, 0, 0)


def locked_by_threads(total, lock):
    """Every thread takes the lock: lanes of one warp wait for each other."""
    while cuda.atomic.cas(lock, 0, 0, 1) != 0:
        pass
    total[0] = total[0] * 3 % 10007 + 1
    cuda.threadfence()
    cuda.atomic.exch(lock, 0, 0)


def locked_with_tickets(total, ticket, turn):
    """A ticket lock, by a thread of every warp."""
    if cuda.threadIdx.x % 32 == 5:
        mine = cuda.atomic.add(ticket, 0, 1)
        while turn[0] != mine:
            cuda.nanosleep(20)
        total[0] = total[0] * 3 % 10007 + 1
        cuda.threadfence()
        turn[0] += 1


def holders(count):
    total = 0
    for _ in range(count):
        total = total * 3 % 10007 + 1
    return total


@pytest.mark.parametrize("order", [None, "reversed", "random"])
@pytest.mark.parametrize(
    "kernel, grid, block, count",
    [
        (locked_by_warps, 5, 96, 15),
        (locked_with_tickets, 5, 96, 15),
        (locked_by_threads, 2, 40, 80),
    ],
)
def test_locks(kernel, grid, block, count, order):
    """Who has the lock leaves the loop and gives it back, while all others go round."""
    arrays = [zeros(1) for _ in range(3 if kernel is locked_with_tickets else 2)]
    run(kernel, grid, block, *arrays, order=order)
    assert arrays[0].tolist() == [holders(count)]


def locked_then_together(out, lock, total):
    t = cuda.threadIdx.x
    while cuda.atomic.cas(lock, 0, 0, 1) != 0:
        pass
    total[0] += t
    cuda.threadfence()
    cuda.atomic.exch(lock, 0, 0)
    value = t * t
    cuda.syncwarp()
    value += cuda.shfl_xor_sync(0xFFFFFFFF, value, 5)
    if t % 32 < 8:
        value += cuda.shfl_down_sync(0xFF, value, 1)
    odd = cuda.syncthreads_count(int32(t % 2))
    out[cuda.blockIdx.x, t] = 1000 * odd + value


def test_threads_meet_again():
    """Lanes that waited for each other shuffle, vote and meet barriers as a whole warp."""
    out, total = np.zeros((2, 64), np.int64), zeros(1)
    run(locked_then_together, 2, 64, out, zeros(1), total)
    both = [t * t + (t ^ 5) ** 2 for t in range(64)]
    expected = [both[t] + (both[t + 1] if t % 32 < 8 else 0) + 32000 for t in range(64)]
    known = [t for t in range(64) if t % 32 != 7]  # lane 7 reads lane 8, which takes no part
    assert total.tolist() == [2 * sum(range(64))]
    assert out[:, known].tolist() == [[expected[t] for t in known]] * 2


# --- flags -------------------------------------------------------------------------------------


def chained_scan(out, sums, flag, inp):
    """Each block waits for the sum of the blocks before it."""
    b, t = cuda.blockIdx.x, cuda.threadIdx.x
    tile = cuda.shared.array(64, int32)
    tile[t] = inp[b * 64 + t]
    cuda.syncthreads()
    if t == 0:
        own = 0
        for k in range(64):
            own += tile[k]
        before = 0
        if b > 0:
            while flag[b - 1] == 0:
                pass
            before = sums[b - 1]
        sums[b] = before + own
        cuda.threadfence()
        flag[b] = 1
        tile[0] += before
    cuda.syncthreads()
    if t == 63:
        total = 0
        for k in range(64):
            total += tile[k]
        out[b] = total


def dynamic_scan(out, sums, flag, inp, counter):
    """The same, with numbers that blocks take when they begin."""
    number = cuda.shared.array(1, int32)
    t = cuda.threadIdx.x
    if t == 0:
        number[0] = cuda.atomic.add(counter, 0, 1)
    cuda.syncthreads()
    b = number[0]
    if t == 40:
        before = 0
        if b > 0:
            while cuda.atomic.add(flag, b - 1, 0) == 0:
                pass
            before = sums[b - 1]
        for k in range(64):
            before += inp[b * 64 + k]
        sums[b] = before
        cuda.threadfence()
        cuda.atomic.exch(flag, b, 1)
        out[b] = before


@pytest.mark.parametrize("order", [None, "reversed", "random"])
@pytest.mark.parametrize("kernel", [chained_scan, dynamic_scan])
def test_chained_scan(kernel, order):
    """Blocks that wait for the block before them."""
    inp = np.random.default_rng(5).integers(-50, 50, 64 * 37).astype(np.int32)
    out, sums, flag = zeros(37), zeros(37), zeros(37)
    counter = [zeros(1)] if kernel is dynamic_scan else []
    run(kernel, 37, 64, out, sums, flag, inp, *counter, order=order, seed=3)
    assert out.tolist() == np.cumsum(inp.reshape(37, 64).sum(axis=1)).tolist()


def hand_over(out, inp, n):
    """Warp 0 fills a buffer, warp 1 empties it; a flag in shared memory says whose turn it is."""
    buffer, full = cuda.shared.array(32, int32), cuda.shared.array(1, int32)
    t = cuda.threadIdx.x
    if t == 0:
        full[0] = 0
    cuda.syncthreads()
    for at in range(0, n, 32):
        if t < 32:
            while cuda.atomic.add(full, 0, 0) != 0:
                pass
            buffer[31 - t] = inp[at + t]
            cuda.syncwarp()
            cuda.threadfence_block()
            if t == 0:
                cuda.atomic.exch(full, 0, 1)
        else:
            while cuda.atomic.add(full, 0, 0) != 1:
                pass
            out[at + t - 32] = buffer[t - 32]
            cuda.syncwarp()
            cuda.threadfence_block()
            if t == 32:
                cuda.atomic.exch(full, 0, 0)


@pytest.mark.parametrize("order", [None, "reversed", "random"])
def test_producer_and_consumer(order):
    """Two warps of a block take turns."""
    inp = np.random.default_rng(6).integers(-9, 9, 160).astype(np.int32)
    out = zeros(160)
    run(hand_over, 1, 64, out, inp, 160, order=order)
    assert out.tolist() == inp.reshape(5, 32)[:, ::-1].ravel().tolist()


# --- barriers of the whole grid ----------------------------------------------------------------


def reversed_by_hand(out, between, inp, count):
    i = cuda.grid(1)
    between[i] += inp[i] * 2
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        cuda.threadfence()
        cuda.atomic.add(count, 0, 1)
        while cuda.atomic.add(count, 0, 0) < cuda.gridDim.x:
            pass
    cuda.syncthreads()
    out[i] = between[out.size - 1 - i]


def reversed_by_group(out, between, inp, count):
    i = cuda.grid(1)
    between[i] += inp[i] * 2
    cuda.cg.this_grid().sync()
    out[i] = between[out.size - 1 - i]


@pytest.mark.parametrize("lanes", [64, 1 << 16])
@pytest.mark.parametrize("order", [None, "reversed", "random"])
@pytest.mark.parametrize("kernel", [reversed_by_hand, reversed_by_group])
def test_barrier_of_the_grid(kernel, order, lanes):
    """All blocks arrive before any goes on, in one batch or in many; nothing is added twice."""
    inp = np.arange(64 * 12, dtype=np.int32) * 7 % 101
    out, between = np.zeros_like(inp), np.ones_like(inp)
    run(kernel, 12, 64, out, between, inp, zeros(1), order=order, lanes_per_batch=lanes)
    assert out.tolist() == (1 + 2 * inp[::-1]).tolist()


def test_grid_larger_than_the_device():
    """A grid barrier is refused where blocks would wait for blocks that cannot begin."""
    inp = np.arange(64 * 12, dtype=np.int32)
    arrays = np.zeros_like(inp), np.ones_like(inp), inp, zeros(1)
    with pytest.raises(LaunchRefused, match=r"all 12 blocks of the grid; this device holds 8"):
        run(reversed_by_group, 12, 64, *arrays, residents=lambda shared_bytes: 8)
    with pytest.raises(KernelStopped, match="4 blocks have not begun"):
        run(reversed_by_hand, 12, 64, *arrays, residents=lambda shared_bytes: 8)
    run(reversed_by_hand, 12, 64, *arrays[:3], zeros(1), residents=lambda shared_bytes: 12)


def test_resident_blocks_of_a_device():
    """132 SMs of compute capability 9.0: 2048 threads each, 32 blocks, 227 KB of shared memory."""
    from smemnb.simulator.launch import _residents

    limits = devices.limits(devices.cc())
    assert limits.cc == (9, 0)
    assert _residents((1024, 1, 1), limits)(0) == 132 * 2
    assert _residents((32, 1, 1), limits)(0) == 132 * 32
    assert _residents((33, 3, 1), limits)(48 * 1024) == 132 * 4  # 228 KB over 49 KB


# --- what can never end ------------------------------------------------------------------------


def nobody_unlocks(lock):
    if cuda.threadIdx.x % 32 == 0:
        while cuda.atomic.cas(lock, 0, 0, 1) != 0:
            pass


def barrier_behind(flag):
    if cuda.threadIdx.x < 32:
        while flag[0] == 0:
            pass
    cuda.syncthreads()
    flag[0] = 1


def half_the_warp_shuffles(lock, out):
    t = cuda.threadIdx.x
    while cuda.atomic.cas(lock, 0, 0, 1) != 0:
        pass
    cuda.atomic.exch(lock, 0, 0)
    if t < 16:
        out[t] = cuda.shfl_sync(0xFFFFFFFF, t, 0)
    else:
        cuda.syncthreads()


@pytest.mark.parametrize(
    "kernel, grid, arrays, said",
    [
        (nobody_unlocks, 2, [zeros(1)], r"\(`cuda.atomic.cas\(lock, 0, 0, 1\) != 0`\) never ends"),
        (barrier_behind, 1, [zeros(1)], r"never ends: 32 threads .*; 32 threads wait at cuda.sync"),
        (half_the_warp_shuffles, 1, [zeros(1), zeros(64)], "16 threads wait at cuda.shfl_sync"),
    ],
)  # fmt: skip
def test_deadlocks(kernel, grid, arrays, said):
    """A lock never given back, a barrier behind a loop, a warp that never meets: told, not hung."""
    with pytest.raises(KernelStopped, match=said):
        run(kernel, grid, 64, *arrays)


def test_findings_of_a_deadlock():
    """What was seen before a kernel stopped is found: here a barrier that half the block misses."""

    @cuda.jit
    def apart(flag, out):
        t = cuda.threadIdx.x
        if t < 32:
            cuda.syncthreads()
            while flag[0] == 0:
                pass
        out[t] = t

    with pytest.raises(KernelStopped) as stopped:
        trace(apart, patience_s=60)[1, 64](zeros(1), zeros(64))
    kinds = [finding.kind for finding in stopped.value.trace.findings]
    assert "divergent_barrier" in kinds or "exited_before_barrier" in kinds


def gives_up(out, flag):
    """A wait that counts, in a thread whose partner never comes."""
    tries = 0
    while flag[0] == 0 and tries < 3000:
        tries += 1
    out[cuda.threadIdx.x] = tries


def test_waits_that_give_up():
    """A loop that counts how often it looked goes on to its end."""
    out = zeros(40)
    run(gives_up, 1, 40, out, zeros(1))
    assert out.tolist() == [3000] * 40


def backs_off(total, lock):
    """A lock whose loop changes a variable each time round."""
    pause = 1
    while cuda.atomic.cas(lock, 0, 0, 1) != 0:
        pause = pause * 5 % 1031
    total[0] = total[0] * 3 % 10007 + 1
    cuda.threadfence()
    cuda.atomic.exch(lock, 0, 0)


@pytest.mark.exhaustive
def test_waits_that_back_off():
    """A loop in which a variable changes waits all the same."""
    total = zeros(1)
    run(backs_off, 1, 33, total, zeros(1), patience_s=300)
    assert total.tolist() == [holders(33)]


# --- beginning anew ----------------------------------------------------------------------------


@cuda.jit
def counts_then_waits(total, seen, lock):
    i = cuda.grid(1)
    seen[i] += 1
    while cuda.atomic.cas(lock, 0, 0, 1) != 0:
        pass
    total[0] += i
    cuda.threadfence()
    cuda.atomic.exch(lock, 0, 0)


def test_a_launch_that_begins_anew():
    """Arrays and counts are those of one run, though the launch was tried in other orders first."""
    total, seen = zeros(1), zeros(80)
    found = trace(counts_then_waits, patience_s=60)[2, 40](total, seen, zeros(1))
    assert total.tolist() == [sum(range(80))]
    assert seen.tolist() == [1] * 80
    rows = [(row.text, row.kind, row.requests, row.lanes) for row in found.lines]
    assert rows[:2] == [("seen[i]", "load", 4, 80), ("seen[i]", "store", 4, 80)]
    assert [finding.kind for finding in found.findings if "race" in finding.kind] == []


def prints_and_waits(total, lock):
    print(cuda.threadIdx.x, total.size)
    while cuda.atomic.cas(lock, 0, 0, 1) != 0:
        pass
    cuda.atomic.exch(lock, 0, 0)


def test_prints_of_a_launch_that_begins_anew(capsys):
    """Every thread prints once, though the launch was tried in other orders first."""
    run(prints_and_waits, 1, 4, zeros(7), zeros(1))
    assert sorted(capsys.readouterr().out.splitlines()) == ["0 7", "1 7", "2 7", "3 7"]


def test_patience_holds_while_threads_wait():
    """The time is over also where warps take turns."""

    def for_ever(out):
        while True:
            cuda.atomic.add(out, cuda.threadIdx.x, 1)

    with pytest.raises(KernelStopped, match="still going round when the time was over"):
        run(for_ever, 1, 64, zeros(64), order="random", patience_s=0.3)


# --- by source ---------------------------------------------------------------------------------


def halves(out):
    step = 16
    while step > 0:
        out[cuda.threadIdx.x] += out[step]
        step //= 2


def until_found(out, inp):
    at = 0
    while True:
        if inp[at] == 0:
            break
        at += 1
    out[0] = at


def through_a_variable(out, flag):
    ready = False
    while not ready:
        seen = flag[0]
        ready = seen > 3
    out[0] = 1


def spins(flag):
    while flag[0] == 0:
        pass


def calls_one_that_spins(flag):
    spins(flag)


@pytest.mark.parametrize(
    "kernel, expected",
    [
        (halves, set()),
        (gives_up, {"wait"}),
        (until_found, {"wait"}),
        (through_a_variable, {"wait"}),
        (calls_one_that_spins, {"wait"}),
        (reversed_by_group, {"grid"}),
        (reversed_by_hand, {"wait"}),
    ],
)
def test_needs(kernel, expected):
    """What a kernel may need is read from its source, and from the functions it calls."""
    assert needs(kernel) == expected


WIDE = 40


def with_local_arrays(out):
    table = cuda.local.array((3, WIDE), int32)
    other = cuda.local.array(shape=7, dtype=np.float64)
    table[0, 0] = other[0] = 1
    out[0] = table[0, 0]


def test_local_bytes():
    """3 x 40 of 4 bytes and 7 of 8; a kernel without local arrays has none."""
    assert local_bytes(with_local_arrays) == 3 * 40 * 4 + 7 * 8
    assert local_bytes(halves) == 0
