"""Variables that some threads read before they assigned anything: the threads go on with poison.

A GPU says nothing and goes on with whatever the register holds. The engine does so, too, with a
value that shows; a plain launch warns once, and watchers hear of every such read.
"""

import warnings

import numpy as np
import pytest
from numba import cuda, int32

from smemnb.errors import UnassignedVariable
from smemnb.lockstep.memory import poison
from smemnb.lockstep.watch import Watcher
from smemnb.simulator import device
from smemnb.simulator.launch import run

# the engine is asked; on a GPU the launches would be Numba's own
pytestmark = pytest.mark.skipif(device() != "lockstep", reason="launches go to a GPU")

INT, FLOAT = int(poison(np.dtype(np.int64))), np.nan
ROUNDS = 3


class Heard(Watcher):
    """Keeps (name, line within the kernel, threads) of every event."""

    def __init__(self, first):
        self.first, self.events = first, []

    def unassigned(self, event):
        count = int(np.broadcast_to(event.lanes, (1, 1, 32)).sum())
        self.events.append((event.name, event.site.line - self.first, count))


def launched(kernel, *args, threads=4, **order):
    """(results, events) of a watched launch, and of the same one without a watcher."""
    function = kernel.py_func
    heard = Heard(function.__code__.co_firstlineno)
    out = np.zeros(threads)
    run(kernel, 1, threads, 0, 0, (out, *args), [heard], **order)
    again = np.zeros(threads)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        run(kernel, 1, threads, 0, 0, (again, *args))
    np.testing.assert_array_equal(out, again)
    lines = {warning.lineno - heard.first for warning in caught}
    assert all(warning.category is UnassignedVariable for warning in caught)
    assert lines == {line for _, line, _ in heard.events}
    return out, heard.events


@cuda.jit
def in_a_branch(out, n):
    i = cuda.grid(1)
    if i < n:
        y = n + 1
    out[i] = y


@pytest.mark.parametrize(
    ("n", "result", "events"),
    [
        (4, [5, 5, 5, 5], []),
        (2, [3, 3, INT, INT], [("y", 5, 2)]),
        (0, [INT] * 4, [("y", 5, 4)]),
    ],
)
def test_branch(n, result, events):
    """Threads that skip the only assignment go on; those that did not have their value."""
    out, heard = launched(in_a_branch, n)
    np.testing.assert_array_equal(out, np.array(result, np.float64))
    assert heard == events


@cuda.jit
def goes_on(out, x):
    i = cuda.grid(1)
    if x[i] > 0:
        y = x[i]
    if y > 3.0:
        out[i] = 1
    out[i] += 9


def test_goes_on():
    """Such a thread is not ended: it does everything that follows."""
    out, heard = launched(goes_on, np.array([0.0, 5.0, 1.0, 0.0]))
    assert out.tolist() == [9, 10, 9, 9]
    assert heard == [("y", 5, 2)]


@cuda.jit
def behind_a_loop(out, n):
    i = cuda.grid(1)
    for k in range(n[i]):
        last = k * 2
    out[i] = last + 0.0 * k


@cuda.jit
def several_types(out, n):
    i = cuda.grid(1)
    if n[i] > 0:
        y = 1
    if n[i] > 1:
        y = 2.5
    out[i] = y


@cuda.jit
def in_a_tuple(out, n):
    i = cuda.grid(1)
    if n[i] > 0:
        pair = (n[i], 1.5)
    out[i] = pair[1]


@cuda.jit
def augmented(out, n):
    i = cuda.grid(1)
    if n[i] > 0:
        y = 1.0
    y += 2
    out[i] = y


@cuda.jit
def matched(out, n):
    i = cuda.grid(1)
    match n[i]:
        case 1:
            y = 1.5
        case 2 | 3:
            y = 2.5
    out[i] = y


@cuda.jit(device=True)
def found(n):
    if n > 1:
        result = 2.0 * n
    return result


@cuda.jit
def in_a_device_function(out, n):
    i = cuda.grid(1)
    out[i] = found(n[i])


@cuda.jit
def of_one_constant(out, flag):
    if flag > cuda.threadIdx.x:
        y = 5
    if y >= 3:
        out[1] = 1
    out[0] = 9


def test_constant():
    """Numba knows the only value that `y` can have; that a thread never assigned it is told."""
    out, heard = launched(of_one_constant, 1)
    assert out.tolist() == [9, 1, 0, 0]
    assert heard == [("y", 4, 3)]


N = np.array([3, 0, 1, 2], np.int64)
POISONED = [
    (behind_a_loop, [4, INT, 0, 2], {"last": 1, "k": 1}),
    (several_types, [2.5, FLOAT, 1, 2.5], {"y": 1}),
    (in_a_tuple, [1.5, FLOAT, 1.5, 1.5], {"pair": 1}),
    (augmented, [3, FLOAT, 3, 3], {"y": 1}),
    (matched, [2.5, FLOAT, 1.5, 2.5], {"y": 1}),
    (in_a_device_function, [6, FLOAT, FLOAT, 4], {"result": 2}),
]


@pytest.mark.first(2)
@pytest.mark.parametrize(
    ("kernel", "result", "events"), POISONED, ids=lambda value: getattr(value, "__name__", "")
)
def test_poison(kernel, result, events):
    """A float is NaN, an integer is far from any index, in the type that Numba gives the name."""
    out, heard = launched(kernel, N)
    np.testing.assert_allclose(out, result)
    assert {name: count for name, _, count in heard} == events


@cuda.jit
def always_assigned(out, n):
    i = cuda.grid(1)
    for k in range(ROUNDS):
        a = k
    for k in (1, 2):
        b = k
    if i < 2:
        c = 1
    else:
        c = 2
    while True:
        d = a + b + c
        if d > i:
            break
    if i > 1:
        return
    else:
        e = 4
    if i < n[0]:
        f = 1
    if i < n[0]:
        out[i] = a + b + c + d + e + f + k


@pytest.mark.parametrize("order", [None, "reversed"])
def test_assigned(order):
    """Loops of constants, both branches, endless loops and equal tests leave nothing out."""
    out, heard = launched(always_assigned, N, order=order)
    assert out.tolist() == [17, 17, 0, 0]
    assert heard == []


@cuda.jit
def two_warps(out, n):
    i = cuda.grid(1)
    s = cuda.shared.array(64, int32)
    if i != n:
        y = n
    s[i] = y
    cuda.syncthreads()
    out[i] = s[63 - i]


def test_one_thread_is_named():
    """A launch without watchers warns, with the line, the name and the first thread."""
    with pytest.warns(UnassignedVariable, match=r"`y`") as caught:
        two_warps[1, 64](np.zeros(64), 40)
    assert "(40, 0, 0)" in str(caught[0].message)
    assert caught[0].lineno == two_warps.py_func.__code__.co_firstlineno + 6
    out = np.zeros(64)
    with pytest.warns(UnassignedVariable, match=r"\(40, 0, 0\)"):
        run(two_warps, 1, 64, 0, 0, (out, 40), order="reversed")
    assert out[23] == int(poison(np.dtype(np.int32)))
