"""Orders of warps: nothing changes without a race, and a race shows as a wrong value."""

import numpy as np
import pytest
from numba import cuda, float32, int32

from smemnb import lockstep, trace
from smemnb.errors import LaunchRefused
from smemnb.kernels import matmul, transpose
from smemnb.lockstep.watch import Watcher

ORDERS = [("reversed", 0), ("random", 1), ("random", 2)]


def whole_numbers(*shape, seed=3):
    return np.random.default_rng(seed).integers(-40, 40, shape).astype(np.float32)


def run(function, grid, block, *args, **options):
    return lockstep.launch(
        getattr(function, "py_func", function),
        (grid, 1, 1),
        (block, 1, 1),
        args,
        patience_s=60,
        **options,
    )


@pytest.mark.first(4)
@pytest.mark.parametrize("order, seed", ORDERS)
@pytest.mark.parametrize("name", [n for n in sorted(vars(transpose)) if n.startswith("transpose_")])
def test_finished_transposes(name, order, seed):
    """Values, counts and findings of every rung are those of lockstep."""
    kernel, inp = getattr(transpose, name), whole_numbers(70, 45)
    told = []
    for how in ({}, {"order": order, "seed": seed}):
        out = np.full((45, 70), np.nan, np.float32)
        told.append(trace(kernel, patience_s=60, **how)[(2, 3), (32, 32)](out, inp).to_json())
        np.testing.assert_array_equal(out, inp.T)
    assert told[1] == told[0]


