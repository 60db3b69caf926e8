"""The histograms compiled without a GPU: increments that merge, no local memory, registers."""

import functools

import pytest
from numba import float32, float64, int8, int16, int32, int64, uint8

from smemnb.compiled import cubin
from smemnb.compiled.machine import count, instructions, nvdisasm
from smemnb.compiled.usage import read_resources
from smemnb.kernels.histogram import ladder
from smemnb.kernels.histogram.choosing import THREADS
from smemnb.kernels.histogram.variants.binning import binning_of, place_of
from smemnb.kernels.histogram.variants.bytes import counting_bytes_of
from smemnb.kernels.histogram.variants.counting import counting_of
from smemnb.kernels.histogram.variants.extent import extent_of
from smemnb.kernels.histogram.variants.scattering import scattering_of
from smemnb.simulator.seam import OUT_OF_TREE
from tests.tiers import sampled

pytestmark = [
    pytest.mark.toolchain,
    pytest.mark.slow,
    pytest.mark.skipif(not OUT_OF_TREE, reason="the numba.cuda inside Numba links nothing"),
]
CC = (9, 0)
STEPS = {step.name: step.kernels[0] for step in ladder.LADDER}


@functools.cache
def machine(kernel, signature):
    """(resources, instructions) of a kernel for cc 9.0."""
    elf = cubin(kernel, signature, CC)
    return read_resources(elf, CC), instructions(elf) if nvdisasm() else []


INCREMENTS = {"histogram_global": 0, "histogram_block": 1, "histogram_warps": 1}
INCREMENTS |= {"histogram_wide": 17, "histogram_lanes": 17, "histogram_joined": 17}
INCREMENTS["histogram_paired"] = 49  # two chunks at a time, one, and the rest


@pytest.mark.parametrize("name", STEPS)
def test_rungs(name):
    """Adding the literal 1 is the increment that merges, once per element of a chunk and once
    for the rest; 2048 threads of a multiprocessor have registers; nothing is spilled."""
    used, code = machine(STEPS[name], "void(int64[::1], uint8[::1])")
    assert (used.local_bytes, used.registers <= 32) == (0, True)
    if code:
        assert count(code, "LDL") == count(code, "STL") == 0
        assert count(code, "ATOMS.POPC.INC.32") == count(code, "ATOMS") == INCREMENTS[name]
        assert sum(one.name.startswith("RED") for one in code) == 1


def variants():
    """(name, kernel, signature) of what the operations launch."""
    counted = "void(int64[::1], uint32[::1], {}[::1], uint32, uint32, uint32)"
    for dtype in (int8, uint8):
        yield f"bytes {dtype}", counting_bytes_of(dtype, THREADS), counted.format(dtype)
    for dtype in (int16, int32, int64):
        yield f"counting {dtype}", counting_of(dtype, THREADS, 2), counted.format(dtype)
    scattered = "void(int64[::1], uint32[::1], int32[::1], uint32)"
    yield "scattering", scattering_of(int32), scattered
    yield "extent", extent_of(float32), "void(float32[::1], float32[::1])"
    for dtype, compared, even in (
        (float32, float32, True),
        (float32, float32, False),
        (float64, float64, True),
        (int32, float64, True),
        (int64, int64, False),
    ):
        place = place_of(compared)
        signature = (
            f"void(int64[::1], {dtype}[::1], {compared}[::1], int32[::1], uint32, uint32,"
            f" {place}, {place}, {place})"
        )
        kernel = binning_of(dtype, compared, even, THREADS, 2)
        yield f"binning {dtype} {compared} {even}", kernel, signature


VARIANTS = {name: (kernel, signature) for name, kernel, signature in variants()}


@pytest.mark.parametrize("name", sampled(VARIANTS, 6))
def test_variants(name):
    """Nothing is spilled, two blocks of 1024 threads fit, and every shared atomic merges."""
    used, code = machine(*VARIANTS[name])
    assert (used.local_bytes, used.registers <= 32) == (0, True)
    if code:
        assert count(code, "LDL") == count(code, "STL") == 0
        others = count(code, "ATOMS.MAX")  # of tags
        assert count(code, "ATOMS.POPC.INC.32") == count(code, "ATOMS") - others
