"""Products in slices: values, races, and what a slice reads."""

from dataclasses import replace

import numpy as np
import pytest

from smemnb.kernels.matmul.ladder import SLICED, SMALL
from smemnb.kernels.matmul.variants.sliced import matmul_sliced_of
from smemnb.kernels.matmul.variants.whole import matmul_of
from smemnb.tracing import trace


def traced(tiling, m, k, n, alpha=2.0, beta=0.5):
    rng = np.random.default_rng([m, k, n])
    a, b, before = (
        rng.integers(-9, 10, shape).astype(np.float32) for shape in ((m, k), (k, n), (m, n))
    )
    out = before.copy() if beta else np.full((m, n), np.nan, np.float32)
    grid = (n // tiling.cols, m // tiling.rows)
    found = trace(matmul_sliced_of(tiling))[grid, tiling.threads](out, a, b, alpha, beta)
    expected = alpha * (a.astype(np.float64) @ b) + (beta * before if beta else 0)
    np.testing.assert_array_equal(out, expected)
    assert all(one.price for one in found.findings)
    return found


@pytest.mark.parametrize("depth", [32, pytest.param(96, marks=pytest.mark.slow)])
def test_values(depth):
    """1 and 3 turns of the loop per slice, two blocks; no races between the slices."""
    traced(SLICED, 64, depth, 128)


@pytest.mark.exhaustive
@pytest.mark.slow
def test_other_tilings():
    """Without fragments ahead; an `out` that is not read."""
    traced(replace(SLICED, fragments=1, turn=0), 64, 64, 64, beta=0.0)


@pytest.mark.parametrize("change", [{"slices": 2}, {"buffers": 1, "stage_at": None}])
def test_refused_tilings(change):
    """The results of two slices must have room where the tiles were."""
    with pytest.raises(
        ValueError, match="slices=1 would do|slices=1 or slices=4|depth=16 would do"
    ):
        matmul_sliced_of(replace(SLICED, **change))


def test_threads():
    """Four times the threads of SMALL, each with the registers and the loads of one of SMALL."""
    assert (SMALL.threads, SLICED.threads, SLICED.workers) == (64, 256, 64)
    assert (SLICED.thread, SLICED.quads) == (SMALL.thread, SMALL.quads) == ((8, 8), (2, 2))


def test_a_kernel_of_one_slice_refuses_more():
    """Four slices would write beyond the tiles of one."""
    with pytest.raises(ValueError, match="slices=4"):
        matmul_of(SLICED)
