"""Kernels rebuilt from their text: as in a module, at their lines, and nothing of it is run."""

import linecache
import re
import sys

import numpy as np
import pytest

from smemnb.exercises.check import graded
from smemnb.exercises.likeness import from_nothing
from smemnb.exercises.registry import exercises, find
from smemnb.exercises.source import show_source
from smemnb.grading.building import KEPT_TEXTS, build
from smemnb.grading.judging import judged
from smemnb.grading.kernel_names import known_names
from smemnb.grading.permitted import NotForKernels
from smemnb.grading.program import Function, NotAProgram, Program, from_json, value_of
from smemnb.grading.taking import take
from tests.grading.submitted import file_of, imported
from tests.tiers import sampled

KNOWN = known_names()
HEAD = """import numpy as np
import numba
from numba import cuda
T, BIG = (1, 2), 9**19

@cuda.jit
def k(out, inp):
    i = cuda.grid(1)
"""


def program(body, head=HEAD):
    """The program of a kernel with this body, line 9 of its file."""
    lines = "\n".join(f"    {line}" for line in body.split("\n"))
    text = f"{head}{lines}\n\ncheck('ex00_scale', k)\n"
    (one,) = take({"k.py": text.encode()}, KNOWN).answers["ex00_scale"]
    return one


ANSWERS = [
    pytest.param(one, wrong, id=f"{one.name}-{number}")
    for one in exercises()
    for number, wrong in enumerate([None, *one.wrong])
]


@pytest.mark.parametrize(("exercise", "wrong"), sampled(ANSWERS, 5, second=130))
def test_as_in_a_module(tmp_path, exercise, wrong):
    """Solutions and wrong answers get the verdict, letter by letter, that they get in a module."""
    kernel = None if wrong is None else exercise.wrong_kernel(wrong)
    name = (kernel or exercise.solution).py_func.__name__
    text = file_of(exercise, kernel)
    live = getattr(imported(text, tmp_path / "k.py"), name)
    (answer,) = take({"k.py": text.encode()}, KNOWN).answers[exercise.name]
    assert from_json(answer.to_json()) == answer
    outcome = judged(exercise.name, [answer])
    assert outcome.whole == repr(graded(exercise, live, compiling=False))
    assert (outcome.grade == "accepted") is (wrong is None)


@pytest.mark.parametrize(
    "body",
    [
        *("out[i] = nowhere", "out[i] = np.zeros(3)[0]", "x = [1, 2]\nout[i] = x[0]", "del inp"),
        *(
            "try:\n    out[i] = 1\nexcept ValueError:\n    pass",
            "x = f'{i}'\nout[i] = 1",
            "yield 3",
        ),
        *("cuda.synchthreads()", "out[i] = inp[i].nowhere", "out[i] = T[5]", "out[i] = 'x'"),
        *("raise ValueError('x')", "while True:\n    i += 0", "out[i] = math.sqrt(inp[i])"),
    ],
)
def test_refused_as_in_a_module(tmp_path, monkeypatch, body):
    """What Numba, the engine or the clock refuses of a kernel is said as of one in a module."""
    monkeypatch.setattr("smemnb.exercises.check.PATIENCE_SECONDS", 0.3)
    lines = "\n".join(f"    {line}" for line in body.split("\n"))
    text = f"{HEAD}{lines}\n\ncheck('ex00_scale', k)\n"
    live = imported(text, tmp_path / "k.py").k
    outcome = judged("ex00_scale", [program(body)])
    expected = repr(graded(find("ex00_scale"), live))
    assert re.sub(r"[\d.]+ s\b", "", outcome.whole) == re.sub(r"[\d.]+ s\b", "", expected)


NOT_FOR_KERNELS = {
    "np.load('secret')": "np.load",
    "np.f2py": "np.f2py",  # a module that NumPy imports when it is asked for
    "np.testing.assert_equal(1, 1)": "np.testing",
    "np.random.rand()": "np.random",
    "np.memmap('x', mode='w+', shape=(3,))": "np.memmap",
    "np.sqrt.reduce(inp)": "np.sqrt.reduce",
    "np.__loader__": "__loader__",
    "np": "np is a module",
    "(np, 1)": "np is a module",
    "[np for np in T] or np.load('x')": "np",
    "numba.typeof(inp)": "numba.typeof",
    "numba.extending.overload": "numba.extending",
    "cuda.np.load('x')": "cuda.np",
    "cuda.jit('void(int32)')": "cuda.jit",
    "cuda.declare_device('f', 'int32(int32)')": "cuda.declare_device",
    "cuda.to_device(inp)": "cuda.to_device",
    "cuda.close()": "cuda.close",
    "cuda.grid.__globals__": "__globals__",
    "cuda.shared.array.__doc__": "__doc__",
    "inp.__class__": "__class__",
    "getattr(np, 'load')": "getattr",
    "open('secret')": "open",
    "eval('1 + 1')": "eval",
    "exec('1')": "exec",
    "__import__('os')": "__import__",
    "globals()": "globals",
    "(lambda x=open('pwned', 'w'): 1)()": "open",
    "BIG ** BIG": "BIG ** BIG",
    "T * BIG": "T * BIG",
    "'x' * BIG": "'x' * BIG",
    "1 << BIG": "1 << BIG",
    "'%999999999999d' % 1": "'%999999999999d' % 1",
}


