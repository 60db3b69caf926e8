"""Shared arrays at multiples of 16 bytes, with either numba.cuda."""

import re

import numpy as np
import pytest
from numba import cuda, float32, types, uint32

from smemnb.compiled import ptx
from smemnb.errors import TypingRefused
from smemnb.kernels.alignment import has_alignment
from smemnb.kernels.ptx import load16, store16
from smemnb.simulator.seam import OUT_OF_TREE


@cuda.jit
def turned_round(out, inp):
    before = cuda.shared.array(1, float32)
    tile = cuda.shared.array(shape=128, dtype=float32, alignment=16)
    tx = uint32(cuda.threadIdx.x)
    before[0] = inp[0]
    store16(tile, uint32(tx * 4), load16(inp, uint32(tx * 4)))
    cuda.syncthreads()
    x, y, z, w = load16(tile, uint32((31 - tx) * 4))
    store16(out, uint32(tx * 4), (w, z, y, before[0] - before[0] + x))


def test_array_behind_an_odd_one():
    """4 bytes lie before it, and 16 bytes of it still move at once."""
    inp, out = np.arange(128, dtype=np.float32), np.zeros(128, np.float32)
    turned_round[1, 32](out, inp)
    np.testing.assert_array_equal(out, inp[::-1])


def test_alignment_that_is_no_constant():
    """What is known only at run time cannot align an array."""

    @cuda.jit
    def varied(out, size):
        tile = cuda.shared.array(128, float32, alignment=size)
        out[0] = tile[0]

    with pytest.raises(TypingRefused):
        varied[1, 1](np.zeros(1, np.float32), 16)


def test_who_knows_the_keyword():
    """numba-cuda by itself; the numba.cuda inside Numba from this package."""
    assert has_alignment() is OUT_OF_TREE


@pytest.mark.toolchain
def test_compiled_alignment():
    """Where the compiler is installed, with either: the array lies at a multiple of 16 bytes."""
    code = ptx(turned_round, (types.float32[::1],) * 2)
    assert re.findall(r"\.shared \.align (\d+) \.b8 \w+\[512\]", code) == ["16"]
