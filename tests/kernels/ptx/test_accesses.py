"""Accesses by flat offset: the same values as a subscript, counted by their width, checked."""

import numpy as np
import pytest
from numba import complex128, cuda, float32, uint32

from smemnb.errors import KernelStopped
from smemnb.kernels.ptx import (
    load1,
    load4,
    load16,
    misalignment,
    permuted,
    store1,
    store4,
    store16,
)
from smemnb.tracing import trace

SIZE = 128
QUADS = 32


@cuda.jit
def copied(out, inp):
    chunk = 16 // inp.itemsize
    at = uint32(cuda.grid(1) * chunk)
    store16(out, at, load16(inp, at))


@cuda.jit
def shifted(out, inp, by):
    at = uint32(cuda.grid(1))
    store1(out, at, load1(inp, uint32(at + by)))


@cuda.jit
def turned_round(out, inp):
    tile = cuda.shared.array(SIZE, float32, alignment=16)
    tx = uint32(cuda.threadIdx.x)
    store16(tile, uint32(tx * 4), load16(inp, uint32(tx * 4)))
    cuda.syncthreads()
    x, y, z, w = load16(tile, uint32((31 - tx) * 4))
    store16(out, uint32(tx * 4), (w, z, y, x))


@cuda.jit
def through_a_view(out, inp):
    tile = cuda.shared.array(QUADS, complex128).view(float32)
    tx = uint32(cuda.threadIdx.x)
    store16(tile, uint32(tx * 4), load16(inp, uint32(tx * 4)))
    cuda.syncthreads()
    store1(out, tx, load1(tile, uint32(127 - tx)))


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.float32, np.int32, np.float64])
def test_copy_of_any_element(dtype):
    """16 bytes are 16, 8, 4 or 2 elements; a warp's request moves 16 sectors each way."""
    inp = np.random.default_rng(1).integers(0, 99, 512 // np.dtype(dtype).itemsize).astype(dtype)
    out = np.zeros_like(inp)
    found = trace(copied)[1, 32](out, inp)
    np.testing.assert_array_equal(out, inp)
    assert [(row.kind, row.requests, row.sectors) for row in found.lines] == [
        ("store", 1, 16),
        ("load", 1, 16),
    ]


def test_shared_counts():
    """In a row, 16 bytes per lane take 4 wavefronts, of which none is extra."""
    inp, out = np.arange(128, dtype=np.float32), np.zeros(128, np.float32)
    found = trace(turned_round)[1, 32](out, inp)
    np.testing.assert_array_equal(out, inp[::-1])
    shared = [row for row in found.lines if row.space == "shared"]
    assert [(row.kind, row.requests, row.wavefronts) for row in shared] == [
        ("store", 1, 4),
        ("load", 1, 4),
    ]
    assert found.findings == ()


def test_view_of_wider_elements():
    """Offsets count elements of the view, whatever its memory was declared as."""
    inp, out = np.arange(128, dtype=np.float32), np.zeros(32, np.float32)
    found = trace(through_a_view)[1, 32](out, inp)
    np.testing.assert_array_equal(out, inp[:95:-1])
    shared = [row for row in found.lines if row.space == "shared"]
    assert [(row.width, row.wavefronts, row.extra) for row in shared] == [(16, 4, 0), (4, 1, 0)]
    assert found.findings == ()


def test_offsets_follow_strides():
    """An offset counts in memory, so rows apart are reached by their stride."""
    whole = np.arange(8 * 36, dtype=np.float32).reshape(8, 36)
    inp = cuda.to_device(whole)[:, :32]
    out = np.zeros(32, np.float32)
    shifted[1, 32](out, inp, 3 * 36)
    np.testing.assert_array_equal(out, whole[3, :32])


def test_gap_between_rows_is_outside():
    """What lies between two rows is in no array: 4 of these 32 lanes are reported."""
    inp = cuda.to_device(np.ones((8, 36), np.float32))[:, :32]
    out = np.zeros(32, np.float32)
    (one,) = trace(shifted)[1, 32](out, inp, 4).findings
    assert one.kind == "out_of_range"
    assert list(out[28:]) == [0, 0, 0, 0]
    assert out[:28].sum() == 28


def test_beyond_the_end():
    """16 bytes of which the last 4 lie past the end are not loaded, and that is a finding."""
    inp, out = np.ones(127, np.float32), np.zeros(128, np.float32)
    found = trace(copied)[1, 32](out, inp).findings
    assert [one.kind for one in found] == ["out_of_range"]
    assert (out.sum(), out[124:].sum()) == (124, 0)


def test_misaligned_address_is_refused():
    """An address that is no multiple of 16 stops a GPU, and the engine."""
    inp = cuda.to_device(np.ones((8, 36), np.float32))[:, 1:33]
    out = np.zeros(32 * 8, np.float32)
    with pytest.raises(KernelStopped, match="moves 16 bytes at an address"):
        copied[1, 8](out, inp)


@cuda.jit
def one_off(out, inp):
    """Lane i begins at element i, as if offsets counted records."""
    store16(out, cuda.threadIdx.x * 4, load16(inp, cuda.threadIdx.x))


def test_misaligned_offset_is_named():
    """The first lane that is off: lane 1, at element 1."""
    with pytest.raises(KernelStopped, match="4 to a move; here it is 1. Offsets, and"):
        one_off[1, 8](np.zeros(32, np.float32), np.ones(32, np.float32))


@cuda.jit
def one_value(out, inp):
    """A number where a tuple of four is wanted."""
    store16(out, cuda.threadIdx.x * 4, inp[cuda.threadIdx.x])


def test_a_number_is_no_tuple():
    """It is refused with its line, and nothing is stored."""
    out = np.zeros(32, np.float32)
    with pytest.raises(KernelStopped, match="pass a tuple of 4 values"):
        one_value[1, 8](out, np.ones(32, np.float32))
    assert not out.any()


def test_scattered_elements_are_refused():
    """Every other column: elements that are no neighbours."""
    inp = cuda.to_device(np.ones((4, 64), np.float32))[:, ::2]
    with pytest.raises(KernelStopped, match="rows of neighbouring elements"):
        copied[1, 32](np.zeros(128, np.float32), inp)


@cuda.jit
def first_column(out, inp):
    i = cuda.threadIdx.x
    store1(out, i, load1(inp, uint32(i * 3)))


def test_rows_of_one_element_have_no_neighbours():
    """A column of a wider array: whatever stride it has along its rows."""
    host = np.arange(96, dtype=np.float32).reshape(32, 3)
    out = np.zeros(32, np.float32)
    first_column[1, 32](out, cuda.to_device(host)[:, 1:2])
    np.testing.assert_array_equal(out, host[:, 1])


@cuda.jit
def words_apart(out, inp, selector, beyond):
    at = uint32(cuda.grid(1))
    each = uint32(4 // inp.itemsize)
    low, high = load4(inp, uint32(at * each)), load4(inp, uint32((at + 1) * each))
    store4(out, uint32(at * each), permuted(low, high, selector))
    beyond[0] = misalignment(inp)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint32])
