"""Launches of which some blocks are watched: who they stand for, and what the trace says."""

import numpy as np
import pytest
from numba import cuda

from smemnb import lockstep
from smemnb.errors import LaunchRefused
from smemnb.kernels.matmul import matmul_tiled
from smemnb.kernels.transpose import transpose_tiled
from smemnb.lockstep.batch import Segment
from smemnb.tracing import Trace, trace
from smemnb.tracing.sample import segments


@pytest.mark.parametrize(
    ("grid", "blocks", "watched"),
    [
        ((8, 1, 1), "first", {0: 8}),
        ((8, 1, 1), "last", {7: 8}),
        ((2, 2, 1), 3, {0: 2, 1: 1, 3: 1}),
        ((10, 1, 1), 3, {0: 4, 4: 3, 9: 3}),
        ((4, 3, 1), [(0, 0), (3, 1), 11], {0: 4, 7: 4, 11: 4}),
        ((2, 2, 2), [(1, 1, 1)], {7: 8}),
        ((5, 1, 1), "edges", {0: 1, 2: 3, 4: 1}),
        ((3, 1, 1), "edges", None),  # every block is an edge or the middle
        ((4, 5, 1), "edges", {0: 1, 2: 2, 3: 1, 8: 3, 10: 6, 11: 3, 16: 1, 18: 2, 19: 1}),
        ((8, 1, 1), 9, None),
        ((8, 1, 1), "all", None),
    ],
)
def test_segments(grid, blocks, watched):
    """Weights of the watched blocks; together with the others every block runs once, in order."""
    found = segments(grid, blocks)
    if watched is None:
        assert found is None
        return
    assert {one.first: one.weight for one in found if one.weight} == watched
    assert sum(watched.values()) == np.prod(grid)
    ran = [number for one in found for number in range(one.first, one.first + one.blocks)]
    assert ran == list(range(np.prod(grid)))
    alone = segments(grid, blocks, "skip")
    assert [one.first for one in alone] == sorted(watched)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"blocks": "middle"}, "blocks='middle': write 'all', 'first', 'last', 'edges'"),
        ({"blocks": 0}, "blocks=0: write"),
        ({"blocks": True}, "blocks=True: write"),
        ({"blocks": []}, "blocks=[]: write"),
        ({"others": "stop"}, "others='stop': blocks that are not watched may 'run'"),
        ({"blocks": [(4, 0)]}, "blocks: (4, 0) is no block of the grid (4, 4, 1)"),
        ({"blocks": [16]}, "blocks: 16 is no block of the grid (4, 4, 1)"),
        ({"blocks": [(0, -1)]}, "blocks: (0, -1) is no block"),
        ({"blocks": ["a"]}, "blocks: 'a' is no block"),
    ],
)
def test_refused(given, said):
    """What names no blocks is refused before anything runs."""
    out = np.zeros((128, 128), np.float32)
    with pytest.raises(LaunchRefused) as refused:
        trace(transpose_tiled, **given)[(4, 4), (32, 32)](out, out + 1)
    assert str(refused.value).startswith(said)
    assert not out.any()


@pytest.mark.parametrize(("blocks", "watched"), [("edges", 9), ("first", 1), (5, 5), ([(1, 2)], 1)])
def test_estimate_of_like_blocks(blocks, watched):
    """Blocks that do the same: the estimate is the count, results are whole, the report says so."""
    inp = np.arange(192 * 160, dtype=np.float32).reshape(192, 160)
    out = np.zeros((160, 192), np.float32)
    whole = trace(transpose_tiled)[(5, 6), (32, 32)](np.zeros_like(out), inp)
    some = trace(transpose_tiled, blocks=blocks)[(5, 6), (32, 32)](out, inp)
    assert (out == inp.T).all()
    assert (some.shared, some.global_) == (whole.shared, whole.global_)
    assert (some.estimated, whole.estimated) == (True, False)
    assert some.launch.watched_blocks == watched
    assert f"estimated from {watched} block" in repr(some).replace("\n ", "")
    assert "estimated" in some._repr_html_()
    assert Trace.from_json(some.to_json()) == some


