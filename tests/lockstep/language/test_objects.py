"""Comparisons, truth, membership and attributes of what is no number.

`holds` was read off the machine code that Numba makes of the kernel (sm_90, run in NumPy). A row is
what Numba makes of it, or refused with its line: no thread ends without a reason that Numba has.
"""

import enum
import itertools
import linecache
from collections import namedtuple

import numpy as np
import pytest
from numba import cuda, float32

from smemnb.errors import SmemnbError
from smemnb.simulator import device

# the engine is asked; on a GPU the launches would be Numba's own
pytestmark = pytest.mark.skipif(device() != "lockstep", reason="launches go to a GPU")

Pair = namedtuple("Pair", "a b")
Level = enum.IntEnum("Level", "LOW HIGH")
Colour = enum.Enum("Colour", "RED BLUE")
NUMBER = itertools.count()


@cuda.jit(device=True)
def function(x):
    return x + 1


NAMES = {
    "cuda": cuda,
    "np": np,
    "float32": float32,
    "Pair": Pair,
    "function": function,
    "nothing": None,
    "text": "abc",
    "pair": (1, 2),
    "mixed": (1, None),
    "named": Pair(1, 2.0),
    "level": Level.HIGH,
    "colour": Colour.RED,
    "Colour": Colour,
    "part": slice(1, 3),
    "dtype": np.dtype("f4"),
    "constant": np.arange(3.0),
}


def launched(setup, test):
    """(1 where the test holds and 2 where not, whether the thread came to the end) of 2 threads."""
    text = (
        "@cuda.jit\ndef kernel(out, end, a, z, r, d):\n    i = cuda.grid(1)\n"
        f"    {setup or 'pass'}\n    if {test}:\n        out[i] = 1\n"
        "    else:\n        out[i] = 2\n    end[i] = 1\n"
    )
    file = f"<objects {next(NUMBER)}>"
    linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
    names = dict(NAMES)
    exec(compile(text, file, "exec"), names)
    out, end = np.zeros(2), np.zeros(2)
    record = np.array([(1, 2.0)], [("a", "i4"), ("b", "f4")])
    days = np.array(["2020-01-01", "NaT"], "M8[D]")
    names["kernel"][1, 2](out, end, np.arange(3.0), np.array(3.0), record, days)
    return out.tolist(), end.tolist()


OPTIONAL = "y = None\n    if a[i] == 1:\n        y = 3"  # None in thread 0, 3 in thread 1
LOCAL = "t = (i, 2.5)"
SAME = [
    ("", "function != None", True),
    ("", "(function == None) == False", True),
    ("", "None == function", False),
    ("", "function is not None", True),
    ("", "function == function", True),
    ("", "(nothing == None) == False", False),
    ("", "nothing == pair", False),
    ("", "nothing in (1, 2, 3)", False),
    ("", "None in (i, i)", False),
    ("", "None in mixed", False),  # Numba prunes the branch with a type in None's place
    ("", "(text == None) == False", True),
    ("", "text == 'abc'", True),
    ("", "a[i] == text", False),
    ("", "a[i] != text", True),
    ("", "a == text", False),
    ("", "(np == None) == True", False),
    ("", "(float32 == None) == False", True),
    ("", "(dtype == None) == False", True),
    ("", "(part == None) == False", True),
    ("s = slice(1, 3)", "s != None", True),
    ("", "part.start == 1 and part.stop == 3 and part.step == 1", True),
    ("", "(pair == None) == False", True),
    (LOCAL, "t == None", False),
    (LOCAL, "None != t", True),
    (LOCAL, "not t", False),
    ("t = Pair(i, 2.5)", "t != None and not (not t)", True),
    ("", "mixed == pair", False),
    ("", "named == None", False),
    ("", "level == 2 and level != None", True),
    ("", "None in (level, level)", False),
    ("", "(colour == None) == False", True),
    ("", "colour == Colour.RED", True),
    ("", "(Colour == None) == False", True),
    ("r_ = range(3)", "r_ == None", False),
    ("", "a == None", False),
    ("", "None != a", True),
    ("", "(a == None) == False", True),
    ("", "None in (a, a)", False),
    ("", "None == constant", False),
    ("", "text in (1, 2, 3)", False),
    ("l = cuda.local.array(3, float32)", "l != None", True),
    ("", "a[i] == None", False),
    ("", "z == None", False),
    ("", "r[0] == None", False),
    ("", "r == None", False),
    ("", "d[i] == None", False),
    ("c = complex(i, 2.0)", "c != None", True),
    ("b = i == 0", "b == None", False),
    ("", "cuda.threadIdx == None", False),
    ("h = lambda x: x", "h == None", False),
]


@pytest.mark.parametrize(("setup", "test", "holds"), SAME)
def test_holds(setup, test, holds):
    """The test comes out as in Numba, and the thread goes on."""
    assert launched(setup, test) == ([1 if holds else 2] * 2, [1, 1])


BY_THREAD = [
    ("y is None", [1, 2], [1, 1]),
    ("y is not None", [2, 1], [1, 1]),
    ("y == None", [2, 2], [1, 1]),  # decided by types: an optional value is not None's type
    ("y != None", [1, 1], [1, 1]),
    ("y == 3", [0, 1], [0, 1]),  # a TypeError in thread 0: expected int64, got None
    ("y + 1 == 4", [0, 1], [0, 1]),
    ("-y == -3", [0, 1], [0, 1]),
]


@pytest.mark.parametrize(("test", "out", "end"), BY_THREAD)
def test_optional(test, out, end):
    """A number that is None in one thread raises there, where a number is needed."""
    assert launched(OPTIONAL, test) == (out, end)


NEVER = [
    ("", "function in (1, 2, 3)"),
    ("", "a in (1, 2, 3)"),
    ("", "z in (1, 2, 3)"),
    ("", "z < 2"),
    ("", "-z == -3"),
    ("", "constant in (constant, constant)"),
    ("", "r[0] in (1, 2)"),
    ("", "nothing + 1 == 2"),
    ("", "part + 1 == 2"),
    ("", "a"),
    ("", "function < function"),
]


@pytest.mark.parametrize(("setup", "test"), NEVER)
def test_refused(setup, test):
    """What is not run is refused with its line; it neither ends threads nor fails inside."""
    with pytest.raises(SmemnbError, match=r"line 5|<objects \d+>|cell"):
        launched(setup, test)
