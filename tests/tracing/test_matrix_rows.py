"""Rows of a matrix in the same banks: what is said, and that the swizzle named mends it."""

import re

import numpy as np
import pytest
from numba import cuda, float32, uint16, uint32

from smemnb.kernels.ptx import matrices
from smemnb.tracing import trace
from smemnb.tracing.prices.matrix_rows import swizzle
from smemnb.tracing.trace import Trace


def loading(pitch, *, every=1, fold=1, count=4, dtype=uint16):
    """A kernel that loads matrices of 16 rows, two chunks each, where a swizzle has put them."""
    load = getattr(matrices, f"ldmatrix_x{count}")
    size, chunk_size = 32 * pitch, 16 // (dtype.bitwidth // 8)

    @cuda.jit
    def loaded(out, inp):
        tile = cuda.shared.array(size, dtype, alignment=16)
        tx = cuda.threadIdx.x
        for at in range(tx, size, 32):
            tile[at] = inp[at]
        cuda.syncthreads()
        row, chunk = tx % 16, tx // 16
        chunk = chunk ^ (row // every % fold)
        words = load(tile, uint32(row * pitch + chunk * chunk_size))
        for at in range(count):
            out[at, tx] = words[at]

    return loaded


def found(kernel, pitch, count=4, dtype=np.uint16):
    """The findings of matrix_conflict in a launch."""
    inp = np.zeros(32 * pitch, dtype)
    report: Trace = trace(kernel)[1, 32](np.zeros((count, 32), np.uint32), inp)
    return [one for one in report.findings if one.kind == "matrix_conflict"]


@pytest.mark.first(2)
@pytest.mark.parametrize(
    ("pitch", "extra", "formula"),
    [
        (16, 4, "c ^ (row // 4 % 2)"),
        (32, 12, "c ^ (row // 2 % 4)"),
        (64, 28, "c ^ (row % 8)"),
        (96, 12, "c ^ (row // 2 % 4)"),
        (128, 28, "c ^ (row % 8)"),
    ],
)
def test_the_swizzle_mends_it(pitch, extra, formula):
    """Extra wavefronts of four matrices, the formula, and no finding with it in the kernel."""
    (one,) = found(loading(pitch), pitch)
    assert (one.severity, one.count) == ("note", extra)
    assert formula in one.cure
    assert f"a pitch of {pitch + 8} elements" in one.cure
    every, fold = swizzle(2 * pitch)
    numbers = [int(number) for number in re.findall(r"\d+", formula)]
    assert numbers == ([fold] if every == 1 else [every, fold])
    assert found(loading(pitch, every=every, fold=fold), pitch) == []


@pytest.mark.parametrize("pitch", [8, 24, 40, 72])
def test_rows_that_do_not_meet(pitch):
    """An odd number of chunks from row to row: nothing to say."""
    assert found(loading(pitch), pitch) == []


def test_words_of_four_bytes():
    """A chunk has 4 elements; rows of 128 bytes are 32 of them."""
    kernel = loading(32, dtype=float32)
    (one,) = found(kernel, 32, dtype=np.float32)
    assert "chunk c (of 4 elements)" in one.cure
    assert "a pitch of 36 elements" in one.cure


@cuda.jit
def scattered(out, inp, rows):
    tile = cuda.shared.array(2048, uint16, alignment=16)
    tx = cuda.threadIdx.x
    for at in range(tx, 2048, 32):
        tile[at] = inp[at]
    cuda.syncthreads()
    words = matrices.ldmatrix_x1(tile, uint32(rows[tx % 8] * 8))
    out[tx] = words[0]


def test_rows_anywhere():
    """Rows at no one distance: the finding has no formula."""
    rows = np.array([0, 8, 24, 2, 3, 4, 5, 6], np.int32)
    report = trace(scattered)[1, 32](np.zeros(32, np.uint32), np.zeros(2048, np.uint16), rows)
    (one,) = (one for one in report.findings if one.kind == "matrix_conflict")
    assert one.count == 2
    assert "^" not in one.cure
