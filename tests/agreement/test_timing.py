"""n-way accesses by time: what is run, and how the ratio is shown. Times themselves need a GPU."""

import numpy as np
import pytest

from smemnb.measure.verify import timing
from smemnb.tracing import trace


@pytest.mark.parametrize(("stride", "wavefronts"), [(1, 1), (4, 4), (32, 32), (33, 1)])
def test_each_load_is_n_way(stride, wavefronts):
    """4 loads a round by each of 32 warps, all n-way; every chain stays in place."""
    out = np.zeros(timing.THREADS, np.uint32)
    found = trace(timing.looped_loads)[1, timing.THREADS](out, stride, 3)
    loads = [row for row in found.lines if row.kind == "load"]
    assert [row.requests for row in loads] == [3 * 32] * 4
    assert [row.wavefronts for row in loads] == [3 * 32 * wavefronts] * 4
    assert found.findings == ()
    lane = np.arange(timing.THREADS) % 32
    assert np.array_equal(out, 4 * lane * stride + 6)


def test_ratios():
    """The model's wavefronts beside the measured time over that of stride 1."""
    found = timing.times(lambda stride: 0.5 * (stride if stride < 33 else 1))
    assert [(one.stride, one.wavefronts) for one in found] == [
        (1, 1), (2, 2), (4, 4), (8, 8), (16, 16), (32, 32), (33, 1),
    ]  # fmt: skip
    lines = timing.table(found).splitlines()
    assert lines[6].split() == ["32", "32", "32.0"]
    assert lines[7].split() == ["33", "1", "1.0"]
