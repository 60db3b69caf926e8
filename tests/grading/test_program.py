"""A kernel as plain data: there and back, and what is no program."""

import json
import math
import sys

import numba
import numpy as np
import pytest
from numba import cuda
from numba.core import types

from smemnb.grading.listed import is_listed, path_of
from smemnb.grading.program import (
    MAX_ITEMS,
    Function,
    NotAProgram,
    Program,
    Value,
    check,
    from_json,
    live,
    value_of,
)

SOURCE = "@cuda.jit\ndef k(out):\n    out[0] = N\n"


def program(**changed):
    """A kernel of one name, with some of its parts changed."""
    parts = {"name": "k", "source": SOURCE, "file": "k.py", "first_line": 3, "kind": "kernel"}
    return Program((Function(**{**parts, "names": {"N": Value("int", "3")}, **changed}),))


@pytest.mark.parametrize(
    "thing",
    [
        *(
            None,
            True,
            False,
            0,
            -7,
            2**200,
            1.5,
            -0.0,
            math.inf,
            2 + 3j,
            "float32",
            (),
            (1, (2.5,)),
        ),
        *(np.float32(0.1), np.float16(2), np.float64(1e300), np.int8(-3), np.uint64(2**64 - 1)),
        *(np.bool_(True), np.complex64(1 - 2j), np.float32(-np.inf)),
        *(math, np, numba, cuda, types, np.float32, numba.float32, types.int8, np.dtype("uint8")),
        *(cuda.grid, cuda.shared, cuda.shared.array, math.sqrt, np.sqrt),
    ],
)
def test_there_and_back(thing):
    """A value has its type and every bit after JSON; modules and functions are the same object."""
    sent = from_json(program(names={"N": value_of(thing)}).to_json())
    back = live(sent.functions[0].names["N"], ())
    assert type(back) is type(thing)
    if path_of(thing):
        assert back is thing
    else:
        assert repr(back) == repr(thing)


def test_nan_and_array():
    """A NaN stays one, of its type; an array keeps dtype, shape and elements, and is read-only."""
    back = live(value_of(np.float32("nan")), ())
    assert type(back) is np.float32 and np.isnan(back)
    table = np.arange(6, dtype=np.int16).reshape(2, 3)
    sent = from_json(program(names={"N": value_of(table)}).to_json())
    back = live(sent.functions[0].names["N"], ())
    assert (back.dtype, back.shape, back.tolist()) == (table.dtype, (2, 3), table.tolist())
    assert not back.flags.writeable


@pytest.mark.parametrize(
    "thing",
    [
        *(np.load, np.random, open, eval, object(), [1], {}, b"x", 2**300, (1,) * (MAX_ITEMS + 1)),
        *(np.dtype([("x", np.float32)]), np.zeros(10**5), np.str_("x"), range(3), "x" * 2000),
    ],
)
def test_no_value(thing):
    """What is not for kernels, or too large, is refused."""
    with pytest.raises(NotAProgram):
        value_of(thing)


def test_whole_program():
    """A program with functions that name each other is the same after JSON."""
    device = Function(
        "f", "def f(x):\n    return x", "k.py", 9, "device", {"inline": value_of(True)}
    )
    names = {"f": Value("function", 1), "t": Value("tuple", (Value("function", 1),))}
    both = Program((*program(names=names, defaults=(value_of(1),)).functions, device))
    check(both)
    assert from_json(both.to_json()) == both


CHANGES = [
    *({"name": "k()"}, {"name": 3}, {"source": 3}, {"source": "x" * 300_000}, {"first_line": 0}),
    *(
        {"first_line": 10**9},
        {"first_line": "1"},
        {"kind": "host"},
        {"file": "x" * 2000},
        {"file": "k\x1b[2J.py"},
        {"file": "k\n.py"},
    ),
    *({"names": [1]}, {"names": {"N": 3}}, {"names": {"N": []}}, {"names": {"N": ["int"]}}),
    *({"names": {"N": ["int", "9" * 400]}}, {"names": {"N": ["int", 3]}}),
    *({"names": {"N": ["listed", "os.system"]}}, {"names": {"N": ["listed", "numpy.load"]}}),
    *({"names": {"N": ["function", 1]}}, {"names": {"N": ["function", True]}}),
    *({"names": {"N": ["object", "x"]}}, {"names": {"N": ["dtype", "O"]}}),
    *({"names": {"N": ["array", "float32", [3], "AAAA"]}}, {"names": {"N": ["float", "1e5x"]}}),
    *({"names": {f"n{i}": ["int", "1"] for i in range(1000)}}, {"options": 3}, {"defaults": 3}),
    {"names": {"N": ["tuple", [["int", "1"]] * (MAX_ITEMS + 1)]}},
]


@pytest.mark.parametrize("change", CHANGES, ids=range(len(CHANGES)))
def test_forged(change):
    """A program with a part that is none is refused, whatever the part is."""
    data = json.loads(program().to_json())
    data["functions"][0].update(change)
    with pytest.raises(NotAProgram):
        from_json(json.dumps(data))


@pytest.mark.parametrize(
    "text",
    [
        *("", "3", "[]", "{}", '{"functions": [], "entry": 0}', '{"functions": 3, "entry": 0}'),
        *("[" * 10**5, '{"functions": [{}], "entry": 0}', "\x00", "x" * 10**7),
        json.dumps({**json.loads(program().to_json()), "entry": 1}),
        json.dumps({**json.loads(program().to_json()), "entry": True}),
        json.dumps({"functions": json.loads(program().to_json())["functions"] * 200, "entry": 0}),
    ],
    ids=range(13),
)
def test_no_program(text):
    """A text that is no program is refused and crashes nobody."""
    with pytest.raises(NotAProgram):
        from_json(text)


def test_deep_tuple():
    """Tuples in tuples end at a depth."""
    value = ["int", "1"]
    for _ in range(50):
        value = ["tuple", [value]]
    data = json.loads(program().to_json())
    data["functions"][0]["names"] = {"N": value}
    with pytest.raises(NotAProgram):
        from_json(json.dumps(data))


@pytest.mark.parametrize(
    ("path", "is_in"),
    [
        *(("numba.cuda", True), ("numba.cuda.shared.array", True), ("numpy.float32", True)),
        *(("math.sqrt", True), ("numba.cuda.threadIdx.x", True), ("numba.types.int8", True)),
        *(
            ("smemnb.kernels.ptx.load16", True),
            ("smemnb.exercises.chapters.ex07_ahead.fetch", True),
        ),
        *(("smemnb.exercises.chapters.ex07_ahead.ahead", False), ("numpy.load", False)),
        *(("numpy.random.rand", False), ("numba.cuda.jit", False), ("os", False), ("", False)),
        *(("numba.cuda.to_device", False), ("numpy.ctypeslib", False), ("numba.core", False)),
        *(
            ("numba.cuda.declare_device", False),
            ("numpy.float32.mro", False),
            ("numba.objmode", False),
        ),
        *(
            ("operator.attrgetter", False),
            ("math.__loader__", False),
            ("numba.cuda.np.load", False),
        ),
    ],
)
def test_listed(path, is_in):
    """What kernels use is listed; what runs on the host, and a chapter's solution, is not."""
    assert is_listed(path) is is_in


def test_both_modules_of_types():
    """`numba.types` is one of two modules, by what was imported last; both stand for the same."""
    import numba.types

    both = (numba.core.types, sys.modules["numba.types"])
    assert {value_of(one) for one in both} == {value_of(numba.core.types)}