def test_edges_of_a_ragged_launch():
    """First, middle and last stand for all: the ragged edge is counted as often as it is there."""
    inp = np.arange(200 * 140, dtype=np.float32).reshape(200, 140)
    out = np.zeros((140, 200), np.float32)
    whole = trace(transpose_tiled)[(5, 7), (32, 32)](out, inp)
    some = trace(transpose_tiled, blocks="edges")[(5, 7), (32, 32)](np.zeros_like(out), inp)
    assert (some.shared, some.global_) == (whole.shared, whole.global_)


def test_skip():
    """A few blocks of a launch that would take hours: the others leave `out` as it was."""
    n = 2048
    a, b = np.ones((n, n), np.float32), np.ones((n, n), np.float32)
    out = np.zeros((n, n), np.float32)
    some = trace(matmul_tiled, blocks=[(1, 2)], others="skip")[(128, 128), (16, 16)](out, a, b)
    assert (out == n).sum() == 256 and (out[32:48, 16:32] == n).all()
    assert some.shared.requests == 128 * 128 * 8 * 128 * (4 + 2 * 16)


def test_findings_of_watched_blocks():
    """A race is counted where it was seen; the report still says that blocks were left out."""
    from tests.tracing import traced

    inp = np.arange(1024, dtype=np.float32).reshape(32, 32)
    some = trace(traced.turn_unsynced, blocks="first")[3, (32, 32)](np.zeros_like(inp), inp)
    race = next(found for found in some.findings if found.kind == "race")
    assert race.count == 992


@cuda.jit
def where(out, count):
    out[0], out[1], out[2] = cuda.blockIdx.x, cuda.blockIdx.y, cuda.blockIdx.z
    out[3], out[4], out[5] = cuda.grid(3)
    out[6] = cuda.gridsize(1)
    cuda.atomic.add(count, 0, 1)


@pytest.mark.parametrize("order", [None, "reversed"])
@pytest.mark.parametrize(
    "grid", [(65536, 1, 65535), (40000, 50000, 2), (65536, 65535, 1), (2**31 - 1, 65535, 1)]
)
def test_grids_of_more_than_int32(grid, order):
    """Indices and counts hold where linear numbers of blocks and threads need 64 bits."""
    last = tuple(extent - 1 for extent in grid)
    for blocks, place in (("last", last), ([last], last), ([0], (0, 0, 0)), (3, last)):
        out, count = np.zeros(7, np.int64), np.zeros(1, np.int32)
        seen = trace(where, blocks=blocks, others="skip", order=order)[grid, 32](out, count)
        lanes = [range(32 * place[0], 32 * place[0] + 32), *([at] for at in place[1:])]
        if blocks != 3 or order is None:  # else the first block may run last
            assert tuple(out[:3]) == place
            assert all(at in some for at, some in zip(out[3:6], lanes, strict=True))
        assert (out[6], count[0]) == (32 * grid[0], 32 * (3 if blocks == 3 else 1))
        assert {row.requests for row in seen.lines} == {np.prod(grid, dtype=object)}
        assert {row.lanes for row in seen.lines} == {32 * np.prod(grid, dtype=object)}


def test_the_largest_grid():
    """The last block of the largest legal grid; a trace says how many it tells apart."""
    grid = (2**31 - 1, 65535, 65535)
    blocks = grid[0] * grid[1] * grid[2]
    out, count = np.zeros(7, np.int64), np.zeros(1, np.int32)
    args, last = (out, count), [Segment(blocks - 1, 1)]
    lockstep.launch(where.py_func, grid, (32, 1, 1), args, segments=last)
    assert tuple(out[:3]) == (2**31 - 2, 65534, 65534)
    with pytest.raises(LaunchRefused, match=f"{blocks:,}"):
        trace(where, blocks="last", others="skip")[grid, 32](*args)
    with pytest.raises(LaunchRefused, match="65536 blocks along z"):
        trace(where, blocks="last", others="skip")[(1, 1, 65536), 32](*args)
