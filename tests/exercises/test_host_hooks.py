"""What of a submission would run on the host is refused with its name; what is plain is not."""

import enum
import math
import operator
import types
from collections import namedtuple
from functools import wraps
from typing import NamedTuple

import numpy as np
import pytest
from numba import cuda, float32
from numba.cuda.extending import intrinsic
from test_other_answers import EACH as OTHER_ANSWERS

from smemnb.exercises.check import check, graded
from smemnb.exercises.host_hooks import host_hook
from smemnb.exercises.registry import exercises, find
from smemnb.exercises.source import parameters, source_of
from smemnb.exercises.variants import kernel_of
from smemnb.kernels.ptx import load1, store1
from smemnb.lockstep.protocol import lockstep_implementation
from tests.tiers import sampled

ALL = exercises()
SCALE = find("ex00_scale")

LINES = """\
@cuda.jit
def answer(out, inp):
    i = cuda.grid(1)
    if i < out.shape[0]:
        out[i] = {}
"""


def answer(expression, **known):
    """A kernel for ex00_scale that stores an expression, with the names that it knows."""
    made = kernel_of("@cuda.jit\ndef scale(out, inp):\n    pass", SCALE.solution)
    made.py_func.__globals__.update(known)
    text = LINES.format(expression).replace("answer", "scale")
    return kernel_of(text, made)


def refused(kernel):
    """What check says of a kernel that it does not run."""
    verdict = check("ex00_scale", kernel)
    assert (bool(verdict), verdict.reason) == (False, "kernel")
    assert len(verdict.parts) == 1
    return verdict.parts[0].text


# --- what is refused ---------------------------------------------------------------------------


class WritesOutputs:
    """Writes what the specification says, on the host, after the launch."""

    def __init__(self, exercise):
        self.exercise, self.arguments = exercise, []

    def prepare_args(self, kind, value, stream=None, retr=None):
        self.arguments.append(value)
        if len(self.arguments) == len(parameters(self.exercise.solution)):
            arguments, self.arguments = self.arguments, []
            retr.append(lambda: self.fill(arguments))
        return kind, value

    def fill(self, arguments):
        right = self.exercise.specification(*arguments[1:])
        arguments[0][...] = right


@pytest.mark.parametrize("exercise", sampled(ALL, 1), ids=[e.name for e in ALL])
def test_extensions(exercise):
    """`extensions=` run on the host around the launch, of kernels that do nothing else."""
    text = (
        f"@cuda.jit\ndef cheat({', '.join(parameters(exercise.solution))}):\n    i = cuda.grid(1)"
    )
    name = exercise.solution.py_func.__name__
    empty = kernel_of(text.replace("cheat", name), exercise.solution)
    verdict = graded(exercise, cuda.jit(extensions=[WritesOutputs(exercise)])(empty.py_func))
    assert (bool(verdict), verdict.reason) == (False, "kernel")
    assert "extensions=" in verdict.parts[0].text


@cuda.jit(device=True)
def read(tile, r, c):
    return tile[r, c]


def quiet(batch, mask, site, tile, r, c):
    offset, _ = tile.place(batch, (r, c), mask, site)
    return tile.store.read(batch, offset)


@cuda.jit(device=True)
def read_through(tile, r, c):
    return read(tile, r, c)


@pytest.mark.filterwarnings("ignore:First-class function")
@pytest.mark.parametrize("called", ["read", "read_through", "several[0]"])
def test_another_meaning_for_the_engine(called, monkeypatch):
    """A device function with `__lockstep__` hides conflicts, also from behind another one."""
    exercise = find("ex02_pitch")
    text = source_of(exercise.solution).replace("tile[tx, k]", f"{called}(tile, tx, k)")
    text = text.replace("(32, PITCH)", "(32, 24)")
    kernel = kernel_of(text, exercise.solution)
    kernel.py_func.__globals__.update(read=read, read_through=read_through, several=(read_through,))
    assert graded(exercise, kernel).reason == "wavefronts"
    monkeypatch.setattr(read, "__lockstep__", quiet, raising=False)
    verdict = graded(exercise, kernel)
    assert verdict.reason == "kernel"
    assert "carries __lockstep__" in verdict.parts[0].text


def test_lockstep_on_the_function(monkeypatch):
    """The same on the Python function, and of a meaning that is smemnb's own."""
    monkeypatch.setattr(read.py_func, "__lockstep__", load1.__lockstep__, raising=False)
    assert "__lockstep__" in refused(answer("read(inp, i, 0)", read=read))


def test_an_intrinsic_of_ones_own():
    """An `@intrinsic` that brings its own meaning is not one of smemnb's."""

    @intrinsic
    def peek(typingctx, array, index):
        raise AssertionError("it is not asked")

    lockstep_implementation(peek)(quiet)
    assert "peek in scale" in refused(answer("peek(inp, i)", peek=peek))


def test_the_text_of_another_function():
    """`__wrapped__` on a function makes Python show other lines than it has."""

    def honest(out, inp):
        out[cuda.grid(1)] = 2 * inp[cuda.grid(1)]

    @wraps(honest)
    def other(out, inp):
        out[0] = 0

    assert "__wrapped__" in refused(cuda.jit(other))


def test_parameters_of_another_function():
    """Nor may a function say that it has other parameters."""
    made = answer("2 * inp[i]")
    made.py_func.__signature__ = __import__("inspect").signature(made.py_func)
    assert "__signature__" in refused(made)


def test_looks_like_a_kernel():
    """A class of one's own with the name of Numba's."""

    class CUDADispatcher:
        py_func = staticmethod(SCALE.solution.py_func)

    assert "only looks like a kernel" in refused(CUDADispatcher())


