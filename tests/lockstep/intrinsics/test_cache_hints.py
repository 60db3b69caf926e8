"""Loads and stores with a cache hint: plain accesses, counted as such."""

import numpy as np
import pytest
from numba import cuda

from smemnb.tracing.watchers.counting import Counting
from tests.lockstep.intrinsics.typed import run

pytestmark = pytest.mark.skipif(not hasattr(cuda, "ldcg"), reason="this numba.cuda has no hints")


def loads(out, x):
    i = cuda.grid(1)
    j = cuda.grid(2)
    total = cuda.ldca(out, i) + cuda.ldcs(out, i) + cuda.ldlu(out, -1 - i) + cuda.ldcv(out, i)
    cuda.stcg(out, i, total + cuda.ldcg(x, j))


def stores(out, x):
    i = cuda.grid(1)
    cuda.stcs(out, i, x[i, 0])
    cuda.stwb(out, i, out[i] + 1)
    cuda.stwt(out, i, out[i] * 2)


def test_loads():
    """Elements by one index, from the end, and by a tuple."""
    x, out = np.arange(64, dtype=np.float32).reshape(32, 2), np.arange(32, dtype=np.float32)
    run(loads, out, x)
    assert out.tolist() == [3 * i + (31 - i) + 2 * i for i in range(32)]


def test_stores():
    """A value is cast to the array's type and stored."""
    x, out = np.arange(64, dtype=np.float64).reshape(32, 2) + 0.75, np.zeros(32, np.int32)
    run(stores, out, x)
    assert out.tolist() == [(2 * i + 1) * 2 for i in range(32)]


def test_counted_as_accesses():
    """Four lines of hints: five loads and a store of one request each."""
    x, out, counting = np.zeros((32, 2), np.float32), np.zeros(32, np.float32), Counting()
    run(loads, out, x, watchers=(counting,))
    seen = sorted((c.site.kind, c.site.text[:9], c.requests) for c in counting.counts())
    assert seen == [
        ("load", "cuda.ldca", 1),
        ("load", "cuda.ldcg", 1),
        ("load", "cuda.ldcs", 1),
        ("load", "cuda.ldcv", 1),
        ("load", "cuda.ldlu", 1),
        ("store", "cuda.stcg", 1),
    ]
