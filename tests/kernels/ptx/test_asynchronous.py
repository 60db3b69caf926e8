"""Copies on their way to shared memory: values, edges, what each chip runs."""

import numpy as np
import pytest
from numba import cuda, float32, uint32

from smemnb.kernels.ptx.asynchronous import (
    await_previous,
    close_group,
    copy4,
    copy16,
    groups_awaited,
)
from smemnb.simulator.seam import OUT_OF_TREE
from smemnb.tracing import trace

await_all = groups_awaited(0)


@cuda.jit
def copied(out, inp, count):
    tile = cuda.shared.array(160, float32, alignment=16)
    await_previous()
    tx = uint32(cuda.threadIdx.x)
    copy4(tile, tx, inp, tx, tx < count)
    if tx < 32:
        copy16(tile, uint32(32 + 4 * tx), inp, uint32(4 * tx), 4 * tx < count)
    close_group()
    await_all()
    cuda.syncthreads()  # everyone's copies are there
    for at in range(5):
        out[0, 32 * at + tx] = tile[32 * at + tx]


def test_copies():
    """Elements and quads; what is not present is not read, and 0."""
    inp = np.arange(1, 129, dtype=np.float32)[None]
    inp[0, 20:] = np.nan
    out = np.empty((1, 160), np.float32)
    found = trace(copied)[1, 32](out, inp, 20)
    expected = np.zeros((1, 160), np.float32)
    expected[0, :20] = expected[0, 32:52] = inp[0, :20]
    np.testing.assert_array_equal(out, expected)
    assert [one for one in found.findings if not one.price] == []
    lines = {line.text.split("(")[0].strip(): line for line in found.lines if "copy" in line.text}
    assert set(lines) == {"copy4", "copy16"}


@pytest.mark.toolchain
@pytest.mark.skipif(not OUT_OF_TREE, reason="the numba.cuda inside Numba links nothing")
@pytest.mark.parametrize(
    ("cc", "copies", "waits"), [((7, 5), 0, 0), ((8, 0), 2, 0), ((9, 0), 2, 1)]
)
def test_instructions(cc, copies, waits):
    """Copies are instructions from cc 8.0 on, launches that overlap from 9.0 on."""
    ptx, _ = cuda.compile_ptx(copied.py_func, "void(float32[:, :], float32[:, :], int64)", cc=cc)
    wanted = {"shared.global [": copies, "cp.async.wait_group": copies // 2}
    wanted |= {"griddepcontrol.wait": waits}
    assert {text: ptx.count(text) for text in wanted} == wanted
