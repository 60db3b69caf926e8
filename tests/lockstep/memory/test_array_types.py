"""Dates and durations against Numba-compiled functions; constants, refusals, record arguments."""

import linecache
import re

import numba
import numpy as np
import pytest
from numba import cuda, float32

from smemnb.errors import KernelStopped, TypingRefused, UnsupportedSyntax
from smemnb.lockstep import launch
from smemnb.lockstep.memory import global_arrays
from smemnb.lockstep.memory.attributes import numpy_dtype
from smemnb.simulator.inference import infer

from .kernels import NESTED, PACKED, RECORD, arguments, in_engine, kernel_of

DATES = np.array(["2021-03-04T05:06:07", "1969-12-31T23:59:59", "NaT", "2030-01-01"], "M8[s]")
DURATIONS = np.array([90, -7, 13, 86400], "m8[s]")
MINUTES = np.array([2, 5, -3, 1], "m8[m]")

OPERATIONS = [
    ("x - y", DATES, DATES[::-1].copy(), "m8[s]"),
    ("x + y", DATES, DURATIONS, "M8[s]"),
    ("x - y", DATES, MINUTES, "M8[s]"),
    ("x + y", DURATIONS, DURATIONS[::-1].copy(), "m8[s]"),
    ("x + y", DURATIONS, MINUTES, "m8[s]"),
    ("x - y", MINUTES, DURATIONS, "m8[s]"),
    ("x * y", DURATIONS, np.array([3, -2, 0, 7]), "m8[s]"),
    ("x * y", DURATIONS, np.array([1.5, -2.0, 0.0, 0.25]), "m8[s]"),
    ("x / y", DURATIONS, MINUTES, "f8"),
    ("-x", DURATIONS, DURATIONS, "m8[s]"),
    ("abs(x)", DURATIONS, DURATIONS, "m8[s]"),
    ("x < y", DATES, DATES[::-1].copy(), "?"),
    ("x >= y", DURATIONS, MINUTES, "?"),
    ("x == y", DATES, DATES, "?"),
    ("x != y", DATES, DATES, "?"),
]


@pytest.mark.parametrize(("text", "x", "y", "result"), OPERATIONS)
def test_dates_and_durations(text, x, y, result):
    """The values that the same function has when Numba compiles it."""
    names = {}
    exec(f"def f(x, y):\n    return {text}", names)
    compiled = numba.njit(names["f"])
    expected = [compiled(a, b) for a, b in zip(x, y, strict=True)]
    source = (
        "def kernel(out, a, b):\n    i = cuda.grid(1)\n"
        f"    x = a[i]\n    y = b[i]\n    out[i] = {text}\n"
    )
    place = f"<dates {text} {x.dtype} {y.dtype}>"
    linecache.cache[place] = (len(source), None, source.splitlines(keepends=True), place)
    exec(compile(source, place, "exec"), names | (space := {"cuda": cuda}), space)
    out = np.zeros(4, result)
    args = (out, x, y)
    launch(space["kernel"], (1, 1, 1), (4, 1, 1), args, types=infer(space["kernel"], args))
    np.testing.assert_array_equal(out, np.array(expected, result))


@pytest.mark.parametrize("dtype", ["M8[s]", "m8[us]", "f2", "?", "c16", "u8", "i1"])
def test_elements_of_each_type_move_unchanged(dtype):
    """Through global, shared and local memory."""
    values = np.arange(1, 33).astype(dtype)
    out = np.zeros(32, dtype)

    def kernel(out, values):
        i = cuda.grid(1)
        tile = cuda.shared.array(32, values.dtype)
        own = cuda.local.array(2, values.dtype)
        tile[i] = values[i]
        cuda.syncthreads()
        own[i % 2] = tile[31 - i]
        out[i] = own[i % 2]

    launch(kernel, (1, 1, 1), (32, 1, 1), (out, values))
    np.testing.assert_array_equal(out, values[::-1])


@pytest.mark.parametrize("dtype", ["S5", "U3"])
def test_texts(dtype):
    """Texts are read, stored and compared."""
    words = np.array(["abc", "de", "abc", ""], dtype)
    same = np.zeros(4, np.int32)

    def kernel(same, words):
        i = cuda.grid(1)
        same[i] = words[i] == words[0]
        cuda.syncthreads()
        if i == 3:
            words[i] = words[1]

    launch(kernel, (1, 1, 1), (4, 1, 1), (same, words))
    assert same.tolist() == [1, 0, 1, 0]
    assert words.tolist() == np.array(["abc", "de", "abc", "de"], dtype).tolist()


