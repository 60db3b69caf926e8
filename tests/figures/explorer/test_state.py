"""Where the explorer begins, from a trace, a layout, or nothing."""

import json

import numpy as np
import pytest
from numba import cuda, float32

from smemnb.errors import SmemnbError
from smemnb.figures.explorer.state import column, state
from smemnb.kernels.transpose import transpose_tiled
from smemnb.rules import bank
from smemnb.rules.layout import Padded, Rotated, RowMajor, Swizzle, Xor, XorChunks
from smemnb.tracing import Trace, trace
from tests.facts import facts
from tests.figures.explorer.javascript import in_node, needs_node
from tests.figures.explorer.kernels import neighbours, plain, rows_in_pairs


@pytest.fixture(scope="module")
def report():
    inp = np.arange(100 * 70, dtype=np.float32).reshape(100, 70)
    return trace(transpose_tiled)[(3, 4), (32, 32)](np.zeros((70, 100), np.float32), inp)


def lines_of(report):
    """The numbers of the lines with the store and the load of the tile."""
    return [row.line for row in report.lines if row.space == "shared"]


def test_nothing():
    """A row-major tile of float32, read down its first column."""
    begun = state()
    assert begun["tile"] == {
        **{"rows": 32, "cols": 32, "itemsize": 4},
        **{"pad": 0, "swizzle": "none", "bits": 0, "base": 0, "shift": 0},
    }
    assert begun["access"] == {
        **{"kind": "load", "index": "lane * stride", "stride": 32, "vector": 1},
        **{"ty": 0, "lanes": 32},
    }
    assert begun["lines"] == begun["notes"] == []


@pytest.mark.parametrize(
    ("layout", "changes"),
    [
        (RowMajor(16, 64, 2), {"rows": 16, "cols": 64, "itemsize": 2}),
        (Padded(32, 32, pad_elems=3), {"pad": 3}),
        (Xor(32, 32), {"swizzle": "xor"}),
        (XorChunks(32, 32), {"swizzle": "xor_chunks"}),
        (Rotated(32, 32), {"swizzle": "rotated"}),
        (
            Swizzle(32, 32, bits=3, base=2, shift=3),
            {"swizzle": "bits", "bits": 3, "base": 2, "shift": 3},
        ),
    ],
    ids=str,
)
def test_layout(layout, changes):
    """Each layout as the tile of the page."""
    assert state(layout)["tile"] == {**state()["tile"], **changes}


@needs_node
def test_first_column():
    """The index that stands there first asks for the column that the still picture shows."""
    layouts = [RowMajor(32, 32), Padded(8, 64), Xor(16, 16), RowMajor(3, 5, 8), Rotated(64, 4, 2)]
    begun = [state(layout) for layout in layouts]
    said = in_node(
        "typed", {"requests": [{"tile": one["tile"], "access": one["access"]} for one in begun]}
    )
    for layout, one in zip(layouts, said, strict=True):
        address, active = column(layout)
        how = {"width": layout.itemsize, "active": active}
        counts = [f(address, **how) for f in (bank.ways, bank.wavefronts, bank.extra)]
        assert (layout, facts(one)) == (layout, sorted(str(int(count)) for count in counts))


def test_trace(report):
    """Each shared access with what the trace counted; the one with most extra comes first."""
    begun = state(report)
    store, load = begun["lines"]
    assert [store["number"], load["number"]] == lines_of(report)
    assert (store["label"], load["kind"]) == (f"line {store['number']}: store tile[ty, tx]", "load")
    for one, row in zip(
        begun["lines"], [r for r in report.lines if r.space == "shared"], strict=True
    ):
        assert (one["made"], one["wavefronts"], one["extra"]) == (
            row.requests,
            row.wavefronts,
            row.extra,
        )
        assert (one["source"], one["width"], one["base"]) == (row.source, 4, 0)
    assert (begun["line"], begun["request"]) == (1, 0)
    assert load["tile"] == state()["tile"]
    assert load["requests"][0]["address"] == [128 * lane for lane in range(32)]
    assert load["requests"][0]["times"] == 9
    assert begun["notes"] == []


@needs_node
@pytest.mark.parametrize("matrices", [False, True])
def test_page_counts_what_the_trace_counted(report, matrices):
    """By the rule of the page, a line's requests take the wavefronts of its row."""
    if matrices:
        report = trace(rows_in_pairs)[1, 32](np.zeros((4, 32), np.uint32))
        assert "ldmatrix" in [row.rule for row in report.lines]
    lines = state(report)["lines"]
    for one, found in zip(lines, in_node("lines", {"lines": lines}), strict=True):
        taken = [times * waves for times, waves in _weighted(one, found)]
        assert sum(taken) == one["wavefronts"]
        asked = [[at if at is not None else 0 for at in address] for *_, address in found]
        assert asked == [request["address"] for request in one["requests"]]


