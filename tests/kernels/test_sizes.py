"""How large arrays may be: offsets of 32 bits, blocks of a grid."""

from types import SimpleNamespace

import numpy as np
import pytest

from smemnb.kernels.matmul import ladder as products
from smemnb.kernels.rung import last_offset
from smemnb.kernels.transpose import ladder as transposes

SIGNED = {
    "transpose_naive",
    "transpose_gathered",
    "transpose_tiled",
    "transpose_padded",
    "transpose_swizzled",
    "transpose_rows8",
    "transpose_rows4",
    "matmul_scattered",
    "matmul_naive",
    "matmul_tiled",
    "matmul_tiled_32",
    "matmul_column",
    "matmul_square",
    "matmul_8x8",
    "matmul_turned",
    "matmul_turned_padded",
    "matmul_unguarded",
    "matmul_two_blocks",
}
LADDERS = (*transposes.LADDER, transposes.COPY, *products.LADDER)


def shown(rows, cols, pitch=None, dtype=np.float32):
    """What a rung looks at of an array that is not there."""
    size = np.dtype(dtype).itemsize
    strides = ((pitch or cols) * size, size)
    return SimpleNamespace(shape=(rows, cols), strides=strides, dtype=np.dtype(dtype))


@pytest.mark.parametrize("rung", LADDERS, ids=lambda rung: rung.name)
def test_span(rung):
    """Kernels with subscripts reach any element, those with flat offsets 2^32 of them."""
    whole = shown(65_536, 65_536)
    assert last_offset(whole) == 2**32 - 1
    assert rung.reaches(whole)
    for more in (shown(65_537, 65_536), shown(65_536, 1, 65_538)):
        assert last_offset(more) >= 2**32
        assert rung.reaches(more) is (rung.name in SIGNED)
    assert rung.reaches(shown(1, 5, 2**40), shown(0, 2**40))


@pytest.mark.parametrize(
    ("dtype", "moved"),
    [(np.uint8, np.uint8), (np.float64, np.float64), (np.complex128, np.uint64)],
)
def test_span_of_other_elements(dtype, moved):
    """The limit counts the elements that are moved; those of 16 bytes are two of uint64."""
    array = shown(4096, 4096, dtype=dtype)
    rung = transposes.fastest(array, array)
    assert rung.reaches(shown(2**16, 2**16, dtype=moved))
    assert not rung.reaches(shown(2**16 + 1, 2**16, dtype=moved))


def test_span_of_the_choice():
    """The choice of a product says how far its kernel reaches."""
    small, large = np.zeros((8, 8), np.float32), np.zeros((256, 256), np.float32)
    assert products.fastest(small, small, small).rung.span == 2**63
    assert products.fastest(large, large, large, 0).rung.span == 2**32


def test_sums_wrap_around_and_back():
    """What steps past 2^32 on the way, such as depth times a row, ends where it should."""
    rng = np.random.default_rng(1)
    row, pitch, col = (rng.integers(0, 2**32, 1000, np.uint64) for _ in range(3))
    inside = (row * pitch + col) % 2**32
    with np.errstate(over="ignore"):
        narrow = row.astype(np.uint32) * pitch.astype(np.uint32) + col.astype(np.uint32)
    np.testing.assert_array_equal(narrow, inside)


def test_grid():
    """65,535 blocks down: of 32 rows each, 2,097,120 rows; of 64, twice as many."""
    found = {rung.name: rung.largest for rung in transposes.LADDER}
    assert found["transpose_naive"] == (65_535 * 32, (2**31 - 1) * 32)
    assert found["transpose_fastest"] == (4_194_240, (2**31 - 1) * 64)
    (rung,) = (one for one in transposes.LADDER if one.name == "transpose_fastest")
    assert rung.grid(*rung.largest) == (2**31 - 1, 65_535)
    assert rung.grid(rung.largest[0] + 1, 1) == (1, 65_536)


def test_last_offset_is_where_numpy_finds_it():
    """Bytes from the first element's address to the last one's, of views of any kind."""
    host = np.zeros((9, 40), np.float64)
    for view in (host, host[2:7, 3:20], host[:, :1], host[:1], host[::2, 5:6]):
        first, last = view[:1, :1], view[-1:, -1:]
        apart = last.__array_interface__["data"][0] - first.__array_interface__["data"][0]
        assert last_offset(view) * 8 == apart
