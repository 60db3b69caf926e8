"""The timer and what is said without a GPU, with kernels that run in the engine."""

from dataclasses import replace

import pytest

from smemnb.compiled import available
from smemnb.hardware import chip
from smemnb.kernels.matmul.ladder import SMALL
from smemnb.measure.bench.run import Setting
from smemnb.measure.tuning import model
from smemnb.measure.tuning.space import Chunks, steps_named
from smemnb.measure.tuning.timer import GpuTimer, case_of
from smemnb.simulator.seam import OUT_OF_TREE
from tests.measure.bench.test_run import Steps, host_library
from tests.measure.tuning.test_search import BEGIN

H200 = chip("H200")


def setting(**words):
    return Setting(Steps(), least=3, most=3, **words)


@pytest.mark.exhaustive
def test_products_are_checked_and_timed():
    """Each candidate once per round, beside the library; a shape it cannot make has a reason."""
    small = replace(SMALL, resident=2)
    some = [small, replace(small, band=0), replace(small, rows=128, warp_rows=64)]
    timer = GpuTimer(
        "matmul", (64, 64, 16), 4, setting(libraries=[host_library()], against=("cublas",))
    )
    found = timer(some)
    own, band, tall = found.candidates
    assert own.ms and band.ms and own.failed is None
    assert own.ms != band.ms
    assert tall.ms is None and "whole tiles of 128 x 64" in tall.failed
    assert list(found.beside) == ["cublas (cupy)"]


def test_transposes_are_checked_and_timed():
    """Beside the copy."""
    found = GpuTimer("transpose", (64, 128), 4, setting())([Chunks(), Chunks(rows=32)])
    assert [timed.failed for timed in found.candidates] == [None, None]
    assert list(found.beside) == ["copy_wide"]


def test_names_of_candidates():
    """The best, and what each of the others changes."""
    case = case_of("matmul", (128, 128, 8), 4, [BEGIN, replace(BEGIN, band=8, turn=0)])
    assert case.rungs == ("as it is", "turn=0, band=8")
    assert [rung.block for _, rung in case.tries] == [(128, 1), (128, 1)]


def test_estimate_of_a_product():
    """A warp's 6 reads of 16 bytes at each step take 2 wavefronts each, of b 4 in plain rows."""
    found = model.estimate(BEGIN, H200, compiled=False)
    assert (found.threads, found.shared_bytes, found.registers) == (128, 16640, None)
    plain = model.estimate(replace(BEGIN, interleaved=False), H200, compiled=False)
    assert (found.wavefronts, plain.wavefronts) == (12, 16)


def test_estimate_of_a_transpose():
    """As few wavefronts as bytes allow: 16 KB in and out, 128 bytes each."""
    found = model.estimate(Chunks(), H200, compiled=False)
    assert (found.wavefronts, found.least_wavefronts) == (256, 256)
    assert (found.threads, found.shared_bytes, found.resident) == (512, 16384, 4)


@pytest.mark.toolchain
@pytest.mark.skipif(not (available() and OUT_OF_TREE), reason="no compiler's wheels")
def test_estimate_from_machine_code():
    """Registers, and the blocks that they leave room for."""
    found = model.estimate(BEGIN, H200)
    assert found.resident == 2
    assert 168 < found.registers <= 255
    assert (found.ffma_percent, found.bank_waits) == (91, 0)


def test_list_of_candidates():
    """A line per candidate, and the refused ones with their reason."""
    steps = steps_named(Chunks(), ["tile", "blocks"])
    said = list(model.lines(Chunks(), steps, H200, compiled=False))
    (cols,) = [line.split() for line in said if line.split()[:1] == ["cols=128"]]
    assert cols[1:3] == ["512", "32768"]
    assert [line for line in said if "blocks=8: refused" in line]
