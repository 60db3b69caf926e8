"""What the operations refuse, in whole sentences; `out` stays as it was, bit by bit."""

from types import SimpleNamespace

import numpy as np
import pytest
from numba import cuda
from numpy.lib.stride_tricks import as_strided

from smemnb.errors import LaunchRefused
from smemnb.operations import matmul, transpose
from smemnb.operations.backends.cupy_arrays import CupyArrays
from smemnb.operations.backends.find import matrix_view
from smemnb.operations.backends.jax_arrays import JaxArrays
from smemnb.operations.backends.matrix_view import HOST, MatrixView
from smemnb.operations.backends.numba_arrays import NumbaArrays
from smemnb.operations.backends.numpy_arrays import NUMPY, NumpyArrays
from smemnb.operations.backends.protocols import DlpackArrays, InterfaceArrays
from smemnb.operations.backends.torch_tensors import TorchTensors
from smemnb.operations.contract import cast_to, check_aligned
from tests.facts import facts

X = np.arange(12, dtype=np.float32).reshape(3, 4)
A, B = np.ones((3, 4), np.float32), np.ones((4, 5), np.float32)
TAKEN = (
    "arrays of NumPy, Numba, CuPy, PyTorch and JAX are taken, and any with"
    " __cuda_array_interface__ or __dlpack__"
)
CONTIGUOUS = "Pass np.ascontiguousarray(x)"
ON_DEVICE = "Pass cuda.to_device(np.ascontiguousarray(x.copy_to_host()))"
NEIGHBOURS = "elements of a row must be neighbours, 4 bytes apart"
BACKWARDS = "a negative one walks backwards (a slice with step -1)"
OUT_ROWS = "Leave `out` out and copy the result, or pass an array with contiguous rows"
SHARED = "Leave `out` out, or pass an array of its own memory"
MOST = (
    "The kernels address at most 2**31 = 2147483648 elements, gaps between rows counted: pass the"
    " matrix in parts"
)


def refusal(operation, *args, **named):
    """The text of a refusal."""
    with pytest.raises(LaunchRefused) as found:
        operation(*args, **named)
    return str(found.value)


NO_ARRAYS = {
    "list": ([[1, 2]], "a list", "np.array(x, dtype=np.float32)"),
    "tuple": (((1, 2),), "a tuple", "np.array(x, dtype=np.float32)"),
    "None": (None, "None", "an array"),
    "float": (3.0, "a float", "an array"),
    "int": (3, "an int", "an array"),
    "scalar": (np.float32(3), "a float32", "an array"),
    "text": ("ab", "a str", "an array"),
    "class": (np.ndarray, "the class ndarray", "an array"),
}


@pytest.mark.parametrize(
    ("dtype", "taken", "cast"),
    [
        ("float16", "float64 float32", "float32"),
        (">f8", "float32 float64", "float64"),
        ("longdouble", "float32 float64", "float64"),
        ("float64", "bool int8 int64", "int64"),
        ("uint8", "float32 float64 int32 int64", "int32"),
        ("uint64", "float32 float64 int32 int64", "int64"),
        ("int64", "float32 float64", "float32"),
        ("bool", "int8 int64", "int64"),
        ("datetime64[s]", "int8 uint8", "int8"),
    ],
)
def test_cast_to(dtype, taken, cast):
    """The cure is a dtype that is taken: the same, one that holds all, the widest of its kind."""
    assert cast_to(np.dtype(dtype), taken.split()) == cast


@pytest.mark.parametrize(
    ("library", "cast"),
    [
        (NumpyArrays, "x.astype(np.int64)"),
        (NumbaArrays, "cuda.to_device(x.copy_to_host().astype(np.int64))"),
        (CupyArrays, "x.astype(cupy.int64)"),
        (TorchTensors, "x.to(torch.int64)"),
        (JaxArrays, "x.astype(jax.numpy.int64)"),
        (InterfaceArrays, "a copy of x in int64"),
        (DlpackArrays, "a copy of x in int64"),
    ],
)
def test_cast_of_each_library(library, cast):
    """The copy is written as the library of the array writes it."""
    assert library.cast.format(name="x", dtype="int64") == cast


def test_cast_of_no_number_of_numpy():
    """One that NumPy does not have, as bfloat16."""
    assert cast_to(None, ["float64", "float32"]) == "float32"


