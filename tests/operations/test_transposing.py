"""`transpose`: values over random and awkward shapes, dtypes, strides and rungs; no races."""

import numpy as np
import pytest
from numba import cuda
from numpy.lib.stride_tricks import as_strided

from smemnb.kernels.rung import Rung
from smemnb.kernels.transpose import ladder, transpose_padded
from smemnb.operations import transpose
from smemnb.operations.choice import new_layout
from smemnb.operations.transpose_choice import transpose_plan
from smemnb.tracing import trace

WORDS = {1: "u1", 2: "u2", 4: "f4", 8: "u8", 16: "u8"}


def scattered(rng, rows, cols, dtype):
    """A matrix of random bits."""
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return rng.integers(0, 2, (rows, cols)).astype(bool)
    raw = rng.integers(0, 256, (rows, cols * dtype.itemsize), np.uint8)
    return raw.view(dtype) if cols else np.empty((rows, 0), dtype)


def assert_turned(result, x):
    """`result` has the bits of x.T, its dtype, and contiguous rows."""
    assert result.dtype == x.dtype and result.flags.c_contiguous
    assert (result.shape, result.tobytes()) == (x.shape[::-1], x.T.tobytes())


@pytest.mark.exhaustive
def test_random_shapes():
    """200 shapes of all element sizes, with and without `out`, rows apart or not."""
    rng = np.random.default_rng(20)
    for number in range(200):
        rows, cols, gap = rng.integers(0, (90, 90, 4))
        size = (1, 2, 4, 8, 16)[number % 5]
        x = scattered(rng, rows, cols + gap, f"V{size}")[:, :cols]
        out = None
        if number % 3 == 0:
            out = scattered(rng, cols, rows + gap, f"V{size}")
            around = out[:, rows:].tobytes()
            assert transpose(x, out=(part := out[:, :rows])) is part
            assert out[:, rows:].tobytes() == around
            assert part.tobytes() == x.T.tobytes()
        else:
            assert_turned(transpose(x), x)


@pytest.mark.exhaustive
def test_more_random_shapes():
    """400 shapes, up to 300 rows and columns, in device arrays with gaps."""
    rng = np.random.default_rng(21)
    for number in range(400):
        rows, cols, gap = rng.integers(1, (300, 300, 9))
        size = (1, 2, 4, 8)[number % 4]
        host = scattered(rng, rows, cols + gap, WORDS[size])
        x = cuda.to_device(host)[:, :cols]
        assert_turned(transpose(x).copy_to_host(), host[:, :cols])


@pytest.mark.first(2)
@pytest.mark.parametrize(
    "shape", [(0, 0), (0, 7), (7, 0), (1, 1), (1, 97), (97, 1), (31, 37), (64, 128), (129, 65)]
)
@pytest.mark.parametrize("dtype", ["u1", "f4"])
def test_awkward_shapes(shape, dtype):
    """None, one, primes, whole tiles and one more; on the host and as a device array."""
    x = scattered(np.random.default_rng(22), *shape, dtype)
    assert_turned(transpose(x), x)
    result = transpose(cuda.to_device(x))
    assert isinstance(result, cuda.devicearray.DeviceNDArray)
    assert_turned(result.copy_to_host(), x)


@pytest.mark.first(2)
@pytest.mark.parametrize(
    "dtype",
    "bool i1 u2 f2 i4 u4 f4 c8 f8 i8 c16 M8[s] m8[ns] >f4 >i8 U1 U4 S2 V8 i2,i2 f4,i4".split(),
)
def test_dtypes(dtype):
    """Any dtype of 1, 2, 4, 8 or 16 bytes: bits move untouched, the dtype stays."""
    x = scattered(np.random.default_rng(23), 35, 18, dtype)
    assert_turned(transpose(x), x)


@pytest.mark.first(2)
@pytest.mark.parametrize("dtype", ["i1", "f2", "i4", "c8", "c16", "M8[s]"])
def test_device_dtypes(dtype):
    """The same of device arrays; the argument is as it was."""
    x = scattered(np.random.default_rng(24), 35, 18, dtype)
    on_device = cuda.to_device(x)
    assert_turned(transpose(on_device).copy_to_host(), x)
    assert on_device.copy_to_host().tobytes() == x.tobytes()


def test_signalling_bits():
    """Signalling NaNs keep their bits: 0x7f800001 is no 0x7fc00001."""
    x = np.array([[0x7F800001, 0xFF812345, 0x7F800000]], np.uint32).view(np.float32)
    assert transpose(x).view(np.uint32).tolist() == [[0x7F800001], [0xFF812345], [0x7F800000]]


