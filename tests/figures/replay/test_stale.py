"""Stale reads: against models, against the races that `trace` finds, and none where none is."""

import numpy as np
import pytest

import smemnb
from smemnb.kernels.matmul import ladder as products
from smemnb.kernels.transpose import ladder as transposes
from smemnb.kernels.transpose import transpose_tiled
from tests.figures.replay.kernels import (
    histogram,
    line_of,
    never_written,
    product,
    product_of,
    same_value,
    sums,
)

FULL, READ = line_of(product, "# both tiles are full"), line_of(product, "# everyone has read")


def of_product(kernel, depth=16, **how):
    a = np.arange(8 * depth, dtype=np.float32).reshape(8, depth)
    b = np.arange(depth * 8, dtype=np.float32).reshape(depth, 8) - 9
    return smemnb.replay(kernel, **how)[1, (8, 8)](np.zeros((8, 8), np.float32), a, b)


def every(run):
    """Every stale read: kind, phase, thread, array, element, pass of the store that it wanted."""
    found = [
        (
            one.kind,
            run.steps[one.step].phase,
            one.thread,
            one.array,
            one.index,
            one.wanted.times if one.wanted else None,
        )
        for one in run.stale
    ]
    assert len(found) == run.stale_count == sum(one.size for one in run.stale_at.values())
    return sorted(found)


@pytest.fixture(scope="module")
def three():
    """The product of two rounds, with both barriers and without either."""
    return of_product(product)


def test_transpose_without_its_barrier():
    """Warps run from the last to the first: each reads what those below it have not written."""
    inp, out = np.ones((32, 32), np.float32), np.full((32, 32), -1, np.float32)
    line = line_of(transpose_tiled, "syncthreads")
    run = smemnb.replay(transpose_tiled, without=line)[1, (32, 32)](out, inp).run
    expected = [
        ("not written", 0, (row, warp, 0), "tile", (row, warp), 1)
        for warp in range(32)
        for row in range(warp)
    ]
    assert every(run) == sorted(expected)
    assert {one.wanted.thread for one in run.stale if one.index == (3, 9)} == {(9, 3, 0)}
    assert (out == -1).all()


def test_product_without_the_first_barrier(three):
    """Warp 1 comes first: it finds nothing in the rows of warp 0, then the rows of round 1."""
    run = three.without(FULL)
    expected = [
        (kind, time - 1, (x, y, 0), "b_tile", (k, x), time)
        for time, kind in ((1, "not written"), (2, "older"))
        for y in range(4, 8)
        for x in range(8)
        for k in range(4)
    ]
    assert every(run) == sorted(expected)


def test_product_without_the_second_barrier(three):
    """Warp 1 goes on to the next tiles, and warp 0 finds them where it has yet to read the last."""
    run = three.without(READ)
    expected = [
        ("newer", 1, (x, y, 0), "b_tile", (k, x), 1)
        for y in range(4)
        for x in range(8)
        for k in range(4, 8)
    ]
    assert every(run) == sorted(expected)
    assert {one.seen.times for one in run.stale} == {2}


def test_with_all_barriers(three):
    assert three.run.without is None
    assert (three.run.stale_count, three.run.unmatched, three.run.stale) == (0, 0, ())


@pytest.mark.parametrize("line, parts", [(FULL, {"full": False}), (READ, {"read": False})])
def test_races_that_trace_names(three, line, parts):
    """The lines and the array of the stale reads are those of the race, and no other's."""
    a, b = np.ones((8, 16), np.float32), np.ones((16, 8), np.float32)
    traced = smemnb.trace(product_of(**parts))[1, (8, 8)](np.zeros((8, 8), np.float32), a, b)
    races = {frozenset((one.line, one.other_line)) for one in traced.findings if one.kind == "race"}
    run = three.without(line)
    pairs = {
        frozenset(((one.seen if one.kind == "newer" else one.wanted).line, one.line))
        for one in run.stale
    }
    assert pairs == races
    assert len(races) == 1
    assert {one.array for one in run.stale} == {"b_tile"}


@pytest.mark.parametrize("line, parts", [(FULL, {"full": False}), (READ, {"read": False})])
def test_kernels_that_lack_a_barrier(three, line, parts):
    """A learner's kernel without the barrier shows the same stale reads as it stands."""
    assert every(of_product(product_of(**parts)).run) == every(three.without(line))


def test_atomics():
    """After atomics any of them may be the last; without the barriers the counts are stale."""
    found = smemnb.replay(histogram)[1, 64](np.zeros(8, np.int32), np.arange(64, dtype=np.int32))
    assert [run.stale_count > 0 for run in found.runs] == [False, True, True]
    assert all(event.values is None for event in found.run.events if event.updates is not None)


def test_orders():
    """Where the last warp comes first nothing is missing; another order shows what is."""
    found = smemnb.replay(sums)[1, 128](np.zeros(1, np.int32), np.ones(128, np.int32))
    assert [run.order for run in found.runs] == ["reversed", "random", "random"]
    lines = [line_of(sums, text) for text in ("# all are there", "# a level is done")]
    assert [run.without for run in found.runs] == [None, *lines]
    for run in found.runs[1:]:
        assert run.stale_count > 0
        assert {one.line for one in run.stale} == {line_of(sums, "tile[t + step]")}


def test_stores_of_the_same_value():
    """Which of several equal stores a load sees does not matter."""
    out, inp = np.zeros(64, np.float32), np.ones(4, np.float32)
    assert smemnb.replay(same_value)[1, 64](out, inp).run.stale_count == 0


def test_never_written():
    """What nobody ever writes is stale in every run."""
    run = smemnb.replay(never_written)[1, 64](np.zeros(64, np.float32)).run
    assert every(run) == [("not written", 1, (t, 0, 0), "tile", (t,), None) for t in range(32, 64)]


LADDERS = [*transposes.LADDER, *products.LADDER]


LONG = {rung.name for rung in products.LADDER[3:]}
"""Rungs whose replay, with a run without each barrier, takes half a minute."""


def _tier(rung):
    mark = pytest.mark.nightly if rung.name in LONG else pytest.mark.exhaustive
    return pytest.param(rung, marks=mark, id=rung.name)


@pytest.mark.slow
@pytest.mark.parametrize("rung", map(_tier, LADDERS))
def test_finished_kernels(rung):
    """No rung has a stale read, and each of its barriers prevents some."""
    rng = np.random.default_rng(5)
    shapes = [(128, 64), (64, 128)] if rung in transposes.LADDER else [(128, 128), (128, 40)]
    arrays = [rng.integers(-9, 9, shape).astype(np.float32) for shape in shapes]
    if rung in products.LADDER:
        arrays.append(rng.integers(-9, 9, (40, 128)).astype(np.float32))
    scalars = (np.float32(1), np.float32(0)) if rung.scaled else ()
    grid = rung.grid(*arrays[-1 if rung in transposes.LADDER else 0].shape)
    try:
        found = smemnb.replay(rung.kernel)[grid, rung.block](*arrays, *scalars)
    except ValueError as error:
        assert "shared memory" in str(error)
        return
    assert [run.stale_count > 0 for run in found.runs] == [False] + [True] * (len(found.runs) - 1)
    assert len(found.runs) > 1