class Number(int):
    def __mul__(self, other):
        return 2 * other


class Typed:
    _numba_type_ = float32

    def __mul__(self, other):
        return 2 * other


class Table(np.ndarray):
    def __getitem__(self, index):
        return 2.0


class Pair(namedtuple("Pair", "one two")):
    def __new__(cls, *values):
        return tuple.__new__(cls, values)


class Lazy(types.ModuleType):
    @property
    def factor(self):
        return 2


@pytest.mark.parametrize(
    ("expression", "known", "word"),
    [
        ("Two * inp[i]", {"Two": Number(2)}, "Two"),
        ("two * inp[i]", {"two": Typed()}, "two"),
        ("table[i]", {"table": np.zeros(4, np.float32).view(Table)}, "table"),
        ("table[i]", {"table": np.array([1, None])}, "table"),
        ("pair[0] * inp[i]", {"pair": (2, (Number(2), 1))}, "pair"),
        ("Pair(inp[i], 1)[0]", {"Pair": Pair}, "Pair"),
        ("pair.one * inp[i]", {"pair": Pair(2, 2)}, "pair"),
        ("twice(inp[i])", {"twice": np.frompyfunc(lambda x: 2 * x, 1, 1)}, "twice"),
        ("twice(inp[i])", {"twice": Typed().__mul__}, "twice"),
        ("lazy.factor * inp[i]", {"lazy": Lazy("lazy")}, "lazy"),
        ("two[0] * inp[i]", {"two": [2]}, "two"),
        ("own.two * inp[i]", {"own": types.SimpleNamespace(two=2)}, "own"),
        ("Typed.two * inp[i]", {"Typed": Typed}, "Typed"),
        ("(lambda x: two * x)(inp[i])", {"two": Typed()}, "two"),
    ],
)
def test_objects(expression, known, word):
    """Objects whose operators, items, attributes or constructors are Python, by their name."""
    assert f"{word} in " in refused(answer(expression, **known))


def test_objects_elsewhere():
    """Also in a closure, in a default, and in a module of one's own."""

    def made(two):
        @cuda.jit
        def scale(out, inp):
            out[cuda.grid(1)] = two * inp[cuda.grid(1)]

        return scale

    assert "two in scale" in refused(made(Number(2)))
    kernel = answer("2 * inp[i]")
    kernel.py_func.__defaults__ = (Typed(),)
    assert "a default in scale" in refused(kernel)
    own = types.ModuleType("own")
    own.two = Typed()
    assert "own.two in scale" in refused(answer("own.two * inp[i]", own=own))


# --- what is not -------------------------------------------------------------------------------

Sizes = namedtuple("Sizes", "tile factor")


class Written(NamedTuple):
    """The same, written out."""

    tile: int
    factor: int = 2


class Factor(enum.IntEnum):
    TWO = 2


class Odd:
    """Never looked at by a kernel that has an attribute of its name."""


@cuda.jit(device=True)
def twice(x):
    return x * float32(2)


OWN = types.ModuleType("own")
OWN.two, OWN.unused = 2, Odd()


@pytest.mark.parametrize(
    ("expression", "known"),
    [
        ("TWO * inp[i]", {"TWO": np.float32(2)}),
        ("TWO * inp[i]", {"TWO": np.int64(2)}),
        ("sizes.factor * inp[i]", {"sizes": Sizes(32, 2)}),
        ("sizes.factor * inp[i]", {"sizes": Written(32)}),
        ("sizes[1] * inp[i]", {"sizes": (32, 2)}),
        ("Factor.TWO * inp[i]", {"Factor": Factor}),
        ("table[0] * inp[i]", {"table": np.array([2, 3], np.float32)}),
        ("twice(inp[i])", {"twice": twice}),
        ("own.two * inp[i]", {"own": OWN}),
        ("math.fabs(2) * inp[i]", {"math": math}),
        ("fabs(2) * inp[i]", {"fabs": math.fabs}),
        ("np.float32(2) * inp[i]", {"np": np}),
        ("maximum(inp[i], inp[i]) * 2", {"maximum": np.maximum}),
        ("kind(2) * inp[i]", {"kind": np.dtype("f4").type}),
        ("add(inp[i], inp[i])", {"add": operator.add}),
        ("2 * inp[i + 0 * cuda.threadIdx.x]", {"x": Odd(), "shape": Odd()}),
        ("2 * load1(inp, i)", {"load1": load1}),
        ("(2 if i >= 0 else 3) * inp[i]", {}),
    ],
)
def test_plain(expression, known):
    """Numbers, tuples, enums, arrays, modules, functions of Numba, NumPy, math and smemnb."""
    kernel = answer(expression, **known)
    assert host_hook(kernel) == ""
    assert check("ex00_scale", kernel).reason != "kernel"  # it may have a price


def test_own_intrinsics():
    """smemnb's accesses use the protocol; a learner may import them."""
    loaded = "store1(out, i, float32(2) * load1(inp, i))"
    known = answer("0", load1=load1, store1=store1, float32=float32)
    kernel = kernel_of(source_of(known).replace("out[i] = 0", loaded), known)
    assert check("ex00_scale", kernel)
    assert not host_hook(find("ex04_records").solution)


def test_nothing_of_the_exercises():
    """No solution, no wrong answer and no other right answer is refused so."""
    kernels = [one.solution for one in ALL]
    kernels += [one.wrong_kernel(wrong) for one in ALL for wrong in one.wrong]
    kernels += [kernel for _, kernel in OTHER_ANSWERS]
    assert len(kernels) > 270
    assert {host_hook(kernel) for kernel in kernels} == {""}
