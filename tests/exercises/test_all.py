"""Every exercise of every chapter, held to what its definition says of itself."""

import re
import time

import numpy as np
import pytest

from smemnb.exercises.check import check
from smemnb.exercises.exercise import PARTS
from smemnb.exercises.grading.grade import (
    budget_of,
    lines,
    requests_of,
    shared_bytes_of,
    shared_requests_of,
)
from smemnb.exercises.grading.observe import observe, outputs_of, poison
from smemnb.exercises.registry import exercises
from smemnb.exercises.source import parameters, source_of
from tests.tiers import sampled

ALL = exercises()
each = pytest.mark.parametrize("exercise", ALL, ids=[e.name for e in ALL])
WRONG = [(e, w) for e in ALL for w in e.wrong]
# in the first tier, of each exercise one wrong kernel per part that refuses it
each_wrong = pytest.mark.parametrize(
    ("exercise", "wrong"),
    sampled(WRONG, 1, by=lambda pair: (pair[0].name, pair[1].part)),
    ids=[w.kernel.py_func.__name__ for _, w in WRONG],
)


def code(kernel):
    """Lines of a kernel without decorator, docstring and the function's own name."""
    text = re.sub(r'"""(.|\n)*?"""', "", source_of(kernel))
    kept = [line for line in text.split("\n") if line.strip() and not line.startswith("@")]
    return [re.sub(r"^def \w+", "def kernel", line) for line in kept]


def is_hole(line):
    return "# FILL" in line or line.strip() == "pass"


def squeezed(text):
    return re.sub(r"\s", "", text)


def filled(exercise):
    """The lines of the solution that the stub leaves to the learner."""
    given = [line for line in code(exercise.stub) if not is_hole(line)]
    missing = []
    for line in code(exercise.solution):
        if given and line == given[0]:
            given.pop(0)
        else:
            missing.append(line.split("#")[0].strip())
    assert not given, f"not in the solution, or not in this order: {given}"
    return [line for line in missing if line]


def test_there_are_exercises():
    """An empty list would let every test below pass."""
    assert len(ALL) >= 1
    assert len({e.name for e in ALL}) == len(ALL)


@each
def test_stub(exercise):
    """The stub as given is "not yet", and told what is to be done."""
    verdict = check(exercise.name, exercise.stub)
    assert (bool(verdict), verdict.reason) == (False, "kernel")
    assert f"{exercise.name}: not yet" in repr(verdict)
    assert "# FILL" in repr(verdict)


@each
def test_solution(exercise):
    """The solution is accepted, well within two seconds of computing."""
    began = time.process_time()
    verdict = check(exercise.name, exercise.solution)
    assert bool(verdict), repr(verdict)
    assert repr(verdict) == repr(check(exercise.name, exercise.solution))
    assert time.process_time() - began < 2 * 2


@each_wrong
def test_wrong(exercise, wrong):
    """A wrong kernel is refused by the part, and in the words, that its definition names."""
    verdict = check(exercise.name, wrong.kernel)
    assert not verdict
    assert wrong.part in PARTS
    assert (verdict.reason, wrong.words in verdict.part(wrong.part).text) == (wrong.part, True), (
        f"{wrong.kernel.py_func.__doc__}\n{verdict!r}"
    )
    assert verdict.hint


@each
def test_enough_wrong(exercise):
    """Four mistakes at least, no two the same kernel."""
    assert len({"\n".join(code(w.kernel)) for w in exercise.wrong}) == len(exercise.wrong) >= 4
    assert all(w.kernel.py_func.__doc__ and w.words for w in exercise.wrong)


@each
def test_hole(exercise):
    """The stub without its holes is in the solution; the holes say how many lines are missing."""
    holes = [line for line in code(exercise.stub) if "# FILL" in line]
    sizes = [re.search(r"# FILL \(about (\d+) lines?\)", line) for line in holes]
    assert holes
    assert all(sizes), "write a hole as: # FILL (about 2 lines)"
    assert sum(int(size[1]) for size in sizes) == len(filled(exercise))
    assert parameters(exercise.stub) == parameters(exercise.solution)


@each
def test_hints(exercise):
    """Three hints, each new, none with a line of the solution."""
    assert len(set(exercise.hints)) == 3
    lines_to_write = [squeezed(line) for line in filled(exercise) if len(squeezed(line)) > 6]
    for text in exercise.hints:
        assert len(text) > 20
        assert not [line for line in lines_to_write if line in squeezed(text)]


@each
def test_names(exercise):
    """`exNN_<noun>` in the file or folder chNN of the chapter NN_<noun>; `out` comes first."""
    number = exercise.chapter.split("_")[0]
    assert re.fullmatch(r"\d\d[b-z]?_[a-z_]+", exercise.chapter)
    assert re.fullmatch(rf"ex{number}_[a-z_]+", exercise.name)
    home = rf".*\.chapters\.[a-z]+\.ch{exercise.chapter}(\.[a-z_]+)?"
    assert re.fullmatch(home, exercise.solution.py_func.__module__)
    assert parameters(exercise.solution)[0].startswith("out")


@each
def test_cases(exercise):
    """Ragged, one row or column, several launches; whole numbers without symmetry."""
    shapes = [outputs_of(exercise, case.inputs())[0].shape for case in exercise.cases]
    assert len({(case.grid, case.block) for case in exercise.cases}) >= 2
    assert len({case.block for case in exercise.cases}) >= 2, "two blocks, two launches"
    assert any(1 in value.shape for value in arrays(exercise)), "one row, column or cell"
    assert any(n % 32 for value in arrays(exercise) for n in value.shape), "a ragged size"
    assert len(set(shapes)) >= 3
    for value in arrays(exercise):
        if value.dtype.kind == "f":
            assert np.array_equal(value, np.round(value))
        if value.ndim == 2 and value.shape[0] == value.shape[1] > 1:
            assert not np.array_equal(value, value.T)


def arrays(exercise):
    values = [value for case in exercise.cases for value in case.inputs()]
    return [value for value in values if isinstance(value, np.ndarray)]


@each
def test_outputs(exercise):
    """The specification leaves its inputs alone, gives the same twice, and can be poisoned."""
    for case in exercise.cases:
        one, two = outputs_of(exercise, case.inputs()), outputs_of(exercise, case.inputs())
        count = len(parameters(exercise.solution))
        assert len(one) + len(case.inputs()) == count
        for first, second in zip(one, two, strict=True):
            assert first.tobytes() == second.tobytes()
            if exercise.start is None:
                assert poison(first) not in first


@each
def test_budget(exercise):
    """The solution takes the whole budget: one less anywhere would refuse it."""
    runs = [observe(exercise, case, exercise.solution) for case in exercise.cases]
    for budget in {id(budget_of(exercise, run)): budget_of(exercise, run) for run in runs}.values():
        mine = [run for run in runs if budget_of(exercise, run) is budget]
        shared, through = lines(mine, "shared"), lines(mine, "global")
        seen = {
            "extra": max((line.extra for line in shared), default=0),
            "ways": max((line.ways for line in shared), default=0),
            "sectors_per_request": max(-(-line.sectors // line.requests) for line in through),
            "shared_bytes": max(map(shared_bytes_of, mine)),
            "shared_requests": max(map(shared_requests_of, mine)),
            "barriers": max(run.trace.barriers for run in mine),
        }
        for name, value in seen.items():
            assert getattr(budget, name) in (None, value), name
        for name, allowed in budget.requests.items():
            assert max(requests_of(run, name) for run in mine) == allowed, name
