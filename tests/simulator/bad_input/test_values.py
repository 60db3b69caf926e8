"""Arguments that Numba does not hand to a GPU."""

import array
import collections
import decimal
import enum
import fractions

import numpy as np
import pytest
from numba import cuda

from smemnb import simulator
from smemnb.errors import LaunchRefused
from smemnb.simulator.signatures import SignatureRefused
from tests.simulator.bad_input.rows import Table, add_one, refused

# ruff: noqa: E501, RUF012
# kernels wrong on purpose are launched here: in the engine, never on a GPU
pytestmark = pytest.mark.skipif(simulator.device() != "lockstep", reason="launches go to a GPU")

ARRAYS, OBJECTS, DECLARED = Table(), Table(), Table()
TAKE = ". Kernels take NumPy arrays, device arrays, numbers and tuples of them: "


class Frame:
    """Like a column of a data frame."""

    def to_numpy(self):
        return np.arange(3)


class Tensor:
    """Like a tensor that is in host memory."""

    def numpy(self):
        return np.arange(3)


class Foreign:
    """Like an array of another library, in the memory of a GPU that is not here."""

    __cuda_array_interface__ = {
        "shape": (3,),
        "typestr": "<f4",
        "data": (4096, False),
        "version": 3,
    }


class Colour(enum.Enum):
    RED = "r"


@cuda.jit("void(float32[:], int32)")
def declared(out, n):
    out[0] = n


@cuda.jit(["void(float32[:], int32)", "void(float64[:], int32)"])
def declared_twice(out, n):
    out[0] = n


@cuda.jit("void(float32[::1], int32)")
def declared_contiguous(out, n):
    out[0] = n


def given(name, value, text):
    """A row for an array as `inp`."""
    ARRAYS.add(name, lambda w: add_one[2, 32](w.dev, value), LaunchRefused, text)


def thing(name, value, text):
    """A row for anything else as `inp`."""
    OBJECTS.add(name, lambda w: add_one[2, 32](w.dev, value), LaunchRefused, text)


def fields(*names):
    """A structured array with these (name, dtype)."""
    return np.zeros(40, list(names))


# fmt: off
OBJECT = "`inp` is an array of Python objects. Give it a number type: inp.astype(np.float32); rows of unequal length make such arrays"
given("objects", np.array([1, "a", None] * 20, object), OBJECT)
given("object in a record", fields(("x", "f4"), ("who", "O")), "`inp` has the field `who` of Python objects. Give each field a number type")
given("float128", np.zeros(40, np.longdouble), "`inp` is float128, which no GPU has. Pass inp.astype(np.float64)")
given("complex256", np.zeros(40, np.clongdouble), "`inp` is complex256, which no GPU has. Pass inp.astype(np.complex128)")
given("float128 in a record", fields(("x", np.longdouble)), "`inp` has the field `x` of float128, which no GPU has. Make it float64")
given("byte order", np.zeros(40, ">f4"), "`inp` has the byte order of another machine (>f4). Pass inp.astype(inp.dtype.newbyteorder('='))")
given("byte order in a record", fields(("x", ">i4")), "`inp` has the byte order of another machine (|V4). Pass inp.astype(inp.dtype.newbyteorder('='))")
given("void", np.zeros(4, "V8"), "`inp` holds raw bytes (|V8). Say what they are: inp.view(np.float64), or another type of 8 bytes")
given("masked array", np.ma.masked_array([1.0, 2.0]), "`inp` is a masked array. Pass inp.filled(0)")
CONTIGUOUS = " bytes (a slice, or a view with other axes). numba.cuda copies contiguous arrays only: pass np.ascontiguousarray(inp), and copy results back yourself; slices of device arrays are fine"
given("every other element", np.zeros(80)[::2], "`inp` is not contiguous: shape (40,), strides (16,)" + CONTIGUOUS)
given("backwards", np.zeros(40)[::-1], "`inp` is not contiguous: shape (40,), strides (-8,)" + CONTIGUOUS)
given("broadcast", np.broadcast_to(np.float32(1), 40), "`inp` is not contiguous: shape (40,), strides (0,)" + CONTIGUOUS)
given("axes exchanged", np.zeros((2, 3, 4)).transpose(1, 0, 2), "`inp` is not contiguous: shape (3, 2, 4), strides (32, 96, 8)" + CONTIGUOUS)
given("of another library", Foreign(), "`inp` is in the memory of a GPU, and this process runs kernels in the lockstep engine. Pass a NumPy array: inp.get() or inp.cpu().numpy()")
given("wrapped", cuda.In([1, 2]), "`inp` is cuda.In of a list. Give it a NumPy array: cuda.In(np.array(...))")
given("wrapped number", cuda.Out(3.5), "`inp` is cuda.Out of a float. Give it a NumPy array: cuda.Out(np.array(...))")
given("wrapped object array", cuda.InOut(np.array([None] * 40)), OBJECT)

