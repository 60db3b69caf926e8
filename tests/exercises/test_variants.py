"""The stub and wrong answers that are made from a solution."""

import inspect

import numpy as np
import pytest
from numba import cuda

from smemnb.exercises.chapters import ex06_square
from smemnb.exercises.variants import edited, holes_of, shown_solution, stub_of
from smemnb.tracing import trace


@cuda.jit
def doubled(out, inp):
    """Twice the input."""
    i = cuda.grid(1)
    # FILL (about 3 lines)
    if i < out.shape[0]:
        # a comment does not count
        value = inp[i]
        out[i] = 2 * value
    if i < 0:
        # FILL (about 1 line)
        out[0] = 1


def test_stub():
    """Marked lines go; a block that has no other statement gets a pass."""
    assert stub_of(doubled) == (
        "@cuda.jit\n"
        "def doubled(out, inp):\n"
        '    """Twice the input."""\n'
        "    i = cuda.grid(1)\n"
        "    # FILL (about 3 lines)\n"
        "    if i < 0:\n"
        "        # FILL (about 1 line)\n"
        "        pass"
    )


def test_holes():
    """The size of each hole and what was in it, without comments."""
    first = ["if i < out.shape[0]:", "value = inp[i]", "out[i] = 2 * value"]
    assert list(holes_of(doubled)) == [(3, first), (1, ["out[0] = 1"])]


def test_shown():
    """A learner sees the solution without its marks."""
    text = inspect.getsource(doubled.py_func).rstrip().split("\n")
    assert shown_solution(doubled).split("\n") == [line for line in text if "FILL" not in line]


@cuda.jit
def unmarked(out):
    out[0] = 1


@cuda.jit
def too_many(out):
    if out.shape[0] > 0:
        # FILL (about 2 lines)
        out[0] = 1
    out[1] = 1


@cuda.jit
def cut_in_two(out):
    # FILL (about 1 line)
    if out.shape[0] > 0:
        out[0] = 1


@pytest.mark.parametrize(
    ("kernel", "words"),
    [(unmarked, "a solution marks"), (too_many, "(about 2 lines)"), (cut_in_two, "(about 1 line)")],
)
def test_no_stub(kernel, words):
    """A mark that does not fit the lines below it is refused, and named."""
    with pytest.raises(ValueError) as raised:
        stub_of(kernel)
    assert words in str(raised.value)


def test_edited_runs():
    """Every line that begins so is replaced; the solution itself stays as it is."""
    both = edited(doubled, {"out[": "out[i] = 3 * inp[i]", "if i < 0": "if True:"})
    out, inp = np.zeros(4, np.float32), np.arange(4, dtype=np.float32)
    trace(edited(both, {"if i < out": "if True:"}))[1, 4](out, inp)
    assert out.tolist() == [0, 3, 6, 9]
    trace(doubled)[1, 4](out, inp)
    assert out.tolist() == [0, 2, 4, 6]


def test_edited_lines():
    """A line may become several, with its indent, or none; numbers are those of the file."""
    kernel = edited(doubled, {"value =": "value = inp[i]\nif value:\n    value *= 1", "i =": ""})
    lines, first = inspect.getsourcelines(kernel.py_func)
    assert first == inspect.getsourcelines(doubled.py_func)[1]
    assert [line.rstrip("\n") for line in lines[3:10]] == [
        "",
        "    # FILL (about 3 lines)",
        "    if i < out.shape[0]:",
        "        # a comment does not count",
        "        value = inp[i]",
        "        if value:",
        "            value *= 1",
    ]


def test_edited_sees_its_module():
    """Constants and device functions are those of the solution's module."""
    kernel = edited(ex06_square.square, {"cuda.syncthreads()  # everyone": ""})
    assert kernel.py_func.__globals__["stage"] is ex06_square.stage
    assert kernel.py_func is not ex06_square.square.py_func


def test_no_such_line():
    """An edit of a line that is not there is refused, and named."""
    with pytest.raises(ValueError, match="no line of doubled begins with 'vaule ='"):
        edited(doubled, {"vaule =": ""})