@pytest.mark.parametrize("what", NO_ARRAYS)
def test_no_arrays(what):
    """What is no array is named, with its cure, and is a TypeError too."""
    value, words, cure = NO_ARRAYS[what]
    said = f"`x` is {words}, no array. Pass {cure}; {TAKEN}"
    assert refusal(transpose, value) == said
    assert refusal(matmul, value, B) == said.replace("x", "a", 1).replace("(x,", "(a,")
    with pytest.raises(TypeError):
        transpose(X, out=value) if value is not None else transpose(value)


def test_no_out():
    """What is no array has no memory for a result, and a copy of it would not be the caller's."""
    said = f"`out` is a list, no array. Pass one made for the result, or none; {TAKEN}"
    assert refusal(transpose, X, out=[[1, 2]]) == said


def fields():
    """A column of a structured array: 12 bytes from element to element."""
    return np.zeros(4, [("a", np.float64), ("b", np.int32)])["a"].reshape(2, 2)


INPUTS = {
    "one dimension": (
        lambda: X[0],
        "`x` has 1 dimension, shape (4,); a matrix has 2. Pass x.reshape(1, -1) for a row or"
        " x.reshape(-1, 1) for a column",
    ),
    "none": (
        lambda: np.array(1.0),
        "`x` has 0 dimensions, shape (); a matrix has 2. It is a single number",
    ),
    "20 bytes": (
        lambda: np.zeros((2, 2), "f4,f8,f8"),
        "`x` is [('f0', '<f4'), ('f1', '<f8'), ('f2', '<f8')], of 20 bytes per element; the kernels"
        " move elements of 1 to 16 bytes. Transpose its fields, or another dtype",
    ),
    "three, every second": (
        lambda: X.reshape(3, 2, 2).repeat(4, 2)[:, :, ::4],
        f"`x` has shape (3, 2, 2) and strides (64, 32, 16) bytes: along no axis are elements"
        f" neighbours, 4 bytes apart. {CONTIGUOUS}",
    ),
    "objects": (
        lambda: X.astype(object),
        "`x` is an array of Python objects. Give it a number type: x.astype(np.float32)",
    ),
    "mask": (lambda: np.ma.array(X), "`x` is a masked array. Pass x.filled(0)"),
    "backwards rows": (
        lambda: X[::-1],
        f"`x` has shape (3, 4) and strides (-16, 4) bytes: {BACKWARDS}. {CONTIGUOUS}",
    ),
    "backwards columns": (
        lambda: X[:, ::-1],
        f"`x` has shape (3, 4) and strides (16, -4) bytes: {BACKWARDS}. {CONTIGUOUS}",
    ),
    "every second": (
        lambda: X[:, ::2],
        f"`x` has shape (3, 2) and strides (16, 8) bytes: {NEIGHBOURS}. {CONTIGUOUS}",
    ),
    "field": (
        fields,
        "`x` has shape (2, 2) and strides (24, 12) bytes: elements of a row must be neighbours,"
        f" 8 bytes apart. {CONTIGUOUS}",
    ),
    "device, every second": (
        lambda: cuda.to_device(X)[:, ::2],
        f"`x` has shape (3, 2) and strides (16, 8) bytes: {NEIGHBOURS}. {ON_DEVICE}",
    ),
    "device, backwards": (
        lambda: cuda.to_device(X)[::-1],
        f"`x` has shape (3, 4) and strides (-16, 4) bytes: {BACKWARDS}. {ON_DEVICE}",
    ),
    "long rows": (
        lambda: as_strided(X, (3, 1 << 30), (1 << 32, 4)),
        f"`x` of shape (3, 1073741824) reaches over 3221225472 elements. {MOST}",
    ),
    "many": (
        lambda: as_strided(X.view("u1"), (1 << 16, (1 << 15) + 1), (0, 1)),
        f"the transpose has 32769 x 65536 = 2147549184 elements. {MOST}",
    ),
}


@pytest.mark.parametrize("what", INPUTS)
def test_inputs(what):
    """Matrices that no kernel takes, with what to write."""
    make, said = INPUTS[what]
    out = np.full((4, 3), 7, np.float32)
    assert refusal(transpose, make()) == said
    if what != "many":
        assert refusal(transpose, make(), out=out) == said
    assert (out == 7).all()


