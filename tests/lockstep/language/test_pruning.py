"""Branches that a constant closes: Numba never looks inside, and neither does the engine.

Every kernel here passes Numba's inference; what stands in its closed branches would be refused
anywhere else. What Numba does not close it refuses, and the engine with it.
"""

# ruff: noqa: F821 (names that exist nowhere are the point)

import numpy as np
import pytest
from numba import cuda

import smemnb
from smemnb.errors import TypingRefused
from smemnb.simulator import device

# the engine is asked; on a GPU the launches would be Numba's own
pytestmark = pytest.mark.skipif(device() != "lockstep", reason="launches go to a GPU")

OFF, ON, NOTHING, MODE, LEVEL = False, True, None, "plain", 3


class Settings:
    DEBUG = False


@cuda.jit(device=True)
def one(out):
    out[0] += 1


def made(flag, mode, function, other):
    if flag:
        only_with_flag = 5

    @cuda.jit
    def f_string(out):
        if flag:
            print(f"{out[0]}")
        out[0] += 1

    @cuda.jit
    def missing_name(out):
        if mode == "other":
            out[0] += exists_nowhere
        out[0] += 1

    @cuda.jit
    def empty_cell(out):
        if flag:
            out[0] += only_with_flag
        else:
            out[0] += 1

    @cuda.jit
    def negated(out):
        if not flag:
            out[0] += 1
        else:
            exists_nowhere(out)

    @cuda.jit
    def function_or_none(out):
        if function != None:  # noqa: E711
            function(out)
        if other != None:  # noqa: E711
            other(out)
        if function is not None and other is None:
            function(out)

    @cuda.jit
    def truth_of_none(out):
        if other:
            other.exists_nowhere(out)
        out[0] += 1

    @cuda.jit
    def joined(out):
        if out[0] == 0 and flag and exists_nowhere > 3:
            out[0] += exists_nowhere
        if flag or mode == "plain" or exists_nowhere:
            out[0] += 1

    @cuda.jit
    def chosen(out):
        out[0] += exists_nowhere if flag else 1
        out[0] += (flag and exists_nowhere) + 1

    @cuda.jit
    def looped(out):
        while flag:
            exists_nowhere(out)
        out[0] += 1

    @cuda.jit
    def matched(out):
        match mode:
            case "other":
                exists_nowhere(out)
            case "plain":
                out[0] += 1
            case _:
                exists_nowhere(out)

    @cuda.jit
    def nested(out):
        if not flag:
            if mode == "other":
                exists_nowhere(out)
            elif LEVEL > 2:
                out[0] += 1
            else:
                print(f"{mode}")

    @cuda.jit
    def through_a_variable(out):
        wanted = flag
        if wanted:
            exists_nowhere(out)
        out[0] += 1

    return locals()


CLOSED = {
    name: kernel
    for name, kernel in made(False, "plain", one, None).items()
    if isinstance(kernel, type(one)) and kernel is not one
}
RESULTS = {"function_or_none": 2, "chosen": 2}


@pytest.mark.parametrize("name", CLOSED)
def test_closure(name):
    """A constant of the factory closes a branch, whatever stands inside."""
    out = np.zeros(1)
    CLOSED[name][1, 1](out)
    assert out[0] == RESULTS.get(name, 1)


@cuda.jit
def of_globals(out):
    if OFF:
        exists_nowhere(out)
    if NOTHING is not None:
        exists_nowhere(out)
    if LEVEL == 4 or LEVEL < 2:
        exists_nowhere(out)
    if ON:
        out[0] += 1
    else:
        exists_nowhere(out)


@cuda.jit
def of_an_axis(out, a):
    if a.ndim == 1:
        out[0] = a[2]
    elif a.ndim == 2:
        out[0] = a[1, 2]
    else:
        exists_nowhere(out)


@cuda.jit
def of_a_type(out, x):
    if isinstance(x, float):
        out[0] = x
    else:
        out[0] = x.exists_nowhere


