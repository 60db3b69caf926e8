"""Every exercise of every chapter, held to what its definition says of itself."""

import json
import re
import time
from pathlib import Path

import numpy as np
import pytest

from smemnb.exercises import chapters
from smemnb.exercises.check import check
from smemnb.exercises.exercise import PARTS
from smemnb.exercises.grading.observe import observe, outputs_of, poison
from smemnb.exercises.grading.parts import (
    budget_of,
    lines,
    requests_of,
    sectors_of,
    shared_bytes_of,
    shared_loads_of,
    shared_requests_of,
)
from smemnb.exercises.registry import NAMES, exercises
from smemnb.exercises.source import parameters, source_of
from smemnb.exercises.variants import holes_of, is_mark, kernel_of
from tests.tiers import sampled

WHOLE_TILES = {"ex34_guards", "ex34_offsets", "ex34_steps", "ex34_quads", "ex36_product"}
WHOLE_TILES |= {"ex61_layer", "ex61_rows"}
"""Kernels for whole tiles, without guards, of blocks of one size: no size is ragged there."""
NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
ALL = exercises()
each = pytest.mark.parametrize("exercise", ALL, ids=[e.name for e in ALL])
WRONG = [(e, number) for e in ALL for number in range(len(e.wrong))]
# in the first tier, of each exercise one wrong kernel per part that refuses it
each_wrong = pytest.mark.parametrize(
    ("exercise", "number"),
    sampled(WRONG, 1, by=lambda pair: (pair[0].name, pair[0].wrong[pair[1]].refused_by[0])),
    ids=[f"{e.name}-{number}" for e, number in WRONG],
)


def squeezed(text):
    return re.sub(r"\s", "", text)


def test_there_are_exercises():
    """An empty list would let every test below pass."""
    assert len(ALL) >= 32
    assert len({e.name for e in ALL}) == len(ALL)


def test_the_table_lists_every_file():
    """No file of an exercise is forgotten, and each exercise stands below its chapter."""
    files = {path.stem for path in Path(chapters.__file__).parent.glob("ex*.py")}
    assert files == set(NAMES)
    below = {name: chapter for chapter, names in chapters.CHAPTERS.items() for name in names}
    assert below == {e.name: e.chapter for e in ALL}


@each
def test_stub(exercise):
    """The stub as given is not accepted, and the verdict says what is to be written."""
    verdict = check(exercise.name, kernel_of(exercise.stub, exercise.solution))
    assert (bool(verdict), verdict.reason) == (False, "kernel")
    assert f"{exercise.name}: not yet" in repr(verdict)
    assert "# FILL" in repr(verdict)


@each
def test_stub_in_the_chapter(exercise):
    """The chapter hands out this very stub, in a cell of its own."""
    notebook = json.loads((NOTEBOOKS / f"{exercise.chapter}.ipynb").read_text(encoding="utf-8"))
    cells = ["".join(c["source"]) for c in notebook["cells"] if c["cell_type"] == "code"]
    assert [cell.endswith(exercise.stub) for cell in cells].count(True) == 1


@each
def test_hole(exercise):
    """Each mark stands for as many lines as it says; without them, the solution is the stub."""
    holes = list(holes_of(exercise.solution))
    assert holes
    assert all(size == len(lines) > 0 for size, lines in holes)
    given = [line for line in exercise.stub.split("\n") if line.strip() != "pass"]
    rest = iter(source_of(exercise.solution).split("\n"))
    assert all(line in rest for line in given), "not in the solution, or not in this order"
    assert len(holes) == len([line for line in given if is_mark(line)])


@each
def test_solution(exercise):
    """The solution is accepted, well within two seconds of computing."""
    began = time.process_time()
    verdict = check(exercise.name, exercise.solution)
    assert bool(verdict), repr(verdict)
    assert repr(verdict) == repr(check(exercise.name, exercise.solution))
    assert time.process_time() - began < 2 * 2


@pytest.mark.first(32)
@each_wrong
def test_wrong(exercise, number):
    """A wrong answer is refused by the part, and in the words, that its definition names."""
    wrong = exercise.wrong[number]
    part, words = wrong.refused_by
    verdict = check(exercise.name, exercise.wrong_kernel(wrong))
    assert not verdict
    assert part in PARTS
    assert (verdict.reason, words in verdict.part(part).text) == (part, True), (
        f"{wrong.mistake}\n{verdict!r}"
    )
    assert verdict.hint


@each
def test_enough_wrong(exercise):
    """Four mistakes at least, no two the same kernel."""
    kernels = {source_of(exercise.wrong_kernel(wrong)) for wrong in exercise.wrong}
    assert len(kernels) == len(exercise.wrong) >= 4
    assert all(wrong.mistake and wrong.refused_by[1] for wrong in exercise.wrong)


@each
def test_hints(exercise):
    """Three hints, each new, none with a line of the solution."""
    assert len(set(exercise.hints)) == 3
    hidden = [squeezed(line) for _, lines in holes_of(exercise.solution) for line in lines]
    for text in exercise.hints:
        assert len(text) > 20
        assert not [line for line in hidden if len(line) > 6 and line in squeezed(text)]


@each
def test_names(exercise):
    """`exNN_<noun>`, as its file, with the number of its chapter; `out` comes first.

    Names are frozen: those of `ex00` to `ex09` have the number of an earlier chapter.
    """
    number = exercise.chapter.split("_")[0]
    assert re.fullmatch(r"[1-9]\d_[a-z_]+", exercise.chapter)
    assert re.fullmatch(rf"ex(0\d[b-z]?|{number})_[a-z_]+", exercise.name)
    assert exercise.solution.py_func.__module__ == f"{chapters.__name__}.{exercise.name}"
    assert parameters(exercise.solution)[0].startswith("out")


@each
def test_cases(exercise):
    """Ragged, one row or column, several launches; whole numbers without symmetry."""
    shapes = [outputs_of(exercise, case.inputs())[0].shape for case in exercise.cases]
    assert len({(case.grid, case.block) for case in exercise.cases}) >= 2
    if exercise.name not in WHOLE_TILES:
        assert len({case.block for case in exercise.cases}) >= 2, "two blocks, two launches"
        given = [*shapes, *(value.shape for value in arrays(exercise))]
        assert any(1 in shape for shape in given), "one row, column or cell"
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
            "shared_loads": max(map(shared_loads_of, mine)),
            "barriers": max(run.trace.barriers for run in mine),
        }
        for name, value in seen.items():
            assert getattr(budget, name) in (None, value), name
        for name, allowed in budget.requests.items():
            assert max(requests_of(run, name) for run in mine) == allowed, name
        for name, allowed in budget.sectors.items():
            assert max(sectors_of(run, name) for run in mine) == allowed, name
