"""Hints, solutions, predictions and sources, as a learner meets them."""

import linecache

import numpy as np
import pytest
from kernels import hoarder, untouched
from numba import cuda

from smemnb.exercises.hints import hint, solution
from smemnb.exercises.predict import ASK, predict
from smemnb.exercises.registry import find
from smemnb.exercises.source import same_code, show_change, show_source
from smemnb.tracing import trace

SCALE = find("ex00_scale")


@pytest.mark.parametrize("level", [1, 2, 3])
def test_hint(level):
    """Each level gives its own hint and names the next step."""
    given = hint("ex00_scale", level)
    assert given.level == level
    assert repr(given).startswith(f"{level} of 3: {SCALE.hints[level - 1]}")
    assert (f'hint("ex00_scale", {level + 1})' in repr(given)) == (level < 3)


@pytest.mark.parametrize("level", [0, 4, -1, "one", None, True, 1.5])
def test_no_such_hint(level):
    """Another level is refused in words, and gives nothing away."""
    given = hint("ex00_scale", level)
    assert given.level == 0
    assert "has hints 1, 2 and 3" in repr(given)
    assert not any(text in repr(given) for text in SCALE.hints)


def test_hint_of_a_text():
    """A level in quotes is refused with the call to write."""
    given = hint("ex00_scale", "2")
    assert given.level == 0
    assert 'hint("ex00_scale", 2)' in repr(given)


def test_predict_without_parentheses():
    """Two numbers that are not one guess: the parentheses are asked for, nothing is raised."""
    for call in (lambda: predict(1, 2, np.array([1, 2])), lambda: predict(1, 2, 3, [1, 2, 3])):
        assert call().holds is None
        assert "predict((1, ...), truth)" in repr(call())


def test_predict_a_text():
    """A number in quotes is refused as one."""
    assert predict("4", 4).holds is False
    assert "without quotes" in repr(predict("4", 4))


def test_hint_of_nothing():
    """An unknown exercise has no hint and no solution; the near name is suggested."""
    assert "did you mean ex00_scale?" in repr(hint("ex00_scal", 1))
    assert "did you mean ex00_scale?" in repr(solution("ex00_scal"))
    assert solution("ex00_scal").kernel is None


def test_solution():
    """The source with its decorator, and a kernel that runs."""
    shown = solution("ex00_scale")
    assert repr(shown).startswith("@cuda.jit\ndef scale(out, inp):\n")
    assert repr(shown).endswith("        out[i] = 2 * inp[i]")
    out, inp = np.zeros(5, np.float32), np.arange(5, dtype=np.float32)
    trace(shown.kernel)[1, 32](out, inp)
    assert out.tolist() == [0, 2, 4, 6, 8]


def test_show_source():
    """Functions and kernels alike; words for what has none."""
    numbered = repr(show_source(test_solution)).split("\n")
    first = test_solution.__code__.co_firstlineno
    assert numbered[0] == f"{first}  def test_solution():"
    assert repr(show_source(len)).startswith("no source: ")


STEP = 3
# a comment belongs to the line below it
LEAP = STEP * 2
UNUSED = 7


@cuda.jit(device=True)
def further(x):
    """One more."""
    return x + STEP


@cuda.jit
def stepping(out):
    """Steps."""
    out[0] = further(out[0])


@cuda.jit
def leaping(out):
    """Leaps."""
    out[0] = further(out[0]) + LEAP


def made(step):
    @cuda.jit
    def inside(out):
        out[0] = further(out[0]) + step

    return inside


def test_show_source_of_a_kernel_with_what_it_uses():
    """Constants and device functions of its file, in its order; each line with its number."""
    shown = repr(show_source(leaping)).split("\n")
    file = linecache.getlines(__file__)
    numbers = [int(line.split()[0]) for line in shown if line]
    assert numbers == sorted(numbers)
    text = [file[number - 1].rstrip("\n") for number in numbers]
    assert [line.strip().partition("  ")[2].lstrip() for line in shown if line] == [
        line.strip() for line in text
    ]
    assert [line for line in text if not line.startswith(" ")] == [
        "STEP = 3",
        "# a comment belongs to the line below it",
        "LEAP = STEP * 2",
        "@cuda.jit(device=True)",
        "def further(x):",
        "@cuda.jit",
        "def leaping(out):",
    ]
    assert "LEAP = STEP * 2" not in repr(show_source(stepping))
    assert repr(show_source(made(1))).split("\n")[0].split()[1] == "@cuda.jit"


def test_show_change_of_kernels_with_what_they_use():
    """A constant that came, and a line; nothing of names and docstrings."""
    assert repr(show_change(stepping, leaping)).split("\n") == [
        "stepping -> leaping",
        "+ # a comment belongs to the line below it",
        "+ LEAP = STEP * 2",
        "",
        "-     out[0] = further(out[0])",
        "+     out[0] = further(out[0]) + LEAP",
    ]
    assert repr(show_change(leaping, leaping)) == "leaping -> leaping\n(the same lines)"


def with_step(x):
    """One more."""
    # a comment of both

    y = x + 1
    return y


def with_leap(x):
    """Two more."""
    # a comment of both
    y = x + 2
    return y


def test_show_change():
    """Lines that went and lines that came, in their order; no docstring, name or blank line."""
    assert repr(show_change(with_step, with_leap)).split("\n") == [
        "with_step -> with_leap",
        "-     y = x + 1",
        "+     y = x + 2",
    ]
    assert repr(show_change(with_step, with_step)) == "with_step -> with_step\n(the same lines)"
    assert repr(show_change(len, with_leap)).startswith("no change can be shown from a value of")
    assert show_change(with_step, with_leap).kernel is with_leap


def test_same_code():
    """Docstrings, comments, layout and the function's name do not count; statements do."""
    assert same_code(untouched, SCALE.stub)
    assert not same_code(SCALE.solution, SCALE.stub)
    assert not same_code(hoarder, SCALE.stub)
    assert not same_code(None, "")


@pytest.mark.parametrize(
    ("guess", "truth", "holds"),
    [
        (32, 32, True),
        (31, 32, False),
        (32, np.int64(32), True),
        (0.1 + 0.2, 0.3, True),
        ((1, 2), np.array([1, 2]), True),
        ((1, 2), (1, 2, 3), False),
        ("row", "row", True),
        ("32", 32, False),
        (np.float32(2), 2, True),
    ],
)
def test_predict(guess, truth, holds):
    """Whether a guess holds, said without the answer."""
    given = predict(guess, truth)
    assert given.holds is holds
    assert ("32" in repr(given).replace(str(guess), "")) is False


def test_no_guess():
    """Without a guess the truth is not even computed."""
    asked = []
    for guess in (None, (None, 2), ()):
        given = predict(guess, lambda: asked.append(1))
        assert (given.holds, repr(given)) == (None, ASK)
    assert asked == []


def test_within():
    """A relative error that still counts as right."""
    assert predict(90, 100, within=0.1).holds is True
    assert predict(89, 100, within=0.1).holds is False
