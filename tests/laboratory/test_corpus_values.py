"""Kernels of the recorded set compute what their docstrings say, so that their counts mean it."""

import numpy as np
import pytest

from smemnb.laboratory.corpus import atomics, tutorials


def case_of(cases, name):
    (found,) = [case for case in cases if case.name == name]
    return found


def launched(case, args):
    case.kernel[case.grid, case.block](*args)
    return args[0]


@pytest.mark.parametrize("where", ["32 banks", "8 addresses", "one address"])
def test_seven_atomics(where):
    """Each of seven counters per place is what its atomic leaves after all 32 lanes."""
    case = case_of(atomics.CASES, f"atomic_others {where}")
    out, place, inp = case.arguments()
    found = launched(case, (out, place, inp))
    for number, update in enumerate(
        (np.maximum, np.minimum, np.bitwise_and, np.bitwise_or, np.bitwise_xor, None, np.subtract)
    ):
        for at in np.unique(place):
            value, lanes = 50, inp[place == at]
            result = found[at + 32 * number]
            if update is None:
                assert result in lanes  # the last one to exchange
            else:
                for one in lanes:
                    value = update(value, one)
                assert result == value


def test_softmax_of_numbers_far_apart():
    """Without the row's maximum taken off first, exp overflows here."""
    case = case_of(tutorials.CASES, "softmax_rows 3")
    out, inp = case.arguments()
    inp[...] = np.random.default_rng(5).uniform(-200, 200, inp.shape)
    found = launched(case, (out, inp))
    wide = np.exp(inp.astype(np.float64) - inp.max(axis=1, keepdims=True))
    np.testing.assert_allclose(found, wide / wide.sum(axis=1, keepdims=True), rtol=1e-5, atol=1e-30)