thing("list of floats", [1.0, 2.5], "`inp` is a list" + TAKE + "pass np.array(inp, dtype=np.float32)")
thing("list of ints", [[1, 2], [3, 4]], "`inp` is a list" + TAKE + "pass np.array(inp, dtype=np.int32)")
thing("empty list", [], "`inp` is a list" + TAKE + "pass np.array(inp, dtype=np.float32)")
for _kind in (dict, set, frozenset, range, slice):
    thing(_kind.__name__, _kind(3) if _kind in (range, slice) else _kind(), f"`inp` is a {_kind.__name__}" + TAKE + "pass np.array([...]) of its numbers")
thing("None", None, "`inp` is None" + TAKE + "pass an array or a number")
thing("text", "3", "`inp` is a text" + TAKE + "pass a number")
thing("bytes object", b"3", "`inp` is a text" + TAKE + "pass a number")
thing("bytearray", bytearray(3), "`inp` is a bytearray" + TAKE + "pass np.asarray(inp)")
thing("memoryview", memoryview(b"abc"), "`inp` is a memoryview" + TAKE + "pass np.asarray(inp)")
thing("array.array", array.array("f", [1]), "`inp` is an array.array" + TAKE + "pass np.asarray(inp)")
thing("generator", (i for i in range(3)), "`inp` is a generator" + TAKE + "pass np.array(list(inp), dtype=np.float32)")
thing("map", map(abs, [1]), "`inp` is of type map" + TAKE + "pass np.array(list(inp), dtype=np.float32)")
thing("deque", collections.deque([1]), "`inp` is of type deque" + TAKE + "pass np.array(list(inp), dtype=np.float32)")
thing("data frame", Frame(), "`inp` is of type Frame" + TAKE + "pass inp.to_numpy()")
thing("tensor", Tensor(), "`inp` is of type Tensor" + TAKE + "pass inp.numpy()")
thing("instance", object(), "`inp` is of type object" + TAKE + "take the numbers out of it")
thing("class", Frame, "`inp` is the class Frame" + TAKE + "take the numbers out of it")
thing("type", np.float32, "`inp` is the class float32" + TAKE + "take the numbers out of it")
thing("dtype", np.dtype("f4"), "`inp` is of type Float32DType" + TAKE + "take the numbers out of it")
thing("module", np, "`inp` is of type module" + TAKE + "take the numbers out of it")
thing("function", len, "`inp` is of type builtin_function_or_method" + TAKE + "call it first, and pass what it gives")
thing("lambda", lambda x: x, "`inp` is of type function" + TAKE + "call it first, and pass what it gives")
thing("kernel", add_one, "`inp` is of type CUDADispatcher" + TAKE + "call it first, and pass what it gives")
thing("Decimal", decimal.Decimal("1.5"), "`inp` is of type Decimal" + TAKE + "pass float(inp)")
thing("Fraction", fractions.Fraction(1, 3), "`inp` is of type Fraction" + TAKE + "pass float(inp)")
thing("too large", 2**64, "`inp` is 18446744073709551616, which does not fit into 64 bits")
thing("too small", -(2**63) - 1, "`inp` is -9223372036854775809, which does not fit into 64 bits")
thing("float128 number", np.longdouble(1), "`inp` is float128, which no GPU has. Pass float(inp)")
thing("complex256 number", np.clongdouble(1), "`inp` is complex256, which no GPU has. Pass complex(inp)")
thing("member of an enum", Colour.RED, "`inp` is a member of an enum that stands for no number: <Colour.RED: 'r'>")
thing("list in a tuple", (1, [2]), "`inp[1]` is a list" + TAKE + "pass np.array(inp[1], dtype=np.int32)")
thing("None in a tuple of tuples", ((1, 2), (3, None)), "`inp[1][1]` is None" + TAKE + "pass an array or a number")

