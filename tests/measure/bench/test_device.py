"""Matrices and the judge: a single wrong element is found, whatever it is."""

import numpy as np
import pytest
from numba import cuda

from smemnb.errors import SmemnbError
from smemnb.measure.bench import contenders
from smemnb.measure.bench.case import CHOICE, Case
from smemnb.measure.bench.device import Judge, Shown, bytes_needed, matrices, placed

CASES = [
    Case("transpose", (5, 7), 4),
    Case("transpose", (6, 3), 1, spare=2),
    Case("transpose", (3, 4), 2),
    Case("transpose", (4, 5), 8, spare=1),
    Case("transpose", (3, 5), 16),
    Case("transpose", (2, 3), 16, spare=2),
]


def as_elements(array, itemsize):
    """A device matrix on the host, an element per place whatever its type."""
    host = np.ascontiguousarray(array.copy_to_host())
    return host.view(np.uint8).reshape(host.shape[0], -1, itemsize)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_transpose_judged(case):
    """All elements are wrong at first; right after NumPy's transpose; one changed bit is seen."""
    held = matrices(case)
    judge = Judge(case, held)
    rows, cols = case.shape
    inp = as_elements(held.inputs[0], case.itemsize)
    assert inp.shape == (rows, cols, case.itemsize)
    right = np.ascontiguousarray(inp.transpose(1, 0, 2)).reshape(cols, rows * case.itemsize)
    typed = right.view(contenders.dtype(case))
    assert judge.wrong_elements(cuda.to_device(typed)) == 0
    assert judge.wrong_elements(held.out) > 0
    for place in ((0, 0), (cols - 1, rows * case.itemsize - 1)):
        changed = right.copy()
        changed[place] ^= 1
        assert judge.wrong_elements(cuda.to_device(changed.view(typed.dtype))) == 1


def test_numbers_are_spread_out():
    """float32 in [-1, 1), no two rows or columns alike, the mean near 0."""
    (a, b) = (one.copy_to_host() for one in matrices(Case("matmul", (40, 50, 60))).inputs)
    assert (a.shape, b.shape) == ((40, 60), (60, 50))
    for one in (a, b):
        assert one.dtype == np.float32
        assert one.min() >= -1 and one.max() < 1
        assert len(np.unique(one)) > 0.99 * one.size
        assert abs(one.mean()) < 0.05


@pytest.mark.parametrize("wrong", [0.5, np.nan, np.inf])
def test_product_judged(wrong):
    """The error is that of the worst element over the largest; NaN and inf are infinitely wrong."""
    case = Case("matmul", (5, 7, 9), spare=3)
    held = matrices(case)
    a, b = (one.copy_to_host().astype(np.float64) for one in held.inputs)
    true = a @ b
    result = true.astype(np.float32)
    judge = Judge(case, held)
    rounding = abs(result - true).max() / abs(true).max()
    assert judge.error(cuda.to_device(result)) == pytest.approx(rounding, rel=1e-6)
    result[4, 6] = true[4, 6] + wrong
    expected = np.inf if not np.isfinite(wrong) else abs(result - true).max() / abs(true).max()
    assert judge.error(cuda.to_device(result)) == pytest.approx(expected, rel=1e-6)


def test_spoilt_before_each_check():
    """What was right before is wrong after spoiling, result and copy alike."""
    case = Case("transpose", (8, 4))
    held = matrices(case)
    judge = Judge(case, held)
    contenders.launch(case, CHOICE, held.arrays).starter()()
    contenders.copy(*held.copies).starter()()
    assert (judge.wrong_elements(held.out), judge.wrong_copies()) == (0, 0)
    judge.spoil()
    assert judge.wrong_elements(held.out) == 32
    assert judge.wrong_copies() == 4096


@pytest.mark.parametrize("case", [*CASES, Case("matmul", (5, 7, 9), spare=3)], ids=str)
def test_stand_ins_are_typed_as_the_arrays(case):
    """A kernel compiled for stand-ins is the one that the arrays need."""
    stands, real = contenders.stand_ins(case), matrices(case).arrays
    made = [contenders.launch(case, CHOICE, arrays) for arrays in (stands, real)]
    assert made[0].types == made[1].types
    assert made[0].kernel is made[1].kernel
    assert [one.shape for one in stands] == [one.shape for one in real]
    assert [one.strides for one in stands] == [one.strides for one in real]
    assert [one.shape for one in placed(case)] == [one.shape for one in real]


@pytest.mark.parametrize(
    ("case", "said"),
    [
        (Case("transpose", (65536, 65537), 1), "fewer than 4294967296 elements"),
        (Case("matmul", (65536, 128, 65537)), "fewer than 4294967296 elements"),
        (Case("transpose", (65535 * 64 + 1, 100)), "covers 4194240 rows"),
        (Case("transpose", (65535 * 64 + 1, 101)), "covers 4194240 rows"),
    ],
)
def test_out_of_reach(case, said):
    """What 32-bit offsets or a grid cannot reach is refused before anything is allocated."""
    with pytest.raises(SmemnbError, match=said):
        contenders.launch(case, CHOICE, contenders.stand_ins(case))


@pytest.mark.parametrize("shape", [(130, 128, 16), (128, 130, 16), (128, 128, 20)])
def test_whole_tiles_only(shape):
    """A rung without guards is not launched beyond its matrices."""
    case = Case("matmul", shape)
    with pytest.raises(SmemnbError, match="makes whole tiles of 128 x 128, 8 deep|multiples of 4"):
        contenders.launch(case, "matmul_fastest", contenders.stand_ins(case))


def test_shown_with_its_pitch():
    """A library sees rows where they are, in its own type."""
    array = cuda.to_device(np.arange(24, dtype=np.uint64).reshape(3, 8))[:, :6]
    seen = cuda.as_cuda_array(Shown(array, "<c16"))
    assert (seen.shape, seen.strides, seen.dtype) == ((3, 3), (64, 16), np.complex128)
    assert (seen.copy_to_host().view(np.uint64) == array.copy_to_host()).all()


def test_bytes_needed():
    """Two matrices, two to copy between, a library's result: 5 of 1 GiB."""
    assert bytes_needed(Case("transpose", (16384, 16384))) == 5 << 30
    # a and b, out, a library's result, and the product in float64
    assert bytes_needed(Case("matmul", (1024, 1024, 1024))) == (2 + 1 + 1 + 2) << 22