@pytest.mark.parametrize("expression", NOT_FOR_KERNELS)
def test_not_for_kernels(expression):
    """What inference would look up, import or compute is refused by name, with its line, before."""
    with pytest.raises(NotForKernels) as refusal:
        build(program(f"x = {expression}\nif x:\n    out[i] = 1"))
    assert str(refusal.value).startswith(f"line 9: {NOT_FOR_KERNELS[expression]} ") or (
        NOT_FOR_KERNELS[expression] in str(refusal.value)
    )


@pytest.mark.parametrize(
    ("body", "line"),
    [
        ("with numba.objmode(y='float32'):\n    y = 3.0\nout[i] = y", 9),
        ("with cuda.defer_cleanup():\n    out[i] = 1", 9),
        ("x = 1\nimport os", 10),
        ("from os import system", 9),
        ("class A:\n    pass", 9),
        ("global T\nT = 3", 9),
        ("@cuda.jit\ndef f():\n    return 1", 9),
        ("def f():\n    @numba.njit\n    def g():\n        return 1", 10),
        ("def f(x=np.load('y')):\n    return x", 9),
        ("n = 10**9\nm = n\nif 3 ** m:\n    out[i] = 1", 11),
        ("n, m = 3, 10**9\nif n ** m:\n    out[i] = 1", 10),
        ("a = 9\nb = a ** a\nc = b ** a\nd = c ** b\nif d:\n    out[i] = 1", 12),
        ("m = np\nx = m.load('y')", 9),
        ("if i < 0:\n    raise SystemExit(3)", 10),
    ],
)
def test_statements_not_for_kernels(body, line):
    """The same of statements, constants by way of variables, and functions inside the kernel."""
    with pytest.raises(NotForKernels, match=f"^line {line}: "):
        build(program(body))


def test_nothing_is_done(tmp_path, monkeypatch):
    """No file is opened for writing, nothing is imported by name, however the text asks for it."""
    monkeypatch.chdir(tmp_path)
    head = HEAD.replace("@cuda.jit\n", "@cuda.jit\n") + "    " + "\n"
    seen = []
    watching = True

    def hook(event, arguments):
        if watching and (event.startswith(("os.", "subprocess", "socket")) or event == "open"):
            written = event != "open" or "w" in str(arguments[1])
            seen.extend([(event, arguments)] if written else [])

    sys.addaudithook(hook)
    try:
        text = "def f(x=open('a', 'w')):\n    return x\nout[i] = 2 * inp[i]\nopen('b', 'w')"
        text = head + "\n".join(f"    {line}" for line in text.split("\n"))
        text += (
            "\nopen('c', 'w')\n@(lambda f: open('d', 'w'))\ndef g(y=open('e', 'w')):\n    pass\n"
        )
        text += "import os\nos.mkdir('h')\ncheck('ex00_scale', k)\nopen('i', 'w')\n"
        answers = take({"k.py": text.encode()}, KNOWN).answers["ex00_scale"]
        outcome = judged("ex00_scale", answers)
    finally:
        watching = False
    assert (outcome.grade, outcome.reason, seen) == ("wrong", "kernel", [])
    assert list(tmp_path.iterdir()) == []


def function(**changed):
    """A function of a program, made by hand: as one that lies would send it."""
    source = "@cuda.jit\ndef k(out, inp):\n    out[0] = inp[0]\n"
    parts = {"name": "k", "source": source, "file": "k.py", "first_line": 5, "kind": "kernel"}
    return Function(**{**parts, "names": {}, **changed})


