"""Code without barriers, right and wrong: fences, atomics, flags; wrong kernels, clean twins."""

import numpy as np
import pytest
from numba import cuda, float32, int32

from smemnb.tracing import trace

N, BLOCKS = 64, 4


def races(kernel, *args, grid=BLOCKS, block=N):
    """(kind, count) of the races of a launch, in order of kind."""
    return sorted((one.kind, one.count) for one in trace(kernel)[grid, block](*args).races)


def floats(size):
    return np.arange(1, size + 1, dtype=np.float32)


def zeros(size, dtype=np.int32):
    return np.zeros(size, dtype)


def last_block(fence, barrier, by_all=False):
    """Each block stores its part; the last one to come adds them up."""

    @cuda.jit
    def kernel(out, part, count, inp):
        last = cuda.shared.array(1, int32)
        tx, bx = cuda.threadIdx.x, cuda.blockIdx.x
        part[bx * N + tx] = inp[bx * N + tx]
        if by_all:
            cuda.threadfence()
        if barrier:
            cuda.syncthreads()
        if tx == 0:
            if fence:
                cuda.threadfence()
            last[0] = cuda.atomic.add(count, 0, 1)
        cuda.syncthreads()
        if last[0] == cuda.gridDim.x - 1:
            acc = float32(0)
            for k in range(cuda.gridDim.x):
                acc += part[k * N + tx ^ 1]
            out[tx] = acc

    return kernel


@pytest.mark.parametrize(
    "fence, barrier, by_all, expected",
    [
        (True, True, False, []),
        (False, True, True, []),
        (False, True, False, [("race_between_blocks", (BLOCKS - 1) * N)]),
        (True, False, False, [("race_between_blocks", (BLOCKS - 1) * (N - 1))]),
        (False, False, True, [("race_between_blocks", (BLOCKS - 1) * (N - 1))]),
    ],
)
def test_last_block_reduces(fence, barrier, by_all, expected):
    """The last block may read all parts if each was fenced before the counter went up."""
    args = zeros(N, np.float32), zeros(BLOCKS * N, np.float32), zeros(1), floats(BLOCKS * N)
    found = races(last_block(fence, barrier, by_all), *args)
    assert found == expected


def test_missing_fence_names_both_blocks():
    """Both lines, both threads with their blocks, the cell, and a fence as one of the cures."""
    args = zeros(N, np.float32), zeros(BLOCKS * N, np.float32), zeros(1), floats(BLOCKS * N)
    (found,) = trace(last_block(False, True))[BLOCKS, N](*args).races
    assert (found.severity, found.array, found.index) == ("error", "part", (0,))
    assert "block 0" in found.cause and "block 3" in found.cause
    assert "cuda.threadfence()" in found.cure and "two launches" in found.cure


@pytest.mark.parametrize(
    ("fence", "barrier", "cure"),
    [
        (False, True, "put cuda.threadfence() between the two"),
        (True, False, "by cuda.syncthreads() between"),
    ],
)
def test_the_cure_asks_for_what_is_missing(fence, barrier, cure):
    """The atomic that is there already is named, and so is a fence, not asked for again."""
    args = zeros(N, np.float32), zeros(BLOCKS * N, np.float32), zeros(1), floats(BLOCKS * N)
    (found,) = trace(last_block(fence, barrier))[BLOCKS, N](*args).races
    assert cure in found.cure and "atomic of line" in found.cure
    assert "then an atomic of cuda.atomic" not in found.cure


def handed_on(how):
    """Thread 0 of a warp draws the ticket, and all lanes of the last block add parts up."""

    @cuda.jit
    def kernel(out, part, count):
        tx, bx = cuda.threadIdx.x, cuda.blockIdx.x
        last = cuda.shared.array(1, int32)
        before = 0
        if tx == 0:
            part[bx] = bx
            cuda.threadfence()
            before = cuda.atomic.add(count, 0, 1)
            last[0] = before
        if how == "shuffle":
            before = cuda.shfl_sync(0xFFFFFFFF, before, 0)
        elif how == "shared":
            before = last[0]
        else:
            cuda.syncwarp()
            before = last[0]
        if before == cuda.gridDim.x - 1 and tx < cuda.gridDim.x:
            out[tx] = part[tx]

    return kernel


