"""One shape of a ladder as a chapter shows it: rates, bounds, and what is said without a GPU."""

import pytest

from smemnb import simulator
from smemnb.errors import SmemnbError
from smemnb.measure.results.ladders import Ladder, ladder_here, shipped_ladder
from smemnb.measure.results.model import Row

SHAPE = (1000, 1000, 1000)  # 2 GFLOP: in 1 ms 2 TFLOP/s


def row(name, role, ms, bound_ms=None, limiter=None):
    times = {"ms": ms, "low_ms": ms, "high_ms": ms, "bound_ms": bound_ms, "limiter": limiter}
    return Row("matmul", name, role, name, SHAPE, 4, 0, True, **times)


LADDER = Ladder(
    (row("slow", "rung", 2.0, 0.5, "shared"), row("fast", "rung", 0.5), row("lib", "library", 0.4)),
    "measured (NVIDIA H200)",
)


def test_text():
    """Rates by hand: 2 GFLOP in 2 ms are 1 TFLOP/s; its bound of 0.5 ms allows 4."""
    assert repr(LADDER).splitlines() == [
        "matmul 1000 x 1000, depth 1000, measured (NVIDIA H200)",
        "                          TFLOP/s    bound  limited by",
        "slow                            1        4  shared",
        "fast                            4",
        "lib                             5",
    ]


def test_rates_by_name():
    assert (LADDER.rate("slow"), LADDER.rate("lib"), LADDER["fast"].ms) == (1.0, 5.0, 0.5)
    assert LADDER.library is LADDER["lib"]
    with pytest.raises(KeyError, match="'quick' was not timed; there are slow, fast, lib"):
        LADDER["quick"]


def test_panel():
    """Rungs as bars with the rate of their bound, the library as a line beside them."""
    panel = LADDER.panel
    assert [(bar.label, bar.value, bar.mark) for bar in panel.bars] == [
        ("slow", 1.0, 4.0),
        ("fast", 4.0, None),
    ]
    assert panel.lines == (("lib", 5.0),)


def test_a_shape_that_was_not_measured():
    with pytest.raises(SmemnbError, match="no times of matmul 7 x 8, depth 9 are shipped"):
        shipped_ladder("matmul", (7, 8, 9))


def test_shipped():
    """The products of 4096 cubed are there, with what limits them, beside a library."""
    found = shipped_ladder("matmul", (4096, 4096, 4096), ("matmul_tiled", "matmul_fastest"))
    assert [(row.name, row.limiter) for row in found.rows] == [
        ("matmul_tiled", "shared"),
        ("matmul_fastest", "issue"),
    ]
    library = shipped_ladder("matmul", (4096, 4096, 4096)).library
    assert library is not None and library.name.startswith("cublas")


def test_shipped_transposes():
    """Named rows come in the order of the ladder, whatever the order of the names."""
    names = ("copy_wide", "transpose_fastest", "transpose_tiled")
    found = shipped_ladder("transpose", (16384, 16384), names)
    assert [(row.name, row.role, row.limiter) for row in found.rows] == [
        ("transpose_tiled", "rung", "shared"),
        ("transpose_fastest", "rung", "dram"),
        ("copy_wide", "limit", "dram"),
    ]


@pytest.mark.skipif(simulator.device() != "lockstep", reason="there is a GPU")
def test_without_a_gpu():
    assert ladder_here("matmul", SHAPE) == (
        "No GPU here: nothing was measured, the recorded figures stand."
    )
