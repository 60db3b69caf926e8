"""Rounds and statistics, with a clock whose times are written down."""

import pytest

from smemnb.errors import SmemnbError
from smemnb.measure.bench.timing import Spread, how_many, in_rounds, spread, turns


class Script:
    """A clock that says the times it was given, and notes what happened in which order."""

    def __init__(self, *times):
        self.times, self.happened, self.now = list(times), [], 0.0

    def head_start(self, launches):
        self.happened.append(f"nap {launches}")

    def mark(self):
        return self.now

    def wait(self):
        self.happened.append("wait")

    def ms(self, before, after):
        return after - before

    def run(self, name):
        def running():
            self.happened.append(name)
            self.now += self.times.pop(0)

        return running


@pytest.mark.parametrize(
    ("times", "low", "median", "high"),
    [
        ([5.0], 5.0, 5.0, 5.0),
        ([3.0, 1.0], 1.5, 2.0, 2.5),
        ([3.0, 1.0, 2.0], 1.5, 2.0, 2.5),
        ([7.0, 1.0, 4.0, 2.0], 1.75, 3.0, 4.75),
        ([10.0, 1.0, 1.0, 1.0, 1.0], 1.0, 1.0, 1.0),
    ],
)
def test_spread(times, low, median, high):
    """Median and quartiles between neighbours, whatever the order; worked out by hand."""
    assert spread(times) == Spread(median, low, high, len(times))


def test_every_contender_takes_every_place():
    """Over as many rounds as contenders, each has been first, second, ... once."""
    places = [turns(4, number) for number in range(-2, 2)]
    assert places == [[2, 3, 0, 1], [3, 0, 1, 2], [0, 1, 2, 3], [1, 2, 3, 0]]


@pytest.mark.parametrize(
    ("round_ms", "rounds"),
    [(0.5, 31), (100.0, 25), (101.0, 23), (365.0, 7), (9000.0, 7), (0.0, 31)],
)
def test_rounds_fit_the_budget(round_ms, rounds):
    """2500 ms, at least 7 and at most 31 rounds, an odd number."""
    assert how_many(round_ms, 7, 31, 2500.0) == rounds


def test_interleaved():
    """Two warm rounds go by uncounted; then each round turns on, swept before each launch."""
    clock = Script(90, 80, 3, 4, 1, 10, 20, 2)
    runs = [clock.run("a"), clock.run("b")]
    sweeps = []

    def sweep():
        sweeps.append(clock.now)
        clock.now += 1000  # what comes between two launches is in no time

    rounds = list(in_rounds(runs, clock, least=1, most=2, budget_ms=14.0, between=sweep))
    # the last warm round took 3 + 4 ms, so two fit 14 ms, which an odd number makes one
    assert rounds == [[1, 10]]
    assert clock.happened == [
        *("nap 2", "a", "b", "wait"),
        *("nap 2", "b", "a", "wait"),
        *("nap 2", "a", "b", "wait"),
    ]
    assert sweeps == [0, 1090, 2170, 3173, 4177, 5178]


def test_times_go_to_their_contender():
    """In a round that begins with the second contender the times come back in order."""
    clock = Script(1, 1, 1, 1, 5, 6, 7, 8, 9, 10)
    runs = [clock.run("a"), clock.run("b")]
    rounds = list(in_rounds(runs, clock, least=3, most=3, budget_ms=100.0))
    assert rounds == [[5, 6], [8, 7], [9, 10]]


@pytest.mark.parametrize("time", [float("nan"), 0.0, -1.0])
def test_no_clock(time):
    """Events that tell no time, as those of the engine, are refused in the first round."""
    clock = Script(time)
    with pytest.raises(SmemnbError, match="no time of a GPU"):
        list(in_rounds([clock.run("a")], clock, least=3, most=3, budget_ms=1.0))
    assert clock.happened == ["nap 1", "a", "wait"]