def test_what_one_thread_knows():
    """A lane that is not ordered behind the one that drew the ticket: the cure is a syncwarp."""
    parts = zeros(BLOCKS, np.float32), zeros(BLOCKS, np.float32)
    assert races(handed_on("syncwarp"), *parts, zeros(1), block=32) == []
    both = trace(handed_on("shuffle"))[BLOCKS, 32](*parts, zeros(1)).races
    (found,) = [one for one in both if one.kind == "race_between_blocks"]
    assert not found.leads
    assert "nothing orders thread 1 behind thread 0" in found.cause
    assert found.cure.startswith("Put cuda.syncwarp() between") and "fence" not in found.cure


def test_what_leads_comes_first():
    """The race over the ticket in shared memory, a warning, stands before the error behind it."""
    args = zeros(BLOCKS, np.float32), zeros(BLOCKS, np.float32), zeros(1)
    found = trace(handed_on("shared"))[BLOCKS, 32](*args).races
    assert [(one.kind, one.leads) for one in found] == [
        ("race_in_warp", True),
        ("race_between_blocks", False),
    ]


def look_back(fence):
    """A prefix sum over blocks: each waits for the one before it."""

    @cuda.jit
    def kernel(out, total, ready, inp):
        tx, bx = cuda.threadIdx.x, cuda.blockIdx.x
        before = cuda.shared.array(1, float32)
        if tx == 0:
            acc = float32(0)
            if bx > 0:
                while cuda.atomic.add(ready, bx - 1, 0) == 0:
                    pass
                cuda.threadfence()
                acc = total[bx - 1]
            before[0] = acc
            total[bx] = acc + inp[bx]
            if fence:
                cuda.threadfence()
            cuda.atomic.exch(ready, bx, 1)
        cuda.syncthreads()
        out[bx * N + tx] = before[0]

    return kernel


@pytest.mark.parametrize(
    "fence, expected", [(True, []), (False, [("race_between_blocks", BLOCKS - 1)])]
)
def test_look_back(fence, expected):
    """A chained scan publishes its total behind a fence."""
    out = zeros(BLOCKS * N, np.float32)
    args = out, zeros(BLOCKS, np.float32), zeros(BLOCKS), floats(BLOCKS)
    assert races(look_back(fence), *args) == expected
    assert out[::N].tolist() == [0.0, 1.0, 3.0, 6.0]


def locked(fence, plain_release=False):
    """One thread per block adds to a total under a lock."""

    @cuda.jit
    def kernel(total, lock, inp):
        if cuda.threadIdx.x == 0:
            while cuda.atomic.cas(lock, 0, 0, 1) != 0:
                pass
            total[0] += inp[cuda.blockIdx.x]
            if fence:
                cuda.threadfence()
            if plain_release:
                lock[0] = 0
            else:
                cuda.atomic.exch(lock, 0, 0)

    return kernel


@pytest.mark.parametrize(
    "fence, plain, expected",
    [
        (True, False, []),
        (False, False, [("race_between_blocks", 1)] * 2),
        (True, True, [("race_atomic", 1)]),
    ],
)
def test_spin_lock(fence, plain, expected):
    """A lock orders what is done under it if a fence comes before the release."""
    total = zeros(1, np.float32)
    assert races(locked(fence, plain), total, zeros(1), floats(BLOCKS)) == expected
    assert total[0] == 10.0


def ticketed(fence):
    @cuda.jit
    def kernel(total, ticket, serving, inp):
        if cuda.threadIdx.x == 0:
            mine = cuda.atomic.add(ticket, 0, 1)
            while cuda.atomic.add(serving, 0, 0) != mine:
                pass
            total[0] += inp[cuda.blockIdx.x]
            if fence:
                cuda.threadfence()
            cuda.atomic.add(serving, 0, 1)

    return kernel


@pytest.mark.parametrize("fence, expected", [(True, []), (False, [("race_between_blocks", 1)] * 2)])
def test_ticket_lock(fence, expected):
    """A ticket lock, with and without its fence."""
    args = zeros(1, np.float32), zeros(1), zeros(1), floats(BLOCKS)
    assert races(ticketed(fence), *args) == expected


def lock_of_lanes(fence):
    """All threads of a block add to a shared total under a lock in shared memory."""

    @cuda.jit
    def kernel(out):
        lock = cuda.shared.array(1, int32)
        total = cuda.shared.array(1, int32)
        tx = cuda.threadIdx.x
        if tx == 0:
            lock[0] = 0
            total[0] = 0
        cuda.syncthreads()
        done = False
        while not done:
            if cuda.atomic.cas(lock, 0, 0, 1) == 0:
                total[0] += 1
                if fence:
                    cuda.threadfence_block()
                cuda.atomic.exch(lock, 0, 0)
                done = True
        cuda.syncthreads()
        out[tx] = total[0]

    return kernel