OUTS = {
    "shape": (lambda: np.zeros((3, 4), "f4"), "`out` has shape (3, 4); the transpose has (4, 3)"),
    "dtype": (
        lambda: np.zeros((4, 3), "i4"),
        "`out` is int32 and `x` float32. Pass an `out` of float32",
    ),
    "library": (
        lambda: cuda.device_array((4, 3), "f4"),
        "`out` is a Numba device array and `x` a NumPy array. Pass arrays of one library",
    ),
    "read-only": (
        lambda: np.broadcast_to(np.zeros((4, 3), "f4"), (4, 3)),
        "`out` is read-only. Pass an array that may be written",
    ),
    "every second": (
        lambda: np.zeros((4, 6), "f4")[:, ::2],
        f"`out` has shape (4, 3) and strides (24, 8) bytes: {NEIGHBOURS}. {OUT_ROWS}",
    ),
    "backwards": (
        lambda: np.zeros((4, 3), "f4")[::-1],
        f"`out` has shape (4, 3) and strides (-12, 4) bytes: {BACKWARDS}. {OUT_ROWS}",
    ),
    "columns": (
        lambda: np.zeros((3, 4), "f4").T,
        f"`out` has shape (4, 3) and strides (4, 16) bytes: {NEIGHBOURS}; it lies column by"
        f" column, so out.T is a matrix of rows. {OUT_ROWS}",
    ),
    "repeated": (
        lambda: as_strided(np.zeros(3, "f4"), (4, 3), (0, 4)),
        "rows of `out` share memory: they are 12 bytes long and 0 bytes apart. Pass an array whose"
        " elements have memory of their own",
    ),
    "windows": (
        lambda: as_strided(np.zeros(12, "f4"), (4, 3), (8, 4)),
        "rows of `out` share memory: they are 12 bytes long and 8 bytes apart. Pass an array whose"
        " elements have memory of their own",
    ),
}


@pytest.mark.parametrize("what", OUTS)
def test_outs(what):
    """Places that the result cannot go to stay as they were."""
    make, said = OUTS[what]
    out = make()
    before = out.copy_to_host() if hasattr(out, "copy_to_host") else out.copy()
    assert facts(refusal(transpose, X, out=out)) == facts(said)
    after = out.copy_to_host() if hasattr(out, "copy_to_host") else out
    assert after.tobytes() == before.tobytes()


def test_mixed_kinds():
    """A device array with a NumPy `out`, and factors of two libraries."""
    a, b = "a NumPy array", "a Numba device array"
    assert facts(refusal(transpose, cuda.to_device(X), out=X)) == facts(f"`out` {a} `x` {b}")
    assert facts(refusal(matmul, A, cuda.to_device(B))) == facts(f"`a` {a} `b` {b}")


@pytest.mark.first(1)
@pytest.mark.parametrize("device", [False, True])
def test_shared_memory(device):
    """`out` that is an input, a part of it, or between its rows; only real overlap is refused."""
    square = np.arange(64, dtype=np.float32).reshape(8, 8)
    kept = square.copy()
    whole = cuda.to_device(square) if device else square

    def said(name):
        return f"`out` shares memory with `{name}`, which is read while `out` is written. {SHARED}"

    assert refusal(transpose, whole, out=whole) == said("x")
    assert refusal(transpose, whole[:4, :4], out=whole[3:7, 3:7]) == said("x")
    assert refusal(matmul, whole, whole[:, :4], out=whole[:, 4:]) == said("a")
    assert refusal(matmul, whole[:4, :4], whole[4:, 4:], out=whole[4:, 4:], beta=1) == said("b")
    now = whole.copy_to_host() if device else square
    assert now.tobytes() == kept.tobytes()
    transpose(whole[:4, :4], out=whole[:4, 4:])
    kept[:4, 4:] = kept[:4, :4].T
    now = whole.copy_to_host() if device else square
    np.testing.assert_array_equal(now, kept)


