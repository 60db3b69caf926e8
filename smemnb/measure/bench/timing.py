"""Rounds: every contender once per round, in an order that moves on, timed by the GPU's events.

A round begins with a nap of the GPU, so that its launches wait in the queue and no host time lies
between two events. Contenders follow each other in turn; each round begins one further, so none
always comes first. The L2 cache is swept before each launch, or left as it is: `between` decides.
The first rounds warm up and are not counted.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from numba import cuda

from ...errors import SmemnbError

__all__ = ["Clock", "GpuClock", "Spread", "how_many", "in_rounds", "spread", "turns"]

WARM_ROUNDS = 2
LAUNCHES_PER_MS = 12  # that a host queues, each with its events and the sweep before it


class Clock(Protocol):
    """Marks in the stream of launches, and the time between two of them."""

    def head_start(self, launches: int) -> None:
        """Give the host time to queue so many launches."""

    def mark(self) -> Any:
        """A mark behind everything launched so far."""

    def wait(self) -> None:
        """Until everything launched is done."""

    def ms(self, before: Any, after: Any) -> float:
        """Milliseconds from one mark to another."""


@cuda.jit  # type: ignore[untyped-decorator]
def _nap(milliseconds: int) -> None:
    for _ in range(milliseconds):
        cuda.nanosleep(1_000_000)


class GpuClock:
    """CUDA events on a stream of Numba's, or on the default one, which torch and CuPy use too."""

    def __init__(self, stream: Any = 0) -> None:
        self.stream = stream

    def head_start(self, launches: int) -> None:
        """A nap of the GPU."""
        _nap[1, 1, self.stream](1 + launches // LAUNCHES_PER_MS)

    def mark(self) -> Any:
        """A recorded event."""
        event = cuda.event(timing=True)
        event.record(self.stream)
        return event

    def wait(self) -> None:
        """Synchronise."""
        cuda.synchronize()

    def ms(self, before: Any, after: Any) -> float:
        """Elapsed time of the pair."""
        return float(cuda.event_elapsed_time(before, after))


@dataclass(frozen=True)
class Spread:
    """Median and quartiles of several times."""

    median: float
    low: float
    high: float
    count: int


def spread(times: Sequence[float]) -> Spread:
    """Median and quartiles, both by linear interpolation between neighbours.

    >>> spread([4.0, 1.0, 3.0, 2.0])
    Spread(median=2.5, low=1.75, high=3.25, count=4)
    """
    if len(times) == 1:
        return Spread(times[0], times[0], times[0], 1)
    low, median, high = statistics.quantiles(times, n=4, method="inclusive")
    return Spread(median, low, high, len(times))


def turns(contenders: int, round_: int) -> list[int]:
    """Who comes after whom in a round: each round begins with the next contender.

    >>> turns(3, 0), turns(3, 1), turns(3, 5)
    ([0, 1, 2], [1, 2, 0], [2, 0, 1])
    """
    return [(round_ + step) % contenders for step in range(contenders)]


def how_many(round_ms: float, least: int, most: int, budget_ms: float) -> int:
    """Rounds that fit a budget, within bounds; an odd number, so that the median is one of them.

    >>> how_many(365.0, 7, 31, 2500.0), how_many(1.0, 7, 31, 2500.0), how_many(250.0, 7, 31, 2500.0)
    (7, 31, 9)
    """
    fitting = int(budget_ms / round_ms) if round_ms > 0 else most
    return (max(least, min(most, fitting)) - 1) // 2 * 2 + 1


def in_rounds(
    runs: Sequence[Callable[[], object]],
    clock: Clock,
    *,
    least: int,
    most: int,
    budget_ms: float,
    between: Callable[[], object] = lambda: None,
) -> Iterator[list[float]]:
    """The times of each counted round, in the order of `runs`.

    Raises:
        SmemnbError: the clock says something that is no time.
    """
    number, count = -WARM_ROUNDS, most
    while number < count:
        times = _round(runs, clock, number, between)
        if not all(math.isfinite(ms) and ms > 0 for ms in times):
            raise SmemnbError(f"the events say {min(times)} ms, which is no time of a GPU")
        number += 1
        if number == 0:  # the last warm round tells how long one takes
            count = how_many(sum(times), least, most, budget_ms)
        if number > 0:
            yield times


def _round(
    runs: Sequence[Callable[[], object]], clock: Clock, number: int, between: Callable[[], object]
) -> list[float]:
    marks: dict[int, tuple[Any, Any]] = {}
    clock.head_start(len(runs))
    for at in turns(len(runs), number):
        between()
        before = clock.mark()
        runs[at]()
        marks[at] = before, clock.mark()
    clock.wait()
    return [clock.ms(*marks[at]) for at in range(len(runs))]
