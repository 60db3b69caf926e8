"""Launches: results and counts do not depend on batches or on the host's memory."""

import numpy as np
import pytest
from numba import cuda, float32, int32

from smemnb import lockstep
from smemnb.errors import KernelStopped, LaunchRefused, UnsupportedSyntax
from smemnb.kernels.transpose import transpose_padded
from smemnb.tracing.watchers.counting import Counting

SIZE = 32


def scattered(shape, seed=0):
    return np.random.default_rng(seed).integers(-50, 50, shape).astype(np.float32)


def run(function, grid, block, *args, **options):
    return lockstep.launch(getattr(function, "py_func", function), grid, block, args, **options)


def block_sums(out, inp):
    tile = cuda.shared.array(SIZE, float32)
    tx = cuda.threadIdx.x
    i = cuda.grid(1)
    tile[tx] = inp[i] if i < inp.size else float32(0)
    cuda.syncthreads()
    step = SIZE // 2
    while step > 0:
        if tx < step:
            tile[tx] += tile[tx + step]
        cuda.syncthreads()
        step //= 2
    if tx == 0:
        out[cuda.blockIdx.x] = tile[0]


@pytest.mark.parametrize("lanes", [1, 32, 96, 1 << 16])
def test_batches_do_not_change_results(lanes):
    """One block at a time, three, or all: the same sums."""
    inp = scattered(1000)
    out = np.full(32, np.nan, np.float32)
    run(block_sums, (32, 1, 1), (SIZE, 1, 1), out, inp, lanes_per_batch=lanes)
    expected = np.pad(inp, (0, 24)).reshape(32, 32).sum(axis=1)
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("lanes", [1, 2048, 1 << 16])
def test_batches_do_not_change_counts(lanes):
    """Ragged edges counted block by block or all at once: the same totals."""
    inp, out = scattered((70, 45)), np.zeros((45, 70), np.float32)
    counting = Counting()
    run(
        transpose_padded, (2, 3, 1), (32, 32, 1), out, inp,
        watchers=[counting], lanes_per_batch=lanes,
    )  # fmt: skip
    found = [(c.site.text, c.requests, c.lanes, c.wavefronts, c.sectors) for c in counting.counts()]
    # 70 rows of 45: 32 + 13 columns; rows of 180 bytes begin anywhere in a sector
    assert found[1] == ("tile[ty, tx]", 140, 3150, 140, 0)
    assert found[2] == ("tile[tx, ty]", 135, 3150, 135, 0)
    spans = [(180 * row + a, 180 * row + b) for row in range(70) for a, b in ((0, 128), (128, 180))]
    assert (found[0][1], found[0][4]) == (140, sum((b - 1) // 32 - a // 32 + 1 for a, b in spans))


def test_addresses_are_virtual():
    """A view into a larger array counts by its place in it, wherever the host put it."""

    def copy(out, inp):
        i = cuda.grid(1)
        out[i] = inp[i]

    whole = scattered(100)
    for first, sectors in ((0, 4), (1, 5), (8, 4), (15, 5)):
        counting = Counting()
        out = np.zeros(32, np.float32)
        run(copy, (1, 1, 1), (32, 1, 1), out, whole[first : first + 32], watchers=[counting])
        by_text = {c.site.text: c.sectors for c in counting.counts()}
        assert by_text == {"inp[i]": sectors, "out[i]": 4}
        np.testing.assert_array_equal(out, whole[first : first + 32])


@pytest.mark.parametrize(
    "view",
    [
        lambda a: a.T,
        lambda a: a[::2, ::3],
        lambda a: a[::-1],
        lambda a: a[:, ::-1],
        lambda a: a[3:3],
        lambda a: np.asfortranarray(a),
    ],
    ids=["transposed", "stepped", "reversed", "reversed columns", "empty", "column-major"],
)
def test_strides(view):
    """Any strides of whole elements are read and written in place."""

    def double(a):
        col, row = cuda.grid(2)
        if row < a.shape[0] and col < a.shape[1]:
            a[row, col] *= float32(2)

    base = scattered((12, 10))
    part = view(base)
    expected = np.array(part) * 2
    run(double, (1, 1, 1), (16, 16, 1), part)
    np.testing.assert_array_equal(part, expected)


def test_strides_inside_elements():
    """A field of packed records has strides that are no whole elements."""

    def reverse(out, inp):
        i = cuda.grid(1)
        out[i] = inp[inp.size - 1 - i]

    records = np.zeros(4, [("a", "f4"), ("b", "u1")])
    records["a"] = (1.5, -2.25, 1e30, 7.0)
    out = np.zeros(4, np.float32)
    run(reverse, (1, 1, 1), (4, 1, 1), out, records["a"])
    assert out.tolist() == [7.0, float(np.float32(1e30)), -2.25, 1.5]


def test_shared_memory_beyond_the_limit_is_refused():
    """The array that does not fit is named, with what was asked and what there is."""

    def two(out):
        a = cuda.shared.array(1000, float32)
        b = cuda.shared.array(1000, float32)
        a[0] = b[0] = out[0]

    with pytest.raises(LaunchRefused, match="8,000 bytes.*'b'.*at most 4,096"):
        run(two, (1, 1, 1), (1, 1, 1), np.zeros(1, np.float32), shared_limit=4096)


def test_dynamic_shared_memory_aliases():
    """All arrays of size 0 are the same bytes."""

    def swap(out):
        floats = cuda.shared.array(0, float32)
        same = cuda.shared.array(0, float32)
        bits = cuda.shared.array(0, int32)
        floats[cuda.threadIdx.x] = float32(1)
        cuda.syncthreads()
        out[cuda.threadIdx.x] = bits[cuda.threadIdx.x] if same[0] == 1 else 0

    out = np.zeros(4, np.int32)
    run(swap, (1, 1, 1), (4, 1, 1), out, shared_bytes=16)
    assert out.tolist() == [0x3F800000] * 4


def test_shared_memory_is_poisoned_for_each_block():
    """What one block wrote no other block sees."""

    def leftover(out):
        tile = cuda.shared.array(2, int32)
        out[cuda.blockIdx.x] = tile[0]
        tile[0] = 7

    out = np.zeros(3, np.int32)
    run(leftover, (3, 1, 1), (1, 1, 1), out)
    assert out.tolist() == [-1431655766] * 3


def test_endless_loop_is_stopped():
    """Threads that wait for what nobody stores: named line, condition, and why."""

    def spin(flag):
        if cuda.threadIdx.x > 0:
            while flag[0] == 0:
                pass

    with pytest.raises(KernelStopped, match=r"\(`flag\[0\] == 0`\) never ends: 31 threads"):
        run(spin, (1, 1, 1), (32, 1, 1), np.zeros(1, np.int32))


def test_loops_that_only_store_are_not_stopped():
    """No variable changes from round to round, but an array does: the loop goes on to its end."""

    def count(out):
        i = cuda.threadIdx.x
        while out[i] < 5000:
            out[i] += 1

    out = np.zeros(2, np.int64)
    run(count, (1, 1, 1), (2, 1, 1), out)
    assert out.tolist() == [5000, 5000]


def test_loops_end_when_the_time_is_over():
    """A loop that goes on counting is stopped after `patience_s`, with its line."""

    def count(out):
        i = 0
        while i >= 0:
            i += 1
        out[0] = i

    with pytest.raises(KernelStopped, match=r"of count \(`i >= 0`\) was still going round"):
        run(count, (1, 1, 1), (1, 1, 1), np.zeros(1), patience_s=0.05)


def test_tuples_are_compared_like_python():
    """==, !=, < and >= of tuples per lane, first item first, the shorter one smaller."""

    def compare(out):
        col, row = cuda.grid(2)
        here = (row, col)
        if here == (1, 2):
            out[row, col] += 1
        if here != (0, 0):
            out[row, col] += 10
        if here < (1, 1):
            out[row, col] += 100
        more = (0,)
        if here + more > (1, 1):
            out[row, col] += 1000

    out = np.zeros((2, 3), np.int64)
    run(compare, (1, 1, 1), (3, 2, 1), out)
    expected = np.zeros_like(out)
    for row, col in np.ndindex(2, 3):
        here = (row, col)
        expected[here] = (
            (here == (1, 2)) + 10 * (here != (0, 0)) + 100 * (here < (1, 1))
        ) + 1000 * ((*here, 0) > (1, 1))
    np.testing.assert_array_equal(out, expected)


def test_arrays_in_tuples():
    """A tuple of arrays is indexed like any other arrays, and written in place."""

    def add(outs, pair):
        i = cuda.threadIdx.x
        outs[0][i] = pair[0][i] + pair[1][i]

    out = np.zeros(4, np.float32)
    pair = (np.arange(4, dtype=np.float32), np.full(4, 10, np.float32))
    run(add, (1, 1, 1), (4, 1, 1), (out,), pair)
    assert out.tolist() == [10, 11, 12, 13]


def test_long_loops_are_not_stopped():
    """A loop of many rounds that still counts goes on."""

    def count(out, n):
        i = 0
        while i < n:
            i += 1
        out[cuda.threadIdx.x] = i

    out = np.zeros(2, np.int64)
    run(count, (1, 1, 1), (2, 1, 1), out, 5000)
    assert out.tolist() == [5000, 5000]


@pytest.mark.parametrize(
    "source, construct",
    [
        ("try:\n        pass\n    except Exception:\n        pass", "cannot catch exceptions"),
        ("x = [1, 2]", "no lists"),
        ("x = {1: 2}", "no dictionaries"),
        ("import math", "an import stands inside"),
        ("a, *b = (1, 2)", "a starred name"),
        ("raise", "bare `raise`"),
        ("x = undefined_name", "'undefined_name' is not defined"),
        ("x = out.tolist()", "method out.tolist"),
        ("cuda.no_such_thing()", "no_such_thing"),
        ("with out:\n        pass", "no `with`"),
        ("cuda.syncthreads", "cuda.syncthreads is named but not called"),
    ],
)
def test_unsupported_syntax_names_its_line(tmp_path, source, construct):
    """What the engine does not run is refused with its line, before anything is written."""
    path = tmp_path / "made_up.py"
    path.write_text(f"from numba import cuda\n\ndef kernel(out):\n    out[0] = 1\n    {source}\n")
    names = {}
    exec(compile(path.read_text(), str(path), "exec"), names)
    out = np.zeros(4, np.float32)
    with pytest.raises(UnsupportedSyntax, match=construct) as refused:
        run(names["kernel"], (1, 1, 1), (1, 1, 1), out)
    assert refused.value.line == 5
    assert out[0] == 0


def test_large_integer_in_dead_code():
    """An integer of more than 64 bits is refused where it runs, and only there."""

    def kernel(out, big):
        out[0] = 1 if big == 0 else ~18446744073709551615

    out = np.zeros(1, np.int64)
    lockstep.launch(kernel, (1, 1, 1), (1, 1, 1), (out, np.int64(0)))
    assert out[0] == 1
    with pytest.raises(UnsupportedSyntax, match="has more than 64 bits"):
        lockstep.launch(kernel, (1, 1, 1), (1, 1, 1), (out, np.int64(1)))
