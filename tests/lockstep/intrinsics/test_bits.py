"""Bits, fused multiply-add, selection, cube roots: values by plain Python, types by inference."""

import math
from fractions import Fraction

import numpy as np
import pytest
from numba import cuda, float32, int32

from tests.lockstep.intrinsics.typed import call, dtypes_of, inferred, run

INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
NUMBERS = (*INTEGERS, "float32", "float64")


def patterns(dtype):
    """Bit patterns of a type, with its ends."""
    info = np.iinfo(dtype)
    return [0, 1, 2, 12, 100, info.max, info.max - 5, info.min, info.min // 2]


def bits_of(value, width):
    return value % (1 << width)


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("popc", lambda v, width: bits_of(v, width).bit_count()),
        ("clz", lambda v, width: width - bits_of(v, width).bit_length()),
        ("ffs", lambda v, width: (v & -v).bit_length()),
    ],
)
def test_bits(name, dtype, expected):
    """Counts of bits for every width, of lanes and of single numbers."""
    width, values = np.dtype(dtype).itemsize * 8, patterns(dtype)
    found = call(name, np.array(values, dtype))
    wanted = [expected(v, width) for v in values]
    assert found.tolist() == wanted
    assert [int(call(name, np.dtype(dtype).type(v))) for v in values] == wanted
    assert dtypes_of(found) == inferred(cuda, name, dtype)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_reversed_bits(dtype):
    """brev turns 32 bits around, or 64 of a uint64; narrower numbers are widened first."""
    found = call("brev", np.array(patterns(dtype), dtype))
    (result,) = inferred(cuda, "brev", dtype)
    width = result.itemsize * 8
    wanted = [int(f"{bits_of(v, width):0{width}b}"[::-1], 2) for v in patterns(dtype)]
    assert (found.dtype, found.tolist()) == (result, wanted)


@pytest.mark.parametrize("a", ["int8", "int32", "uint8", "float32", "float64"])
@pytest.mark.parametrize("b", ["int16", "uint64", "float32", "float64"])
def test_fma_types(a, b):
    """The float that holds all three operands, as Numba chooses it."""
    found = call("fma", *(np.ones(1, d) for d in (a, b, "float32")))
    assert dtypes_of(found) == inferred(cuda, "fma", a, b, "float32")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_fma_rounds_once(dtype):
    """The rest of a product that its rounded value loses, and products that only then overflow."""
    x = np.random.default_rng(1).normal(size=100).astype(dtype)
    y = np.random.default_rng(2).normal(size=100).astype(dtype)
    rest = call("fma", x, y, -(x * y))
    exact = [
        Fraction(float(a)) * Fraction(float(b)) - Fraction(float(a * b))
        for a, b in zip(x, y, strict=True)
    ]
    assert [Fraction(float(r)) for r in rest] == exact
    huge = np.dtype(dtype).type(np.finfo(dtype).max)
    assert call("fma", huge, huge.dtype.type(2), -huge) == huge
    assert math.isnan(call("fma", huge, huge.dtype.type(math.inf), -huge.dtype.type(math.inf)))


@pytest.mark.parametrize("dtype", NUMBERS)
def test_selp_and_cbrt_types(dtype):
    """selp keeps the type that Numba has it for; cbrt gives a float."""
    two = np.array([3, 5], dtype)
    picked = call("selp", np.array([True, False]), two, two + two.dtype.type(1))
    if inferred(cuda, "selp", "bool", dtype, dtype) is not None:
        assert dtypes_of(picked) == inferred(cuda, "selp", "bool", dtype, dtype)
    assert picked.tolist() == [3, 6]
    root = call("cbrt", np.array([27, 64], dtype))
    assert dtypes_of(root) == inferred(cuda, "cbrt", dtype)
    assert root.tolist() == [3.0, 4.0]


def coordinates(out):
    x, y = cuda.grid(2)
    if x < out.shape[0] and y < out.shape[1]:
        out[x, y, 0] = cuda.laneid
        out[x, y, 1] = cuda.warpsize
        out[x, y, 2] = cuda.gridsize(2)[1]
        out[x, y, 3] = cuda.gridsize(1)
        out[x, y, 4] = x
        out[x, y, 5] = cuda.grid(3)[2]


def test_coordinates():
    """Lanes are numbered along x first; sizes are those of the whole grid."""
    out = np.zeros((12, 10, 6), np.int64)
    run(coordinates, out, grid=(2, 2), block=(6, 5))
    x, y = np.indices((12, 10))
    expected = [(x % 6 + 6 * (y % 5)) % 32, 32 + 0 * x, 10 + 0 * x, 12 + 0 * x, x, 0 * x]
    assert out.tolist() == np.stack(expected, -1).tolist()


def pauses(out):
    cuda.nanosleep(100)
    cuda.threadfence()
    cuda.threadfence_block()
    cuda.threadfence_system()
    out[cuda.threadIdx.x] += 5


def counted(out):
    out[cuda.threadIdx.x] = (7).bit_count() + int32(-1).bit_count()


def test_pauses_and_fences():
    """They change no value."""
    out = np.arange(32, dtype=np.int32)
    run(pauses, out)
    assert out.tolist() == list(range(5, 37))


@pytest.mark.skipif(cuda.implementation == "Built-in", reason="this numba.cuda has no bit_count")
def test_bit_count():
    """Integers count their own bits."""
    out = np.zeros(32, np.int32)
    run(counted, out)
    assert out.tolist() == [35] * 32


def meets(out, total):
    grid = cuda.cg.this_grid()
    i = cuda.grid(1)
    cuda.atomic.add(total, 0, 1)
    grid.sync()
    out[i] = total[0]
    cuda.cg.this_grid().sync()
    if i == 0:
        total[0] = -1


def test_all_blocks_meet():
    """After grid.sync() every block sees what all of them did before it."""
    out, total = np.zeros(96, np.int32), np.zeros(1, np.int32)
    run(meets, out, total, grid=3)
    assert (out.tolist(), total.tolist()) == ([96] * 96, [-1])


TABLE = np.array([[3, 1], [4, 1]], np.int16)
SHAPE, KIND = (2, 32), np.float32


def arrays(out, data):
    i = cuda.threadIdx.x
    table = cuda.const.array_like(TABLE)
    tile = cuda.shared.array(SHAPE, KIND)
    row = cuda.shared.array(32, dtype=float32)
    mine = cuda.local.array((2, 2), "int64")
    tile[1, i] = data[i]
    row[31 - i] = data[i]
    mine[1, 1] = table[i % 2, 0]
    cuda.syncthreads()
    out[0, i] = tile[1, 31 - i]
    out[1, i] = row[i]
    out[2, i] = mine[1, 1] + table[-1, -1]


def test_arrays_of_every_form():
    """Shapes and dtypes from globals, keywords and alignment; constant arrays."""
    data, out = np.arange(32, dtype=np.float32), np.zeros((3, 32))
    run(arrays, out, data)
    assert out[0].tolist() == out[1].tolist() == data[::-1].tolist()
    assert out[2].tolist() == [4, 5] * 16