@pytest.mark.exhaustive
def test_rows_that_repeat_or_overlap():
    """Inputs may be broadcast, or windows that overlap; 1-row and 1-column views of anything."""
    line = np.arange(9, dtype=np.int32)
    repeated, windows = np.broadcast_to(line, (5, 9)), as_strided(line, (5, 5), (4, 4))
    columns = np.arange(12, dtype=np.int16).reshape(3, 4)[::-1, ::-1][:1, 1:2]
    for x in (repeated, windows, columns):
        assert_turned(transpose(x), x)
    narrow = cuda.to_device(np.arange(12, dtype=np.float32).reshape(3, 4))[:, 2:3]
    assert transpose(narrow).copy_to_host().tolist() == [[2, 6, 10]]
    sparse = cuda.to_device(np.arange(12, dtype=np.float32).reshape(3, 4))[:, ::2][:, 1:]
    assert sparse.strides == (16, 8)
    assert transpose(sparse).copy_to_host().tolist() == [[2, 6, 10]]


@pytest.mark.exhaustive
def test_rows_that_lie_apart():
    """Device arrays in wider matrices: their gaps are neither read nor written."""
    rng = np.random.default_rng(29)
    x, out = scattered(rng, 20, 35, "f4"), scattered(rng, 33, 22, "f4")
    whole = cuda.to_device(out)
    transpose(cuda.to_device(x)[:, :33], out=whole[:, 2:])
    out[:, 2:] = x[:, :33].T
    assert whole.copy_to_host().tobytes() == out.tobytes()


def test_nothing_behind_the_last_element():
    """Memory may end with the last element, where lanes that have nothing to do still stand."""
    memory = np.arange(63 * 160 + 149, dtype=np.uint16)
    x = cuda.as_cuda_array(Window(cuda.to_device(memory), (64, 149), (320, 2)))
    expected = as_strided(memory, (64, 149), (320, 2))
    assert_turned(transpose(x, rung="transpose_fastest").copy_to_host(), expected)


class Window:
    """A matrix in the memory of a device array."""

    def __init__(self, array, shape, strides):
        self.array = array
        said = array.__cuda_array_interface__
        self.__cuda_array_interface__ = said | {"shape": shape, "strides": strides}


def test_read_only_input():
    """What is only read may be read-only."""
    x = np.arange(6.0).reshape(2, 3)
    x.flags.writeable = False
    assert_turned(transpose(x), x)


@pytest.mark.parametrize("rung", ladder.LADDER, ids=lambda rung: rung.name)
def test_rungs(rung):
    """Each rung by its name and by itself, on any dtype of 4 bytes."""
    x = scattered(np.random.default_rng(25), 36, 72, np.int32)
    assert_turned(transpose(x, rung=rung.name), x)
    assert_turned(transpose(x, rung=rung), x)


def test_rungs_of_other_sizes():
    """`transpose_turned` is made for other sizes as well, also where the rows are aligned."""
    x = scattered(np.random.default_rng(26), 32, 64, np.float64)
    assert_turned(transpose(x, rung="transpose_turned"), x)


def test_own_rung():
    """A rung of one's own runs: here the padded kernel in place of the fastest."""
    own = Rung(transpose_padded, "mine", (32, 32), (32, 32))
    x = scattered(np.random.default_rng(27), 33, 65, np.float32)
    assert_turned(transpose(x, rung=own), x)


@pytest.mark.exhaustive
@pytest.mark.slow
def test_more_rows_than_a_grid_covers():
    """65535 tiles of 32 rows and one row more: two launches, of the rows on either side."""
    rows = 65535 * 32 + 1
    x = np.arange(rows, dtype=np.int32).reshape(rows, 1)
    assert_turned(transpose(x, rung="transpose_padded"), x)


@pytest.mark.first(3)
@pytest.mark.parametrize("itemsize", WORDS)
@pytest.mark.parametrize("shape", [(131, 66), (64, 129), (1, 33)])
def test_no_races(shape, itemsize):
    """The kernels that are chosen run clean of findings over ragged shapes."""
    rows, cols = shape
    x = scattered(np.random.default_rng(28), rows, cols, f"V{itemsize}").view(WORDS[itemsize])
    out = np.zeros((cols, rows * x.shape[1] // cols), x.dtype)
    laid = new_layout(cols, rows, itemsize), new_layout(rows, cols, itemsize)
    plan = transpose_plan(None, itemsize, *laid)
    found = trace(plan.kernel)[plan.grid, plan.block](out, x).findings
    assert {one.kind for one in found} <= {"unused_barrier", "misaligned", "unused_shared"}
    assert out.tobytes() == x.view(f"V{itemsize}").T.tobytes()
