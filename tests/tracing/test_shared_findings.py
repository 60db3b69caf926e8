"""Each finding in a kernel that triggers it, and a near-identical kernel that must not."""

import importlib
import sys

import numpy as np
import pytest
from numba import cuda, float32, int32

from smemnb.kernels.transpose import PITCH, TILE
from smemnb.tracing import trace


def kinds(kernel, *args, grid=2, block=64):
    """Kinds of the findings of a launch, prices aside."""
    found = trace(kernel)[grid, block](*args).findings
    return [finding.kind for finding in found if not finding.price]


def numbers(count, dtype=np.float32):
    return np.arange(count, dtype=dtype)


@cuda.jit
def transpose_without_barrier(out, inp):
    tile = cuda.shared.array((TILE, PITCH), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    if row < inp.shape[0] and col < inp.shape[1]:
        tile[ty, tx] = inp[row, col]
    out_row = cuda.blockIdx.x * TILE + ty
    out_col = cuda.blockIdx.y * TILE + tx
    if out_row < out.shape[0] and out_col < out.shape[1]:
        out[out_row, out_col] = tile[tx, ty]


def test_transpose_without_barrier_looks_right_and_races():
    """The result is the transpose, and yet the two lines race on every cell off the diagonal."""
    inp = numbers(64 * 96).reshape(64, 96)
    out = np.zeros((96, 64), np.float32)
    found = trace(transpose_without_barrier)[(3, 2), (32, 32)](out, inp)
    np.testing.assert_array_equal(out, inp.T)
    (race,) = found.findings
    assert (race.kind, race.severity) == ("race", "error")
    assert "tile[ty, tx]" in race.cause and "tile[tx, ty]" in race.cause
    assert race.count == 6 * (32 * 32 - 32)


def shifted(barrier):
    @cuda.jit
    def kernel(out, inp):
        tile = cuda.shared.array(64, float32)
        tx = cuda.threadIdx.x
        i = cuda.grid(1)
        tile[tx] = inp[i]
        if barrier:
            cuda.syncthreads()
        out[i] = tile[63 - tx]

    return kernel


@pytest.mark.parametrize("barrier, expected", [(False, ["race"]), (True, [])])
def test_read_after_write(barrier, expected):
    """Reading another warp's cell needs a barrier after the store."""
    assert kinds(shifted(barrier), np.zeros(128, np.float32), numbers(128)) == expected


@pytest.mark.parametrize("second, expected", [(False, ["race"]), (True, [])])
def test_write_after_read_across_rounds(second, expected):
    """A tile that is filled again needs a barrier after it was read."""

    @cuda.jit
    def kernel(out, inp):
        tile = cuda.shared.array(64, float32)
        tx = cuda.threadIdx.x
        acc = float32(0)
        for _ in range(3):
            tile[tx] = inp[tx]
            cuda.syncthreads()
            acc += tile[63 - tx]
            if second:
                cuda.syncthreads()
        out[tx] = acc

    assert kinds(kernel, np.zeros(64, np.float32), numbers(64), grid=1) == expected


@pytest.mark.parametrize("sync, expected", [(False, ["race_in_warp"]), (True, [])])
def test_inside_a_warp(sync, expected):
    """Lanes of one warp need syncwarp between a store and another lane's load."""

    @cuda.jit
    def kernel(out, inp):
        tile = cuda.shared.array(64, float32)
        tx = cuda.threadIdx.x
        tile[tx] = inp[tx]
        if sync:
            cuda.syncwarp()
        out[tx] = tile[tx ^ 1]

    assert kinds(kernel, np.zeros(64, np.float32), numbers(64), grid=1) == expected


def test_syncwarp_does_not_order_warps():
    """Between warps only syncthreads helps."""

    @cuda.jit
    def kernel(out, inp):
        tile = cuda.shared.array(64, float32)
        tx = cuda.threadIdx.x
        tile[tx] = inp[tx]
        cuda.syncwarp()
        out[tx] = tile[tx ^ 32]

    assert kinds(kernel, np.zeros(64, np.float32), numbers(64), grid=1) == ["race"]


@pytest.mark.parametrize("same, expected", [(True, ["race_same_value"]), (False, ["race"])])
def test_same_value(same, expected):
    """Several threads storing one value are a note; different values are an error."""

    @cuda.jit
    def kernel(out):
        flag = cuda.shared.array(1, int32)
        tx = cuda.threadIdx.x
        flag[0] = 1 if same else tx
        cuda.syncthreads()
        out[tx] = flag[0]

    assert kinds(kernel, np.zeros(64, np.int32), grid=1) == expected


@pytest.mark.parametrize("atomic, expected", [(False, ["race"]), (True, [])])
def test_atomics_do_not_race_with_each_other(atomic, expected):
    """A counter of the block: += loses updates, atomic.add does not."""

    @cuda.jit
    def kernel(out):
        counter = cuda.shared.array(1, int32)
        if cuda.threadIdx.x == 0:
            counter[0] = 0
        cuda.syncthreads()
        if atomic:
            cuda.atomic.add(counter, 0, 1)
        else:
            counter[0] += 1
        cuda.syncthreads()
        if cuda.threadIdx.x == 0:
            out[0] = counter[0]

    out = np.zeros(1, np.int32)
    assert set(kinds(kernel, out, grid=1)) == set(expected)
    if atomic:
        assert out[0] == 64


@pytest.mark.parametrize("inside, expected", [(True, ["divergent_barrier", "race"]), (False, [])])
def test_divergent_barrier(inside, expected):
    """A barrier under a condition on the thread; and the same with the barrier outside."""

    @cuda.jit
    def kernel(out, inp):
        tile = cuda.shared.array(64, float32)
        tx = cuda.threadIdx.x
        if tx < 40:
            tile[tx] = inp[tx]
            if inside:
                cuda.syncthreads()
        else:
            tile[tx] = float32(0)
        if not inside:
            cuda.syncthreads()
        out[tx] = tile[63 - tx]

    assert set(kinds(kernel, np.zeros(64, np.float32), numbers(64), grid=1)) == set(expected)


def test_barrier_under_a_condition_on_the_block():
    """All threads of a block take the same way: no finding, though blocks differ."""

    @cuda.jit
    def kernel(out, inp):
        tile = cuda.shared.array(64, float32)
        tx = cuda.threadIdx.x
        i = cuda.grid(1)
        if cuda.blockIdx.x % 2 == 0:
            tile[tx] = inp[i]
            cuda.syncthreads()
            out[i] = tile[63 - tx]

    assert kinds(kernel, np.zeros(256, np.float32), numbers(256), grid=4) == []


def test_rounds_that_differ_between_blocks():
    """Blocks that loop differently often keep their barriers apart."""

    @cuda.jit
    def kernel(out, inp):
        tile = cuda.shared.array(64, float32)
        tx = cuda.threadIdx.x
        acc = float32(0)
        for _ in range(cuda.blockIdx.x):
            tile[tx] = inp[tx]
            cuda.syncthreads()
            acc += tile[63 - tx]
            cuda.syncthreads()
        out[cuda.grid(1)] = acc

    out = np.zeros(256, np.float32)
    assert kinds(kernel, out, numbers(64), grid=4) == []
    np.testing.assert_array_equal(
        out.reshape(4, 64), np.arange(4)[:, None] * numbers(64)[::-1][None]
    )


def test_races_of_some_blocks_only():
    """A barrier that only even blocks reach leaves the race of the odd ones."""

    @cuda.jit
    def kernel(out, inp):
        tile = cuda.shared.array(64, float32)
        tx = cuda.threadIdx.x
        tile[tx] = inp[tx]
        if cuda.blockIdx.x % 2 == 0:
            cuda.syncthreads()
        out[cuda.grid(1)] = tile[63 - tx]

    (race,) = trace(kernel)[4, 64](np.zeros(256, np.float32), numbers(64)).findings
    assert (race.kind, race.block, race.count) == ("race", (1, 0, 0), 2 * 64)


@pytest.mark.parametrize("early, expected", [(True, ["exited_before_barrier"]), (False, [])])
def test_return_before_a_barrier(early, expected):
    """Threads beyond the end that return, and the same with a guard around the access."""

    @cuda.jit
    def kernel(out, inp):
        tile = cuda.shared.array(64, float32)
        tx = cuda.threadIdx.x
        i = cuda.grid(1)
        if early and i >= inp.size:
            return
        if i < inp.size:
            tile[tx] = inp[i]
        cuda.syncthreads()
        if i < inp.size:
            out[i] = tile[tx]

    assert kinds(kernel, np.zeros(100, np.float32), numbers(100)) == expected


def test_what_returned_threads_did_is_ordered():
    """A barrier waits until they have returned; without it, theirs is a race like any other."""

    @cuda.jit
    def kernel(out, inp, waits):
        tile = cuda.shared.array(64, float32)
        tx = cuda.threadIdx.x
        tile[tx] = inp[tx]
        if tx >= 32:
            return
        if waits:
            cuda.syncthreads()
        out[tx] = tile[63 - tx]

    waiting = trace(kernel)[1, 64](np.zeros(64, np.float32), numbers(64), True)
    assert [found.kind for found in waiting.findings] == ["exited_before_barrier"]
    assert waiting.ok
    racing = trace(kernel)[1, 64](np.zeros(64, np.float32), numbers(64), False)
    assert [found.kind for found in racing.findings] == ["race"]


@pytest.mark.parametrize("name", ["syncthreads_count", "syncthreads_and", "syncthreads_or"])
def test_votes_of_the_threads_that_are_left(name):
    """Those that have returned are neither counted nor asked."""
    vote = getattr(cuda, name)

    @cuda.jit
    def kernel(out, inp):
        tx = cuda.threadIdx.x
        if tx >= 40:
            return
        out[tx] = vote(int32(inp[tx] < 40))

    out = np.zeros(64, np.int32)
    report = trace(kernel)[1, 64](out, np.arange(64, dtype=np.float32))
    assert [found.kind for found in report.findings] == ["exited_before_barrier"]
    assert set(out[:40]) == {40 if name == "syncthreads_count" else 1} and not out[40:].any()


def test_syncwarp_of_returned_lanes():
    """A syncwarp waits for the lanes of its mask that have not returned: no finding."""

    @cuda.jit
    def kernel(out, inp):
        tile = cuda.shared.array(32, float32)
        tx = cuda.threadIdx.x
        tile[tx] = inp[tx]
        if tx >= 20:
            return
        cuda.syncwarp(0xFFFFFFFF)
        out[tx] = tile[31 - tx]

    args = np.zeros(32, np.float32), numbers(32)
    assert kinds(kernel, *args, grid=1, block=32) == []


@pytest.mark.parametrize("order", [None, "reversed", "random"])
def test_blocks_before_a_barrier_of_the_grid(order):
    """Two of eight blocks have returned; in every order the same is found."""

    @cuda.jit
    def kernel(out, inp):
        i = cuda.grid(1)
        if cuda.blockIdx.x in (3, 6):
            return
        out[i] = inp[i]
        cuda.cg.this_grid().sync()

    args = np.zeros(512, np.float32), numbers(512)
    (found,) = trace(kernel, order=order)[8, 64](*args).findings
    assert (found.kind, found.count) == ("exited_before_grid_barrier", 2 * 64)
    assert "first block 3" in found.cause


@pytest.mark.parametrize(
    "filled, grid, expected", [(63, 1, "uninitialised"), (63, 2, "stale"), (64, 2, None)]
)
def test_reads_before_writes(filled, grid, expected):
    """The last cell is read though nobody of the block wrote it."""

    @cuda.jit
    def kernel(out, inp):
        tile = cuda.shared.array(64, float32)
        tx = cuda.threadIdx.x
        i = cuda.grid(1)
        if cuda.blockIdx.x == 0 and cuda.gridDim.x > 1:
            tile[tx] = inp[i]
        elif tx < filled:
            tile[tx] = inp[i]
        cuda.syncthreads()
        out[i] = tile[tx]

    found = trace(kernel)[grid, 64](np.zeros(128, np.float32), numbers(128)).findings
    assert [finding.kind for finding in found if not finding.price] == (
        [expected] if expected else []
    )
    if expected:
        assert (found[0].index, found[0].count) == ((63,), 1)


@pytest.mark.parametrize(
    "text, shape, axis",
    [("row", (39, 64), 0), ("column", (64, 39), 1), ("inside", (64, 64), None)],
)
def test_index_out_of_range(text, shape, axis):
    """An index past the end of one axis is named with its axis, though the address may exist."""

    @cuda.jit
    def kernel(out, inp):
        col, row = cuda.grid(2)
        out[row, col] = inp[row, col]

    inp, out = np.ones(shape, np.float32), np.zeros((64, 64), np.float32)
    found = trace(kernel)[(4, 4), (16, 16)](out, inp).findings
    assert [finding.kind for finding in found] == ([] if axis is None else ["out_of_range"])
    if axis is not None:
        assert found[0].count == 25 * 64
        assert (out == 0).sum() == 25 * 64


@pytest.mark.parametrize(
    "text, first, count",
    [
        ("i - 3", -3, 3),  # the first three threads
        ("k - 3", -3, 3 * 64),  # three rounds of a loop, all threads
        ("-1 - i", None, 0),  # written to count from the end
        ("-1", None, 0),
        ("LAST", None, 0),
        ("max(i - 3, 0)", None, 0),
    ],
)
def test_wrapped_index(text, first, count, tmp_path, monkeypatch):
    """A negative index that Numba wraps is a warning, unless it is written to be one."""
    (tmp_path / "wraps.py").write_text(
        "from numba import cuda\nLAST = -1\n@cuda.jit\ndef kernel(out, inp):\n"
        "    i = cuda.grid(1)\n    for k in range(5):\n        if k == 0 or 'k' in TEXT:\n"
        f"            out[i] = inp[{text}]\n".replace("'k' in TEXT", str("k" in text))
    )
    monkeypatch.syspath_prepend(tmp_path)
    kernel = importlib.import_module("wraps").kernel
    del sys.modules["wraps"]
    found = trace(kernel)[1, 64](np.zeros(64, np.float32), numbers(64)).findings
    assert [(one.kind, one.severity) for one in found] == (
        [("wrapped_index", "warning")] if count else []
    )
    if count:
        assert (found[0].index, found[0].count) == ((first,), count)


def test_index_of_a_row_out_of_range():
    """`tile[ty][tx]`: the second index belongs to the second axis, with its own size."""

    @cuda.jit
    def kernel(out):
        tile = cuda.shared.array((4, 8), float32)
        tx = cuda.threadIdx.x
        tile[1][tx] = float32(1)
        out[tx] = tile[1][7 - tx]

    (found,) = trace(kernel)[1, 9](np.zeros(9, np.float32)).findings[:1]
    assert found.kind == "out_of_range"
    assert "8" in found.cause and found.index == (8,)


def test_long_intervals_are_folded(monkeypatch):
    """A long loop without a barrier keeps its memory bounded and its race known."""
    from smemnb.tracing.watchers.races import in_shared

    @cuda.jit
    def kernel(out, inp):
        tile = cuda.shared.array(64, float32)
        tx = cuda.threadIdx.x
        tile[tx] = inp[tx]
        acc = float32(0)
        for k in range(50):
            acc += tile[(tx + k) % 64]
        out[tx] = acc

    monkeypatch.setattr(in_shared, "LANES_BEFORE_FOLDING", 256)
    found = trace(kernel)[1, 64](np.zeros(64, np.float32), numbers(64)).findings
    assert [finding.kind for finding in found] == ["race"]


def test_partial_warps():
    """40 threads: the 24 lanes that do not exist neither race nor are missed at the barrier."""

    @cuda.jit
    def kernel(out, inp):
        tile = cuda.shared.array(40, float32)
        tx = cuda.threadIdx.x
        tile[tx] = inp[tx]
        cuda.syncthreads()
        out[tx] = tile[39 - tx]

    out = np.zeros(40, np.float32)
    assert kinds(kernel, out, numbers(40), grid=1, block=40) == []
    np.testing.assert_array_equal(out, numbers(40)[::-1])


@cuda.jit
def parts(out, inp, at):
    whole = cuda.shared.array(0, float32)
    near, far = whole[:64], whole[at:]
    tx = cuda.threadIdx.x
    near[tx] = inp[tx]
    far[tx] = inp[tx + 64]
    cuda.syncthreads()  # both parts are full before anyone reads them
    out[tx] = near[63 - tx] + far[63 - tx]


def test_parts_of_dynamic_memory_that_overlap():
    """A race of two names: no barrier would mend it, another beginning does."""
    inp = numbers(128)
    run = trace(parts)[1, 64, 0, 128 * 4]
    found = [one for one in run(np.zeros(64, np.float32), inp, 60).findings if one.kind == "race"]
    assert found
    assert found[0].cure.endswith(
        "If near and far are two parts of the dynamic memory, they overlap: let one begin where "
        "the other ends."
    )
    out = np.zeros(64, np.float32)
    assert run(out, inp, 64).findings == ()
    np.testing.assert_array_equal(out, (inp[:64] + inp[64:])[::-1])


@cuda.jit
def one_part(out, inp):
    whole = cuda.shared.array(0, float32)
    tx = cuda.threadIdx.x
    whole[tx] = inp[tx]
    out[tx] = whole[63 - tx]


def test_one_name_of_dynamic_memory():
    """A barrier is missing, and nothing else is said."""
    out = np.zeros(64, np.float32)
    (race, *_) = trace(one_part)[1, 64, 0, 64 * 4](out, numbers(64)).findings
    assert "overlap" not in race.cure
    assert "cuda.syncthreads() between" in race.cure


@pytest.mark.parametrize("writer, blocks", [(0, 8), (3, 8), (3, 3000)])
def test_first_block_of_a_stale_read(writer, blocks):
    """One block stores the tile: the first that finds it left behind is the one after it."""

    @cuda.jit
    def kernel(out, writer):
        tile = cuda.shared.array(32, float32)
        tx = cuda.threadIdx.x
        if cuda.blockIdx.x == writer:
            tile[tx] = 1.0
        cuda.syncthreads()
        out[cuda.grid(1)] = tile[tx]

    out = np.zeros(32 * blocks, np.float32)
    (finding,) = trace(kernel)[blocks, 32](out, writer).findings[:1]
    assert (finding.kind, finding.block, finding.index) == ("stale", (writer + 1, 0, 0), (0,))
    assert finding.count == 32 * (blocks - 1)


def test_first_block_of_an_uninitialised_read():
    """The higher block reads earlier in the program: the lower one is named all the same."""

    @cuda.jit
    def kernel(out):
        tile = cuda.shared.array(32, float32)
        for step in range(4):
            if step == 3 - cuda.blockIdx.x:
                out[cuda.grid(1)] = tile[cuda.threadIdx.x + 1 - 1]

    (finding,) = trace(kernel)[4, 32](np.zeros(128, np.float32)).findings[:1]
    assert (finding.kind, finding.block, finding.count) == ("uninitialised", (0, 0, 0), 128)
