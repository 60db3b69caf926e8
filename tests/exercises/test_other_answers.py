"""A right answer need not look like the solution."""

import pytest
from other_answers import OTHER_ANSWERS

from smemnb.exercises.check import graded
from smemnb.exercises.registry import find

EACH = [(name, kernel) for name, kernels in OTHER_ANSWERS.items() for kernel in kernels]


@pytest.mark.parametrize(
    ("name", "kernel"), EACH, ids=[kernel.py_func.__name__ for _, kernel in EACH]
)
def test_accepted(name, kernel):
    """Other layouts, other loops, other bookkeeping: right, clean, within the budget."""
    verdict = graded(find(name), kernel)
    assert bool(verdict), repr(verdict)
