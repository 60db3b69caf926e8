"""Copies on their way to shared memory: values, edges, what each chip runs."""

import numpy as np
import pytest
from numba import cuda, float32, uint32

from smemnb.errors import KernelStopped, MisalignedAddress
from smemnb.kernels.ptx.asynchronous import (
    await_copies,
    await_previous,
    close_group,
    copy4,
    copy8,
    copy16,
    copy16_ca,
    copy16_first,
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


await_one = groups_awaited(1)


@cuda.jit
def widths(out, inp, wanted):
    tile = cuda.shared.array(320, float32, alignment=16)
    tx = uint32(cuda.threadIdx.x)
    copy4(tile, tx, inp, tx, True)
    close_group()
    copy8(tile, uint32(32 + 2 * tx), inp, uint32(2 * tx), tx % 2 == 0)
    copy16_ca(tile, uint32(96 + 4 * (tx % 24)), inp, uint32(4 * tx), tx < 24)
    await_one()
    if tx < 32:
        copy16_first(tile, uint32(192 + 4 * tx), inp, uint32(4 * tx), wanted[tx])
    await_copies()
    cuda.syncthreads()
    for at in range(10):
        out[32 * at + tx] = tile[32 * at + tx]


def test_widths():
    """4, 8 and 16 bytes; of 16 the first elements, and 0 behind them."""
    inp = np.arange(1, 129, dtype=np.float32)
    wanted = np.arange(32, dtype=np.int32) % 5
    out = np.empty(320, np.float32)
    trace(widths)[1, 32](out, inp, wanted)
    np.testing.assert_array_equal(out[:32], inp[:32])
    pairs = out[32:96].reshape(32, 2)
    np.testing.assert_array_equal(pairs[::2], inp[:64].reshape(32, 2)[::2])
    assert not pairs[1::2].any()
    kept = np.arange(4) < wanted[:, None]
    np.testing.assert_array_equal(out[192:].reshape(32, 4), inp.reshape(32, 4) * kept)


def test_counts_of_copies():
    """Zeros are served apart, and past L1 they alone; sectors are of the lanes that read."""
    inp, wanted = np.arange(1, 129, dtype=np.float32), np.full(32, 2, np.int32)
    wanted[16:] = 0
    found = trace(widths)[1, 32](np.empty(320, np.float32), inp, wanted)
    counts = {
        (row.text.split("(")[0], row.space): (row.wavefronts, row.sectors)
        for row in found.lines
        if row.copy
    }
    assert counts == {
        ("copy4", "shared"): (1, 0),
        ("copy4", "global"): (0, 4),
        ("copy8", "shared"): (4, 0),
        ("copy8", "global"): (0, 8),
        ("copy16_ca", "shared"): (4, 0),
        ("copy16_ca", "global"): (0, 12),
        ("copy16_first", "shared"): (2, 0),
        ("copy16_first", "global"): (0, 8),
    }


def test_refusals():
    """Copies go from global to shared memory, at multiples of their width."""

    @cuda.jit
    def turned_round(out, inp):
        tile = cuda.shared.array(32, float32)
        copy4(out, cuda.threadIdx.x, tile, cuda.threadIdx.x, True)

    @cuda.jit
    def misplaced(out, inp):
        tile = cuda.shared.array(64, float32, alignment=16)
        copy8(tile, 2 * cuda.threadIdx.x, inp, 2 * cuda.threadIdx.x + 1, True)

    inp, out = np.zeros(128, np.float32), np.zeros(128, np.float32)
    with pytest.raises(KernelStopped, match="from global to shared memory"):
        trace(turned_round)[1, 32](out, inp)
    with pytest.raises(MisalignedAddress, match="multiple of 8"):
        trace(misplaced)[1, 16](out, inp)


@cuda.jit
def some_of_four(out, inp, wanted):
    tile = cuda.shared.array(128, float32, alignment=16)
    tx = cuda.threadIdx.x
    copy16_first(tile, uint32(4 * tx), inp, uint32(4 * tx), wanted[tx])
    await_copies()
    out[tx] = tile[4 * tx]


def test_copies_that_no_group_has():
    """`await_copies` closes their group: they are there behind it, where they land late, too."""
    inp, out = np.arange(1, 129, dtype=np.float32), np.zeros(32, np.float32)
    found = trace(some_of_four, order="late")[1, 32](out, inp, np.full(32, 4, np.int32))
    np.testing.assert_array_equal(out, inp[::4])
    assert [one.kind for one in found.findings if one.race] == []


@pytest.mark.parametrize("elements", [-1, 5])
def test_as_many_elements_as_a_copy_has(elements):
    """Fewer than none and more than 16 bytes: undefined on a GPU, and refused with the line."""
    inp, wanted = np.ones(128, np.float32), np.full(32, 4, np.int32)
    out = np.zeros(32, np.float32)
    some_of_four[1, 32](out, inp, wanted)
    assert out.all()
    wanted[3], out[:] = elements, 0
    with pytest.raises(KernelStopped, match="fewer than 0 or more than 4 elements"):
        some_of_four[1, 32](out, inp, wanted)
    assert not out.any()
