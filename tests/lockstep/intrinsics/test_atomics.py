"""Atomics against a plain loop over the lanes, for every operation and every type Numba has."""

import math
import operator
import time

import numpy as np
import pytest
from numba import cuda, float32, int32

from smemnb.lockstep.intrinsics.updates import CAS, OPERATIONS, in_order, swaps
from smemnb.lockstep.watch import Watcher
from smemnb.simulator import seam
from tests.lockstep.intrinsics.typed import inferred, numba_type, run, run_alone

ALL = ("int32", "uint32", "int64", "uint64", "float32", "float64")
INTEGERS, UNSIGNED = ALL[:4], ("uint32", "uint64")


def larger(old, new):
    return new if new > old else old


def smaller(old, new):
    return new if new < old else old


def or_other(choose):
    """A choice in which a NaN gives way."""
    return lambda old, new: old if new != new else new if old != old else choose(old, new)


RULES = {
    "add": (ALL, operator.add),
    "sub": (ALL, operator.sub),
    "max": (ALL, larger),
    "min": (ALL, smaller),
    "nanmax": (ALL, or_other(larger)),
    "nanmin": (ALL, or_other(smaller)),
    "and_": (INTEGERS, operator.and_),
    "or_": (INTEGERS, operator.or_),
    "xor": (INTEGERS, operator.xor),
    "exch": (INTEGERS, lambda old, new: new),
    "inc": (
        UNSIGNED,
        lambda old, top: old.dtype.type(0) if old >= top else old + old.dtype.type(1),
    ),
    "dec": (
        UNSIGNED,
        lambda old, top: top if old == 0 or old > top else old - old.dtype.type(1),
    ),
}
"""Name -> (types that Numba has it for, what one update makes of a cell)."""

CASES = [(name, dtype) for name, (dtypes, _) in RULES.items() for dtype in dtypes]


def one_by_one(cells, places, values, rule):
    """The old values of updates in a row; `cells` is changed."""
    old = []
    with np.errstate(all="ignore"):
        for place, value in zip(places, values, strict=True):
            old.append(cells[place])
            cells[place] = rule(cells[place], value)
    return np.array(old, cells.dtype)


def some(dtype, count, seed):
    """Numbers of a type: NaN among the floats, all bits among the integers."""
    rng = np.random.default_rng(seed)
    if dtype.startswith("float"):
        values = rng.normal(size=count).astype(dtype)
        values[::9] *= 1e9
        return values
    high = np.iinfo(dtype).max
    return np.where(
        rng.random(count) < 0.5, rng.integers(0, 12, count), rng.integers(0, high, count, dtype)
    ).astype(dtype)


def of_all(operation):
    """A kernel in which each thread updates a cell of its choice."""

    def kernel(old, cells, places, values):
        i = cuda.grid(1)
        if i < old.size:
            old[i] = operation(cells, places[i], values[i])

    return kernel


def without_result(operation):
    def kernel(cells, places, values):
        i = cuda.grid(1)
        if i < places.size:
            operation(cells, places[i], values[i])

    return kernel


@pytest.mark.parametrize("width", [1, 5, 300])
@pytest.mark.parametrize(("name", "dtype"), CASES)
def test_updates(name, dtype, width):
    """Cells and old values are those of a plain loop, bit for bit, whether 1 or 300 cells."""
    count, rule, operation = 200, RULES[name][1], getattr(cuda.atomic, name)
    places = np.random.default_rng(width).integers(-width, width, count)
    cells, values = some(dtype, width, 1), some(dtype, count, 2)
    if name in ("max", "min", "nanmax", "nanmin") and dtype.startswith("float"):
        values[::4] = math.nan
        cells[1::3] = math.nan
    expected = cells.copy()
    old = one_by_one(expected, places, values, rule)
    bare, found = cells.copy(), np.zeros(count, dtype)
    run_alone(of_all(operation), found, cells, places, values, grid=2, block=128)
    run_alone(without_result(operation), bare, places, values, grid=2, block=128)
    np.testing.assert_array_equal(found, old)
    np.testing.assert_array_equal(cells, expected)
    np.testing.assert_array_equal(bare, expected)


@pytest.mark.parametrize(("name", "dtype"), CASES)
def test_types(name, dtype):
    """Numba has the operation for this type, and its result is of the array's type."""
    array = seam.types.Array(numba_type(dtype), 1, "C")
    assert inferred(cuda.atomic, name, array, "int64", dtype) == (np.dtype(dtype),)
    others = {
        other
        for other in (*ALL, "int8", "float16", "complex64")
        if inferred(cuda.atomic, name, seam.types.Array(numba_type(other), 1, "C"), "int64", other)
    }
    assert others == set(RULES[name][0])


@pytest.mark.parametrize("limit", [0, 3, 2**32 - 1])
@pytest.mark.parametrize(
    ("name", "start"), [("inc", 0), ("inc", 2), ("inc", 9), ("dec", 0), ("dec", 2), ("dec", 9)]
)
def test_counters_with_one_limit(name, start, limit):
    """Wrapping counters of many lanes, also from a start above the limit."""
    cells, limits = np.array([start], np.uint32), np.full(50, limit, np.uint32)
    expected = cells.copy()
    old = one_by_one(expected, [0] * 50, limits, RULES[name][1])
    found = in_order(cells, np.zeros(50, np.int64), limits, OPERATIONS[name])
    assert (found.tolist(), cells.tolist()) == (old.tolist(), expected.tolist())


def swap(old, pair):
    return pair[1] if old == pair[0] else old


