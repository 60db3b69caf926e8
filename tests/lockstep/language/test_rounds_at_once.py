"""Rounds of a loop that run at once give what they give one after the other, and are told so."""

import json
import sys

import numpy as np
import pytest
from numba import cuda, float32

from smemnb import trace
from smemnb.errors import SmemnbError
from smemnb.lockstep.language import rounds_at_once
from smemnb.lockstep.watch import Watcher
from tests.lockstep.language import random_loops
from tests.tiers import sampled

NEVER = sys.maxsize


@pytest.fixture
def attempts(monkeypatch):
    """How many attempts to run rounds at once have succeeded and failed."""
    count = {"done": 0, "failed": 0}
    attempt = rounds_at_once.AtOnce._attempt

    def counted(self, *given):
        try:
            attempt(self, *given)
        except BaseException:
            count["failed"] += 1
            raise
        count["done"] += 1

    monkeypatch.setattr(rounds_at_once.AtOnce, "_attempt", counted)
    return count


def outcome(kernel, seed, traced):
    """Bytes of all arguments, and what the trace says."""
    grid, block, arguments = random_loops.arguments_of(seed)
    try:
        if traced:
            told = json.loads(trace(kernel)[grid, block](*arguments).to_json())
        else:
            told = kernel[grid, block](*arguments)
    except SmemnbError as error:
        told = str(error)
    return [one.tobytes() for one in arguments[:5]], told


def at_once_from(monkeypatch, fewest):
    """Run loops of so many rounds at once."""
    monkeypatch.setattr(rounds_at_once, "FEWEST", fewest)
    monkeypatch.setattr("smemnb.lockstep.language.loops.FEWEST", fewest)


@pytest.mark.parametrize("first", sampled(range(0, 2000, 10), 0, second=20))
def test_random_loops(monkeypatch, first):
    """Values and traces are those of single rounds."""
    for seed in range(first, first + 10):
        kernel = cuda.jit(random_loops.kernel_of(seed))
        for traced in (False, True):
            at_once_from(monkeypatch, NEVER)
            one_by_one = outcome(kernel, seed, traced)
            at_once_from(monkeypatch, 2)
            assert outcome(kernel, seed, traced) == one_by_one, random_loops.source_of(seed)


def add(out, a, b):
    for i in range(cuda.grid(1), out.shape[0], cuda.gridsize(1)):
        out[i] = a[i] + b[i]


def double(out, a, b):
    for i in range(cuda.grid(1), out.shape[0], cuda.gridsize(1)):
        out[i] *= 2


def branches(out, a, b):
    for i in range(cuda.grid(1), out.shape[0], cuda.gridsize(1)):
        if a[i] > b[i]:
            out[i] = a[i]
        else:
            out[i] = float32(0)


def pairs(out, a, b):
    for i in range(out.shape[0] // 2):
        out[2 * i] = a[i]
        out[2 * i + 1] = b[i]


def turned(out, a, b):
    for i in range(out.shape[0] - 1, -1, -1):
        out[out.shape[0] - 1 - i] = a[i]


def running_sum(out, a, b):
    for i in range(1, out.shape[0]):
        out[i] = out[i - 1] + a[i]


def last_value(out, a, b):
    t = float32(0)
    for i in range(out.shape[0]):
        t = a[i] * b[i]
    out[0] = t + i


def into_one_cell(out, a, b):
    for i in range(out.shape[0]):
        out[0] += a[i]


def past_the_end(out, a, b):
    for i in range(out.shape[0]):
        out[i] = a[i + 1]


def carried(out, a, b):
    t = float32(0)
    for i in range(out.shape[0]):
        out[i] = t
        t = a[i]


def arguments():
    rng = np.random.default_rng(3)
    return [rng.integers(-9, 9, 800).astype(np.float32) for _ in range(3)]


def results(kernel, block):
    given = arguments()
    cuda.jit(kernel)[1, block](*given)
    return given


@pytest.mark.parametrize("block", [1, 32, 40])
@pytest.mark.parametrize("kernel", [add, double, branches, pairs, turned, last_value])
def test_taken(attempts, monkeypatch, kernel, block):
    """Loops whose rounds are independent run at once, with the same results."""
    together = results(kernel, block)
    assert attempts["done"] > 0 and attempts["failed"] == 0
    at_once_from(monkeypatch, NEVER)
    for mine, other in zip(together, results(kernel, block), strict=True):
        np.testing.assert_array_equal(mine, other)


@pytest.mark.parametrize("kernel, failed", [(running_sum, 1), (into_one_cell, 1), (carried, 0)])
def test_not_taken(attempts, monkeypatch, kernel, failed):
    """A loop whose rounds need each other is tried once at most, and right."""
    together = results(kernel, 1)
    assert attempts == {"done": 0, "failed": failed}
    at_once_from(monkeypatch, NEVER)
    for mine, other in zip(together, results(kernel, 1), strict=True):
        np.testing.assert_array_equal(mine, other)


def test_a_finding_goes_round_by_round(attempts):
    """Where a watched lane leaves an array, the round that does so is told as ever."""
    out, a, b = arguments()
    (found,) = trace(past_the_end)[1, 1](out, a, b).findings[:1]
    assert (found.kind, found.index, found.count) == ("out_of_range", (800,), 1)
    assert attempts["failed"] == 1


def test_memory_that_overlaps(attempts):
    """Two arguments over the same memory are compared as one, of several dtypes too."""
    for seen in (lambda part: part, lambda part: part.view(np.int32)):
        whole = cuda.to_device(np.arange(101, dtype=np.float32))
        ones = cuda.to_device(np.zeros(100, np.float32))
        cuda.jit(add)[1, 1](seen(whole[1:]), seen(whole[:-1]), ones)
        assert not whole.copy_to_host().any()
    assert attempts == {"done": 0, "failed": 2}


class Order(Watcher):
    """Keeps the text of each access."""

    def __init__(self):
        self.seen = []

    def access(self, event):
        self.seen.append((event.site.text, event.offset.ravel().tolist()))


def test_other_watchers_see_single_rounds(attempts):
    """A watcher that does not know of rounds at once sees each round by itself, in order."""
    from smemnb.lockstep import launch

    seen = Order()
    launch(add, (1, 1, 1), (1, 1, 1), arguments(), watchers=[seen])
    assert seen.seen[:4] == [("a[i]", [0]), ("b[i]", [0]), ("out[i]", [0]), ("a[i]", [1])]
    assert attempts == {"done": 0, "failed": 0}


def test_work_of_one_thread(attempts):
    """A million elements in one thread take some hundreds of rounds at once, traced or not."""
    n = 1_000_000
    out, a, b = np.zeros(n, np.float32), np.arange(n, dtype=np.float32), np.ones(n, np.float32)
    found = trace(add)[1, 1](out, a, b)
    assert attempts["done"] < 600
    assert [line.requests for line in found.lines] == [n, n, n]
    np.testing.assert_array_equal(out, a + b)
