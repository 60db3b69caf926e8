"""An exercise from an empty signature is held to what its definition says, as all others are."""

import ast

import pytest
from empty_signature import EXERCISE

from smemnb.exercises.check import graded
from smemnb.exercises.grading.observe import observe
from smemnb.exercises.grading.parts import budget_of, lines, requests_of, shared_bytes_of
from smemnb.exercises.registry import NAMES
from smemnb.exercises.variants import kernel_of
from tests.tiers import exhaustive


def test_the_stub_is_a_signature():
    """It has no line of the solution, and the name is none of the package's exercises."""
    (function,) = ast.parse(EXERCISE.stub).body
    assert [type(node) for node in function.body] == [ast.Expr]
    assert ast.get_docstring(function)
    assert EXERCISE.name not in NAMES
    assert graded(EXERCISE, kernel_of(EXERCISE.stub, EXERCISE.solution)).reason == "kernel"


def test_solution():
    """The solution is accepted."""
    assert graded(EXERCISE, EXERCISE.solution)


@exhaustive
@pytest.mark.parametrize("seed", range(10))
def test_seeds(seed):
    """With other fresh cases likewise."""
    assert graded(EXERCISE, EXERCISE.solution, seed=seed)


@exhaustive
@pytest.mark.parametrize("wrong", EXERCISE.wrong, ids=[one.mistake for one in EXERCISE.wrong])
def test_wrong(wrong):
    """Each mistake is refused by its part."""
    verdict = graded(EXERCISE, EXERCISE.wrong_kernel(wrong))
    part, words = wrong.refused_by
    assert not verdict
    found = verdict.part(part)
    assert found is not None and not found.ok and words in found.text


@exhaustive
def test_budget():
    """The solution takes the whole budget."""
    runs = [observe(EXERCISE, case, EXERCISE.solution) for case in EXERCISE.cases]
    first = budget_of(EXERCISE, runs[0])
    assert {name: requests_of(runs[0], name) for name in first.requests} == first.requests
    through = lines(runs[:1], "global")
    assert max(one.sectors / one.requests for one in through) == first.sectors_per_request
    assert {shared_bytes_of(run) for run in runs} == {first.shared_bytes}
    assert max(one.extra for one in lines(runs, "shared")) == first.extra