@cuda.jit(device=True)
def weighted(a, i, w=None):
    if w is None:
        return a[i]
    return a[i] * w[i]


@cuda.jit(device=True)
def add_all(out, a, w=None, scale=1.0):
    if w is not None:
        exists_nowhere(w)
    out[0] += scale * a[1]


@cuda.jit
def with_a_default(out, a):
    out[0] = weighted(a, 1) + weighted(a, 1, None) + weighted(a, 2, a)
    add_all(out, a)
    add_all(out, a, None, 2)


@cuda.jit
def behind_the_end(out):
    out[0] = 1
    if out[0] > 3:
        return
        exists_nowhere(out)
    while True:
        out[0] += 1
        if out[0] > 4:
            break
            exists_nowhere(out)
    return
    print(f"{out}")


@cuda.jit
def by_python(out):
    if 0:
        exists_nowhere(out)
    while False:
        exists_nowhere(out)
    if __debug__ and not 1:
        exists_nowhere(out)
    out[0] = 1


@pytest.mark.parametrize(
    ("kernel", "args", "result"),
    [
        (of_globals, (), 1),
        (of_an_axis, (np.arange(4.0),), 2),
        (of_an_axis, (np.arange(6.0).reshape(2, 3),), 5),
        (of_a_type, (2.5,), 2.5),
        (with_a_default, (np.arange(4.0),), 9),
        (behind_the_end, (), 5),
        (by_python, (), 1),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_types_and_globals(kernel, args, result):
    """Globals, None arguments, omitted ones, axes and types close branches; so does a return."""
    out = np.zeros(1)
    kernel[1, 1](out, *args)
    assert out[0] == result


def test_effects_stay():
    """What a test does before the part that decides it is still done."""

    @cuda.jit
    def kernel(out, counts):
        if cuda.atomic.add(counts, 0, 1) >= 0 and OFF:
            exists_nowhere(out)

    counts = np.zeros(1, np.int64)
    kernel[1, 4](np.zeros(1), counts)
    assert counts[0] == 4


def _open():
    sums = 1 + LEVEL

    @cuda.jit
    def of_arithmetic(out):
        if LEVEL + 1 == 9:
            exists_nowhere(out)

    @cuda.jit
    def of_an_argument(out):
        if out.shape[0] == 9:
            exists_nowhere(out)

    @cuda.jit
    def of_a_changing_variable(out):
        more = ON
        while more:
            more = out[0] > 1
        if more:
            exists_nowhere(out)

    @cuda.jit
    def of_an_instance(out):
        if (LEVEL, sums) == (3, 3):
            exists_nowhere(out)

    return [of_arithmetic, of_an_argument, of_a_changing_variable, of_an_instance]


@pytest.mark.parametrize("kernel", _open(), ids=lambda kernel: kernel.__name__)
def test_open(kernel):
    """What Numba does not decide beforehand is looked at, and refused with its line."""
    with pytest.raises(TypingRefused, match="exists_nowhere"):
        kernel[1, 1](np.zeros(1))


def test_syntax_that_no_kernel_may_have():
    """A dict in a closed branch is no reason to refuse the kernel."""

    @cuda.jit
    def kernel(out):
        if OFF:
            table = {1: 2}
            out[0] = table[1]
        out[0] += 1

    out = np.zeros(1)
    kernel[1, 1](out)
    assert out[0] == 1


def test_local_arrays_of_a_closed_branch():
    """A local array that is never declared costs nothing."""

    @cuda.jit(device=True)
    def picked(i, w):
        if w is None:
            return 1
        scratch = cuda.local.array(1000, np.float64)
        scratch[w[0]] = 1
        return scratch[i]

    @cuda.jit
    def without(out):
        out[0] = picked(1, None)

    @cuda.jit
    def with_both(out):
        out[0] = picked(1, None) + picked(1, (1, 2))

    assert smemnb.trace(without)[1, 1](np.zeros(1)).local_arrays == ()
    assert len(smemnb.trace(with_both)[1, 1](np.zeros(1)).local_arrays) == 1
