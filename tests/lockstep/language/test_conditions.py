"""Tests between constants, which Numba decides as Python would before it gives anything a type.

The integer 2 ** -1 is 0; Python's is 0.5. Which of the two counts was read off Numba's typed IR,
where a decided operator has become a constant.
"""

import numpy as np
import pytest
from numba import cuda

from smemnb.simulator import device
from smemnb.simulator.inference import infer

# the engine is asked; on a GPU the launches would be Numba's own
pytestmark = pytest.mark.skipif(device() != "lockstep", reason="launches go to a GPU")

N = 2


def of_a_global(out):
    if N**-1:
        out[0] = 1


def of_a_negated_global(out):
    if not (N**-1):
        out[0] = 1


def of_a_variable_set_once(out):
    t = 2
    if t**-1:
        out[0] = 1


def of_a_variable_set_twice(out):
    t = 2
    t = t + 0
    if t**-1:
        out[0] = 1


def of_a_parameter(out, t):
    if t**-1:
        out[0] = 1


def of_literals(out):
    if (2 or 1) ** -1:
        out[0] = 1


def of_a_sum(out):
    if (1 + N) ** -1:
        out[0] = 1


def of_a_comparison(out):
    if N**-1 > 0:
        out[0] = 1


def chosen(out):
    out[0] = 1 if N**-1 else 0


def repeated(out):
    while N**-1:
        out[0] = 1
        break


def part_of_and(out):
    if out[0] == 0 and N**-1:
        out[0] = 1


def part_of_or(out):
    if out[0] > 0 or not (N**-1):
        out[0] = 1


def side_of_a_conditional(out):
    if 0 if out[0] > 0 else 18446744073709551615 * 3:
        out[0] = 1


DECIDED = {
    of_a_global: 1,
    of_a_negated_global: 0,
    of_a_variable_set_once: 1,
    of_a_variable_set_twice: 0,
    of_literals: 1,
    of_a_sum: 0,
    of_a_comparison: 0,
    chosen: 1,
    repeated: 1,
    part_of_and: 1,
    part_of_or: 0,
    side_of_a_conditional: 1,
}


@pytest.mark.parametrize("function", DECIDED, ids=lambda function: function.__name__)
def test_tests_of_constants(function):
    out = np.zeros(1)
    cuda.jit(function)[1, 1](out)
    assert out[0] == DECIDED[function]


def test_of_a_parameter():
    """Two definitions, or none that is known: the integer power."""
    out = np.zeros(1)
    cuda.jit(of_a_parameter)[1, 1](out, 2)
    assert out[0] == 0


@pytest.mark.parametrize("function", [of_a_global, of_a_variable_set_once, of_literals, of_a_sum])
def test_numba_decides_them(function):
    """What Numba makes a constant of: 0.5 stands in its IR where the engine follows Python."""
    ((_, blocks, _),) = infer(function, (np.zeros(1),)).typed()
    texts = [str(statement) for block in blocks.values() for statement in block.body]
    decided = any("const(float, 0.5)" in text for text in texts)
    assert decided == (function is not of_a_sum)
