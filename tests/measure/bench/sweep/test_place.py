"""Matrices of torch: on the CPU with the engine, and on a GPU with graphs."""

import math
from importlib.util import find_spec

import pytest

from smemnb.measure.bench.libraries import Library, found
from smemnb.measure.bench.sweep.place import TorchPlace, _bytes_needed
from smemnb.measure.bench.sweep.problems import LAYOUTS, Problem
from smemnb.measure.bench.sweep.timing import reading
from smemnb.measure.bench.timing import GpuClock
from tests.measure.bench.sweep.sample import Clock

needs_torch = pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed")


class Ticking(Clock):
    """Time goes on at each mark."""

    def mark(self):
        self.now += 1.0
        return self.now


def on_cpu():
    import torch

    return TorchPlace(torch, Ticking(), device="cpu", libraries=[Library("torch", torch)])


@needs_torch
@pytest.mark.parametrize("layout", LAYOUTS)
def test_products_on_the_cpu(layout):
    """torch is right on each layout, operands by columns have unit stride along their columns."""
    place = on_cpu()
    with place.current():
        ready = place.ready(Problem("matmul", (5, 6, 7), layout))
        torch = next(one for one in ready.contenders if one.name == "torch")
        ready.spoil(1)
        assert ready.error(1, "torch")[0] == math.inf
        torch.launches[1]()
        error, largest = ready.error(1, "torch")
        again = ready.keep(1)
        assert 0 < error < 1e-6 < largest and again()
        ready.spoil(1)
        assert not again()
        for letter, matrix in zip(layout, ready._sets[0], strict=False):
            assert matrix.stride()["NT".index(letter) - 1 if letter == "N" else 0] == 1
        shapes = [tuple(one.shape) for one in ready._sets[0]]
    assert shapes == [(5, 7), (7, 6), (5, 6)]


@needs_torch
@pytest.mark.parametrize("itemsize", [1, 2, 4, 8, 16])
def test_transposes_on_the_cpu(itemsize):
    """Ours, torch and the copy are right, and what was spoilt is not."""
    place = on_cpu()
    with place.current():
        found = reading(Problem("transpose", (12, 37), itemsize=itemsize), place)
        assert (found.status, found.reason, found.left_out) == ("timed", None, {})
        assert set(found.libraries) == {"torch"} and found.copy_ms and found.repeats
        assert set(found.not_captured) == {"smemnb", "torch", "copy"}
        ready = place.ready(Problem("transpose", (12, 37), itemsize=itemsize))
        ready.spoil(0)
        assert [ready.error(0, name)[0] for name in ("torch", "copy")] == [math.inf, math.inf]


def test_memory():
    """Of a square product in four sets: a, b, out; float64 of each and of the true one."""
    need = _bytes_needed(Problem("matmul", (1024, 1024, 1024), "NN"), 4)
    assert need - (64 << 20) == (4 * 12 + 16 + 8 * 6 + 4) << 20
    need = _bytes_needed(Problem("transpose", (1 << 15, 1 << 15), itemsize=2), 1)
    assert need - (64 << 20) == 3 << 31


@pytest.mark.gpu
@needs_torch
def test_on_a_gpu():
    """All contenders of small problems are right, and in a graph but for CuPy's own refusal."""
    from numba import cuda

    libraries, _ = found(("torch", "cupy"))
    torch = next(one.module for one in libraries if one.name == "torch")
    side = torch.cuda.Stream()
    clock = GpuClock(cuda.external_stream(side.cuda_stream))
    place = TorchPlace(torch, clock, stream=side, libraries=libraries)
    with place.current():
        for problem in (
            Problem("matmul", (130, 70, 50), "NN"),
            Problem("transpose", (1000, 301), itemsize=4),
        ):
            one = reading(problem, place)
            assert (one.status, one.left_out) == ("timed", {})
            assert set(one.not_captured) <= {"cupy"}
            assert set(one.libraries) == {library.name for library in libraries}
            assert one.repeats and 0.2 < one.ms / min(one.libraries.values()) < 50
