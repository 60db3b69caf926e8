"""The files of kernels that are waiting to be measured: `smemnb bench --also` can read them."""

from pathlib import Path

import pytest

from smemnb.measure.bench.case import tried

FILES = sorted((Path(__file__).parent / "tried").glob("*.py"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_files_are_read(path):
    """Every entry is an operation and a size of elements, with rungs of different names."""
    found = tried(str(path))
    assert found
    for (operation, itemsize), rungs in found.items():
        names = [rung.name for rung in rungs]
        assert operation in ("transpose", "matmul") and itemsize in (1, 2, 4)
        assert names and len(set(names)) == len(names)
