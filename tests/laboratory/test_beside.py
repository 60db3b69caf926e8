"""A product beside the rungs: equal counts, its machine code, and times of the same rounds."""

import numpy as np
import pytest
from numba import cuda, float32

from smemnb.compiled import available, machine
from smemnb.exercises.chapters.ex36_product import one_buffer, product
from smemnb.kernels.matmul.ladder import rung_named
from smemnb.laboratory.beside import (
    COUNTS,
    Counts,
    beside_rungs,
    code_beside_rungs,
    counts_of,
    product_here,
    timed,
)
from smemnb.measure.bench.run import Setting
from tests.facts import facts
from tests.measure.bench.test_run import Steps


@cuda.jit
def nothing_yet(out, a, b):
    """As a stub."""


@cuda.jit
def twice_too_much(out, a, b):
    """Wrong everywhere."""
    for at in range(cuda.threadIdx.x, 128 * 128, 256):
        out[at // 128, at % 128] = float32(2)


@pytest.mark.nightly
@pytest.mark.parametrize("name", COUNTS)
def test_counts(name):
    """What is written down is what a trace of the rung counts."""
    assert counts_of(rung_named(name).kernel, np.float32(1), np.float32(0)) == COUNTS[name]


@pytest.mark.exhaustive
def test_equal_counts():
    """The finished product has the counts of the rung that it is written after, and its rate."""
    found = beside_rungs(product)
    assert found.counts == COUNTS["matmul_prefetched"] == Counts(928, 2560, 48, 4)
    assert found.equal == ("matmul_prefetched", "matmul_warped")
    assert found.ladder.library.name == "cublas (torch)"
    assert {"48.2", "51.2", "matmul_prefetched"} <= set(facts(found))


def test_a_stub():
    """A kernel that does nothing is like no rung."""
    found = beside_rungs(nothing_yet)
    assert (found.counts, found.equal) == (Counts(0, 0, 0, 0), ())


@pytest.mark.toolchain
@pytest.mark.skipif(not (available() and machine.nvdisasm()), reason="needs the compiler's wheels")
def test_code():
    """All products of a tile stand in the loop of the finished kernel, as in the rung beside it."""
    mine, rung = code_beside_rungs(product).splitlines()
    assert "512" in facts(mine) and "512" in facts(rung)
    assert "64" in facts(code_beside_rungs(one_buffer).splitlines()[0])  # its steps are a loop
    assert "FFMA" not in code_beside_rungs(nothing_yet)


@pytest.mark.exhaustive
def test_times():
    """A right kernel is timed in the same rounds as the rungs, a wrong one is said to be wrong."""
    setting = Setting(Steps(), least=3, most=3)
    rows = timed(product, ["matmul_wide"], (128, 128, 16), setting)
    assert [(row.name, row.right, row.rounds) for row in rows] == [
        ("matmul_wide", True, 3),
        ("product", True, 3),
    ]
    wrong = timed(twice_too_much, [], (128, 128, 16), Setting(Steps(), least=3, most=3))
    assert [(row.name, row.right, row.ms) for row in wrong] == [("twice_too_much", False, None)]


def test_no_gpu(monkeypatch):
    """Without a GPU a sentence says that nothing was measured."""
    monkeypatch.setenv("SMEMNB_DEVICE", "lockstep")
    assert isinstance(product_here(product), str)