@pytest.mark.parametrize(
    ("body", "name", "added"),
    [
        ('cuda.atomic.add(r["n"], i % 8, 1)', "r", {("n", k): 4 for k in range(8)}),
        ("cuda.atomic.add(b[3:], i % 8, 1)", "b", {k + 3: 4 for k in range(8)}),
        ("cuda.atomic.add(A.T, (i % 7, 2), 1)", "A", {(2, k): 5 - (k > 3) for k in range(7)}),
        ("w = A[i % 4]\ncuda.atomic.add(w, 6, 1)", "A", {(k, 6): 8 for k in range(4)}),
        ("cuda.atomic.add(c.real, i % 2, 1)", "c", {0: 16, 1: 16}),
        ("w = a if i % 4 else R\ncuda.atomic.add(w, 0, 1)", "a", {0: 24}),
        ("w = a if i % 4 else R\ncuda.atomic.add(w, 0, 1)", "R", {0: 8}),
        ("w = a if i % 4 else R\nout[i] = cuda.atomic.add(w, 5, 1)", "R", {5: 8}),
    ],
)
def test_atomics_through_views(body, name, added):
    """Every one of 32 threads adds once, to the cells of the array behind the view."""
    expected = arguments()[name]
    for place, count in added.items():
        column, at = (expected[place[0]], place[1]) if name == "r" else (expected, place)
        column[at] += count
    np.testing.assert_array_equal(in_engine(body, threads=32)[name], expected)


