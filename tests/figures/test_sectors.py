import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import cuda

from smemnb import trace
from smemnb.errors import SmemnbError
from smemnb.figures import sector_map
from smemnb.figures.sectors import _folded, _outside, measure, request_of, window
from smemnb.kernels.transpose import transpose_naive
from smemnb.tracing.trace import Trace
from tests.facts import facts

LANE = np.arange(32)


@pytest.fixture(scope="module")
def traced():
    inp = np.zeros((64, 96), np.float32)
    return trace(transpose_naive)[(3, 2), (32, 32)](np.zeros((96, 64), np.float32), inp)


def line_of(found):
    return next(row.line for row in found.lines if row.space == "global")


@pytest.mark.parametrize(
    ("address", "shape", "sectors", "asked"),
    [
        (LANE * 4, (4, 32), 4, 128),
        (LANE * 4 + 4, (4, 32), 5, 128),
        (LANE * 256, (32, 64), 32, 128),
        (LANE * 140, (32, 35), 32, 128),
        (LANE * 0, (1, 8), 1, 4),
    ],
)
def test_counts(address, shape, sectors, asked):
    found = measure(address, shape=shape)
    assert (found.sectors, found.moved, found.asked) == (sectors, 32 * sectors, asked)


def test_a_row_and_a_column_of_a_launch(traced):
    """A transpose loads along a row and stores down a column, wherever its arrays lie."""
    load, store = (request_of(traced, line_of(traced), array) for array in ("inp", "out"))
    assert load.places == tuple((0, col) for col in range(32)) and load.sectors == 4
    assert store.places == tuple((row, 0) for row in range(32)) and store.sectors == 32
    assert (load.shape, store.shape) == ((64, 96), (96, 64))
    assert load.along == load.places
    assert store.along == tuple((row, col) for row in range(32) for col in range(8))


def test_the_worst_array_is_taken(traced):
    assert request_of(traced, line_of(traced)).shape == (96, 64)


@cuda.jit
def shifted(out, inp, first):
    i = cuda.grid(1)
    if i < out.shape[0]:
        out[i] = inp[first + i]


@given(st.integers(0, 40))
@settings(max_examples=8, deadline=None)
def test_where_an_array_begins(first):
    """The elements are those that the kernel indexed, and as many sectors as the trace has."""
    found = trace(shifted)[1, 32](np.zeros(32, np.float32), np.zeros(80, np.float32), first)
    load = next(row for row in found.lines if row.array == "inp")
    drawn = request_of(found, load.line, "inp")
    assert drawn.places == tuple((0, first + lane) for lane in range(32))
    assert drawn.sectors == load.sectors


def test_inactive_lanes_and_wide_ones():
    found = measure(LANE * 16, shape=(1, 32), width=16, active=LANE >= 30)
    assert found.places[:30] == (None,) * 30 and found.places[30:] == ((0, 30), (0, 31))
    assert (found.lanes, found.sectors, found.asked) == (2, 1, 32)


@pytest.mark.parametrize(
    ("first", "stride", "drawn"),
    [(32, 1, (32, 64)), (30, 1, (24, 64)), (39, 1, (32, 72)), (30, 2, (24, 56)), (3, 1, (0, 40))],
)
def test_what_is_drawn(first, stride, drawn):
    """32 columns, or 40 where a row of lanes begins inside a sector; of a wider request, 32."""
    found = measure((first + LANE * stride) * 4, shape=(3, 128))
    rows, cols = window(found)
    assert (cols.start, cols.stop) == drawn and 0 in rows


def test_sector_over_the_end_of_a_row():
    """Rows of 35 elements: the sector that holds the last lanes goes on in the next row."""
    found = measure(LANE * 4 + 140, shape=(20, 35))
    assert found.along[-2:] == ((2, 0), (2, 1))


def test_text_and_alt(traced):
    drawn = sector_map(traced, line_of(traced), array="out")
    place, asks, way, moved = drawn.text.splitlines()
    assert set(facts("96 64 4")) <= set(facts(asks))
    assert facts(way) == facts("0 0 31")
    assert facts(moved) == facts("32 32 1,024 128")
    assert "out[col, row]" in place and "1024" in facts(drawn.alt)


def test_refused(traced):
    with pytest.raises(TypeError, match="line is missing"):
        sector_map(traced)
    with pytest.raises(TypeError, match="shape is missing"):
        sector_map(LANE * 4)
    with pytest.raises(ValueError, match="outside"):
        sector_map(LANE * 8, shape=(2, 16))
    with pytest.raises(ValueError, match="32 addresses"):
        sector_map(LANE[:8] * 4, shape=(2, 16))
    with pytest.raises(SmemnbError, match="lines that do"):
        sector_map(traced, 1)
    with pytest.raises(SmemnbError, match="has not kept its launch"):
        sector_map(Trace.from_json(traced.to_json()), line_of(traced))


def test_array_that_lies_by_columns():
    turned = np.zeros((96, 64), np.float32, order="F")
    found = trace(transpose_naive)[(3, 2), (32, 32)](turned, np.zeros((64, 96), np.float32))
    with pytest.raises(SmemnbError, match="row by row"):
        sector_map(found, line_of(found), array="out")


@pytest.mark.parametrize(
    ("first", "cols"),
    [(32, range(32, 64)), (30, range(24, 64)), (126, range(120, 160)), (220, range(216, 256))],
)
def test_a_row_that_begins_inside_of_a_sector(first, cols):
    """All 32 lanes and all sectors of a row are drawn: four, or five in 40 columns."""
    found = measure((LANE + first) * 4, shape=(4, 256))
    assert window(found)[1] == cols
    assert _outside(found) == ""
    assert {col for _, col in found.along} <= set(window(found)[1])


def test_an_array_that_is_too_long_for_a_line():
    """Every other element: two lines of 32 show all lanes; a matrix keeps its rows."""
    found = measure(LANE * 8, shape=(1, 1024))
    assert _outside(found) == "16 lanes outside of the picture"
    lines = _folded(found)
    assert (lines.shape, lines.sectors, _outside(lines)) == ((32, 32), 8, "")
    assert [lines.places[at] for at in (0, 15, 16, 31)] == [(0, 0), (0, 30), (1, 0), (1, 30)]
    for kept in (measure(LANE * 8, shape=(2, 1024)), measure(LANE * 4, shape=(1, 1024))):
        assert _folded(kept) is kept
