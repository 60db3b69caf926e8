"""raise, assert, and what Numba raises by itself: ended threads, and the launch's exception."""

import numpy as np
import pytest
from numba import cuda

from smemnb import lockstep
from smemnb.simulator.inference import infer
from tests.lockstep.language.raising_cases import (
    ENDING,
    Odd,
    asserts,
    asserts_with_text,
    divides,
    divides_floats,
    raises,
    raises_in_callee,
    raises_in_inner,
    raises_in_loop,
    takes_rest,
    uses_none,
)
from tests.lockstep.language.running import THREADS, by_engine, inputs


@pytest.mark.parametrize("kernel", ENDING, ids=lambda kernel: kernel.__name__)
def test_threads_that_raise_end(kernel):
    """Without debug nothing is raised; a thread that raises does nothing any more."""
    out, inp = inputs()
    ours, _ = by_engine(kernel, out, inp)
    np.testing.assert_array_equal(ours, np.where(inp > 2, -77.5, inp))


DEBUG = [
    (raises, Odd, "more than two"),
    (asserts_with_text, AssertionError, "more than two"),
    (raises_in_callee, ValueError, "negative"),
    (raises_in_inner, Odd, "more than two"),
    (uses_none, TypeError, "expected float64, got None"),
    (divides, ZeroDivisionError, "integer division by zero"),
    (takes_rest, ZeroDivisionError, "integer modulo by zero"),
    (divides_floats, ZeroDivisionError, "division by zero"),
]


@pytest.mark.parametrize(
    ("kernel", "kind", "text"), DEBUG, ids=lambda part: getattr(part, "__name__", "")
)
def test_debug_raises_on_the_host(kernel, kind, text):
    """With debug the launch raises; place and lowest thread (z, y, x) are named as by Numba."""
    out, inp = np.zeros(THREADS), np.full(THREADS, 1.0)
    inp[41] = inp[50] = 0 if kind is ZeroDivisionError else 4
    with pytest.raises(kind) as raised:
        by_engine(kernel, out, inp, debug=True)
    first = raised.value.args[0]
    assert first.endswith(f"tid=[0, 0, 6] ctaid=[0, 0, 1]: {text}")
    assert "raising_cases.py, line " in first


def test_arguments_of_an_exception():
    """What follows the text stays as it is."""
    out, inp = np.zeros(THREADS), np.full(THREADS, 4.0)
    with pytest.raises(ValueError) as raised:
        by_engine(raises_in_callee, out, inp, debug=True)
    assert raised.value.args[1:] == (7,)


def test_debug_without_a_fault():
    """A kernel with debug in which nothing goes wrong gives the same values."""
    out, inp = inputs()
    inp = np.where(inp == 0, 1, np.minimum(inp, 2))
    for kernel in (raises, asserts, raises_in_callee):
        np.testing.assert_array_equal(by_engine(kernel, out, inp, debug=True)[0], inp)
    np.testing.assert_array_equal(by_engine(divides, out, inp, debug=True)[0], 12 // inp)


def test_next_launch_forgets():
    """An exception does not come back in the next launch of the same kernel."""
    out, inp = np.zeros(THREADS), np.full(THREADS, 4.0)
    with pytest.raises(Odd):
        by_engine(raises, out, inp, debug=True)
    inp[:] = 1
    assert by_engine(raises, out, inp, debug=True)[0].tolist() == [1.0] * THREADS


def test_barriers_after_a_raise():
    """Threads that raised are gone from the block, like those that returned."""

    def kernel(out, inp):
        i = cuda.grid(1)
        if inp[i] > 2:
            raise ValueError
        out[i] = cuda.syncthreads_count(1)

    out, inp = inputs()
    ours, _ = by_engine(kernel, out, inp)
    half = THREADS // 2
    counts = np.repeat([(inp[:half] <= 2).sum(), (inp[half:] <= 2).sum()], half)
    np.testing.assert_array_equal(ours, np.where(inp > 2, -77.5, counts))


@pytest.mark.parametrize("lanes", [1, 64, 1 << 16])
def test_batches(lanes):
    """How many blocks run at a time decides nothing."""
    out, inp = inputs()
    expected = np.where(inp > 2, out, inp)
    types = infer(raises_in_loop, (out, inp))
    lockstep.launch(
        raises_in_loop, (10, 1, 1), (7, 1, 1), (out, inp), types=types, lanes_per_batch=lanes
    )
    np.testing.assert_array_equal(out, expected)
