"""One problem, from checks to a reading: ours and each library on the same matrices, in turns.

1. Values first. Every contender makes every result once, on results that were spoilt before. What
   is wrong, or raises an error, is not timed; where that is ours, nothing is.
2. A time is that of several launches put together, as many as make the fastest contender work for
   `TARGET_MS`, over their number. They are captured into a CUDA graph and replayed, so the host has
   no part in it. Where a contender cannot be captured, its launches are queued behind a pause of
   the GPU, between the same two events, and the reading says why.
3. Launches go round over several sets of matrices (`place.SETS`), in the same order for everyone.
   Sets that fit into the L2 cache together are read from there from the second launch on; larger
   ones come from memory. So a small problem is timed as in a steady state with a warm cache, for
   ours and for libraries alike, and no launch repeats the one before it.
4. Contenders take turns within a round and each round begins with the next one; a time is the
   median over rounds. Short problems get more rounds than long ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Final, Protocol

from ....errors import SmemnbError
from ..timing import Clock, in_rounds, spread
from .model import Reading
from .problems import Problem

__all__ = ["COPY", "OURS", "Contender", "NotCaptured", "Place", "Ready"]
__all__ += ["allowed_error", "launches_for", "reading"]

OURS: Final = "smemnb"
COPY: Final = "copy"
TARGET_MS: Final = 0.4
MOST_LAUNCHES: Final = 128
LEAST_ROUNDS, MOST_ROUNDS = 5, 11
BUDGET_MS: Final = 250.0
CALLS: Final = 20
"""Of ours on the same matrices, all of which have to give the same bits."""


class NotCaptured(Exception):
    """Launches that a CUDA graph cannot hold; the message says why."""


@dataclass(frozen=True)
class Contender:
    """Something to time: `launches[i]` works on the i-th set of matrices."""

    name: str
    launches: Sequence[Callable[[], object]]


class Ready(Protocol):
    """The matrices of one problem."""

    @property
    def contenders(self) -> Sequence[Contender]:
        """Ours under the name `OURS`, libraries, and for a transpose `COPY`."""

    @property
    def left_out(self) -> dict[str, str]:
        """Libraries that cannot be timed here -> why."""

    @property
    def plan(self) -> str | None:
        """What the operation says it does."""

    def spoil(self, number: int) -> None:
        """Fill the result of a set with what is not the result."""

    def error(self, number: int, name: str) -> tuple[float, float]:
        """Largest error of a set's result as the contender left it, and the largest true value.

        Bits that differ are an infinite error of a transpose, and so is NaN.
        """

    def keep(self, number: int) -> Callable[[], bool]:
        """A question for later: whether the result of a set has the bits that it has now."""


class Place(Protocol):
    """Where problems are made and timed."""

    @property
    def clock(self) -> Clock:
        """Times launches."""

    def ready(self, problem: Problem) -> Ready:
        """The matrices of a problem.

        Raises:
            MemoryError: it does not fit (the message says what it needs).
        """

    def captured(self, launches: Sequence[Callable[[], object]]) -> Callable[[], object]:
        """What replays the launches as one graph.

        Raises:
            NotCaptured: a graph cannot hold them.
        """

    def alone(self) -> AbstractContextManager[object]:
        """Within it nobody else works on the GPU."""


def reading(problem: Problem, place: Place) -> Reading:
    """Check and time one problem; what went wrong is in the reading."""
    base = Reading(problem.operation, problem.shape, problem.layout, problem.itemsize, "skipped")
    try:
        ready = place.ready(problem)
    except MemoryError as error:
        return replace(base, reason=str(error))
    except Exception as error:  # one problem that fails is no reason to lose the others
        return replace(base, status="failed", reason=_said(error))
    checked = _Checked(problem, ready)
    checked.run()
    base = checked.into(replace(base, plan=ready.plan))
    if base.status != "timed":
        return base
    try:
        found = _timed(checked.right, place)
        repeats = checked.repeats()
    except Exception as error:
        return replace(base, status="failed", reason=_said(error))
    by_name = dict(zip((one.name for one in checked.right), found.times, strict=True))
    ours = spread(by_name.pop(OURS))
    copy = by_name.pop(COPY, None)
    return replace(
        base,
        ms=ours.median,
        low_ms=ours.low,
        high_ms=ours.high,
        launches=found.launches,
        rounds=ours.count,
        libraries={name: spread(times).median for name, times in by_name.items()},
        copy_ms=None if copy is None else spread(copy).median,
        not_captured=found.not_captured,
        repeats=repeats,
    )


def allowed_error(problem: Problem) -> float:
    """The largest error of a right result: 8 roundings of 2^-24 per step of the depth.

    Values lie in [-1, 1], and errors of a sum of `depth` of their products stay below one such
    rounding per step in any order. A lost term, or factors cut to TF32, is more. A transpose has
    no error.

    >>> allowed_error(Problem("matmul", (8, 8, 1024), "NN")) == 2**-11
    True
    """
    return 2.0**-21 * problem.shape[2] if problem.operation == "matmul" else 0.0


def launches_for(ms: float, sets: int) -> int:
    """How many launches of so many milliseconds are timed at once: whole turns over the sets.

    >>> launches_for(0.003, 4), launches_for(0.1, 4), launches_for(40.0, 1)
    (128, 4, 1)
    """
    wished = TARGET_MS / ms if ms > 0 else MOST_LAUNCHES
    return max(1, min(round(wished / sets), MOST_LAUNCHES // sets)) * sets


class _Checked:
    """Contenders after a launch on each set whose result was compared."""

    def __init__(self, problem: Problem, ready: Ready) -> None:
        self._problem, self._ready = problem, ready
        self._same: Callable[[], bool] = lambda: True
        self.right: list[Contender] = []
        self.errors: dict[str, float] = {}
        self.largest = 0.0
        self.left_out = dict(ready.left_out)
        self.status, self.reason = "timed", ""

    def run(self) -> None:
        """Check ours, then the others if ours is right."""
        for one in sorted(self._ready.contenders, key=lambda one: one.name != OURS):
            try:
                self.errors[one.name] = worst = self._error(one)
            except Exception as error:  # a library's own errors, whatever they are
                status = "refused" if isinstance(error, SmemnbError) else "failed"
                self._out(one, status, _said(error))
            else:
                if worst <= allowed_error(self._problem):
                    self.right.append(one)
                else:
                    words = f"error {worst:.1e}" if math.isfinite(worst) else "not the true bits"
                    self._out(one, "wrong", f"wrong values: {words}")
            if self.status != "timed":
                return

    def _error(self, one: Contender) -> float:
        worst = 0.0
        for number, launch in enumerate(one.launches):
            self._ready.spoil(number)
            launch()
            error, largest = self._ready.error(number, one.name)
            worst, self.largest = max(worst, error), max(self.largest, largest)
            if number == 0 and one.name == OURS:
                self._same = self._ready.keep(0)
        return worst

    def _out(self, one: Contender, status: str, reason: str) -> None:
        if one.name == OURS:
            self.status, self.reason = status, reason
        else:
            self.left_out[one.name] = reason

    def repeats(self) -> bool:
        """Whether `CALLS` launches of ours on one set give the same bits; the first has run."""
        ours = next(one for one in self.right if one.name == OURS)
        for _ in range(CALLS - 1):
            self._ready.spoil(0)
            ours.launches[0]()
            if not self._same():
                return False
        return True

    def into(self, base: Reading) -> Reading:
        """The reading with what the checks said."""
        product = self._problem.operation == "matmul"
        return replace(
            base,
            status=self.status,
            reason=self.reason or None,
            left_out=self.left_out,
            error=_finite(self.errors.get(OURS)) if product else None,
            torch_error=_finite(self.errors.get("torch")) if product else None,
            largest=self.largest if product and self.errors else None,
        )


@dataclass(frozen=True)
class _Times:
    """Milliseconds of a launch, per contender and round."""

    times: list[list[float]]
    launches: int
    not_captured: dict[str, str]


def _timed(contenders: Sequence[Contender], place: Place) -> _Times:
    with place.alone():
        return _timed_alone(contenders, place)


def _timed_alone(contenders: Sequence[Contender], place: Place) -> _Times:
    launches = launches_for(_shortest_ms(contenders, place.clock), len(contenders[0].launches))
    runs: list[Callable[[], object]] = []
    not_captured: dict[str, str] = {}
    for one in contenders:
        in_turn = [one.launches[at % len(one.launches)] for at in range(launches)]
        try:
            runs.append(place.captured(in_turn))
        except NotCaptured as error:
            not_captured[one.name] = str(error)
            runs.append(_one_by_one(in_turn))
    clock = _Patient(place.clock, launches * len(not_captured))
    rounds = list(in_rounds(runs, clock, least=LEAST_ROUNDS, most=MOST_ROUNDS, budget_ms=BUDGET_MS))
    times = [[found[at] / launches for found in rounds] for at in range(len(runs))]
    return _Times(times, launches, not_captured)


def _shortest_ms(contenders: Sequence[Contender], clock: Clock) -> float:
    """About how long a launch of the fastest contender takes, from one turn over the sets."""
    found = []
    for one in contenders:
        clock.head_start(len(one.launches))
        before = clock.mark()
        for launch in one.launches:
            launch()
        after = clock.mark()
        clock.wait()
        found.append(clock.ms(before, after) / len(one.launches))
    return min(found)


def _one_by_one(launches: Sequence[Callable[[], object]]) -> Callable[[], object]:
    def run() -> None:
        for launch in launches:
            launch()

    return run


class _Patient:
    """A clock whose head start also covers launches that the host queues one by one."""

    def __init__(self, clock: Clock, further: int) -> None:
        self._clock, self._further = clock, further
        self.mark, self.wait, self.ms = clock.mark, clock.wait, clock.ms

    def head_start(self, launches: int) -> None:
        self._clock.head_start(launches + self._further)


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def _said(error: BaseException) -> str:
    words = " ".join(str(error).split())
    return (words if isinstance(error, SmemnbError) else f"{type(error).__name__}: {words}")[:300]
