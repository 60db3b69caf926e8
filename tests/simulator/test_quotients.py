"""`/=` of two integers: where numba-cuda's code generation takes the float it computes."""

import numpy as np
import pytest

from smemnb.errors import TypingRefused
from smemnb.simulator.inference import infer
from tests.oracle import inference

WHOLE = np.zeros(3, np.int32)


def stored(out, a):
    v = a[0]
    v /= a[1]
    out[0] = v


def handed_on(out, a):
    v = a[0]
    v /= a[1]
    w = v
    out[0] = w


def unused(out, a):
    v = a[0]
    v /= a[1]


def in_a_branch(out, a):
    if a[2] > 1:
        v = a[0]
        v /= a[1]
        out[0] = v


def used_further(out, a):
    v = a[0]
    v /= a[1]
    v = v + 1
    out[0] = v


def in_a_loop(out, a):
    v = a[0]
    for _ in range(3):
        v /= a[1]
    out[0] = v


def around_a_branch(out, a):
    v = a[0]
    if a[2] > 1:
        v /= a[1]
    out[0] = v


def as_an_index(out, a):
    v = a[0]
    v /= a[1]
    out[v] = 1


def in_a_cell(out, a):
    a[0] /= 3


def by_a_float(out, a):
    v = a[0]
    v /= 2.0
    v = v + 1
    out[0] = v


# compiled with numba-cuda 0.30.4, its LLVM code read by llvmlite: all outputs, some, none
EVERYWHERE, INTO_FLOAT64, NOWHERE = (True, True, True), (False, True, False), (False, False, False)
TAKEN = {
    stored: INTO_FLOAT64,
    handed_on: INTO_FLOAT64,
    unused: EVERYWHERE,
    in_a_branch: INTO_FLOAT64,
    used_further: NOWHERE,
    in_a_loop: NOWHERE,
    around_a_branch: NOWHERE,
    in_a_cell: NOWHERE,
    by_a_float: EVERYWHERE,
}


@pytest.mark.parametrize("kernel", TAKEN, ids=lambda kernel: kernel.__name__)
def test_taken(kernel):
    """Refused where a use meets a float that is typed as an integer; Numba's own has no such."""
    taken = []
    for dtype in ("int32", "float64", "float32"):
        try:
            infer(kernel, (np.zeros(3, dtype), WHOLE))
            taken.append(True)
        except TypingRefused as refusal:
            assert "v = v / w" in str(refusal)
            taken.append(False)
    assert tuple(taken) == (EVERYWHERE if inference.IN_TREE else TAKEN[kernel])


def test_line():
    """The line is that of the quotient."""
    if inference.IN_TREE:
        pytest.skip("the numba.cuda inside Numba divides integers into a float64")
    line = used_further.__code__.co_firstlineno + 2
    with pytest.raises(TypingRefused, match=f"line {line}: `/=` divides two integers"):
        infer(used_further, (np.zeros(3), WHOLE))


def test_index():
    """A quotient is no index, whatever it is an index of."""
    with pytest.raises(TypingRefused):
        infer(as_an_index, (np.zeros(3), WHOLE))