FORGED = [
    {"source": "k = 3"},
    {"source": "def other(out, inp):\n    pass"},
    {"source": "def k(out, inp):\n    pass\nimport os"},
    {"source": "def k(out, inp:\n"},
    {"source": "class k:\n    pass"},
    {"source": "async def k(out, inp):\n    pass"},
    {"source": "(" * 50_000},
    {"source": "def k(out, inp):\n    return " + "-" * 50_000 + "1"},
    {"source": "def k(out, inp):\n    x = 1\x00"},
    {"source": "def k(out, inp):\n    return 1\n    yield\n    nonlocal x"},
    {"options": {"extensions": value_of(())}},
    {"options": {"link": value_of("x.cu")}},
    {"options": {"max_registers": value_of("64")}},
    {"options": {"launch_bounds": value_of(((1, 2), 3))}},
    {"options": {"pipeline_class": value_of(1)}},
    {"options": {"signature": value_of(("__import__('os').system('x')",))}},
    {"options": {"signature": value_of(("void(float32[:], [c for c in ()])",))}},
    {"options": {"signature": value_of("void()")}},
    {"options": {"signature": value_of(("int32(int32, int32)",))}},
    {"kind": "plain", "options": {"signature": value_of(("void()",))}},
    {"first_line": 1_000_000, "source": "def k(out, inp):\n    pass\n" + "\n" * 10},
]


@pytest.mark.parametrize("changed", FORGED, ids=range(len(FORGED)))
def test_forged(changed):
    """A program that is no kernel, or asks for more than a kernel may, is refused and not run."""
    with pytest.raises(NotAProgram):
        build(Program((function(**changed),)))
    assert judged("ex00_scale", [Program((function(**changed),))]).grade == "stopped"


def test_lines_and_source():
    """The text of a kernel stands at its lines, with what it uses of its own file around it."""
    text = "from numba import cuda, float32\n\nN = float32(2)\n\n\n"
    text += "@cuda.jit(device=True)\ndef twice(x):\n    return N * x\n\n\n"
    text += "@cuda.jit\ndef k(out, inp):\n    i = cuda.grid(1)\n"
    text += "    if i < out.size:\n        out[i] = twice(inp[i])\n\n\ncheck('ex00_scale', k)\n"
    (one,) = take({"k.py": text.encode()}, KNOWN).answers["ex00_scale"]
    shown = repr(show_source(build(one))).split("\n")
    assert (shown[0], shown[-1]) == (
        " 6  @cuda.jit(device=True)",
        "15          out[i] = twice(inp[i])",
    )
    assert bool(graded(find("ex00_scale"), build(one)))


def test_two_functions_of_one_place():
    """Two texts that claim the same lines, of a factory that ran twice, are kept apart."""
    source = "    @cuda.jit(device=True)\n    def f(x):\n        return {} * x\n"
    both = [function(name="f", source=source.format(n), kind="device") for n in (2, 3)]
    names = {"f": value_of(1), "g": value_of(1), "cuda": value_of(__import__("numba").cuda)}
    names |= {"f": type(value_of(1))("function", 1), "g": type(value_of(1))("function", 2)}
    text = "@cuda.jit\ndef k(out, inp):\n    i = cuda.grid(1)\n    out[i] = f(inp[i]) + g(inp[i])\n"
    kernel = build(Program((function(source=text, names=names, first_line=30), *both)))
    out, inp = np.zeros(4, np.float32), np.arange(4, dtype=np.float32)
    kernel[1, 4](out, inp)
    assert out.tolist() == [0, 5, 10, 15]


@pytest.mark.parametrize(
    ("signature", "dtypes"), [("signature", (np.float32,)), ("signatures", (np.float32, np.int32))]
)
def test_signatures(signature, dtypes):
    """A declared kernel takes the types of its signatures and casts to them."""
    texts = tuple(f"void({np.dtype(one)}[:], {np.dtype(one)}[:])" for one in dtypes)
    text = "@cuda.jit\ndef k(out, inp):\n    i = cuda.grid(1)\n    out[i] = inp[i] + 1\n"
    names = {"cuda": value_of(__import__("numba").cuda)}
    one = function(source=text, names=names, options={signature: value_of(texts)})
    kernel = build(Program((one,)))
    for dtype in dtypes:
        out = np.zeros(4, dtype)
        kernel[1, 4](out, np.arange(4, dtype=dtype))
        assert out.tolist() == [1, 2, 3, 4]
    with pytest.raises(TypeError):
        kernel[1, 4](np.zeros(4, np.int8), np.zeros(4, np.int8))


def test_texts_are_given_up():
    """The texts of old programs do not pile up where Python keeps lines."""
    before = len(linecache.cache)
    for number in range(KEPT_TEXTS + 40):
        build(Program((function(file=f"{number}.py", kind="plain"),)))
    assert len(linecache.cache) <= before + KEPT_TEXTS


def test_likeness():
    """A solution is like itself where learners begin from nothing; others are told nothing."""
    exercise = next(one for one in exercises() if from_nothing(one))
    given = next(one for one in exercises() if not from_nothing(one))
    for one, wanted in ((exercise, 1.0), (given, None)):
        answers = take({"k.py": file_of(one).encode()}, KNOWN).answers[one.name]
        outcome = judged(one.name, answers, seed=1)
        assert (outcome.grade, outcome.likeness) == ("accepted", wanted)
