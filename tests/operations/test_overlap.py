"""Whether matrices share memory: against NumPy's exact answer, byte sets, and by hand."""

import numpy as np
from numpy.lib.stride_tricks import as_strided

from smemnb.operations.backends.numpy_arrays import NUMPY
from smemnb.operations.overlap import overlap, rows_overlap


def matrix(array):
    return NUMPY.view("x", array)


def test_columns_side_by_side():
    """Left and right half of one matrix share rows of memory, but no element."""
    whole = np.zeros((6, 8), np.float32)
    assert overlap(matrix(whole[:, :4]), matrix(whole[:, 4:])) is False
    assert overlap(matrix(whole[:, :5]), matrix(whole[:, 4:])) is True
    assert overlap(matrix(whole[:3]), matrix(whole[3:])) is False
    assert overlap(matrix(whole), matrix(whole[2:3, 3:4])) is True
    assert overlap(matrix(whole[:, :0]), matrix(whole)) is False


def test_empty_inside_another():
    """An empty matrix has no bytes, wherever another library lets its address point."""
    whole = matrix(np.zeros((6, 8), np.float32))
    for empty in (np.zeros((2, 0), np.float32), np.zeros((0, 3), np.float32)):
        inside = matrix(empty)
        inside.address = whole.address + 2 * whole.pitch + 12
        assert (overlap(inside, whole), overlap(whole, inside)) == (False, False)


def test_random_views():
    """2000 pairs of views of one buffer, of other element sizes and pitches, repeated rows too."""
    rng = np.random.default_rng(40)
    answers = []
    for _ in range(2000):
        pair = []
        for _ in range(2):
            itemsize = int(rng.choice([1, 2, 4]))
            rows, cols, pitch = (int(n) for n in rng.integers((1, 1, 0), (6, 6, 40 // itemsize)))
            offset = int(rng.integers(0, 60))
            first = np.ndarray(1, f"V{itemsize}", BUFFER, offset)
            pair.append(as_strided(first, (rows, cols), (pitch * itemsize, itemsize)))
        expected = bool(places(pair[0]) & places(pair[1]))
        assert overlap(*map(matrix, pair)) is expected
        assert overlap(*map(matrix, pair[::-1])) is expected
        answers.append(expected)
    assert 300 < sum(answers) < 1700


BUFFER = np.zeros(400, np.uint8)


def places(array):
    """The bytes of a view, one by one."""
    base = BUFFER.__array_interface__["data"][0]
    begin = array.__array_interface__["data"][0] - base
    return {
        begin + row * array.strides[0] + at
        for row in range(array.shape[0])
        for at in range(array.shape[1] * array.itemsize)
    }


def test_rows_overlap():
    """Rows shorter than what lies between them are apart; one row cannot overlap."""
    x = np.zeros(40, np.float32)
    pitches = [as_strided(x, (4, 3), (pitch, 4)) for pitch in (0, 8, 12, 16)]
    assert [rows_overlap(matrix(one)) for one in pitches] == [True, True, False, False]
    assert rows_overlap(matrix(as_strided(x, (1, 3), (0, 4)))) is False
