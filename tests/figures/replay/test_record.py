"""The record against models that are worked out from what the kernels are to do."""

import numpy as np
import pytest

import smemnb
from smemnb.figures.replay.film import parts_of_run
from smemnb.figures.replay.recorder import Full, Recorder
from smemnb.kernels.transpose import transpose_tiled
from smemnb.lockstep.launch import launch
from tests.figures.replay.kernels import aliases, line_of, long_walk, product, two_buffers


def stores(run):
    """(phase, array, line, thread, index) -> value, of shared stores; each once."""
    found = {}
    for event, tile in with_tiles(run, "shared"):
        if event.kind == "store":
            for at, element in enumerate(event.elements):
                key = where(run, event, tile, at, element)
                assert key not in found
                found[key] = float(event.values[at])
    return found


def loads(run):
    """(phase, array, line, thread, index), once per load, of shared memory."""
    return sorted(
        where(run, event, tile, at, element)
        for event, tile in with_tiles(run, "shared")
        if event.kind == "load"
        for at, element in enumerate(event.elements)
    )


def with_tiles(run, space):
    for event in run.events:
        tile = run.tiles[event.tile]
        if tile.space == space:
            yield event, tile


def where(run, event, tile, at, element):
    thread = run.thread(event.warp, int(event.lanes[at]))
    return run.steps[event.step].phase, tile.name, event.line, thread, tile.index(int(element))


@pytest.fixture(scope="module")
def transpose():
    inp = np.arange(70 * 50, dtype=np.float32).reshape(70, 50)
    out = np.full((50, 70), -1, np.float32)
    found = smemnb.replay(transpose_tiled, block=(1, 2))[(2, 3), (32, 32)](out, inp)
    return found, out, inp


def test_transpose(transpose):
    """Who stores which element of the tile in phase 1, and who loads it in phase 2."""
    run, inp = transpose[0].run, transpose[2]
    fill, drain = line_of(transpose_tiled, "tile[ty, tx]"), line_of(transpose_tiled, "tile[tx, ty]")
    inside = [(x, y) for y in range(6) for x in range(18)]  # of block (1, 2), of 70 x 50
    assert stores(run) == {
        (0, "tile", fill, (x, y, 0), (y, x)): inp[64 + y, 32 + x] for x, y in inside
    }
    assert loads(run) == sorted((1, "tile", drain, (y, x, 0), (y, x)) for x, y in inside)
    assert (run.phases, run.barriers) == (2, (line_of(transpose_tiled, "syncthreads"), None))


def test_transpose_in_global_memory(transpose):
    """The part of each global array that the block touches, and nothing is written there."""
    found, out, _ = transpose
    run = found.run
    parts = {
        (run.tiles[one.tile].name, one.kind): (one.phase, one.elements, one.box, one.full)
        for one in parts_of_run(run)
        if run.tiles[one.tile].space == "global"
    }
    assert parts == {
        ("inp", "load"): (0, 108, ((64, 70), (32, 50)), True),
        ("out", "store"): (1, 108, ((32, 50), (64, 70)), True),
    }
    assert (out == -1).all()


@pytest.fixture(scope="module")
def products():
    a = np.arange(16 * 24, dtype=np.float32).reshape(16, 24)
    b = np.arange(24 * 8, dtype=np.float32).reshape(24, 8) - 50
    return smemnb.replay(product, block=(0, 1))[(1, 2), (8, 8)](np.zeros((16, 8)), a, b), a, b


