"""The scans compiled without a GPU: no local memory, registers, widths of accesses."""

import pytest
from numba import float32, float64, int32, int64, uint8, uint64

from smemnb.compiled import cubin
from smemnb.compiled.machine import count, instructions, nvdisasm
from smemnb.compiled.usage import read_resources
from smemnb.kernels.scan.choosing import combining, cut_of
from smemnb.kernels.scan.ladder import LADDER
from smemnb.kernels.scan.variants.columns import scan_columns_of, scan_cut_columns_of
from smemnb.kernels.scan.variants.short_rows import scan_short_of
from smemnb.kernels.scan.variants.single_pass import Cut, scan_alone_of, scan_of
from smemnb.kernels.scan.variants.twice import scan_after_of, tile_sums_of
from smemnb.kernels.scan.variants.waiting import scan_waiting_of
from smemnb.simulator.seam import OUT_OF_TREE

pytestmark = [
    pytest.mark.toolchain,
    pytest.mark.slow,
    pytest.mark.skipif(not OUT_OF_TREE, reason="the numba.cuda inside Numba links nothing"),
    pytest.mark.skipif(nvdisasm() is None, reason="nvdisasm is not installed"),
]
CC = (9, 0)
SUM = combining("sum", "f4", "f4")


def flat(*types, numbers=0):
    """A signature of arrays of one axis, then of numbers."""
    return f"void({', '.join([f'{one}[::1]' for one in types] + ['uint32'] * numbers)})"


def built(kernel, signature):
    """(registers, local bytes, instructions)."""
    elf = cubin(kernel, signature, CC)
    used = read_resources(elf, CC)
    return used.registers, used.local_bytes, instructions(elf)


ROWS = f"void({float32}[:, ::1], {float32}[:, ::1])"
SIGNATURES = {step.name: ROWS for step in LADDER[:5]} | {
    "scan_three_launches": flat(float32, float32, float32),
    "scan_lookback": flat(float32, float32, uint64),
    "scan_deep": flat(float32, float32, uint64),
    "scan_grouped": flat(float32, float32, uint64, numbers=1),
    "scan_early": flat(float32, float32, uint64, numbers=1),
    "scan_broad": flat(float32, float32, uint64, numbers=1),
    "scan_waiting": flat(float32, float32, uint64, numbers=1),
}
RESIDENT = {"scan_deep": 4, "scan_grouped": 3, "scan_early": 3, "scan_broad": 2, "scan_waiting": 5}
CHUNKS = {"scan_deep": 8, "scan_grouped": 8, "scan_early": 8, "scan_broad": 16}


@pytest.mark.parametrize("step", LADDER, ids=lambda step: step.name)
def test_rungs(step):
    """Nothing is spilled, the promised blocks have registers, and chunks are loaded at once."""
    registers, local, code = built(step.kernels[0], SIGNATURES[step.name])
    assert local == 0 and count(code, "LDL") == count(code, "STL") == 0
    assert registers * 256 * RESIDENT.get(step.name, 1) <= 65536
    if step.name in CHUNKS:
        assert count(code, "STG.128") >= CHUNKS[step.name] <= count(code, "LDG.128")


def test_other_launches():
    """The second and third launch spill nothing either."""
    step = next(step for step in LADDER if step.name == "scan_three_launches")
    _, sums, adding = step.kernels
    for kernel, signature in ((sums, flat(float32)), (adding, flat(float32, float32))):
        assert built(kernel, signature)[1] == 0


VARIANTS = {
    "large": (
        scan_waiting_of(SUM, cut_of(SUM, 1 << 28)),
        flat(float32, float32, uint64, numbers=3),
    ),
    "middle": (scan_of(SUM, cut_of(SUM, 1 << 20)), flat(float32, float32, uint64, numbers=3)),
    "exclusive": (
        scan_waiting_of(SUM, cut_of(SUM, 1 << 28), True),
        flat(float32, float32, uint64, numbers=3),
    ),
    "integers": (
        scan_of(combining("sum", "i4", "i8"), Cut(256, 4, 3)),
        flat(int64, int32, uint64, numbers=3),
    ),
    "bytes": (
        scan_of(combining("sum", "u1", "i8"), Cut(256, 4, 3)),
        flat(int64, uint8, uint64, numbers=3),
    ),
    "sums": (tile_sums_of(SUM, Cut(256, 8)), flat(float64, float32, numbers=3)),
    "after": (scan_after_of(SUM, Cut(256, 8)), flat(float32, float32, float64, numbers=3)),
    "alone": (scan_alone_of(SUM, Cut(32, 4)), flat(float32, float32, numbers=2)),
    "short": (scan_short_of(SUM), flat(float32, float32, numbers=4)),
    "columns": (scan_columns_of(SUM), flat(float32, float32, numbers=3)),
    "cut columns": (scan_cut_columns_of(SUM), flat(float32, float32, uint64, numbers=5)),
}


@pytest.mark.parametrize("name", VARIANTS)
def test_variants(name):
    """Nothing is spilled, and words are read and written by pairs."""
    registers, local, code = built(*VARIANTS[name])
    kernel = VARIANTS[name][0]
    bounds = kernel.targetoptions["launch_bounds"]
    if isinstance(bounds, tuple):
        assert registers * bounds[0] * bounds[1] <= 65536
    if "waiting" in kernel.__name__:
        assert count(code, "LDGSTS.E.BYPASS.128") >= 11 <= count(code, "STG.E.128")
    assert local == 0 and count(code, "LDL") == count(code, "STL") == 0


def test_words_are_read_from_memory_itself():
    """Loads and stores of words are strong ones of the GPU, in pairs of 16 bytes."""
    _, _, code = built(*VARIANTS["middle"])
    strong = [one for one in code if "STRONG.GPU" in str(one)]
    assert {str(one.name).split(".")[0] for one in strong} >= {"LDG", "STG"}
