"""What a call costs the host: the table's rows, and that the launch comes back after it."""

import numpy as np
import pytest

from smemnb.operations import launching, overhead, transpose

BOTH = ["transpose", "matmul"]


@pytest.mark.skipif(launching.on_gpu(), reason="launches go to a GPU")
def test_rows_without_a_gpu(monkeypatch):
    """Both operations, on Numba's arrays and by the interface, without a launch."""
    monkeypatch.setattr(overhead, "ROUNDS", 3)
    kept = launching.start
    found = list(overhead.rows())
    expected = [(op, of) for of in ("Numba", "__cuda_array_interface__") for op in BOTH]
    assert [row[:2] for row in found] == expected
    assert [row[3] for row in found] == [0.0] * 4
    # the bound leaves room for a machine that does other things meanwhile
    assert max(row[2] for row in found) < 1000
    assert launching.start is kept
    assert transpose(np.ones((2, 3))).tolist() == [[1, 1]] * 3


@pytest.mark.gpu
def test_overhead_on_a_gpu():
    """A call costs less than 60 microseconds beyond a bare launch, whatever the library."""
    slow = {row[:2]: row[2] - row[3] for row in overhead.rows() if row[2] - row[3] >= 60}
    assert slow == {}