def test_matrix_in_a_record():
    """A field of two axes has the strides of its own shape inside the record's."""
    cells = np.zeros(3, [("head", "i4"), ("m", "f4", (2, 3))])
    cells["m"] = np.arange(18).reshape(3, 2, 3)

    def kernel(out, cells):
        i = cuda.grid(1)
        out[i] = cells[i // 6].m[i % 2, i % 3] + 100 * cells["m"][i // 6, 1, i % 3]

    out = np.zeros(18)
    launch(kernel, (1, 1, 1), (18, 1, 1), (out, cells))
    i, m = np.arange(18), cells["m"].astype(float)
    np.testing.assert_array_equal(out, m[i // 6, i % 2, i % 3] + 100 * m[i // 6, 1, i % 3])


def test_record_argument():
    """A record is read and written back."""
    record = np.array((1.5, 7, 2.0), RECORD)[()]

    def kernel(out, record):
        out[0] = record.x + record["v"]
        record.n = 9

    out = np.zeros(1)
    launch(kernel, (1, 1, 1), (1, 1, 1), (out, record))
    assert (out[0], int(record["n"])) == (3.5, 9)


def test_a_constant_keeps_the_values_it_was_compiled_with():
    """What the host does to a global array after the first launch is not seen."""
    table = np.arange(4, dtype=np.int32)

    def kernel(out):
        i = cuda.grid(1)
        out[i] = table[i]

    out = np.zeros(4, np.int32)
    launch(kernel, (1, 1, 1), (4, 1, 1), (out,))
    table[:] = 9
    launch(kernel, (1, 1, 1), (4, 1, 1), (out,))
    assert out.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("body", "error", "said"),
    [
        ("FIXED[i] = 1", UnsupportedSyntax, "line 3: FIXED[i] stores into 'FIXED', a constant"),
        ("A[1] += 1", UnsupportedSyntax, "line 3: A[1] is a part of an array.*a[i] +="),
        ("out[i] = A[1, 2, 3]", UnsupportedSyntax, "line 3: A[1, 2, 3] has too many indices"),
        ("A[1, 2, 3] = 4", UnsupportedSyntax, "line 3: A[1, 2, 3] has too many indices"),
        ("w = i\nout[i] = w[0]", UnsupportedSyntax, "line 4: w[0] takes an element of what"),
        ("a[1:4] = (1, 2)", KernelStopped, "line 3: a[1:4]: 2 values do not fit .* (3,)"),
        ("A[:] = B[0]", KernelStopped, "(4, 5) does not fit into the shape (6, 7)"),
        ("w = a.reshape(3, 5)", KernelStopped, "40 elements do not fill the shape (3, 5)"),
        ("w = A.T.reshape(42)", KernelStopped, "cannot be seen as (42) without a copy"),
        ("w = A.T.view(np.int16)", KernelStopped, "the last axis is not contiguous"),
        ("w = u[:6].view(np.int32)", KernelStopped, "6 bytes along the last axis"),
        ("out[i] = y.argmax()", KernelStopped, "without elements has no largest"),
        ("w = a[::0]", KernelStopped, "a step of 0"),
        ("w = a[1:].nothere", UnsupportedSyntax, "does not know the attribute"),
        ("w = a.copy()", UnsupportedSyntax, "does not know the method a.copy"),
        ("a.x = 1", UnsupportedSyntax, "a.x is no field of a record"),
    ],
)
def test_what_cannot_be_run(body, error, said):
    """Refused with its line, and what to write instead."""
    pattern = ".*".join(re.escape(part) for part in said.split(".*"))
    with pytest.raises(error, match=pattern):
        in_engine(body, typed=False)


@pytest.mark.parametrize(
    "body",
    [
        "FIXED[0] = 1", "out[i] = a[i > 3]", "out[i] = a[1.0]", "w = a + a",
        "w = cuda.const.array_like(FIXED)\nw[0] = 1", "w = (a, 1.0)[i]", "w = r[0].nothere",
        "w = a if i else b",
    ],
)  # fmt: skip
def test_what_numba_refuses(body):
    """Type inference says no before anything runs."""
    function = kernel_of(body, ["out", "a", "b", "r"])
    args = (np.zeros(4), np.zeros(4, np.float32), np.zeros(4, np.int32), np.zeros(4, RECORD))
    with pytest.raises(TypingRefused):
        infer(function, args)


@pytest.mark.parametrize(
    ("array", "strides", "unit", "start"),
    [
        (np.zeros((3, 4), np.float32), (4, 1), 4, None),
        (np.zeros((3, 4), np.float32).T, (1, 4), 4, None),
        (np.zeros((3, 4), np.float32)[::-1, ::2], (-4, 2), 4, 8),
        (np.zeros(5, RECORD), (16,), 1, None),
        (np.zeros(5, RECORD)["v"], (2,), 8, None),
        (np.zeros(5, PACKED)["w"], (13,), 1, None),
        (np.zeros(5, PACKED)["a"], (13,), 1, None),
        (np.zeros(5, NESTED)["m"], (12, 1), 2, None),
        (np.broadcast_to(np.zeros(3, np.int16), (2, 3)), (0, 1), 2, None),
        (np.zeros((0, 2)), (2, 1), 8, None),
    ],
)
def test_arguments_keep_their_strides(array, strides, unit, start):
    """In elements where they are whole, in bytes otherwise."""
    (seen,) = global_arrays(["x"], [array])
    if array.size:
        assert tuple(step * unit for step in strides) == array.strides
    assert (seen.unit, seen.start) == (unit, start)
    assert tuple(step * seen.unit for step in seen.strides) == array.strides


def test_views_of_one_array_keep_their_distance():
    """Two arguments over the same memory have addresses that overlap as they do."""
    whole = np.zeros(100, np.float32)
    first, second = global_arrays(["x", "y"], [whole[3:], whole[10:50:2]])
    assert (first.base, second.base) == (256 + 12, 256 + 40)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (float32, np.float32), (np.int16, np.int16), ("float64", np.float64),
        (numba.types.boolean, np.bool_), (numba.types.float16, np.float16),
        (numba.types.NPDatetime("s"), "M8[s]"), (numba.from_dtype(RECORD), RECORD),
        (numba.from_dtype(NESTED), NESTED), (numba.types.UnicodeCharSeq(4), "U4"),
        (numba.types.CharSeq(6), "S6"), (numba.complex64, np.complex64),
    ],
)  # fmt: skip
def test_dtypes_of_numba_types(given, expected):
    """Types of Numba, NumPy, and names; records with their offsets and size."""
    found, expected = numpy_dtype(given), np.dtype(expected)
    assert (found.itemsize, found.names) == (expected.itemsize, expected.names)
    assert [found.fields[n][1] for n in found.names or ()] == [
        expected.fields[n][1] for n in expected.names or ()
    ]
    assert found.names or found == expected