def _weighted(line, found):
    return [(r["times"], waves) for r, (_, waves, _) in zip(line["requests"], found, strict=True)]


def test_line(report):
    """A line can be asked for; one that makes no request is refused with those that do."""
    store, load = lines_of(report)
    assert state(report, line=store)["line"] == 0
    assert state(report, array="tile")["line"] == 1
    with pytest.raises(SmemnbError) as caught:
        state(report, line=1)
    assert facts(caught.value) == facts(f"1 {store} {load}")
    with pytest.raises(SmemnbError, match=r"array='other'.*: tile$"):
        state(report, array="other")
    with pytest.raises(SmemnbError, match=r"array='other'.*: tile$"):
        state(report, line=load, array="other")


def test_rows_and_bank_map(report):
    """Rows of a trace and a bank map are one request each, and say so."""
    _, load = lines_of(report)
    for given in (report.line(load), report.line(load)[1:], report.bank_map(load)):
        begun = state(given)
        (one,) = begun["lines"]
        assert one["requests"][0]["address"] == [128 * lane for lane in range(32)]
        assert one["width"] == 4
    rows, single = state(report.line(load)), state(report.bank_map(load))
    assert (rows["lines"][0]["made"], single["lines"][0]["made"]) == (280, 1)
    assert len(rows["notes"]) == 1 and single["notes"] == []


def test_trace_from_json(report):
    """Without its launch a trace has the worst requests, and a note says why."""
    begun = state(Trace.from_json(report.to_json()))
    assert [len(one["requests"]) for one in begun["lines"]] == [1, 1]
    assert len(begun["notes"]) == 1


def test_json(report):
    """A state is plain data."""
    assert json.loads(json.dumps(state(report))) == state(report)


@pytest.mark.parametrize("given", [32, "tile", [1], (32, 33)])
def test_something_else(given):
    with pytest.raises(TypeError, match="explore takes a trace"):
        state(given)


def test_kernel_without_its_launch():
    """A kernel, or a trace that waits for its launch, is answered with the whole call."""
    waiting = trace(transpose_tiled)
    for given in (transpose_tiled, transpose_tiled.py_func, waiting, waiting[(3, 4), (32, 32)]):
        with pytest.raises(TypeError) as caught:
            state(given)
        assert str(caught.value).endswith("explore(trace(transpose_tiled)[grid, block](...))")


def test_without_shared_memory():
    """A launch that touches none, and one that was not counted, are told apart."""
    out = np.zeros(32, np.float32)
    with pytest.raises(SmemnbError, match="plain uses no shared memory"):
        state(trace(plain)[1, 32](out))
    with pytest.raises(SmemnbError, match="counts=True"):
        state(trace(plain, counts=False)[1, 32](out))


def test_line_of_a_layout():
    with pytest.raises(TypeError, match="line of a trace"):
        state(RowMajor(32, 32), line=3)


def test_device_function():
    """A line of a device function is named with it."""

    @cuda.jit(device=True)
    def put(tile, value):
        tile[cuda.threadIdx.x] = value

    @cuda.jit
    def outer(out):
        tile = cuda.shared.array(32, float32)
        put(tile, 1)
        out[cuda.threadIdx.x] = tile[cuda.threadIdx.x]

    load, store = state(trace(outer)[1, 32](np.zeros(32, np.float32)))["lines"]
    assert " of put: store" in store["label"] and " of " not in load["label"]
    assert (store["tile"]["rows"], store["tile"]["cols"]) == (1, 32)


@needs_node
def test_one_dimension():
    """130 elements of 4 bytes are 520 bytes in rows of 32; a pad comes after each whole row."""
    begun = state(trace(neighbours)[1, 128](np.zeros(128, np.float32), np.ones(130, np.float32)))
    tile = begun["lines"][0]["tile"]
    assert tile == {**state()["tile"], "rows": 5, "elems": 130}
    changes = [{}, {"pad": 1}, {"swizzle": "rotated"}, {"elems": 160, "pad": 1}]
    taken = in_node("bytes", {"tiles": [{**tile, **one} for one in changes]})
    assert taken == [520, 520 + 4 * 4, (4 * 32 + 6) * 4, 5 * 33 * 4]
