"""The ladders compiled without a GPU: no local memory, registers, widths, the main loop."""

import re

import pytest
from numba import uint8, uint16, uint64

from smemnb.compiled import cubin, ptx, resources
from smemnb.compiled.machine import count, instructions, main_loop, nvdisasm, one_bank_reads
from smemnb.compiled.usage import read_resources
from smemnb.kernels.matmul import ladder as products
from smemnb.kernels.matmul.wide import matmul_of
from smemnb.kernels.transpose import ladder as transposes
from smemnb.kernels.transpose.wide import transpose_fastest_of
from smemnb.simulator.seam import OUT_OF_TREE

pytestmark = [
    pytest.mark.toolchain,
    pytest.mark.slow,
    pytest.mark.skipif(not OUT_OF_TREE, reason="the numba.cuda inside Numba links nothing"),
]
CCS = pytest.mark.parametrize("cc", [(7, 5), (8, 0), (9, 0)], ids=lambda cc: f"{cc[0]}.{cc[1]}")
REGISTERS = 65_536


def matrices(count, kind="float32"):
    return ", ".join([f"{kind}[:, ::1]"] * count)


def product_signature(rung):
    return f"void({matrices(3)}{', float32, float32' * rung.scaled})"


def threads(rung):
    return rung.block[0] * rung.block[1]


@CCS
@pytest.mark.parametrize("rung", transposes.LADDER, ids=lambda rung: rung.name)
def test_transposes_fit(rung, cc):
    """Nothing in local memory; a block's registers fit a multiprocessor."""
    used = resources(rung.kernel, f"void({matrices(2)})", cc)
    assert used.local_bytes == 0
    assert used.registers * threads(rung) <= REGISTERS


@CCS
@pytest.mark.parametrize("rung", products.LADDER, ids=lambda rung: rung.name)
def test_products_fit(rung, cc):
    """Nothing in local memory; from the wide ones on, two blocks fit a multiprocessor."""
    used = resources(rung.kernel, product_signature(rung), cc)
    assert used.local_bytes == 0
    assert used.registers * threads(rung) * (2 if rung.aligned > 1 else 1) <= REGISTERS


@pytest.mark.parametrize("kind", [uint8, uint16, uint64, None])
def test_widths_of_transposes(kind):
    """16 bytes per access on both sides and into the tile, whatever the element."""
    rung = transposes.LADDER[-1]
    kernel = rung.kernel if kind is None else transpose_fastest_of(kind)
    text = ptx(kernel, f"void({matrices(2, str(kind or 'float32'))})")
    four = r"\.v4\.(b32|u32|f32)" if kind is not uint64 else r"\.v2\.(b64|u64)"
    wide = {
        where: len(re.findall(rf"{where}{four}", text))
        for where in ("ld.global", "st.global", "st.shared")
    }
    assert wide == {"ld.global": 2, "st.global": 2, "st.shared": 2}


@CCS
@pytest.mark.parametrize(("exact", "wide"), [(True, True), (False, False)])
def test_main_loop_of_the_fastest(exact, wide, cc):
    """8 steps of 16 x 8 FFMA, at least 7 of 8 instructions; fragments by 16 bytes."""
    if nvdisasm() is None:
        pytest.skip("nvdisasm is not installed")
    kernel = matmul_of(products.FASTEST, exact, wide, wide, "matmul_fastest")
    elf = cubin(kernel, f"void({matrices(3)}, float32, float32)", cc)
    used, loop = read_resources(elf, cc), main_loop(instructions(elf))
    assert used.local_bytes == 0
    assert used.registers * 128 * 2 <= REGISTERS
    assert count(loop, "FFMA") == 8 * 16 * 8
    assert count(loop, "LDS.128") == count(loop, "LDS") == 8 * 6
    assert (count(loop, "LDG.128"), count(loop, "LDG")) == ((4, 4) if wide else (0, 16))
    assert (count(loop, "STS.128"), count(loop, "STS")) == ((2, 10) if wide else (0, 16))
    assert len(loop) * 7 <= count(loop, "FFMA") * 8
    assert one_bank_reads(loop) <= 20
