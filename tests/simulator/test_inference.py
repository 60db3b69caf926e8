"""Numba's types where a variable is read: the dtypes the engine must use, line by line."""

import inspect

import numpy as np
import pytest
from numba import cuda, float32, int32, uint32

from smemnb.errors import TypingRefused
from smemnb.kernels.stencil.variants.edges import edged
from smemnb.simulator.inference import argument_type, infer

F32 = np.zeros(4, np.float32)
TILE = 32


def line_of(function, text):
    """The absolute line of the source line of `function` that holds `text`."""
    lines, first = inspect.getsourcelines(getattr(function, "py_func", function))
    found = [first + i for i, line in enumerate(lines) if text in line]
    assert len(found) == 1, (text, found)
    return found[0]


def local(function, args, name, text):
    return infer(function, args).local(function, name, line_of(function, text))


def widened(out, n):
    total = 0
    for i in range(n):
        total = total + out[i] * 0.5  # in the loop
    out[0] = total  # after it
    total = 7
    out[1] = total  # an int again


@pytest.mark.parametrize(
    ("text", "dtype"),
    [("in the loop", "float64"), ("after it", "float64"), ("an int again", "int64")],
)
def test_versions(text, dtype):
    """A variable that is int64 first and float64 in the loop is float64 where the loop reads it."""
    assert local(widened, (F32, 4), "total", text) == np.dtype(dtype)


def one_type(out, x):
    y = x * 2  # product
    out[0] = y + y  # sum


def test_one_type():
    """A variable with one type throughout has nothing to enforce."""
    assert local(one_type, (F32, np.int32(3)), "y", "# sum") is None
    assert local(one_type, (F32, np.int32(3)), "x", "# product") is None
    assert local(one_type, (F32, np.int32(3)), "out", "# sum") is None


def reassigned(out, n):
    n = n + 1  # first
    n = n * 2.5  # second
    out[0] = n  # third


@pytest.mark.parametrize(
    ("text", "dtype"), [("# first", "int32"), ("# second", "int64"), ("# third", "float64")]
)
def test_parameter_versions(text, dtype):
    """A parameter that is assigned again has the type of the version that is read."""
    assert local(reassigned, (F32, np.int32(3)), "n", text) == np.dtype(dtype)


def branches(out, n):
    if n > 2:
        x = 1
    else:
        x = n * 0.5
    out[0] = x  # joined


def test_joined_branches():
    """Where two branches meet, the type is the one that holds both."""
    assert local(branches, (F32, 3), "x", "joined") == np.float64
    assert infer(branches, (F32, 3)).variables()["x"] == {"int64", "float64"}


def same_line(out, n):
    x = n
    out[1] = x; x = x * 0.5; out[0] = x  # noqa: E702  # fmt: skip


def test_two_types_on_one_line():
    """Two reads of unlike type on one line: nothing is enforced."""
    assert local(same_line, (F32, 3), "x", "out[1] = x") is None


@cuda.jit(device=True)
def halved(v):
    w = v
    w = w / 2  # halving
    return w  # back


@cuda.jit(device=True)
def chosen(v):
    if v > 2:
        return 1
    return v * 0.5


@cuda.jit
def calls(out, n):
    out[0] = halved(n) + halved(2.5)
    out[1] = chosen(n)


def test_device_functions():
    """Device functions are inferred too, for each set of argument types."""
    seen = infer(calls.py_func, (F32, 3))
    assert seen.variables(halved)["v"] == {"int64", "float64"}
    assert seen.local(halved.py_func, "w", line_of(halved, "# back")) is None  # one of two differs
    assert seen.returned(chosen) == np.float64
    assert seen.returned(halved) == np.float64


@cuda.jit
def calls_once(out, n):
    out[0] = halved(n)


def test_device_function_versions():
    """In a device function with one set of types, versions are distinguished as in a kernel."""
    seen = infer(calls_once.py_func, (F32, 3))
    assert seen.local(halved, "w", line_of(halved, "# halving")) == np.int64
    assert seen.local(halved, "w", line_of(halved, "# back")) == np.float64


@cuda.jit("float32(float32)", device=True)
def declared(v):
    return v + 1.0  # casts


@cuda.jit
def calls_declared(out, n):
    out[0] = declared(n)


def test_declared_device_function():
    """A declared device function casts its argument and what it returns."""
    seen = infer(calls_declared.py_func, (F32, 3))
    assert seen.local(declared, "v", line_of(declared, "# casts")) == np.float32
    assert seen.returned(declared) == np.float32


@cuda.jit(device=True)
def grows(v):
    return v


@cuda.jit
def loop_calls(out, n):
    x = 1
    for _ in range(n):
        x = grows(x) * 0.5
    out[0] = x


