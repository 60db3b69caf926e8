"""How many blocks share a batch changes nothing; memory stays bounded for large launches."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numba import cuda, float32, int32, int64

from smemnb import lockstep
from smemnb.kernels.matmul import matmul_tiled
from smemnb.kernels.transpose import transpose_padded, transpose_tiled
from smemnb.tracing.tracer import trace_of
from smemnb.tracing.watching import Watched

BATCHES = [1, 96, 1000, 1 << 16]
BLOCKS = 23


def numbers(*shape, seed=0, low=-50, high=50, dtype=np.int32):
    return np.random.default_rng(seed).integers(low, high, shape).astype(dtype)


@cuda.jit(device=True)
def collatz(n):
    steps = 0
    while n > 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


def steps_to_one(out, inp):
    """Loops of different length per thread and block."""
    i = cuda.grid(1)
    if i >= out.size:
        return
    out[i] = collatz(int64(abs(inp[i]) + 1))


def histogram(out, inp):
    """Shared and global atomics, old values unused."""
    bins = cuda.shared.array(16, int32)
    i, t = cuda.grid(1), cuda.threadIdx.x
    if t < 16:
        bins[t] = 0
    cuda.syncthreads()
    if i < inp.size:
        cuda.atomic.add(bins, inp[i] % 16, 1)
    cuda.syncthreads()
    if t < 16:
        cuda.atomic.add(out, t, bins[t])


def places(out, inp):
    """Old values of shared atomics: a place for each thread of the block."""
    counter = cuda.shared.array(1, int32)
    i, t = cuda.grid(1), cuda.threadIdx.x
    if t == 0:
        counter[0] = 0
    cuda.syncthreads()
    place = cuda.atomic.add(counter, 0, 1)
    out[i] = place + inp[i % inp.size]


def sorted_blocks(out, inp):
    """Odd-even sort of a block's piece, ended by a vote that differs between blocks."""
    tile = cuda.shared.array(48, int32)
    i, t = cuda.grid(1), cuda.threadIdx.x
    tile[t] = inp[i] if i < inp.size else 1000
    cuda.syncthreads()
    turn, still = 0, 0
    while still < 2:
        swapped = 0
        at = 2 * t + turn % 2
        if at + 1 < 48 and tile[at] > tile[at + 1]:
            tile[at], tile[at + 1] = tile[at + 1], tile[at]
            swapped = 1
        still = 0 if cuda.syncthreads_or(swapped) else still + 1
        turn += 1
    out[i] = tile[t]


def neighbours(out, inp):
    """Local arrays, shuffles, a view of a row, an index out of range in the last blocks."""
    kept = cuda.local.array(3, int32)
    i, t = cuda.grid(1), cuda.threadIdx.x
    for k in range(3):
        kept[k] = inp[i + k]
    kept[t % 3] += 1
    total = kept[0] + kept[1] + kept[2]
    out[i] = total + cuda.shfl_xor_sync(0xFFFFFFFF, total, 1)


def races(out, inp):
    """A race in every block, and uninitialised cells in the last one."""
    tile = cuda.shared.array(64, int32)
    i, t = cuda.grid(1), cuda.threadIdx.x
    if i < inp.size:
        tile[63 - t] = inp[i]
    out[i] = tile[t] * 0


def sorted_by_hand(inp):
    padded = np.full(BLOCKS * 48, 1000)
    padded[: inp.size] = inp
    return np.sort(padded.reshape(BLOCKS, 48), axis=1).ravel()