@pytest.mark.parametrize("guesses", ["one", "two", "many"])
@pytest.mark.parametrize("dtype", INTEGERS)
def test_compare_and_swap(dtype, guesses):
    """Swaps in a row, with one guess for a cell (a lock) and with several."""
    rng = np.random.default_rng(7)
    guess = rng.integers(0, {"one": 1, "two": 2, "many": 5}[guesses], 120).astype(dtype)
    new = rng.integers(0, 5, 120).astype(dtype)
    cells, places = rng.integers(0, 2, 6).astype(dtype), rng.integers(0, 6, 120)
    expected = cells.copy()
    old = one_by_one(expected, places, list(zip(guess, new, strict=True)), swap)
    found = in_order(cells, places, swaps(guess, new), CAS)
    assert (found.tolist(), cells.tolist()) == (old.tolist(), expected.tolist())


def locked(out, lock):
    i = cuda.threadIdx.x
    out[i] = cuda.atomic.cas(lock, 2, 0, i + 10)
    cuda.atomic.compare_and_swap(lock, 5, i)


def test_a_lock_has_one_winner():
    """The first lane takes the lock; the others see what it left."""
    out, lock = np.zeros(32, np.int32), np.array([5, 1, 0], np.int32)
    run(locked, out, lock)
    assert out.tolist() == [0] + [10] * 31
    assert lock.tolist() == [0, 1, 10]


def in_every_space(out, grid_wide):
    tile = cuda.shared.array((2, 3), int32)
    mine = cuda.local.array(2, float32)
    i = cuda.threadIdx.x
    if i < 6:
        tile[i // 3, i % 3] = 0
    mine[0] = 1.5
    cuda.syncthreads()
    cuda.atomic.add(tile, (i % 2, -1), i)
    cuda.atomic.max(tile[1], 0, i)
    was = cuda.atomic.add(mine, 0, i)
    cuda.atomic.min(grid_wide.T, (2, 1), -i)
    cuda.syncthreads()
    out[i, 0] = tile[i % 2, 2]
    out[i, 1] = tile[1, 0]
    out[i, 2] = was + mine[0]


def test_spaces_and_indices():
    """Shared, local and global arrays; tuples, negative indices, rows and transposed views."""
    out, grid_wide = np.zeros((32, 3)), np.zeros((2, 3), np.int64)
    run(in_every_space, out, grid_wide)
    assert out[:2, 0].tolist() == [sum(range(0, 32, 2)), sum(range(1, 32, 2))]
    assert set(out[:, 1]) == {31.0}
    assert out[:, 2].tolist() == [1.5 + 1.5 + i for i in range(32)]
    assert grid_wide.tolist() == [[0, 0, 0], [0, 0, -31]]


class Kinds(Watcher):
    """The kinds of the accesses of a launch."""

    def __init__(self):
        self.seen = []

    def access(self, event):
        self.seen.append(
            (event.kind, event.array.space, int(np.broadcast_to(event.active, (1, 1, 32)).sum()))
        )


def of_many_kinds(wide, narrow):
    i = cuda.threadIdx.x
    cuda.atomic.add(narrow, 0, 1)
    cuda.atomic.add(narrow, 0, 2)
    if i < 4:
        cuda.atomic.cas(narrow, 0, 3, 4)
    cuda.atomic.xor(wide, 0, 1)


def test_kinds():
    """What the rules of banks count stays apart from what loops on the device."""
    kinds = Kinds()
    run(of_many_kinds, np.zeros(1, np.int64), np.zeros(1, np.int32), watchers=(kinds,))
    assert kinds.seen == [
        ("atomic_increment", "global", 32),
        ("atomic_add", "global", 32),
        ("atomic_cas", "global", 4),
        ("atomic_retry", "global", 32),
    ]


def histogram(bins, data):
    i = cuda.grid(1)
    if i < data.size:
        cuda.atomic.add(bins, data[i] % bins.size, 1)


def tickets(order, counter):
    i = cuda.grid(1)
    order[i] = cuda.atomic.add(counter, 0, 1)


def total(out, data):
    cuda.atomic.add(out, 0, data[cuda.grid(1)])


@pytest.mark.parametrize("bins", [1, 7, 5000])
def test_histogram(bins):
    """A million updates; Numba's simulator takes 1 ms and more for each."""
    data, found = (
        np.random.default_rng(3).integers(0, 10**6, 2**20).astype(np.int32),
        np.zeros(bins, np.int32),
    )
    began = time.process_time()
    run(histogram, found, data, grid=2**20 // 256, block=256)
    assert time.process_time() - began < 2**20 * 1e-3 / 200
    assert found.tolist() == np.bincount(data % bins, minlength=bins).tolist()


def test_all_lanes_on_one_cell():
    """Tickets of one counter are handed out once each, in order of lanes."""
    order, counter = np.zeros(2**17, np.int64), np.zeros(1, np.int64)
    began = time.process_time()
    run(tickets, order, counter, grid=2**17 // 256, block=256)
    assert time.process_time() - began < 2**17 * 1e-3 / 200
    assert (order == np.arange(2**17)).all() and counter[0] == 2**17


def test_floats_round_one_by_one():
    """A float32 total rounds after each lane: not what a sum in pairs or in float64 gives."""
    data, out = np.random.default_rng(4).random(2**13).astype(np.float32), np.zeros(1, np.float32)
    expected = np.float32(0)
    for value in data:
        expected = np.float32(expected + value)
    run(total, out, data, grid=2**13 // 128, block=128)
    assert out[0] == expected != np.float32(data.astype(np.float64).sum())
