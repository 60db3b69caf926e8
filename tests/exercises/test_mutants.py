"""No line of a solution is there for nothing: without it, the checker refuses the kernel."""

import pytest
from equivalents import EQUIVALENTS
from mutants import mutants, unchanged
from numba import cuda, float32

from smemnb.exercises.check import graded
from smemnb.exercises.registry import exercises
from smemnb.exercises.variants import kernel_of
from tests.tiers import sampled

ALL = exercises()
MUTANTS = {exercise.name: mutants(exercise.solution) for exercise in ALL}
EVERY = [(exercise, number) for exercise in ALL for number in range(len(MUTANTS[exercise.name]))]
ENDLESS = "done = uint32(done + uint32(DEPTH))"
"""A line without which a loop never ends: check gives up after its patience, 15 s."""


def marked(pair):
    """A case of the test below; nightly where it takes a check's whole patience."""
    exercise, number = pair
    endless = MUTANTS[exercise.name][number].line == ENDLESS
    return pytest.param(*pair, marks=[pytest.mark.nightly] * endless)


def named(mutant):
    """The names that a line may have in equivalents.py: its text, and its text with its number."""
    return {mutant.line, f"line {mutant.number}: {mutant.line}"}


@pytest.mark.first(8)
@pytest.mark.parametrize(
    ("exercise", "number"),
    sampled(map(marked, EVERY), 1, by=lambda case: case.values[0].name),
    ids=[f"{exercise.name}-{number}" for exercise, number in EVERY],
)
def test_each_line_is_needed(exercise, number):
    """A mutant is refused, unless equivalents.py says why its line may be missing."""
    mutant = MUTANTS[exercise.name][number]
    verdict = graded(exercise, kernel_of(mutant.text, exercise.solution), advise=False)
    known = bool(named(mutant) & set(EQUIVALENTS.get(exercise.name, {})))
    assert bool(verdict) == known, f"without line {mutant.number}, {mutant.line}"


@pytest.mark.exhaustive
@pytest.mark.parametrize("exercise", ALL, ids=[e.name for e in ALL])
def test_nothing_else_is_lost(exercise):
    """A solution made anew from its whole text is accepted: a mutant fails for its line."""
    assert graded(exercise, unchanged(exercise.solution))


def test_number():
    """How many mutants there are, and that no exercise is without."""
    assert len(EVERY) >= 478
    assert min(len(made) for made in MUTANTS.values()) >= 3


def test_equivalents_have_exercises_and_reasons():
    """The list names lines of solutions, and says why."""
    for name, lines in EQUIVALENTS.items():
        assert set(lines) <= set().union(*map(named, MUTANTS[name]))
        assert all(len(why) > 20 for why in lines.values())


def test_lines_are_taken_out():
    """A kernel of seven lines has seven mutants; a loop's head, an else and a store among them."""
    found = [(one.number, one.line) for one in mutants(made_up)]
    assert found == [
        (3, "tile = cuda.shared.array(32, float32)"),
        (4, "if inp[0] > 0:"),
        (5, "tile[0] = inp[0]"),
        (6, "else:"),
        (7, "tile[0] = 0"),
        (8, "for k in range(1):"),
        (9, "out[k] = tile[k]"),
    ]
    texts = [one.text for one in mutants(made_up)]
    assert "    if True:\n        tile[0] = inp[0]\n    else:" in texts[1]
    assert "tile[0] = inp[0]\n\n        tile[0] = 0" in texts[3]
    assert "    if True:\n        out[k] = tile[k]" in texts[5]


@cuda.jit
def made_up(out, inp):
    tile = cuda.shared.array(32, float32)
    if inp[0] > 0:
        tile[0] = inp[0]
    else:
        tile[0] = 0
    for k in range(1):
        out[k] = tile[k]
