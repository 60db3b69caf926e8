"""The kernels that the engine is timed with: right values, no findings."""

import numpy as np
import pytest

from smemnb.measure.bench_kernels import BINS, MAKERS
from smemnb.tracing import trace


def launched(name, size):
    kernel, grid, block, args = MAKERS[name](size)
    report = trace(kernel)[grid, block](*args)
    assert [found for found in report.findings if found.severity != "note"] == []
    return report, args


@pytest.mark.parametrize("size", [97, 1000])
def test_csr_matvec(size):
    """Row by row in float32, in the order of the row."""
    _, (out, start, column, value, x) = launched("csr_matvec", size)
    for row in range(size):
        acc = np.float32(0)
        for at in range(start[row], start[row + 1]):
            acc += np.float32(value[at]) * x[column[at]]
        assert out[row] == acc
    assert np.diff(start).max() > 8 * max(np.median(np.diff(start)), 1)  # it does diverge


def test_mandelbrot():
    """Rounds counted in plain Python with float32 numbers."""
    _, (out, most) = launched("mandelbrot", 40)
    f = np.float32
    for row, col in np.ndindex(out.shape):
        real, imaginary = f(-2) + f(3) * f(col) / f(40), f(-1.5) + f(3) * f(row) / f(40)
        x = y = f(0)
        rounds = 0
        while rounds < most and x * x + y * y <= 4:
            x, y = x * x - y * y + real, f(2) * x * y + imaginary
            rounds += 1
        assert out[row, col] == rounds


def test_histogram():
    """Counts as NumPy counts them; each value is one increment of a shared cell."""
    report, (out, values) = launched("histogram", 4096)
    assert (out == np.bincount(values, minlength=BINS)).all()
    (row,) = [one for one in report.lines if one.kind == "atomic_increment"]
    assert row.lanes == 4096
