"""No line of a solution is there for nothing: without it, the checker refuses the kernel."""

import linecache
import random

import pytest
from equivalents import EQUIVALENTS
from mutants import mutants, unchanged

from smemnb.exercises.check import graded
from smemnb.exercises.registry import exercises

ALL = exercises()
KILLED: dict[str, tuple[int, int]] = {}


def survivors(exercise):
    """The lines that the checker does not miss; the figure is noted in KILLED."""
    every = list(mutants(exercise.solution))
    left = [mutant.line for mutant in every if graded(exercise, mutant.kernel, advise=False)]
    KILLED[exercise.name] = len(every) - len(left), len(every)
    return left


@pytest.mark.parametrize("exercise", ALL, ids=[e.name for e in ALL])
def test_one_line_is_needed(exercise):
    """One mutant, drawn by the exercise's name, is refused: of the first tier."""
    known = EQUIVALENTS.get(exercise.name, {})
    needed = [mutant for mutant in mutants(exercise.solution) if mutant.line not in known]
    mutant = random.Random(exercise.name).choice(needed)
    assert not graded(exercise, mutant.kernel, advise=False), mutant.line


@pytest.mark.exhaustive
@pytest.mark.parametrize("exercise", ALL, ids=[e.name for e in ALL])
def test_each_line_is_needed(exercise):
    """Every mutant is refused, but for the lines that equivalents.py names."""
    assert sorted(survivors(exercise)) == sorted(EQUIVALENTS.get(exercise.name, {}))
    assert KILLED[exercise.name][1] >= 3


@pytest.mark.exhaustive
@pytest.mark.parametrize("exercise", ALL, ids=[e.name for e in ALL])
def test_nothing_else_is_lost(exercise):
    """A solution made anew from its whole text is accepted: a mutant fails for its line."""
    assert graded(exercise, unchanged(exercise.solution))


@pytest.mark.exhaustive
def test_figure(capsys):
    """The figure: killed of all, and how many of the others are known to be equivalent."""
    if set(KILLED) != {e.name for e in ALL}:
        pytest.skip("the figure wants all exercises in this process")
    killed, made = (sum(pair[i] for pair in KILLED.values()) for i in (0, 1))
    known = sum(len(lines) for lines in EQUIVALENTS.values())
    with capsys.disabled():
        print(f"\nmutants of {len(ALL)} solutions: {killed} of {made} refused, {known} equivalent")
    assert killed + known == made


def test_equivalents_have_exercises_and_reasons():
    """The list names exercises that exist, and says why."""
    assert set(EQUIVALENTS) <= {e.name for e in ALL}
    assert all(len(why) > 20 for lines in EQUIVALENTS.values() for why in lines.values())


def test_lines_are_taken_out():
    """A kernel of seven lines has seven mutants; a loop's head, an else and a store among them."""
    found = [(one.number, one.line) for one in mutants(_made_up())]
    assert found == [
        (3, "tile = cuda.shared.array(32, float32)"),
        (4, "if inp[0] > 0:"),
        (5, "tile[0] = inp[0]"),
        (6, "else:"),
        (7, "tile[0] = 0"),
        (8, "for k in range(1):"),
        (9, "out[k] = tile[k]"),
    ]
    texts = ["".join(_lines(one)) for one in mutants(_made_up())]
    assert "    if True:\n        tile[0] = inp[0]\n    else:" in texts[1]
    assert "tile[0] = inp[0]\n\n        tile[0] = 0" in texts[3]
    assert "    if True:\n        out[k] = tile[k]" in texts[5]


def _lines(mutant):
    return linecache.getlines(mutant.kernel.py_func.__code__.co_filename)


def _made_up():
    from numba import cuda, float32

    @cuda.jit
    def made_up(out, inp):
        tile = cuda.shared.array(32, float32)
        if inp[0] > 0:
            tile[0] = inp[0]
        else:
            tile[0] = 0
        for k in range(1):
            out[k] = tile[k]

    return made_up