LAYOUT = "No matching definition for argument type(s) {}: {} was declared for {}. "
for _name, _call, _types, _kernel, _declared, _misfit in (
    ("dtype", lambda w: declared[1, 1](np.zeros(2), 3), "array(float64, 1d, C), int64", "declared", "(array(float32, 1d, A), int32)", "`out` holds float64, declared is float32: pass out.astype(np.float32)"),
    ("axes", lambda w: declared[1, 1](np.zeros((2, 2), np.float32), 3), "array(float32, 2d, C), int64", "declared", "(array(float32, 1d, A), int32)", "`out` has 2 axes, declared is 1"),
    ("number for an array", lambda w: declared[1, 1](2.5, 3), "float64, int64", "declared", "(array(float32, 1d, A), int32)", "`out` is float64, declared is array(float32, 1d, A)"),
    ("array for a number", lambda w: declared[1, 1](w.dev, w.inp), "array(float32, 1d, C), array(float32, 1d, C)", "declared", "(array(float32, 1d, A), int32)", "`n` is array(float32, 1d, C), declared is int32"),
    ("complex for an integer", lambda w: declared[1, 1](w.dev, 1j), "array(float32, 1d, C), complex128", "declared", "(array(float32, 1d, A), int32)", "`n` is complex128, declared is int32"),
    ("none of several", lambda w: declared_twice[1, 1](np.zeros(2, np.int32), 3), "array(int32, 1d, C), int64", "declared_twice", "(array(float32, 1d, A), int32) or (array(float64, 1d, A), int32)", "`out` holds int32, declared is float32 or float64: pass out.astype(np.float32)"),
    ("layout", lambda w: declared_contiguous[1, 1](w.dev[::2], 3), "array(float32, 1d, A), int64", "declared_contiguous", "(array(float32, 1d, C), int32)", "`out` is array(float32, 1d, A), declared is array(float32, 1d, C): layout and writeability must fit"),
):
    DECLARED.add(_name, _call, SignatureRefused, LAYOUT.format(_types, _kernel, _declared) + _misfit)
DECLARED.add("too few", lambda w: declared[1, 1](w.dev), LaunchRefused, "declared(out, n) takes 2 arguments and got 1; missing: n")
# fmt: on


@ARRAYS.each()
def test_arrays(row, monkeypatch):
    """Arrays of types and layouts that Numba does not copy to a GPU."""
    refused(row, monkeypatch)


@OBJECTS.each()
def test_objects(row, monkeypatch):
    """Things that are neither array nor number."""
    refused(row, monkeypatch)


@DECLARED.each()
def test_declared(row, monkeypatch):
    """Arguments that fit none of the signatures of an eager kernel."""
    refused(row, monkeypatch)


def test_what_is_taken():
    """The other side: a matrix, a record array, a read-only input, nothing at all, -0.0."""

    @cuda.jit
    def total(out, matrix, records, fixed, nothing, zero):
        out[0] = matrix[1, 0] + records[1].x + fixed[1] + nothing.shape[0] + 1 / zero

    fixed, records = np.arange(3.0), np.rec.array([(1,), (20,)], dtype=[("x", "i4")])
    fixed.flags.writeable = False
    out = np.zeros(1)
    total[1, 1](out, np.matrix([[1, 2], [300, 4]]), records, fixed, np.zeros((0, 3)), 0.5)
    assert out.tolist() == [300 + 20 + 1 + 0 + 2]


@pytest.mark.parametrize("wrap", [cuda.Out, cuda.InOut, cuda.In])
def test_device_memory_is_wrapped(wrap):
    """Device memory in a wrapper is written in place, as on a GPU: nothing of it gets lost."""
    dev = cuda.to_device(np.arange(3, dtype=np.float32))
    add_one[1, 32](wrap(dev), np.array([5, 6, 7], np.float32))
    assert dev.copy_to_host().tolist() == [6, 7, 8]
