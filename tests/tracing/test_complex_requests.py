"""Complex numbers in shared memory: halves that the compiler joins are one request."""

import numpy as np
import pytest
from numba import complex64, complex128, cuda, float32

from smemnb.tracing import trace


def reversed_behind(floats, dtype):
    """A tile of complex numbers behind some floats, written and read backwards."""

    @cuda.jit
    def kernel(out, inp):
        before = cuda.shared.array(floats, float32)
        tile = cuda.shared.array(64, dtype)
        tx = cuda.threadIdx.x
        if tx < floats:
            before[tx] = 1
        tile[tx] = inp[tx]
        cuda.syncthreads()
        out[tx] = tile[63 - tx] * before[tx % floats]

    return kernel


def at_once(dtype, pitch):
    """A column of a tile of complex numbers, which begins the block's memory."""

    @cuda.jit
    def kernel(out, inp):
        tile = cuda.shared.array((32, pitch), dtype)
        tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
        for k in range(0, 32, 8):
            tile[ty + k, tx] = inp[ty + k, tx]
        cuda.syncthreads()
        for k in range(0, 32, 8):
            out[ty + k, tx] = tile[tx, ty + k]

    return kernel


def rows(report, array="tile"):
    """Kind, bytes per lane, requests and wavefronts of each access to the tile."""
    return [
        (row.kind, row.width, row.requests, row.wavefronts, row.extra)
        for row in report.lines
        if row.array == array
    ]


JOINED = [("store", 8, 2, 4, 0), ("load", 8, 2, 4, 0)]
APART = [("store", 4, 4, 8, 4), ("load", 4, 4, 8, 4)]
WIDE = [("store", 16, 2, 8, 0), ("load", 16, 2, 8, 0)]
WIDE_APART = [("store", 8, 4, 16, 8), ("load", 8, 4, 16, 8)]


@pytest.mark.parametrize(
    ("floats", "dtype", "expected"),
    [
        (1, complex64, APART),  # begins at byte 4
        (2, complex64, JOINED),
        (3, complex64, APART),
        (4, complex64, JOINED),
        (1, complex128, WIDE_APART),  # begins at byte 8
        (2, complex128, WIDE_APART),
        (3, complex128, WIDE),  # begins at byte 16
    ],
)
def test_where_the_array_begins(floats, dtype, expected):
    """A multiple of the element's size makes one request of the element, else there are two."""
    kind = np.dtype(str(dtype))
    report = trace(reversed_behind(floats, dtype))[1, 64](np.zeros(64, kind), np.ones(64, kind))
    assert rows(report) == expected


@pytest.mark.parametrize(
    ("dtype", "pitch", "extra"),
    [(complex64, 32, 32 * (32 - 2)), (complex64, 33, 0), (complex128, 33, 0)],
)
def test_column(dtype, pitch, extra):
    """A pad of one element makes a column clean, as no budget could ask for before."""
    kind = np.dtype(str(dtype))
    args = np.zeros((32, 32), kind), np.ones((32, 32), kind)
    store, load = rows(trace(at_once(dtype, pitch))[1, (32, 8)](*args))
    assert (store[4], load[4]) == (0, extra)


def test_values_and_races():
    """A half is stored where it belongs; a race counts an element once."""

    @cuda.jit
    def kernel(out, inp):
        tile = cuda.shared.array(64, complex64)
        tx = cuda.threadIdx.x
        tile[tx] = inp[tx]
        out[tx] = tile[63 - tx]

    inp = np.arange(64) * (1 - 2j)
    out = np.zeros(64, np.complex64)
    (found,) = trace(kernel)[1, 64](out, inp.astype(np.complex64)).races
    assert out.tolist() == inp[::-1].astype(np.complex64).tolist() or np.isnan(out).any()
    assert (found.kind, found.count) == ("race", 64)


def test_lost_updates_of_complex_numbers():
    """An update is counted once, in shared and in global memory."""

    @cuda.jit
    def kernel(out):
        total = cuda.shared.array(1, complex64)
        total[0] = 0
        cuda.syncwarp()
        total[0] += cuda.threadIdx.x * 1j
        out[0] += complex64(1)

    found = trace(kernel)[1, 32](np.zeros(1, np.complex64)).findings
    assert [one.count for one in found if one.kind == "lost_update"] == [31, 31]


@pytest.mark.toolchain
@pytest.mark.parametrize(
    ("floats", "dtype"), [(n, t) for n in range(1, 5) for t in (complex64, complex128)]
)
def test_as_compiled(floats, dtype):
    """The machine code makes as many shared requests and wavefronts as the model counts."""
    kind = np.dtype(str(dtype))
    report = trace(reversed_behind(floats, dtype))[1, 64](np.zeros(64, kind), np.ones(64, kind))
    shared = [row for row in report.lines if row.space == "shared"]
    for kind_of_access in ("load", "store"):
        rows_of = [row for row in shared if row.kind == kind_of_access]
        found = sum(row.requests for row in rows_of), sum(row.wavefronts for row in rows_of)
        counters = report.as_compiled().counters
        name = f"shared_{kind_of_access}"
        assert found == (counters[f"{name}_requests"], counters[f"{name}_wavefronts"])
