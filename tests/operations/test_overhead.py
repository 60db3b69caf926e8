"""What a call costs the host: the table's rows, and that the launch comes back after it."""

import numpy as np

from smemnb.operations import launching, overhead, transpose


def test_rows_without_a_gpu(monkeypatch):
    """Without a GPU: both operations, on Numba's arrays and by the interface, without a launch."""
    monkeypatch.setattr(overhead, "ROUNDS", 3)
    kept = launching.start
    found = list(overhead.rows()) if not launching.on_gpu() else []
    both = ["transpose", "matmul"]
    expected = [(op, of) for of in ("Numba", "__cuda_array_interface__") for op in both]
    if found:
        assert [row[:2] for row in found if row[1] not in ("CuPy", "PyTorch")] == expected
        assert [row[3] for row in found] == [0.0] * len(found)
        # the bound leaves room for a machine that does other things meanwhile
        assert max(row[2] for row in found) < 1000
    assert launching.start is kept
    assert transpose(np.ones((2, 3))).tolist() == [[1, 1]] * 3
