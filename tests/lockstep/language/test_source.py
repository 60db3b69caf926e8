"""Where a kernel's source comes from: lambdas, exec, sessions, factories, odd layouts."""

import linecache
import textwrap

import numpy as np
import pytest
from numba import cuda

from smemnb import lockstep, simulator
from smemnb.errors import UnsupportedSyntax
from smemnb.lockstep.source import source_tree
from smemnb.simulator.inference import infer


def result_of(function, *more):
    """out[0..3] after a launch of four threads."""
    out = np.zeros(4)
    args = (out, *more)
    lockstep.launch(function, (1, 1, 1), (4, 1, 1), args, types=infer(function, args))
    return out.tolist()


def made_by_exec(text, name, file):
    """A function made by exec, its text known to linecache under a made-up file name."""
    text = textwrap.dedent(text)
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    names = {"cuda": cuda}
    exec(compile(text, file, "exec"), names)
    return names[name]


@pytest.mark.parametrize("file", ["<ipython-input-3-abc>", "<made-up>", "/nowhere/cell_5.py"])
def test_exec_with_linecache(file):
    """Notebook cells, sessions and code writers put their text into linecache."""
    kernel = made_by_exec(
        """
        def helper(x):
            return x * 3

        def kernel(out):
            i = cuda.grid(1)
            out[i] = i + 4
        """,
        "kernel",
        file,
    )
    assert result_of(kernel) == [4, 5, 6, 7]
    assert source_tree(kernel).lineno == 5


def test_without_any_text():
    """Code without a source is refused, with the way to give it one."""
    names = {"cuda": cuda}
    exec("\n".join(["def kernel(out):", "    out[0] = 7"]), names)
    with pytest.raises(UnsupportedSyntax, match=r"linecache\.cache") as refused:
        lockstep.launch(names["kernel"], (1, 1, 1), (1, 1, 1), (np.zeros(1),))
    assert (refused.value.file, refused.value.line) == ("<string>", 1)
    shown = str(refused.value).splitlines()[1:]
    text = "def kernel(out):\n    i = cuda.grid(1)\n    out[i] = 7\n"
    exec(
        "\n".join(line.strip() for line in shown),
        {"linecache": linecache, "text": text, "names": names},
    )
    assert result_of(names["kernel"]) == [7, 7, 7, 7]


def from_literal():
    """A function made by exec from a text that stands in the code around it."""
    names = {"cuda": cuda}
    exec("def kernel(out):\n    i = cuda.grid(1)\n    out[i] = i + 20\n", names)
    assert result_of(names["kernel"]) == [20, 21, 22, 23]


def from_variable():
    """From a text in a variable of the caller, decorated while it is there."""
    text = "def kernel(out):\n    i = cuda.grid(1)\n    out[i] = {} * i\n".format("3")
    names = {"cuda": cuda}
    exec(text, names)
    return cuda.jit(names["kernel"])


def from_lines():
    """From lines that are joined on the way."""
    lines = ["@cuda.jit", "def kernel(out):", "    i = cuda.grid(1)", f"    out[i] = {2} - i"]
    names = {"cuda": cuda}
    exec("\n".join(lines), names)
    return names["kernel"]


def from_global():
    """From a text that the function's own globals keep."""
    names = {"cuda": cuda, "__source__": f"def kernel(out):\n    out[cuda.grid(1)] = {9}\n"}
    exec(names["__source__"], names)
    return cuda.jit(names["kernel"])


@pytest.mark.parametrize(
    ("made", "result"),
    [(from_variable, [0, 3, 6, 9]), (from_lines, [2, 1, 0, -1]), (from_global, [9, 9, 9, 9])],
)
def test_exec_of_a_text_that_the_program_keeps(made, result):
    """Nobody registers the text; it is where the program left it when the kernel was decorated."""
    if simulator.device() != "lockstep":
        pytest.skip("decorating is Numba's own on a GPU")
    from_literal()
    kernel = made()
    out = np.zeros(4)
    kernel[1, 4](out)
    assert out.tolist() == result


def test_lambda_kernels():
    """Two lambdas on one line are distinguished; one may go over several lines."""
    kernels = [lambda out: cuda.atomic.add(out, 0, 2.0), lambda out: cuda.atomic.add(out, 1, 3.0)]
    assert [lockstep_result(k) for k in kernels] == [[8, 0, 0, 0], [0, 12, 0, 0]]
    long = cuda.jit(
        lambda out: cuda.atomic.add(
            out,
            2,
            5.0,
        )
    )
    assert lockstep_result(long.py_func) == [0, 0, 20, 0]


def lockstep_result(function):
    """As `result_of`, without inference: a lambda returns its value, which Numba refuses."""
    out = np.zeros(4)
    lockstep.launch(function, (1, 1, 1), (4, 1, 1), (out,))
    return out.tolist()


def test_lambdas_with_captures():
    """Lambdas of one text in a factory keep their own values."""

    def made(k):
        return cuda.jit(device=True)(lambda a: a * k)

    by_three, by_five = made(3), made(5)

    def kernel(out):
        i = cuda.grid(1)
        out[i] = by_three(i) + by_five(10)

    assert result_of(kernel) == [50, 53, 56, 59]


def test_text_at_the_margin():
    """A text that begins at the margin inside an indented function."""

    def kernel(out):
        """First line.
        at the margin
        """
        i = cuda.grid(1)
        out[i] = i

    assert result_of(kernel) == [0, 1, 2, 3]
    assert source_tree(kernel).lineno == kernel.__code__.co_firstlineno


def test_decorated_twice():
    """Other decorators above or below, over several lines, change nothing."""

    def named(function):
        function.title = "a kernel"
        return function

    @cuda.jit(
        fastmath=False,
    )
    @named
    def kernel(out):
        i = cuda.grid(1)
        out[i] = 2 * i

    assert result_of(kernel.py_func) == [0, 2, 4, 6]


def test_factories_make_their_own():
    """Kernels of one factory differ in what they close over, types included."""

    def make(step, kind):
        def kernel(out):
            i = cuda.grid(1)
            x = kind(i * step)
            out[i] = x / 2

        return kernel

    assert result_of(make(3, np.int32)) == [0, 1.5, 3, 4.5]
    assert result_of(make(2.5, np.int32)) == [0, 1, 2.5, 3.5]


def test_recursion_while_compiling_in_types():
    """Nested functions of one text are inferred each for itself."""

    def chain(count):
        if count == 0:
            return cuda.jit(device=True)(lambda a: a)
        rest, half = chain(count - 1), 0.5 if count == 3 else 2

        @cuda.jit(device=True)
        def step(a):
            x = rest(a)
            x = x * half
            return x

        return step

    four = chain(4)

    def kernel(out):
        i = cuda.grid(1)
        x = four(i)
        out[i] = x / 4

    inferred = infer(kernel, (np.zeros(4),))
    assert inferred.variables()["x"] == {"float64"}
    assert inferred.returned(four.py_func) == np.dtype("float64")
    assert result_of(kernel) == [0, 1, 2, 3]


def test_empty_cell():
    """A closure variable that has no value yet is no reason to refuse the function."""

    def kernel(out):
        i = cuda.grid(1)
        if i < 0:
            out[i] = later
        out[i] = 3

    with pytest.raises(UnsupportedSyntax, match="'later' is not defined"):
        lockstep.launch(kernel, (1, 1, 1), (4, 1, 1), (np.zeros(4),))
    later = 5
    assert result_of(kernel) == [3, 3, 3, 3]
