"""Matrices between shared memory and a warp's registers: values, counts, refusals."""

import numpy as np
import pytest
from numba import cuda, uint16, uint32

from smemnb.kernels.ptx import matrices
from smemnb.tracing import trace

COUNTS = (1, 2, 4)


def loading(count, *, turned=False, pitch=8, dtype=uint16, start=0):
    """A kernel: `count` matrices, row after row at this pitch, to each lane's words in `out`."""
    load = getattr(matrices, f"ldmatrix_x{count}{'_trans' if turned else ''}")
    size = 32 * pitch + start

    @cuda.jit
    def loaded(out, inp):
        tile = cuda.shared.array(size, dtype, alignment=16)
        tx = cuda.threadIdx.x
        for at in range(tx, size, 32):
            tile[at] = inp[at]
        cuda.syncthreads()
        words = load(tile, uint32(start + tx * pitch))
        for at in range(count):
            out[tx, at] = words[at]

    return loaded


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("turned", [False, True])
def test_each_lane_gets_its_word(count, turned):
    """Lane i: of row i // 4 (turned: column) the two elements from 2 * (i % 4) on."""
    inp = np.arange(256, dtype=np.uint16)
    out = np.zeros((32, count), np.uint32)
    loading(count, turned=turned)[1, 32](out, inp)
    halves = out.view(np.uint16).reshape(32, count, 2)
    for lane in range(32):
        for matrix in range(count):
            rows = inp[64 * matrix : 64 * matrix + 64].reshape(8, 8)
            rows = rows.T if turned else rows
            pair = rows[lane // 4, 2 * (lane % 4) : 2 * (lane % 4) + 2]
            assert halves[lane, matrix].tolist() == pair.tolist()


@pytest.mark.parametrize(
    ("count", "pitch", "wavefronts", "ways"),
    [(4, 8, 4, 1), (2, 8, 2, 1), (1, 8, 1, 1), (4, 16, 8, 2), (4, 32, 16, 4), (4, 64, 32, 8),
     (4, 40, 4, 1), (2, 64, 16, 8), (1, 64, 8, 8), (4, 24, 4, 1)],
)  # fmt: skip
def test_counts(count, pitch, wavefronts, ways):
    """A wavefront per matrix, times the rows of it that meet in one group of four banks."""
    inp = np.zeros(32 * pitch, np.uint16)
    found = trace(loading(count, pitch=pitch))[1, 32](np.zeros((32, count), np.uint32), inp)
    (line,) = (line for line in found.lines if "load(" in line.text)
    assert (line.requests, line.wavefronts, line.ways) == (1, wavefronts, ways)
    assert (line.width, line.ideal) == (16, count)


def storing(count, *, turned=False):
    """A kernel: each lane's words of `inp` to matrices, and these element by element to `out`."""
    load = getattr(matrices, f"ldmatrix_x{count}")
    store = getattr(matrices, f"stmatrix_x{count}{'_trans' if turned else ''}")

    @cuda.jit
    def stored(out, inp):
        tile = cuda.shared.array(512, uint16, alignment=16)
        tx = cuda.threadIdx.x
        for at in range(tx, 64 * count, 32):
            tile[at] = inp[at]
        cuda.syncthreads()
        store(tile, uint32(256 + tx * 8), load(tile, uint32(tx * 8)))
        cuda.syncthreads()
        for at in range(tx, 64 * count, 32):
            out[at] = tile[256 + at]

    return stored


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("turned", [False, True])
def test_the_way_back(count, turned):
    """What ldmatrix gives, stmatrix puts back; turned, it is the transpose of each matrix."""
    inp = np.random.default_rng(3).integers(0, 1 << 16, 64 * count).astype(np.uint16)
    out = np.zeros_like(inp)
    found = trace(storing(count, turned=turned))[1, 32](out, inp)
    wanted = inp.reshape(count, 8, 8)
    wanted = wanted.transpose(0, 2, 1) if turned else wanted
    np.testing.assert_array_equal(out.reshape(count, 8, 8), wanted)
    (line,) = (line for line in found.lines if line.kind == "store" and "store(" in line.text)
    assert (line.requests, line.wavefronts, line.width) == (1, count, 16)
    assert [one for one in found.findings if one.severity == "error"] == []
