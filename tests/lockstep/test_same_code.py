"""A text that is not what was imported never runs: files edited since, names given twice."""

import ast
import importlib.util
import itertools
import linecache
import os
import warnings

import numpy as np
import pytest
from numba import cuda

from smemnb import check, lockstep, simulator, trace
from smemnb.errors import SourceChanged, UnsupportedSyntax
from smemnb.lockstep.same_code import compiled_like
from smemnb.lockstep.source import source

TEXT = '''from numba import cuda


@cuda.jit(device=True)
def scaled(x):
    return 3 * x


@cuda.jit
def scale(out, inp):
    """Three times the input."""
    i = cuda.grid(1)
    if i < inp.shape[0]:
        out[i] = scaled(inp[i])  # a line
'''
numbers, seconds = itertools.count(), itertools.count(1_000_000_000)


class Imported:
    """A module that was imported from a file, and may be edited since."""

    def __init__(self, folder, text):
        self.name = f"edited_{next(numbers)}"
        self.path = folder / f"{self.name}.py"
        self.edit(text)
        self.module = self.imported()

    def edit(self, text):
        self.path.write_text(text)
        # Python takes compiled code for that of a text of the same length and second
        os.utime(self.path, times=(second := next(seconds), second))

    def imported(self):
        spec = importlib.util.spec_from_file_location(self.name, self.path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    def launched(self, how=trace):
        out = np.zeros(4, np.float32)
        kernel = self.module.scale
        seen = how(kernel)[1, 32](out, np.arange(4, dtype=np.float32))
        return out.tolist(), [(row.function, row.line, row.source) for row in seen.lines]


@pytest.fixture
def mine(tmp_path):
    return Imported(tmp_path, TEXT)


RESULT = [0, 3, 6, 9]


@pytest.mark.parametrize(
    ("old", "new", "name", "line"),
    [
        ("scaled(inp[i])", "2 * inp[i]", "scale", 9),
        ("i < inp", "i <= inp", "scale", 9),
        ("3 * x", "4 * x", "scaled", 4),
        ("3 * x", "x * 3", "scaled", 4),
        ("3 * x", "3.0 * x", "scaled", 4),
        ("    i = cuda.grid(1)\n", "    # which one\n    i = cuda.grid(1)\n", "scale", 9),
    ],
)
def test_edited_after_import(mine, old, new, name, line):
    """The engine refuses to run a text that is not the function, and says of which it is not."""
    mine.edit(TEXT.replace(old, new))
    with pytest.raises(UnsupportedSyntax, match=rf"\b{name}\b.*\breload\b") as refused:
        mine.launched()
    assert (refused.value.file, refused.value.line) == (str(mine.path), line)
    mine.module = mine.imported()
    mine.launched()


@pytest.mark.skipif(simulator.device() != "lockstep", reason="launches go to a GPU")
def test_a_plain_launch_too(mine):
    """Numba would compile what was imported."""
    mine.edit(TEXT.replace("scaled(inp[i])", "2 * inp[i]"))
    with pytest.raises(UnsupportedSyntax):
        mine.module.scale[1, 32](np.zeros(4), np.zeros(4))


@pytest.mark.parametrize("edit", ["# a line", "Three times the input."])
def test_comments_and_docstrings_are_free(mine, edit):
    """What Numba does not compile may change in its place."""
    mine.edit(TEXT.replace(edit, "# something else"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert mine.launched()[0] == RESULT


def test_moved(mine):
    """A function that stands elsewhere in its file runs; lines and text are those of its import."""
    before = mine.launched()
    mine = Imported(mine.path.parent, TEXT)
    mine.edit(TEXT.replace("import cuda\n", "import cuda\n\nSIZE = 4\n\n"))
    with pytest.warns(SourceChanged, match=r"\b9\b.*\b12\b"):
        assert mine.launched() == before
    mine.module = mine.imported()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        values, rows = mine.launched()
    assert (values, rows) == (RESULT, [(name, line + 3, text) for name, line, text in before[1]])


def test_edited_after_its_launch(mine):
    """What has run goes on as it was imported, as a compiled kernel does; a warning says so."""
    before = mine.launched()
    mine.edit(TEXT.replace("scaled(inp[i])", "2 * inp[i]"))
    with pytest.warns(SourceChanged):
        assert mine.launched(lambda kernel: trace(kernel, counts=True)) == before


def registered(text, shown, name, **options):
    """A function compiled from one text, under a name by which linecache knows another."""
    file = f"<same code {next(numbers)}>"
    linecache.cache[file] = (len(shown), None, shown.splitlines(keepends=True), file)
    names = {"cuda": cuda, "__name__": __name__}
    exec(compile(text, file, "exec", **options), names)
    return names[name]


SHOWN = "@cuda.jit\ndef scale(out, inp):\n    i = cuda.grid(1)\n    if i < inp.shape[0]:\n"
SHOWN += "        out[i] = 2 * inp[i]\n"


def test_a_text_of_another_kernel():
    """A right text shown for a wrong kernel is no right answer: graded as it is, or refused."""
    assert check("ex00_scale", registered(SHOWN, SHOWN, "scale"))
    wrong = registered(SHOWN.replace("2 *", "3 *"), SHOWN, "scale")
    assert check("ex00_scale", wrong).reason == "output"  # its own text was in a variable
    wrong = registered(SHOWN, SHOWN, "scale")
    code = wrong.py_func.__code__
    wrong.py_func.__code__ = code.replace(
        co_consts=tuple(3 if value == 2 else value for value in code.co_consts)
    )
    verdict = check("ex00_scale", wrong)
    assert (bool(verdict), verdict.reason) == (False, "kernel")


@pytest.mark.parametrize(
    ("one", "other"),
    [("1", "True"), ("1", "1.0"), ("0.0", "-0.0"), ("(1, 2)", "(1, 2.0)"), ("1j", "2j")],
)
def test_constants(one, other):
    """Constants that Python holds for equal are not the same to Numba."""
    names = {}
    exec(f"def constant():\n    return {one}\n", names)
    nodes = [ast.parse(f"def constant():\n    return {said}\n").body[0] for said in (one, other)]
    found = [compiled_like(node, names["constant"].__code__) is not None for node in nodes]
    assert found == [True, False]


def value_of(function, *args):
    """out[0] after a launch of one thread."""
    out = np.zeros(1)
    lockstep.launch(function, (1, 1, 1), (1, 1, 1), (out, *args))
    return out[0]


@pytest.mark.parametrize(("level", "value"), [(0, 1), (1, 2), (2, 2)])
def test_optimised(level, value):
    """As Python was told to optimise, asserts and `__debug__` are in the bytecode or not."""
    text = 'def kernel(out):\n    """Why."""\n    if __debug__:\n        out[0] = 1\n'
    text += "    else:\n        out[0] = 2\n    assert out[0] > 1\n    out[0] += 10\n"
    kernel = registered(text, text, "kernel", optimize=level)
    assert value_of(kernel) == (1 if level == 0 else 12)
    assert value == (1 if level == 0 else 2)


def test_asserts_rewritten_by_pytest():
    """pytest compiles another text than the file's; what it shows for it is taken."""

    def kernel(out):
        assert out.size == 1
        out[0] = 5

    assert "@pytest_ar" in kernel.__code__.co_names
    assert value_of(kernel) == 5


SURROUNDED = [
    "import math\ndef kernel(out):\n    out[0] = math.sqrt(16.0)\n",
    "try:\n    import math\nexcept ImportError:\n    math = None\n"
    "def kernel(out):\n    out[0] = math.sqrt(16.0)\n",
    "from math import sqrt as root\ndef kernel(out):\n    out[0] = root(16.0)\n",
    "from __future__ import annotations\ndef kernel(out: int) -> None:\n    out[0] = 4\n",
    "class Of:\n    def kernel(out):\n        __own = 4\n        out[0] = __own\n"
    "kernel = Of.kernel\n",
    "def around(n):\n    def kernel(out):\n        out[0] = n\n    return kernel\n"
    "kernel = around(4)\n",
    "def around(n):\n    def kernel(out):\n        f = lambda a: a + n\n        out[0] = f(2)\n"
    "    return kernel\nkernel = around(2)\n",
    "def kernel(\n    out,\n    n=4,\n) -> None:\n    out[0] = n\n",
    "def kernel(out): out[0] = 4\n",
    "if True:\n\tdef kernel(out):\n\t\tout[0] = 4\n",
    "await_ = 4\ndef kernel(out):\n    '''At\nthe margin.'''\n    out[0] = await_\n",
    "def kernel(out):\n    out[0] = 3\ndef kernel(out):\n    out[0] = 4\n",
]


@pytest.mark.parametrize("text", SURROUNDED)
@pytest.mark.parametrize("above", ["", "first = 1; second = 2\n# a comment\n"])
def test_what_is_around_a_function(text, above):
    """What Python makes of a function depends on imports, classes and functions around it."""
    if "__future__" in text and above:
        return
    kernel = registered(above + text, above + text, "kernel")
    assert source(kernel).first == kernel.__code__.co_firstlineno
    assert value_of(kernel) == 4


def test_lambdas_of_one_line():
    """Lambdas on one line are told apart by their code."""
    text = "two, three = (lambda o: cuda.atomic.add(o, 0, 2), lambda o: cuda.atomic.add(o, 0, 3))\n"
    assert [value_of(registered(text, text, name)) for name in ("two", "three")] == [2, 3]


def test_another_code_in_the_same_function():
    """IPython's autoreload puts new code into old functions: its types and its text hold."""

    def kernel(out):
        out[0] = 1

    def later(out):
        x = 3
        out[0] = x / 2

    out = np.zeros(1)
    trace(kernel)[1, 1](out)
    kernel.__code__ = later.__code__
    trace(kernel)[1, 1](out)
    assert out[0] == 1.5