PRODUCTS = {
    "depths": (
        lambda: ((A, B[:3]), {}),
        "`a` has 4 columns and `b` 3 rows (shapes (3, 4) and (3, 5)); a product needs as many of"
        " one as of the other",
    ),
    "float64": (
        lambda: ((A.astype(float), B), {}),
        "`a` is float64; the product is made in float32. Pass a.astype(np.float32)",
    ),
    "float16": (
        lambda: ((A, B.astype("f2")), {}),
        "`a` is float32 and `b` float16: operands of a product are of one dtype. "
        "Pass b.astype(np.float32)",
    ),
    "other bytes": (
        lambda: ((A.astype(">f4"), B), {}),
        "`a` is >f4; the product is made in float32. Pass a.astype(np.float32)",
    ),
    "device int32": (
        lambda: ((cuda.to_device(A.astype("i4")), cuda.to_device(B)), {}),
        "`a` is int32; the product is made in float32. Pass"
        " cuda.to_device(a.copy_to_host().astype(np.float32))",
    ),
    "float64 out": (
        lambda: ((A, B, np.zeros((3, 5))), {}),
        "`out` is float64; the product is made in float32. Pass an `out` of float32",
    ),
    "complex64": (
        lambda: ((A, B.astype("c8")), {}),
        "`b` is complex64; the product is made in float32. Complex numbers are not taken",
    ),
    "shape of out": (
        lambda: ((A, B, np.zeros((5, 3), "f4")), {}),
        "`out` has shape (5, 3); the product has (3, 5)",
    ),
    "beta alone": (
        lambda: ((A, B), {"beta": 2}),
        "`beta` is 2 and there is no `out` to weigh with it",
    ),
    "complex": (lambda: ((A, B), {"alpha": 1j}), "`alpha` is 1j, no real number. Pass a float"),
    "text": (lambda: ((A, B), {"beta": "2"}), "`beta` is '2', no real number. Pass a float"),
    "None": (lambda: ((A, B), {"beta": None}), "`beta` is None, no real number. Pass a float"),
    "bool": (lambda: ((A, B), {"alpha": True}), "`alpha` is True, no real number. Pass a float"),
    "array": (
        lambda: ((A, B), {"alpha": np.ones(1)}),
        "`alpha` is array([1.]), no real number. Pass alpha.item()",
    ),
    "huge": (lambda: ((A, B), {"alpha": 10**400}), "`alpha` is too large for float32"),
    "many": (
        lambda: ((np.zeros((1 << 16, 0), "f4"), np.zeros((0, (1 << 15) + 1), "f4")), {}),
        f"the product has 65536 x 32769 = 2147549184 elements. {MOST}",
    ),
}


@pytest.mark.parametrize("what", PRODUCTS)
def test_products(what):
    """Products that are not made, with what to write."""
    make, said = PRODUCTS[what]
    args, named = make()
    assert facts(refusal(matmul, *args, **named)) == facts(said)
    out = np.full((3, 5), 7, np.float32)
    if len(args) == 2 and what not in ("beta alone", "many", "device int32"):
        assert facts(refusal(matmul, *args, out=out, **named)) == facts(said)
    assert (out == 7).all()


@pytest.mark.parametrize("stream", ["s", True, -1, 2.0, X])
def test_streams(stream):
    """What is no stream is refused."""
    assert facts(refusal(transpose, X, stream=stream)) == facts(f"`stream` {stream!r}")


def test_devices():
    """Arrays on different devices, or on one and the host, are not brought together."""
    from smemnb.operations.contract import check_together

    def matrix(name, place):
        return MatrixView(name, X, NUMPY, 4096, (3, 4), None, X.dtype, 4, place)

    for place, words in ((1, "device 1"), (HOST, "the host")):
        said = refusal(check_together, [matrix("a", 0), matrix("b", place)])
        assert facts(said) == facts(f"`a` 0 `b` {words}")


def test_addresses():
    """A float32 array on a device that begins at half an element has no product."""
    halves = cuda.to_device(np.zeros(2 * 3 * 4 + 1, np.float16))
    address = halves.__cuda_array_interface__["data"][0] + 2

    said = {"shape": (3, 4), "typestr": "<f4", "data": (address, False), "version": 3}
    shown = SimpleNamespace(__cuda_array_interface__=said)
    assert address % 4 == 2
    assert facts(refusal(check_aligned, [view_of(shown)])) == facts(f"`a` {address:#x} 4")


def view_of(shown):
    return matrix_view("a", shown)


def test_traceback_ends_at_the_caller():
    """The frames inside the package are cut off."""
    with pytest.raises(LaunchRefused) as found:
        transpose(X[0])
    assert [entry.name for entry in found.traceback][-1] == "transpose"
