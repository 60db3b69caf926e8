"""The stencils compiled without a GPU: registers, nothing in local memory, the main accesses."""

import pytest
from numba import float32, float64, uint8

from smemnb.compiled import cubin
from smemnb.compiled.machine import count, instructions, nvdisasm
from smemnb.compiled.usage import read_resources
from smemnb.kernels.stencil import ladder
from smemnb.kernels.stencil.variants.framed import HIGH, stencil_framed_of
from smemnb.kernels.stencil.variants.sliding import MOST_LAID_OUT, THREADS, stencil_of
from smemnb.simulator.seam import OUT_OF_TREE
from tests.kernels.machines import matrices, resident

pytestmark = [
    pytest.mark.toolchain,
    pytest.mark.slow,
    pytest.mark.skipif(not OUT_OF_TREE, reason="the numba.cuda inside Numba links nothing"),
]
CC, REGISTERS, GRANULE = (9, 0), 65_536, 8
THREADS_OF = {"stencil_naive": 256, "stencil_tiled": 256, "stencil_constant": 256}
THREADS_OF |= {"stencil_column": 256, "separable_twice": 256, "separable_tiled": 256}
THREADS_OF |= dict.fromkeys(("line_naive", "line_tiled", "line_wide", "line_direct"), 256)


def signature(step):
    """Of the first kernel of a step."""
    if step.name in ("stencil_naive", "stencil_tiled"):
        return matrices(3)
    if step in ladder.LINES:
        return "void(float32[::1], float32[::1], UniTuple(float32, 9))"
    if step in ladder.LADDER:
        return matrices(2, more=", UniTuple(float32, 25)")
    parts = 1 if step.name == "separable_twice" else 2
    return matrices(2, more=", UniTuple(float32, 15)" * parts)


def compiled(kernel, types):
    elf = cubin(kernel, types, CC)
    return read_resources(elf, CC), instructions(elf) if nvdisasm() else []


ACCESSES = {  # loads and stores of the machine code, where each stands in the source once
    "stencil_tiled": {"LDS": 25},
    "stencil_constant": {"LDS": 25, "FFMA": 25},
    "stencil_column": {"LDS": 60, "FFMA": 200},
    "stencil_sliding": {"LDS": 5, "FFMA": 25, "BAR": 2},
    "stencil_unsigned": {"LDS": 5, "FFMA": 25, "BAR": 2},
    "stencil_wide": {"LDS": 3, "STG.128": 1, "FFMA": 100, "BAR": 2},
    "stencil_direct": {"LDS": 0, "STG.128": 1, "FFMA": 100, "BAR": 0},
    "stencil_ahead": {"LDS": 0, "STG.128": 1, "FFMA": 100, "BAR": 0},
    "stencil_inside": {"LDS": 0, "STG.128": 3, "FFMA": 300, "BAR": 0},
    "stencil_framed": {"LDS": 0, "STG.128": 4, "FFMA": 16 * 25 + 25, "BAR": 0},
    "line_wide": {"LDS.128": 3, "STG.128": 1, "FFMA": 36},
    "line_direct": {"LDS": 0, "STG.128": 1, "FFMA": 36},
    "separable_tiled": {"BAR": 2},
    "separable_sliding": {"LDS": 0, "STG.128": 1, "FFMA": 120},
}
STEPS = [*ladder.LADDER, *ladder.LINES, *ladder.SEPARABLE]


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.name)
def test_rungs(step):
    """Nothing spilt, as many blocks as promised; the multiply-adds and reads of the docstring."""
    used, code = compiled(step.kernels[0], signature(step))
    assert used.local_bytes == 0
    registers = -(-used.registers // GRANULE) * GRANULE
    assert registers * THREADS_OF.get(step.name, 128) * resident(step.kernels[0]) <= REGISTERS
    if code:
        wanted = {"LDL": 0, "STL": 0} | ACCESSES.get(step.name, {})
        assert {name: count(code, name) for name in wanted} == wanted


SLIDING = [  # type, type of sums, weights, columns per thread, columns before the first, separable
    (float32, float32, (15, 15), 4, 1, True),
    (uint8, float64, (5, 5), 1, 0, False),
]


def is_as_promised(kernel, types, wanted):
    used, code = compiled(kernel, types)
    assert used.local_bytes == 0
    registers = -(-used.registers // GRANULE) * GRANULE
    assert registers * THREADS * resident(kernel) <= REGISTERS
    if code:
        wanted = {"LDL": 0, "STL": 0} | wanted
        assert {name: count(code, name) for name in wanted} == wanted


@pytest.mark.parametrize(("dtype", "number", "size", "wide", "shift", "separable"), SLIDING)
def test_sliding(dtype, number, size, wide, shift, separable):
    """Nothing spilt, blocks as promised, a multiply-add for each weight, column and way to go."""
    kernel = stencil_of(dtype, dtype, number, size, wide, shift, separable=separable)
    taps = sum(size) if separable else size[0] * size[1]
    arrays = f"{dtype}[::1], {dtype}[::1], {dtype}[::1]"
    numbers = ", ".join(["uint32", *["int32"] * 2, *["uint32"] * 2, *["int32"] * 4, str(number)])
    each = taps * wide * (3 if taps * wide <= MOST_LAID_OUT and not separable else 2)
    wanted = {"FFMA" if number == float32 else "DFMA": each}
    is_as_promised(kernel, f"void({arrays}, {numbers}, UniTuple({number}, {taps}))", wanted)


FRAMED = [  # type, weights, columns per thread, columns before the first, rows
    (float32, (3, 3), 4, 3, HIGH),
    (float32, (5, 5), 1, 0, HIGH),
    (float64, (5, 5), 2, 0, HIGH),
    (float32, (1, 9), 4, 0, 1),
]


@pytest.mark.parametrize(("number", "size", "wide", "shift", "tall"), FRAMED)
def test_framed(number, size, wide, shift, tall):
    """Nothing spilt, blocks as promised; multiply-adds for rows of columns, and for the frame."""
    kernel, taps = stencil_framed_of(number, size, wide, shift, tall=tall), size[0] * size[1]
    numbers = [*["uint32"], *["int32"] * 4, *["uint32"] * 3, *["int32"] * 3, str(number)]
    types = ", ".join([*[f"{number}[::1]"] * 3, *numbers, f"UniTuple({number}, {taps})"])
    wanted = {"FFMA" if number == float32 else "DFMA": taps * (tall * wide + 1)}
    is_as_promised(kernel, f"void({types})", wanted)
