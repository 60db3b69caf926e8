"""The finished kernels compiled without a GPU: no spills, few registers, exact shared bytes."""

import pytest

from smemnb.compiled import resources
from smemnb.kernels import matmul, transpose
from smemnb.simulator.seam import OUT_OF_TREE

MATRIX = "float32[:, ::1]"
SHARED = {
    "transpose_naive": 0,
    "transpose_tiled": 32 * 32 * 4,
    "transpose_padded": 32 * 33 * 4,
    "transpose_swizzled": 32 * 32 * 4,
    "matmul_naive": 0,
    "matmul_tiled": 2 * 16 * 16 * 4,
}


@pytest.mark.toolchain
@pytest.mark.slow
@pytest.mark.skipif(not OUT_OF_TREE, reason="the numba.cuda inside Numba links nothing")
@pytest.mark.parametrize("cc", [(7, 5), (8, 0), (9, 0)], ids=lambda cc: f"{cc[0]}.{cc[1]}")
@pytest.mark.parametrize("name", SHARED)
def test_resources(name, cc):
    """Nothing is kept in local memory, and a whole block's registers fit a multiprocessor."""
    module, threads, matrices = (
        (transpose, 1024, 2) if name.startswith("transpose") else (matmul, 256, 3)
    )
    signature = f"void({', '.join([MATRIX] * matrices)})"
    used = resources(getattr(module, name), signature, cc=cc)
    assert used.local_bytes == 0
    assert used.shared_bytes == SHARED[name]
    assert used.registers * threads <= 65_536
