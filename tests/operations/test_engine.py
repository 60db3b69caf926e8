"""How long the engine takes: estimates against clocks, and the refusal of what takes too long."""

import time

import numpy as np
import pytest

from smemnb.errors import LaunchRefused, SmemnbError
from smemnb.operations import matmul, transpose
from smemnb.operations.choice import ENGINE, Layout, new_layout
from smemnb.operations.engine import RATES, limit_s, seconds, words
from smemnb.operations.launching import on_gpu
from smemnb.operations.matmul_choice import matmul_plan
from smemnb.operations.transpose_choice import transpose_plan
from tests.facts import facts

pytestmark = pytest.mark.skipif(on_gpu(), reason="launches go to a GPU: no engine to ask")

INSTEAD = "a smaller shape or a GPU; or allow it: SMEMNB_ENGINE_SECONDS"
BY_RATE = "estimated by its measured rate), and the limit is"


def product_plan(rows, depth, cols, rung=None):
    shapes = (rows, cols), (rows, depth), (depth, cols)
    return matmul_plan(rung, *(new_layout(*shape, 4) for shape in shapes), ENGINE, plain=True)


def test_by_hand():
    """4096 cubed: 128 x 128 blocks of 1024 lanes, 64 at a time, are 256 batches of 4096 steps."""
    per_step, per_unit = RATES["matmul_tiled_32"]
    expected = 256 * 4096 * per_step + 4096**3 * per_unit
    assert seconds(product_plan(4096, 4096, 4096), 4096) == pytest.approx(expected)
    plan = transpose_plan(
        "transpose_padded", 4, new_layout(4096, 4096, 4), Layout(4096, 4096, 16384, 0)
    )
    per_step, per_unit = RATES["transpose_padded"]
    assert seconds(plan) == pytest.approx(256 * per_step + 4096**2 * per_unit)


@pytest.mark.parametrize("shape", [(200, 200, 200), (20, 1000, 20), (1000, 20, 200)])
@pytest.mark.parametrize("rung", [None, pytest.param("matmul_square", marks=pytest.mark.slow)])
def test_honest_products(shape, rung):
    """Estimate and clock agree within a factor of 8, whichever extent is long."""
    rows, depth, cols = shape
    a, b = np.ones((rows, depth), np.float32), np.ones((depth, cols), np.float32)
    matmul(a[:5, :20], b[:20, :5], rung=rung)  # infers types
    taken = clocked(lambda: matmul(a, b, rung=rung))
    assert 1 / 8 < taken / seconds(product_plan(rows, depth, cols, rung), depth) < 8


@pytest.mark.parametrize("dtype", ["u1", "f4", pytest.param("c16", marks=pytest.mark.slow)])
@pytest.mark.parametrize("shape", [(500, 800), (801, 501)])
def test_honest_transposes(shape, dtype):
    """So do those of a transpose."""
    x = np.zeros(shape, dtype)
    transpose(x)  # infers types
    size = x.itemsize
    plan = transpose_plan(None, size, new_layout(*shape[::-1], size), new_layout(*shape, size))
    assert 1 / 8 < clocked(lambda: transpose(x)) / seconds(plan) < 8


def clocked(call):
    """CPU seconds, the less of two runs: in one of them Python may collect its garbage."""
    taken = []
    for _ in range(2):
        begin = time.process_time()
        call()
        taken.append(time.process_time() - begin)
    return min(taken)


def test_refused():
    """A product of 4096 cubed is refused with its estimate before anything is made."""
    a, out = np.zeros((4096, 4096), np.float32), np.full((4096, 4096), 7, np.float32)
    with pytest.raises(LaunchRefused) as found:
        matmul(a, a, out=out)
    assert facts(str(found.value)) == facts(
        f"4096 4096 4096 4096 220 matmul_tiled_32 {BY_RATE} 60 {INSTEAD} 443"
    )
    assert (out == 7).all()


def test_limit(monkeypatch):
    """The limit is read at each call: a millisecond refuses, a minute allows."""
    x = np.arange(70 * 71, dtype=np.float32).reshape(70, 71)
    monkeypatch.setenv("SMEMNB_ENGINE_SECONDS", "0.001")
    with pytest.raises(LaunchRefused) as found:
        transpose(x)
    assert facts(str(found.value)) == facts(
        f"70 71 0.0033 transpose_turned {BY_RATE} 0.001 x.T.copy() {INSTEAD} 1"
    )
    monkeypatch.setenv("SMEMNB_ENGINE_SECONDS", "60.5")
    assert limit_s() == 60.5
    assert (transpose(x) == x.T).all()
    monkeypatch.delenv("SMEMNB_ENGINE_SECONDS")
    assert limit_s() == 60


@pytest.mark.parametrize("said", ["", "fast", "0", "-1", "nan"])
def test_bad_limit(monkeypatch, said):
    """What is no number of seconds is named."""
    monkeypatch.setenv("SMEMNB_ENGINE_SECONDS", said)
    with pytest.raises(SmemnbError) as found:
        transpose(np.zeros((2, 3)))
    assert facts(str(found.value)) == facts(f"SMEMNB_ENGINE_SECONDS {said!r} 0 60")


@pytest.mark.parametrize(
    ("duration_s", "said"),
    [(0.00314, "0.0031 s"), (1.23, "1.2 s"), (60, "60 s"), (221.3, "220 s"), (7300, "2 h"),
     (7e4, "19 h"), (1e6, "280 h")],
)  # fmt: skip
def test_words(duration_s, said):
    """Two digits, hours from two hours on."""
    assert words(duration_s) == said