def test_unsettled_types_are_forgotten():
    """A call typed int64 on the way and float64 in the end counts as float64."""
    assert infer(loop_calls.py_func, (F32, 3)).variables(grows)["v"] == {"float64"}


@cuda.jit(device=True)
def factorial(n):
    if n < 2:
        return 1
    return n * factorial(n - 1)


@cuda.jit
def recursive(out, n):
    out[0] = factorial(n)


def test_recursion():
    """A device function may call itself."""
    assert infer(recursive.py_func, (F32, 5)).returned(factorial) == np.int64


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (3, "int64"),
        (2**63, "uint64"),
        (True, "bool"),
        (1.5, "float64"),
        (1j, "complex128"),
        (np.float32(1), "float32"),
        (np.uint8(1), "uint8"),
        ((1, 2.0), "Tuple(int64, float64)"),
        (np.zeros((2, 3), np.int32), "array(int32, 2d, C)"),
        (np.zeros((2, 3), np.int32).T, "array(int32, 2d, F)"),
        (np.zeros((4, 6), np.int32)[::2, ::2], "array(int32, 2d, A)"),
    ],
)
def test_argument_type(value, kind):
    """Arguments have the types that Numba gives them."""
    assert str(argument_type(value)) == kind


def arithmetic(out, n):
    a = float32(1) + 1.0
    b = int32(2) * 2
    c = uint32(3) - 1
    d = cuda.threadIdx.x / 2
    e = cuda.grid(1)
    f = min(n, 3)
    g = out[0] * 2
    h = n // 2
    out[0] = a + b + c + d + e + f + g + h


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("a", "float64"),
        ("b", "int64"),
        ("c", "int64"),
        ("d", "float64"),
        ("e", "int64"),
        ("f", "int64"),
        ("g", "float64"),
        ("h", "int64"),
    ],
)
def test_arithmetic(name, kind):
    """Constants are 64 bits wide, and so becomes what meets them: NumPy thinks otherwise."""
    seen = infer(arithmetic, (F32, np.int32(3))).variables()
    assert seen[name] == {kind}


def test_argument_types():
    """The inferred kernel says with which argument types it was inferred."""
    kinds = [str(kind) for kind in infer(arithmetic, (F32, np.int32(3))).argument_types]
    assert kinds == ["array(float32, 1d, C)", "int32"]


def uses_tile(out):
    out[0] = TILE


def test_cache(monkeypatch):
    """Types are inferred once, and again when a global that the kernel reads has changed."""
    first = infer(uses_tile, (F32,))
    assert infer(uses_tile, (np.ones(9, np.float32),)) is first
    assert infer(uses_tile, (np.zeros(4),)) is not first
    monkeypatch.setitem(uses_tile.__globals__, "TILE", 16)
    assert infer(uses_tile, (F32,)) is not first


def test_message_is_kept():
    """Numba's own text stays in the error."""

    def kernel(out):
        out[0] = out.nonsense

    with pytest.raises(TypingRefused) as caught:
        infer(kernel, (F32,))
    assert "Unknown attribute 'nonsense'" in caught.value.numba_message


def test_numba_is_left_as_it_was():
    """After an inference, dispatchers answer Numba's compiler again as before."""
    from numba.cuda.dispatcher import CUDADispatcher

    before = CUDADispatcher.get_call_template, CUDADispatcher.get_overload
    infer(calls.py_func, (F32, np.int16(3)))
    assert (CUDADispatcher.get_call_template, CUDADispatcher.get_overload) == before


def records(function, *args):
    """What was inferred, by the function that it is about."""
    return {record.function(): record for record in infer(function, args)._functions}


def test_functions_of_the_package_are_inferred_once():
    """Two kernels share what is known of one for the same types; for other types it is another."""

    def kernel(out):
        out[0] = edged(out[1], 4, 0)

    def other(out):
        out[2] = edged(out[3], 4, 0)

    ints, found = np.zeros(4, np.int64), edged.py_func
    known = records(kernel, ints)[found]
    assert records(other, ints)[found] is known
    assert records(other, np.zeros(4, np.int32))[found] is not known


def test_a_users_function_is_inferred_anew():
    """What it names may have become something else between two kernels."""
    names = {"cuda": cuda, "factor": 2, "__name__": "smemnb.kernels"}
    exec("@cuda.jit(device=True)\ndef scaled(x):\n    return factor * x\n", names)
    text = "def kernel(out):\n    y = scaled(3)\n    out[0] = y\n"
    exec(text, names)
    (before,) = (record for record in infer(names["kernel"], (F32,))._functions[1:])
    names["factor"] = 2.5
    exec(text, names)
    (after,) = (record for record in infer(names["kernel"], (F32,))._functions[1:])
    assert (str(before.return_type), str(after.return_type)) == ("int64", "float64")
