"""Functions as values: each call gives what plain Python gives, in Numba's types."""

import pytest

from tests.lockstep.language.function_cases import CASES
from tests.lockstep.language.running import check_types, check_values, inputs


@pytest.mark.parametrize("dtype", ["float64", "int64"])
@pytest.mark.parametrize("kernel", CASES, ids=lambda kernel: kernel.__name__)
def test_values(kernel, dtype):
    """The engine's results are those of plain Python per thread."""
    check_values(kernel, *inputs(dtype))


@pytest.mark.parametrize("kernel", CASES, ids=lambda kernel: kernel.__name__)
def test_types(kernel):
    """Variables have the types that Numba infers."""
    check_types(kernel, *inputs("int32"))