@pytest.mark.parametrize(("selector", "begin"), [(0x6543, 3), (0x3210, 0), (0x7654, 4)])
def test_words_of_any_element(dtype, selector, begin):
    """Words hold 4, 2 or 1 elements, the first one lowest; of two, 4 bytes that follow are picked.

    A request of 32 lanes touches 4 sectors, and 5 where it begins a word beside one.
    """
    raw = np.random.default_rng(2).integers(0, 256, 132, np.uint8)
    out, beyond = np.zeros(128, np.uint8), np.zeros(1, np.uint32)
    found = trace(words_apart)[1, 32](out.view(dtype), raw.view(dtype), uint32(selector), beyond)
    assert out.tobytes() == raw[begin : begin + 128].tobytes()
    wide = [(row.kind, row.requests, row.sectors) for row in found.lines if row.requests == 1]
    assert sorted(wide)[-1] == ("store", 1, 4)


def test_misalignment():
    """Elements from a multiple of 16 bytes to the first element, of views too."""
    inp = cuda.to_device(np.zeros(200, np.uint16))[13:]
    beyond = np.zeros(1, np.uint32)
    words_apart[1, 1](np.zeros(8, np.uint16), inp[1:], uint32(0x3210), beyond)
    assert beyond[0] == (13 + 1) % 8


def test_misaligned_word_is_refused():
    """A word at 2 bytes beside a multiple of 4 stops a GPU, and the engine."""
    inp = cuda.to_device(np.zeros(200, np.uint8))[2:]
    with pytest.raises(KernelStopped, match="moves 4 bytes at an address"):
        words_apart[1, 8](np.zeros(32, np.uint8), inp, uint32(0x3210), np.zeros(1, np.uint32))