@pytest.mark.first(2)
@pytest.mark.parametrize("order, seed", ORDERS)
@pytest.mark.parametrize("name", [n for n in sorted(vars(matmul)) if n.startswith("matmul_")])
def test_finished_products(name, order, seed):
    """Values, counts and findings of every rung are those of lockstep."""
    kernel, a, b = getattr(matmul, name), whole_numbers(40, 24), whole_numbers(24, 50)
    told = []
    for how in ({}, {"order": order, "seed": seed}):
        out = np.full((40, 50), np.nan, np.float32)
        tile = matmul.TILE
        grid = (-(-50 // tile), -(-40 // tile))
        told.append(trace(kernel, patience_s=60, **how)[grid, (tile, tile)](out, a, b).to_json())
        np.testing.assert_array_equal(out, a.astype(np.float64) @ b)
    assert told[1] == told[0]


@cuda.jit
def mixed(out, bins, inp, n):
    """Early return of a warp, ragged loops, atomics, votes, shuffles, a barrier that counts."""
    tile = cuda.shared.array(96, int32)
    i, t = cuda.grid(1), cuda.threadIdx.x
    tile[t] = inp[i] if i < n else 0
    above = cuda.syncthreads_count(int32(tile[t] > 0))
    if t >= 64:
        return
    steps = 0
    for k in range(t % 5):
        steps += tile[(t + k) % 64]
    cuda.atomic.add(bins, tile[t] % 7, 1)
    both = cuda.shfl_xor_sync(0xFFFFFFFF, steps, 3)
    if cuda.any_sync(0xFFFFFFFF, t % 32 == 40 - cuda.blockIdx.x):
        both += 1000
    out[cuda.blockIdx.x * 64 + t] = steps + 100 * above + both


def mixed_by_hand(inp, n, blocks):
    out, bins = np.zeros(blocks * 64, np.int64), np.zeros(7, np.int64)
    for block in range(blocks):
        at = block * 96 + np.arange(96)
        tile = [int(inp[i]) if i < n else 0 for i in at]
        above = sum(value > 0 for value in tile)
        steps = [sum(tile[(t + k) % 64] for k in range(t % 5)) for t in range(64)]
        for t in range(64):
            bins[tile[t] % 7] += 1
            warp = 32 * (t // 32)
            vote = any(other % 32 == 40 - block for other in range(warp, warp + 32))
            out[block * 64 + t] = steps[t] + 100 * above + steps[t ^ 3] + 1000 * vote
    return out, bins


@pytest.mark.parametrize("order, seed", [(None, 0), *ORDERS])
def test_divergent_kernel(order, seed):
    """Votes, shuffles, counting barriers, atomics and early returns: the same in every order."""
    blocks, n = 20, 1900
    inp = np.random.default_rng(8).integers(0, 90, n).astype(np.int32)
    expected, counted = mixed_by_hand(inp, n, blocks)
    out, bins = np.zeros(blocks * 64, np.int64), np.zeros(7, np.int32)
    seen = trace(mixed, order=order, seed=seed, patience_s=60)[blocks, 96](out, bins, inp, n)
    assert out.tolist() == expected.tolist()
    assert bins.tolist() == counted.tolist()
    plain = trace(mixed, patience_s=60)[blocks, 96](out, bins * 0, inp, n)
    assert seen.to_json() == plain.to_json()


def transpose_in_a_hurry(out, inp):
    """A tile read before it is full."""
    tile = cuda.shared.array((32, 32), float32)
    tx, ty = cuda.threadIdx.x % 32, cuda.threadIdx.x // 32
    for row in range(ty, 32, 8):
        tile[row, tx] = inp[row, tx]
    for row in range(ty, 32, 8):
        out[row, tx] = tile[tx, row]


def sum_in_a_hurry(out, inp):
    """A tree of sums without barriers between its levels."""
    tile = cuda.shared.array(256, int32)
    t = cuda.threadIdx.x
    tile[t] = inp[t]
    cuda.syncthreads()
    step = 128
    while step > 0:
        if t < step:
            tile[t] += tile[t + step]
        step //= 2
    if t == 0:
        out[0] = tile[0]


@pytest.mark.parametrize("order, right", [(None, True), ("reversed", False), ("random", False)])
def test_race_in_a_transpose_shows(order, right):
    """Without its barrier the transpose is right in lockstep and wrong in other orders."""
    inp, out = whole_numbers(32, 32), np.zeros((32, 32), np.float32)
    run(transpose_in_a_hurry, 1, 256, out, inp, order=order, seed=4)
    assert np.array_equal(out, inp.T) is right


@pytest.mark.parametrize("order, right", [(None, True), ("reversed", True), ("random", False)])
def test_race_in_a_sum_shows(order, right):
    """Without its barriers the sum is right in lockstep, and wrong in one order at least.

    Reversed it is right too: the last warp has put its part there before the first one adds it.
    """
    inp = np.random.default_rng(2).integers(-99, 99, 256).astype(np.int32)
    out = np.zeros(1, np.int32)
    run(sum_in_a_hurry, 1, 256, out, inp, order=order, seed=1)
    assert (out[0] == inp.sum()) is np.bool_(right)


def takes_turns(out):
    """Who came last: warps of a block, and blocks, write one cell each."""
    out[0, cuda.blockIdx.x] = cuda.threadIdx.x // 32
    out[1, 0] = cuda.blockIdx.x


def test_reversed_order():
    """The first warp and the first blocks come last."""
    out = np.full((2, 16), -1, np.int32)
    run(takes_turns, 16, 128, out, order="reversed")
    assert out[0].tolist() == [0] * 16
    assert out[1, 0] == 1  # blocks run in pairs, and in lockstep the later one of a pair wins
    run(takes_turns, 16, 128, out)
    assert (out[0].tolist(), out[1, 0]) == ([3] * 16, 15)


def test_seeds():
    """One seed gives one order; others give others."""
    results = {}
    for seed in (0, 1, 2, 3, 0, 1, 2, 3):
        out = np.full((2, 16), -1, np.int32)
        run(takes_turns, 16, 128, out, order="random", seed=seed)
        assert results.setdefault(seed, out.tolist()) == out.tolist()
    assert len({str(result) for result in results.values()}) == 4


class Told(Watcher):
    """Keeps every event."""

    def __init__(self):
        self.events = []

    def begin_batch(self, batch):
        self.batch = batch
        self.events.append(("begin", batch.first, batch.count))

    def access(self, event):
        lanes = int(np.broadcast_to(event.active, self.batch.shape).sum())
        self.events.append((event.site.text, event.kind, lanes))

    def barrier(self, event):
        arrived, live = (
            np.broadcast_to(lanes, self.batch.shape).sum(axis=2).tolist()
            for lanes in (event.arrived, event.live)
        )
        self.events.append((event.scope, arrived, live))

    def end_batch(self):
        self.events.append(("end",))


def stages(out):
    tile = cuda.shared.array(80, int32)
    t = cuda.threadIdx.x
    tile[t] = t
    cuda.syncthreads()
    if t >= 64:
        return
    out[t] = tile[79 - t]
    cuda.syncthreads()


@pytest.mark.parametrize("order", ["reversed", "random"])
def test_watchers_are_told_as_in_lockstep(order):
    """Whole blocks, each barrier once, with who arrived and who had not returned yet."""
    told = Told()
    run(stages, 1, 80, np.zeros(64, np.int32), order=order, watchers=[told])
    assert told.events == [
        ("begin", 0, 1),
        ("tile[t]", "store", 80),
        ("block", [[32, 32, 16]], [[32, 32, 16]]),
        ("tile[79 - t]", "load", 64),
        ("out[t]", "store", 64),
        ("block", [[32, 32, 0]], [[32, 32, 0]]),
        ("end",),
    ]


@pytest.mark.parametrize("order", ["reversed", "random"])
def test_findings_in_other_orders(order):
    """A race and a barrier that a warp misses are found as in lockstep."""

    @cuda.jit
    def wrong(out):
        tile = cuda.shared.array(64, int32)
        t = cuda.threadIdx.x
        tile[63 - t] = t
        if t < 32:
            cuda.syncthreads()
        out[t] = tile[t]

    found = [
        [(f.kind, f.line) for f in trace(wrong, patience_s=60, **how)[1, 64](np.zeros(64)).findings]
        for how in ({}, {"order": order})
    ]
    assert {"race", "divergent_barrier"} <= {kind for kind, _ in found[0]}
    assert found[1] == found[0]


@pytest.mark.parametrize(
    "how, said",
    [
        ({"order": "backwards"}, "order='backwards'"),
        ({"order": "random", "seed": -1}, "seed=-1"),
        ({"order": "random", "seed": 1.5}, "seed=1.5"),
    ],
)
def test_unknown_orders_are_refused(how, said):
    """What is no order or seed is refused before the launch."""
    with pytest.raises(LaunchRefused, match=said):
        trace(mixed, **how)
    with pytest.raises(LaunchRefused, match=said):
        run(takes_turns, 1, 32, np.zeros((2, 1)), **how)
