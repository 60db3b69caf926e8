"""Loops, match, early ends: each gives what plain Python gives."""

import pytest

from tests.lockstep.language.loop_cases import CASES
from tests.lockstep.language.running import check_types, check_values, inputs


@pytest.mark.parametrize("kernel", CASES, ids=lambda kernel: kernel.__name__)
def test_values(kernel):
    """The engine's results are those of plain Python per thread."""
    check_values(kernel, *inputs())


@pytest.mark.parametrize("kernel", CASES, ids=lambda kernel: kernel.__name__)
def test_types(kernel):
    """Variables have the types that Numba infers."""
    check_types(kernel, *inputs("float32"))
