"""The table of what calls cost in Python, and that the launch comes back after it."""

import numpy as np
import pytest

from smemnb.operations import launching, transpose

from .python_part import rows

BOTH = ["transpose", "matmul"]


@pytest.mark.skipif(launching.on_gpu(), reason="launches go to a GPU")
def test_rows():
    """Both operations, on Numba's arrays and by the interface, without a launch."""
    kept = launching.start
    found = list(rows(rounds=3))
    assert [row[:2] for row in found] == [(op, of) for of in ("Numba", "interface") for op in BOTH]
    # the bound leaves room for a machine that does other things meanwhile
    assert max(row[2] for row in found) < 1000
    assert launching.start is kept
    assert transpose(np.ones((2, 3))).tolist() == [[1, 1]] * 3