@pytest.mark.parametrize("fence, expected", [(True, []), (False, [("race", 1)] * 2)])
def test_lock_in_shared_memory(fence, expected):
    """A lock of one block needs threadfence_block."""
    out = zeros(N)
    assert races(lock_of_lanes(fence), out, grid=1) == expected
    assert out.tolist() == [N] * N


def produced(fence, scope="grid"):
    """Block 0 produces, block 1 polls a flag with atomics and consumes."""

    @cuda.jit
    def kernel(out, data, flag):
        tx, bx = cuda.threadIdx.x, cuda.blockIdx.x
        if bx == 0:
            data[tx] = tx + 1
            cuda.syncthreads()
            if tx == 0:
                if fence:
                    if scope == "grid":
                        cuda.threadfence()
                    else:
                        cuda.threadfence_block()
                cuda.atomic.exch(flag, 0, 1)
        else:
            if tx == 0:
                while cuda.atomic.add(flag, 0, 0) == 0:
                    pass
                cuda.threadfence()
            cuda.syncthreads()
            out[tx] = data[N - 1 - tx]

    return kernel


@pytest.mark.parametrize(
    "fence, scope, expected",
    [
        (True, "grid", []),
        (False, "grid", [("race_between_blocks", N)]),
        (True, "block", [("race_between_blocks", N)]),
    ],
)
def test_producer_consumer(fence, scope, expected):
    """A flag between blocks takes threadfence; threadfence_block is not enough."""
    args = zeros(N), zeros(N), zeros(1)
    assert races(produced(fence, scope), *args, grid=2) == expected


@cuda.jit
def plain_flag(out, data, flag):
    tx, bx = cuda.threadIdx.x, cuda.blockIdx.x
    if tx == 0:
        if bx == 0:
            data[0] = 7.0
            cuda.threadfence()
            flag[0] = 1
        else:
            while flag[0] == 0:
                cuda.threadfence()
            cuda.threadfence()
            out[0] = data[0]


@cuda.jit
def plain_flag_too_early(out, data, flag):
    tx, bx = cuda.threadIdx.x, cuda.blockIdx.x
    if tx == 0:
        if bx == 0:
            data[0] = 7.0
            flag[0] = 1
            cuda.threadfence()
        else:
            while flag[0] == 0:
                cuda.threadfence()
            cuda.threadfence()
            out[0] = data[0]


def test_plain_flag():
    """A flag by plain store and load works by the compiler's grace: a warning, the data is fine."""
    args = zeros(1, np.float32), zeros(1, np.float32), zeros(1)
    assert races(plain_flag, *args, grid=2) == [("race_flag", 1)]
    args = zeros(1, np.float32), zeros(1, np.float32), zeros(1)
    assert races(plain_flag_too_early, *args, grid=2) == [("race_between_blocks", 1)] * 2


@cuda.jit
def largest_by_cas(best, inp):
    i = cuda.grid(1)
    old = best[0]
    while inp[i] > old:
        seen = cuda.atomic.cas(best, 0, old, inp[i])
        if seen == old:
            break
        old = seen


@cuda.jit
def largest_after_a_look(best, inp):
    i = cuda.grid(1)
    if inp[i] > best[0]:
        cuda.atomic.max(best, 0, inp[i])


@cuda.jit
def counted_and_read(out, count, inp):
    i = cuda.grid(1)
    cuda.atomic.add(count, 0, 1)
    out[i] = count[0]


@cuda.jit
def counted_and_returned(out, count, inp):
    i = cuda.grid(1)
    out[i] = cuda.atomic.add(count, 0, 1)


@cuda.jit
def counted_and_zeroed(out, count, inp):
    i = cuda.grid(1)
    if i == 0:
        count[0] = 0
    cuda.atomic.add(count, 0, 1)


def test_looks_at_cells_of_atomics():
    """A look that a cas or max decides is fine; a plain load or store beside an atomic is not."""
    values = np.random.default_rng(5).permutation(BLOCKS * N).astype(np.int32)
    for kernel in (largest_by_cas, largest_after_a_look):
        best = zeros(1)
        assert races(kernel, best, values) == []
        assert best[0] == BLOCKS * N - 1
    assert races(counted_and_returned, zeros(BLOCKS * N), zeros(1), values) == []
    for kernel in (counted_and_read, counted_and_zeroed):
        assert races(kernel, zeros(BLOCKS * N), zeros(1), values) == [("race_atomic", 1)]


