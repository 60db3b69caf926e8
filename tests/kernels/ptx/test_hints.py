"""Hints to the caches: the values of plain accesses, the counts of plain accesses, machine code."""

import numpy as np
import pytest
from numba import cuda, uint32

from smemnb.kernels.ptx.hints import fence_async, load16_once, store16_once
from smemnb.simulator.seam import OUT_OF_TREE
from smemnb.tracing import trace


@cuda.jit
def reversed_quads(out, inp):
    tx = uint32(cuda.threadIdx.x)
    a, b, c, d = load16_once(inp, tx * uint32(4))
    fence_async()
    store16_once(out, tx * uint32(4), (d, c, b, a))


def test_values_and_counts():
    """Each quad turned; 16 sectors of 16 bytes per lane, on either side."""
    inp, out = np.arange(128, dtype=np.float32), np.zeros(128, np.float32)
    found = trace(reversed_quads)[1, 32](out, inp)
    np.testing.assert_array_equal(out.reshape(32, 4), inp.reshape(32, 4)[:, ::-1])
    assert [(row.kind, row.requests, row.sectors) for row in found.lines] == [
        ("load", 1, 16),
        ("store", 1, 16),
    ]


@pytest.mark.toolchain
@pytest.mark.skipif(not OUT_OF_TREE, reason="the numba.cuda inside Numba links nothing")
@pytest.mark.parametrize(("cc", "fences"), [((8, 0), 0), ((9, 0), 1)])
def test_instructions(cc, fences):
    """Their instructions, once each; the fence from cc 9.0 on."""
    kernel = reversed_quads.py_func
    ptx, _ = cuda.compile_ptx(kernel, "void(float32[::1], float32[::1])", cc=cc)
    wanted = {"ld.global.L1::no_allocate": 1, "st.global.cs": 1, "fence.proxy.async": fences}
    assert {text: ptx.count(text) for text in wanted} == wanted
