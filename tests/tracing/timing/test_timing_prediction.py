"""Predictions: their range, causes that are withheld, their report, and a whole one."""

import json

import numpy as np
import pytest
from numba import cuda, float32

from smemnb.errors import SmemnbError
from smemnb.rules.occupancy import occupancy
from smemnb.tracing import trace
from smemnb.tracing.timing.prediction import (
    MODEL_ERROR,
    LineWaits,
    Prediction,
    _causes,
    _range,
)
from smemnb.tracing.timing.streams import sampled
from tests.compiled.programs import needs_machine_code
from tests.facts import facts

COLUMNS = 64


@cuda.jit
def column_of_tile(out, inp):
    tile = cuda.shared.array((32, 32), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    tile[ty, tx] = inp[row, col]
    cuda.syncthreads()
    acc = float32(0)
    for k in range(32):
        acc += tile[tx, k]  # 32-way
    out[row, col] = acc


@cuda.jit
def row_of_tile(out, inp):
    tile = cuda.shared.array((32, 32), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    tile[ty, tx] = inp[row, col]
    cuda.syncthreads()
    acc = float32(0)
    for k in range(32):
        acc += tile[k, tx]
    out[row, col] = acc


@cuda.jit
def stored_apart(out, inp):
    col, row = cuda.grid(2)
    out[col, row] = inp[row, col]


def made(ms=2.0, low=1.5, high=2.5, causes=("barrier",), withheld=""):
    waits = {"selected": 0.1, "barrier": 0.3, "long_scoreboard": 0.1}
    return Prediction(
        kernel="k",
        gpu="H200",
        grid=(4, 2, 1),
        block=(128, 1, 1),
        ms=ms,
        low_ms=low,
        high_ms=high,
        cycles=1000.0,
        issue=0.25,
        occupancy=occupancy((9, 0), 128, 32),
        waits={"selected": 1.0, "barrier": 3.0, "long_scoreboard": 1.0},
        lines=(LineWaits(7, "cuda.syncthreads()", 0.5, waits), LineWaits(0, "", 0.001, {})),
        causes=causes,
        withheld=withheld,
        notes=("a note",),
    )


def test_the_range_is_never_surer_than_the_model():
    """Doubts add up as squares to the model's own error, those below and those above."""
    assert _range(10.0, {}) == pytest.approx((10 - 10 * MODEL_ERROR, 10 + 10 * MODEL_ERROR))
    low, high = _range(10.0, {"rates, low": 12.0, "rates, high": 9.9, "ports, low": 8.0})
    own = 10 * MODEL_ERROR
    assert low == pytest.approx(10 - (own**2 + 0.1**2 + 2**2) ** 0.5)
    assert high == pytest.approx(10 + (own**2 + 2**2) ** 0.5)


def test_causes_that_flip_are_withheld():
    """The largest reason is said if every run has it first; a second one if all agree in it."""
    assert _causes([["barrier", "wait"], ["barrier", "wait"]]) == (("barrier", "wait"), "")
    assert _causes([["barrier", "wait"], ["barrier", "lg_throttle"]]) == (("barrier",), "")
    causes, why = _causes([["barrier"], ["mio_throttle"]])
    assert causes == ()
    assert {"barrier", "queue"} <= set(why.replace(",", "").split())


@pytest.mark.parametrize(("other", "wanted"), [
    ((4.0, 2.6, 5.0), "faster"), ((1.0, 0.5, 1.4), "slower"), ((2.6, 2.4, 3.0), "not told apart"),
    ((2.0, 1.5, 2.5), "not told apart"),
])  # fmt: skip
def test_no_order_within_the_error(other, wanted):
    assert made().compared(made(*other)) == wanted


def test_report():
    """The time and its range, the lines at which warps stand, and what is left out."""
    said = repr(made())
    assert {"2.00", "1.50", "2.50", "25", "7", "50.0", "30.0"} <= set(facts(said))
    assert "barrier" in said
    assert said.count("a note") == 1
    page = made()._repr_html_()
    assert page.count("<tr>") == 2  # the head and the one line that counts
    assert "cuda.syncthreads()" in page


def test_a_report_without_its_cause():
    """What is withheld is not said of the lines either, and there is no division by nothing."""
    said = repr(made(causes=(), withheld="it depends"))
    assert "it depends" in said
    assert "30.0%" not in said


def test_as_data():
    stored = json.loads(json.dumps(made().to_dict()))
    assert (stored["numbers"], stored["ms"], stored["grid"]) == ("model", 2.0, [4, 2, 1])
    assert made().line(7).largest == "barrier"
    assert made().line(8) is None


@pytest.mark.parametrize("blocks", [1, 3, 7, 1000])
def test_blocks_that_stand_for_all(blocks):
    found = sampled(blocks)
    assert len(set(found)) == len(found) == min(len(found), blocks, 6)
    assert all(0 <= one < blocks for one in found)


@needs_machine_code
@pytest.mark.slow
def test_conflicts_cost_time():
    """A column of a tile is slower than a row of it, and its loads are where warps stand."""
    inp, out = np.ones((COLUMNS, COLUMNS), np.float32), np.zeros((COLUMNS, COLUMNS), np.float32)
    grid, block = (COLUMNS // 32, COLUMNS // 32), (32, 32)
    slow = trace(column_of_tile)[grid, block](out, inp).time(gpu="H200")
    fast = trace(row_of_tile)[grid, block](out, inp).time()
    assert slow.compared(fast) == "slower"
    assert slow.cycles > 8 * 32 * 32  # 8 LDS.128 of 32 warps, 32 wavefronts each, one per cycle
    first = column_of_tile.py_func.__code__.co_firstlineno
    busiest = max(slow.lines, key=lambda line: line.share)
    assert busiest.line == first + 9
    assert sum(line.share for line in slow.lines) == pytest.approx(1)
    stored = trace(stored_apart)[grid, block](out, inp).time()
    assert stored.compared(fast) == "not told apart"
    other = trace(row_of_tile)[grid, block](out, inp).time(gpu="H100 SXM")
    assert (other.gpu, fast.gpu) == ("H100 SXM", "H200")
    with pytest.raises(SmemnbError, match="not of A100"):
        trace(row_of_tile)[grid, block](out, inp).time(gpu="A100 80GB")