@pytest.mark.first(4)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, np.uint64, np.int32])
@pytest.mark.parametrize("barrier", [False, True])
def test_shared_atomics_of_every_width(dtype, barrier):
    """Float and 8-byte atomics race with plain loads as others do."""

    @cuda.jit
    def kernel(out):
        total = cuda.shared.array(2, dtype)
        tx = cuda.threadIdx.x
        if tx < 2:
            total[tx] = 0
        cuda.syncthreads()
        cuda.atomic.add(total, tx % 2, 1)
        if barrier:
            cuda.syncthreads()
        out[tx] = total[tx % 2]

    expected = [] if barrier else [("race_atomic", 2)]
    assert races(kernel, zeros(N, dtype), grid=1) == expected


def counted(out, ticket):
    """Each thread stores, fences and takes a ticket, many times; then reads its neighbour's."""
    i = cuda.grid(1)
    for at in range(4):
        out[i] = at
        cuda.threadfence()
        cuda.atomic.add(ticket, i % 8, 1)
    out[i] = out[i ^ 1]


def test_too_many_signals(monkeypatch):
    """What was not examined is said in the trace, in its text and its JSON."""
    launch = (np.zeros(256, np.int32), np.zeros(8, np.int32))
    whole = trace(counted)[2, 128](*launch)
    assert whole.limits == () and "not examined" not in repr(whole)
    assert any(found.kind.startswith("race") for found in whole.findings)
    monkeypatch.setattr("smemnb.tracing.watchers.races.signals.MOST_LANES", 1000)
    some = trace(counted)[2, 128](*launch)
    assert len(some.limits) == 1 and some.limits[0].startswith("races between threads that fences")
    assert "\nnot examined: races between threads that fences and atomics" in repr(some)
    assert "not examined" in some._repr_html_()
    assert type(some).from_json(some.to_json()) == some
    monkeypatch.setattr("smemnb.tracing.watchers.races.signals.MOST_LANES", 1 << 22)
    monkeypatch.setattr("smemnb.tracing.watchers.races.order.MOST_NODES", 10)
    crowded = trace(counted)[2, 128](*launch)
    assert [said[:21] for said in crowded.limits] == ["some pairs of accesse"]


def all_counts(barrier):
    """Each block counts in shared memory, adds to all counts, and the last one looks at them."""

    @cuda.jit
    def kernel(out, most, ticket, inp):
        part = cuda.shared.array(N, int32)
        last = cuda.shared.array(1, int32)
        tx = cuda.threadIdx.x
        part[tx] = 0
        cuda.syncthreads()
        cuda.atomic.add(part, inp[cuda.grid(1)], 1)
        if barrier:
            cuda.syncthreads()
        cuda.atomic.add(out, tx, part[tx])
        cuda.threadfence()
        cuda.syncthreads()
        if tx == 0:
            last[0] = cuda.atomic.add(ticket, 0, 1)
        cuda.syncthreads()
        if last[0] == cuda.gridDim.x - 1:
            cuda.atomic.max(most, 0, out[tx])

    return kernel


def test_a_fence_later_makes_no_poll():
    """Counters that are read without a barrier are no flag, whatever fence comes behind."""
    inp = (np.arange(N * BLOCKS) * 7 % N).astype(np.int32)
    for barrier in (True, False):
        found = trace(all_counts(barrier))[BLOCKS, N](zeros(N), zeros(1), zeros(1), inp)
        kinds = [(one.kind, one.severity) for one in found.findings if one.kind.startswith("race")]
        assert kinds == ([] if barrier else [("race_atomic", "error")])


@pytest.mark.parametrize("gives, takes, expected", [
    ("grid", "grid", "race_flag"),
    ("grid", "", "race_atomic"),
    ("", "grid", "race_atomic"),
    ("grid", "block", "race_atomic"),
    ("block", "grid", "race_atomic"),
])  # fmt: skip
def test_what_makes_a_poll(gives, takes, expected):
    """A fence before the atomic and one behind the load, both reaching the other block."""

    @cuda.jit
    def polled(out, flag):
        tx, bx = cuda.threadIdx.x, cuda.blockIdx.x
        if tx == 0:
            if bx == 0:
                if gives == "grid":
                    cuda.threadfence()
                if gives == "block":
                    cuda.threadfence_block()
                cuda.atomic.add(flag, 0, 1)
            else:
                out[bx] = flag[0]
                if takes == "grid":
                    cuda.threadfence()
                if takes == "block":
                    cuda.threadfence_block()

    found = trace(polled)[2, 32](zeros(2), zeros(1)).findings
    assert [one.kind for one in found if one.race] == [expected]
