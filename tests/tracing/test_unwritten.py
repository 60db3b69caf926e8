"""Reads of local arrays and of device memory that nobody has written."""

import numpy as np
import pytest
from numba import cuda, float32, int32

from smemnb.simulator.devices import device
from smemnb.tracing import trace

pytestmark = pytest.mark.skipif(device() != "lockstep", reason="device arrays of the engine")


def early(kernel, *args, grid=2, block=64, **options):
    """Kind, line within the kernel, element and count of what is no price."""
    first = kernel.py_func.__code__.co_firstlineno
    findings = trace(kernel, **options)[grid, block](*args).findings
    return [(f.kind, f.line - first, f.index, f.count) for f in findings if not f.price]


def numbers(count=128):
    """One number per thread."""
    return np.arange(count, dtype=np.float32)


@cuda.jit
def summed(out, inp, stored):
    acc = cuda.local.array(4, float32)
    i = cuda.grid(1)
    for k in range(stored):
        acc[k] = inp[i]
    total = float32(0)
    for k in range(4):
        total += acc[k]
    out[i] = total


@pytest.mark.parametrize(
    ("stored", "expected"),
    [(4, []), (3, [("uninitialised", 8, (3,), 128)]), (0, [("uninitialised", 8, (0,), 512)])],
)
def test_elements_that_a_loop_leaves_out(stored, expected):
    """Each load counts once per thread; the first element is named."""
    assert early(summed, numbers(), numbers(), stored) == expected


@cuda.jit
def own_element(out, inp, shift):
    acc = cuda.local.array(8, float32)
    i = cuda.grid(1)
    acc[i % 8] = inp[i]
    out[i] = acc[(i + shift) % 8]


def test_indices_of_each_lane():
    """Where lanes have indices of their own, each has elements of its own."""
    assert early(own_element, numbers(), numbers(), 0) == []
    assert early(own_element, numbers(), numbers(), 8) == []
    assert early(own_element, numbers(), numbers(), 1) == [("uninitialised", 5, (1,), 128)]


@cuda.jit
def some_lanes(out, inp, lanes):
    acc = cuda.local.array(2, float32)
    i = cuda.grid(1)
    if cuda.threadIdx.x < lanes:
        acc[1] = inp[i]
    if cuda.threadIdx.x % 2 == 0:
        out[i] = acc[1]


def test_only_lanes_that_stored_may_load():
    """Even lanes load; those of them that did not store are counted, in two blocks."""
    assert early(some_lanes, numbers(), numbers(), 64) == []
    assert early(some_lanes, numbers(), numbers(), 60) == [("uninitialised", 7, (1,), 4)]


@cuda.jit
def after_returns(out, inp):
    i = cuda.grid(1)
    if i >= 100:
        return
    acc = cuda.local.array(2, float32)
    acc[0] = inp[i]
    acc[i % 2] = inp[i]
    acc[1] = inp[i]
    for k in range(40):
        acc[(i + k) % 2] += 1
    out[i] = acc[0] + acc[i % 2] + acc[1]


def test_threads_that_have_returned():
    """They never load, so that nothing is missing."""
    assert early(after_returns, numbers(), numbers()) == []


@cuda.jit(device=True)
def fill(row, value):
    for k in range(row.shape[0]):
        row[k] = value


@cuda.jit
def by_view(out, inp):
    acc = cuda.local.array((2, 4), float32)
    i = cuda.grid(1)
    fill(acc[0], inp[i])
    out[i] = acc[0, 3] + acc[1, 2]


def test_rows_and_device_functions():
    """A row that a function fills is stored; an element is named by the whole array's indices."""
    assert early(by_view, numbers(), numbers()) == [("uninitialised", 5, (1, 2), 128)]


@cuda.jit
def whole(out, inp):
    acc = cuda.local.array(4, float32)
    acc[:] = inp[cuda.grid(1)]
    raw = acc.view(int32)
    raw[0] = 1
    out[cuda.grid(1)] = acc[1]


@cuda.jit
def declared_in_a_loop(out, inp):
    i = cuda.grid(1)
    for k in range(3):
        acc = cuda.local.array(2, float32)
        if k < i % 3:
            continue
        acc[0] = inp[i]
        out[i] = acc[0]


@pytest.mark.parametrize("kernel", [whole, declared_in_a_loop])
def test_clean(kernel):
    """Stores of whole arrays count, and of a view of another dtype nothing is said."""
    assert early(kernel, numbers(), numbers()) == []


def test_other_orders():
    """Warps that run one after the other have arrays of their own too."""
    found = early(own_element, numbers(), numbers(), 1, order="reversed")
    assert [(kind, line, count) for kind, line, _, count in found] == [("uninitialised", 5, 128)]
    assert early(summed, numbers(), numbers(), 4, order="random", seed=3) == []


@cuda.jit
def added(out, inp):
    i = cuda.grid(1)
    if i < inp.size:
        out[i] += inp[i]


@cuda.jit
def stored(out, inp):
    i = cuda.grid(1)
    out[i] = inp[i]
    out[i] += 1


def test_device_array():
    """Before anything was stored a load is an error; after a launch nothing is known any more."""
    out = cuda.device_array(128, np.float32)
    assert early(added, out, numbers(100)) == [("uninitialised", 4, (0,), 100)]
    assert early(added, out, numbers(100)) == []


def test_device_array_of_atomics():
    """An atomic loads what it adds to."""

    @cuda.jit
    def counted(out):
        cuda.atomic.add(out, cuda.threadIdx.x % 8, 1)

    (found,) = early(counted, cuda.device_array(8, np.int32))
    assert (found[0], found[2], found[3]) == ("uninitialised", (0,), 128)


@pytest.mark.parametrize(
    "prepare",
    [
        lambda out: out.copy_to_device(np.full(128, -1, np.float32)),
        lambda out: out.__setitem__(slice(None), 1),
        lambda out: out.view(np.int32).__setitem__(slice(None), -1),
        lambda out: stored[2, 64](out, numbers()),
        lambda out: out[3:5].copy_to_device(np.zeros(2, np.float32)),
    ],
)
def test_device_array_that_somebody_wrote(prepare):
    """Copies, assignments and launches end it, whatever they wrote."""
    out = cuda.device_array(128, np.float32)
    prepare(out)
    assert early(added, out, numbers(100)) == []


@pytest.mark.parametrize(
    "args",
    [
        lambda: (cuda.device_array(128, np.float32), numbers()),
        lambda: (cuda.to_device(np.full(128, np.nan, np.float32)), numbers()),
    ],
)
def test_device_array_that_the_kernel_stores_first(args):
    """As does memory of which every element is stored before it is loaded."""
    assert early(stored, *args()) == []


@cuda.jit
def moved(out, inp):
    i = cuda.grid(1)
    out[i] = inp[i]


def test_arrays_of_the_host():
    """NumPy's arrays hold something, also those of np.empty; one array given twice is not told."""
    assert early(added, np.empty(128, np.float32), np.full(100, np.nan, np.float32)) == []
    both = cuda.device_array(128, np.float32)
    assert early(moved, both, both) == []
    assert early(moved, numbers(), cuda.device_array(256, np.float32)[:128]) == []


def test_some_blocks():
    """Where only some blocks are watched, nobody knows what the others stored."""
    assert early(stored, cuda.device_array(128, np.float32), numbers(), blocks=[1]) == []
    assert early(added, cuda.device_array(128, np.float32), numbers(), blocks=[1]) == []