def steps_by_hand(inp):
    def steps(n):
        return 0 if n == 1 else 1 + steps(n // 2 if n % 2 == 0 else 3 * n + 1)

    return [steps(int(abs(n)) + 1) for n in inp]


def neighbours_by_hand(inp):
    padded = np.r_[inp, 0, 0].astype(int)
    total = [int(padded[i : i + 3].sum()) + 1 for i in range(inp.size)]
    return [total[i] + total[i ^ 1] for i in range(inp.size)]


SIZE = BLOCKS * 64
CASES = {
    "steps_to_one": (steps_to_one, 64, numbers(SIZE - 9), (SIZE - 9,), steps_by_hand),
    "histogram": (
        histogram, 40, numbers(BLOCKS * 40 - 3, low=0), (16,),
        lambda inp: np.bincount(inp % 16, minlength=16),
    ),
    "places": (
        places, 64, numbers(5), (SIZE,),
        lambda inp: [i % 64 + inp[i % 5] for i in range(SIZE)],
    ),
    "sorted_blocks": (sorted_blocks, 48, numbers(BLOCKS * 48 - 7), (BLOCKS * 48,), sorted_by_hand),
    "neighbours": (neighbours, 64, numbers(SIZE), (SIZE,), neighbours_by_hand),
    "races": (races, 64, numbers(SIZE - 20), (SIZE,), lambda inp: np.zeros(SIZE, int)),
}  # fmt: skip


def traced(function, grid, block, args, lanes):
    """The trace of a launch with this many lanes in a batch."""
    seen = Watched(counts=True, checks=True)
    function = getattr(function, "py_func", function)
    lockstep.launch(
        function, grid, block, args, watchers=seen.all, lanes_per_batch=lanes, patience_s=60
    )
    counts = seen.counts()
    return trace_of(
        function,
        grid,
        block,
        (seen.launch.static_shared_bytes, 0),
        counts=counts,
        observations=seen.observations(counts),
        watched_blocks=seen.watched_blocks,
    )


@pytest.mark.first(3)
@pytest.mark.parametrize("name", CASES)
def test_values_counts_and_findings(name):
    """One block at a time, a few, or all: the same values, counts and findings."""
    function, block, inp, shape, by_hand = CASES[name]
    traces = []
    for lanes in BATCHES:
        out = np.zeros(shape, np.int64)
        traces.append(traced(function, (BLOCKS, 1, 1), (block, 1, 1), (out, inp), lanes))
        assert out.tolist() == list(by_hand(inp)), lanes
    assert [one.to_json() for one in traces] == [traces[0].to_json()] * len(BATCHES)


@pytest.mark.parametrize("kernel", [transpose_tiled, transpose_padded])
def test_transposes(kernel):
    """Ragged edges: the same values, counts and findings in every batch."""
    inp = numbers(70, 45, dtype=np.float32)
    told = set()
    for lanes in (1, 2048, 1 << 16):
        out = np.zeros((45, 70), np.float32)
        told.add(traced(kernel, (2, 3, 1), (32, 32, 1), (out, inp), lanes).to_json())
        np.testing.assert_array_equal(out, inp.T)
    assert len(told) == 1


def test_products():
    """A tiled product: the same values, counts and findings in every batch."""
    a, b = numbers(40, 24, dtype=np.float32), numbers(24, 50, seed=1, dtype=np.float32)
    told = set()
    for lanes in (1, 1024, 1 << 16):
        out = np.zeros((40, 50), np.float32)
        told.add(traced(matmul_tiled, (4, 3, 1), (16, 16, 1), (out, a, b), lanes).to_json())
        np.testing.assert_array_equal(out, a.astype(np.float64) @ b)
    assert len(told) == 1


LARGE = """
import pathlib
import sys
import numpy as np
from numba import cuda, float32, float64
import smemnb

@cuda.jit
def sums(out, inp):
    tile = cuda.shared.array(256, float32)
    t = cuda.threadIdx.x
    tile[t] = inp[cuda.grid(1)]
    cuda.syncthreads()
    step = 128
    while step > 0:
        if t < step:
            tile[t] += tile[t + step]
        cuda.syncthreads()
        step //= 2
    if t == 0:
        out[cuda.blockIdx.x] = tile[0]

@cuda.jit
def tables(out, inp):
    table = cuda.local.array(6000, float64)
    i = cuda.grid(1)
    table[i % 6000] = inp[i]
    out[i] = table[i % 6000]

n = {blocks} * 256
inp = np.random.default_rng(0).integers(-9, 9, n).astype(np.float32)
out = np.zeros({blocks} if "{kernel}" == "sums" else n, np.float32)
seen = smemnb.trace({kernel})[{blocks}, 256](out, inp)
assert not seen.findings or "{kernel}" == "tables", seen.findings
expected = inp.reshape(-1, 256).sum(axis=1) if "{kernel}" == "sums" else inp
assert (out == expected).all()


def peak():
    status = pathlib.Path("/proc/self/status")
    if status.exists():  # what getrusage says counts the process in that started this one
        return 1024 * int(status.read_text().split("VmHWM:")[1].split()[0])
    import resource
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else 1024 * most

print(peak())
"""


@pytest.mark.parametrize(
    "kernel, blocks",
    [("sums", "4096"), pytest.param("tables", "512", marks=pytest.mark.exhaustive)],
)
def test_memory_of_a_large_launch(tmp_path, kernel, blocks):
    """2^20 threads, and 2^17 with 48 KB of local arrays each, stay within 2 GB, watched."""
    if not Path("/proc/self/status").exists():
        pytest.importorskip("resource")
    file = tmp_path / "large.py"
    file.write_text(LARGE.replace("{kernel}", kernel).replace("{blocks}", blocks))
    done = subprocess.run([sys.executable, file], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 1 << 31


@cuda.jit
def local_of_lanes(out):
    """Cells that are the same in all blocks, then a store whose index differs between lanes."""
    cells = cuda.local.array(2, float32)
    tx = cuda.threadIdx.x
    cells[0] = tx
    cells[1] = 100 + tx
    cells[tx % 2] = 200 + tx
    for i in range(2):
        out[cuda.blockIdx.x, i, tx] = cells[i]


def test_local_cells_alike_in_all_blocks():
    """What only differs along the threads is stored for every block."""
    out = np.zeros((3, 2, 32), np.float32)
    local_of_lanes[3, 32](out)
    lane = np.arange(32)
    even = np.where(lane % 2 == 0, 200 + lane, lane)
    odd = np.where(lane % 2 == 1, 200 + lane, 100 + lane)
    np.testing.assert_array_equal(out, [[even, odd]] * 3)