def test_product(products):
    """Each round stages a tile of each, and then loads a row of one and a column of the other."""
    found, a, b = products
    run = found.run
    lines = [line_of(product, text) for text in ("= a[", "= b[", "acc +=")]
    everyone = [(x, y) for y in range(8) for x in range(8)]
    expected, read = {}, []
    for k in range(3):
        for x, y in everyone:
            expected[2 * k, "a_tile", lines[0], (x, y, 0), (y, x)] = a[8 + y, 8 * k + x]
            expected[2 * k, "b_tile", lines[1], (x, y, 0), (y, x)] = b[8 * k + y, x]
            for j in range(8):
                read.append((2 * k + 1, "a_tile", lines[2], (x, y, 0), (y, j)))
                read.append((2 * k + 1, "b_tile", lines[2], (x, y, 0), (j, x)))
    assert stores(run) == expected
    assert loads(run) == sorted(read)
    assert run.phases == 7


def test_product_in_global_memory(products):
    """The tile slides along the rows of a and down the columns of b."""
    run = products[0].run
    boxes = {}
    for one in parts_of_run(run):
        tile = run.tiles[one.tile]
        if tile.space == "global" and one.kind == "load":
            boxes.setdefault(tile.name, []).append((one.phase, one.box))
    assert boxes == {
        "a": [(2 * k, ((8, 16), (8 * k, 8 * k + 8))) for k in range(3)],
        "b": [(2 * k, ((8 * k, 8 * k + 8), (0, 8))) for k in range(3)],
    }


def test_sources(products):
    """Each load knows the thread, line and round of the store that it saw."""
    run = products[0].run
    for event, tile in with_tiles(run, "shared"):
        if event.kind != "load":
            continue
        for at, source in enumerate(event.sources.tolist()):
            store = run.events[source >> 16]
            row, col = tile.index(int(event.elements[at]))
            assert run.thread(store.warp, int(store.lanes[source & 0xFFFF])) == (col, row, 0)
            assert run.steps[store.step].phase == run.steps[event.step].phase - 1
            assert event.values[at] == store.values[source & 0xFFFF]


def test_two_buffers():
    """Of two buffers one is read while the other is filled."""
    found = smemnb.replay(two_buffers)[1, 64](np.zeros(64), np.ones((3, 64), np.float32))
    parts = [
        (one.phase, one.kind, one.box)
        for one in parts_of_run(found.run)
        if found.run.tiles[one.tile].space == "shared"
    ]
    assert sorted(parts) == [
        (0, "store", ((0, 1), (0, 64))),
        (1, "load", ((0, 1), (0, 64))),
        (1, "store", ((1, 2), (0, 64))),
        (2, "load", ((1, 2), (0, 64))),
        (2, "store", ((0, 1), (0, 64))),
        (3, "load", ((0, 1), (0, 64))),
    ]
    assert found.run.stale_count == 0


def test_two_arrays_over_one_memory():
    """A load sees what was stored under another name and type."""
    run = smemnb.replay(aliases)[1, 64, 0, 256](np.zeros(64, np.float32)).run
    load = next(event for event, _ in with_tiles(run, "shared") if event.kind == "load")
    whole = (1065353216 + 63 - load.lanes - 32 * load.warp).astype(np.int32)
    assert load.values.tobytes() == whole.tobytes()
    assert (load.sources >= 0).all() and run.stale_count == 0


@pytest.mark.parametrize("order", [None, "reversed"])
def test_bounds(order):
    """A record ends where it is full: at an access, and with it the run."""
    recorder = Recorder(most=1000)
    with pytest.raises(Full):
        args = (np.zeros(64, np.int32), np.int64(100))
        launch(long_walk.py_func, (1, 1, 1), (64, 1, 1), args, watchers=(recorder,), order=order)
    assert recorder.full
    assert sum(event.elements.size for event in recorder.events) == 992
    assert len(recorder.barriers) == 16


@pytest.mark.exhaustive
def test_bounds_are_said():
    """The text says that a record was full."""
    found = smemnb.replay(long_walk)[1, 64](np.zeros(64, np.int32), 3000)
    assert found.run.full and "full" in repr(found)
    assert sum(event.elements.size for event in found.run.events) == 1 << 17
    short = smemnb.replay(long_walk)[1, 64](np.zeros(64, np.int32), 3)
    assert not short.run.full and "full" not in repr(short)
