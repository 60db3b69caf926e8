"""Machine code of tensor products without a GPU: no spills, and the mix of the main loop."""

from collections import Counter

import pytest

from smemnb.compiled import cubin
from smemnb.compiled.machine import instructions, main_loop, nvdisasm
from smemnb.compiled.usage import read_resources
from smemnb.kernels.tensor.ladder import LADDER, TF32
from smemnb.kernels.tensor.tensor_cut import TensorCut
from smemnb.kernels.tensor.variants.staged import tensor_product_of
from smemnb.simulator.seam import OUT_OF_TREE

pytestmark = [
    pytest.mark.toolchain,
    pytest.mark.slow,
    pytest.mark.skipif(not OUT_OF_TREE, reason="the numba.cuda inside Numba links nothing"),
    pytest.mark.skipif(nvdisasm() is None, reason="nvdisasm is not installed"),
]
HALVES = "void(float16[:, ::1], float16[:, ::1], float16[:, ::1])"
SINGLES = HALVES.replace("float16", "float32")
SMALL = {"HMMA": 16, "LDSM": 8, "LDGSTS": 4, "DEPBAR": 1}
LARGE = {"HMMA": 64, "LDSM": 16, "LDGSTS": 8, "DEPBAR": 1}
LOOPS = {
    "mma_unswizzled": SMALL | {"BAR": 2},
    "mma_swizzled": SMALL | {"BAR": 2},
    "mma_staged": SMALL | {"BAR": 2},
    "mma_one_barrier": SMALL | {"BAR": 1},
    "mma_tall": LARGE | {"BAR": 1},
    "mma_overlapped": LARGE | {"BAR": 1},
    "mma_by_rows": LARGE | {"BAR": 1},
    "mma_banded": LARGE | {"BAR": 1},
    "mma_tf32": LARGE | {"BAR": 1, "LDSM": 8},
}
"""Of each rung's main loop, per warp and stage."""


def loop_of(kernel, signature, cc):
    """Bytes of local memory, registers, and how often each instruction stands in the main loop."""
    elf = cubin(kernel, signature, cc)
    used = read_resources(elf, cc)
    return used, Counter(one.name.split(".")[0] for one in main_loop(instructions(elf)))


def test_rungs():
    """Of every rung on cc 9.0: nothing in local memory; mma, reads and copies as counted."""
    assert set(LOOPS) == {rung.name for rung in (*LADDER, TF32)}
    for rung in (*LADDER, TF32):
        used, loop = loop_of(rung.kernel, SINGLES if rung is TF32 else HALVES, (9, 0))
        assert used.local_bytes == 0, rung.name
        assert {name: loop[name] for name in LOOPS[rung.name]} == LOOPS[rung.name], rung.name
        assert loop["DSETP"] == 0, rung.name  # no index went through float64


@pytest.mark.parametrize(
    ("kind", "sides", "cc", "reads"),
    [
        ("f16", (True, True), (8, 0), {"LDSM": 16}),
        ("tf32", (False, False), (9, 0), {"LDSM": 8}),
    ],
)
def test_products(kind, sides, cc, reads):
    """128 x 256: 64 mma to a stage and warp, 6 copies, one barrier, no more than 255 registers."""
    cut = TensorCut(128, 256)
    result = "float32" if kind == "tf32" else kind
    out = "float32" if kind == "tf32" else "uint16"
    kernel = tensor_product_of(cut, kind, *sides, result)
    held = f"void({out}[:, ::1], uint32[:, ::1], uint32[:, ::1], float32, float32)"
    used, loop = loop_of(kernel, held, cc)
    assert used.local_bytes == 0
    wanted = {"HMMA": 64, "LDGSTS": 6, "BAR": 1, "DEPBAR": 1, **reads}
    assert {name: loop[name] for name in wanted} == wanted
