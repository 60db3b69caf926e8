"""A search for the best choices: one step at a time, from the present best.

Each step times its candidates together with the present best, in the same rounds. A candidate takes
its place if it is faster by more than the spread: by `GAIN`, and the quartiles of the two do not
overlap. After the last step the first one begins again, until nothing changes. The order is fixed,
so that two searches with the same times try the same candidates.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

from .outcome import Attempt, Outcome, Timed, Trial
from .space import Choices, Step, changed, differences

__all__ = ["GAIN", "Timer", "Timing", "candidates", "faster", "searched"]

GAIN = 0.003
"""Least part of the present best's time that a candidate must save."""

PASSES = 2


@dataclass(frozen=True)
class Timing:
    """What a timer found: one `Timed` per candidate, and the libraries beside them, by name."""

    candidates: tuple[Timed, ...]
    beside: dict[str, Timed]


Timer = Callable[[Sequence[Choices]], Timing]
"""Times candidates in the same rounds; the first one is the present best."""


def searched(
    start: Choices,
    steps: Sequence[Step],
    timer: Timer,
    outcome: Outcome,
    *,
    seconds: float = float("inf"),
    passes: int = PASSES,
    keep: Callable[[Outcome], object] = lambda outcome: None,
    say: Callable[[Trial], object] = lambda trial: None,
    now: Callable[[], float] = time.monotonic,
) -> Outcome:
    """Search from `start`; the outcome grows from step to step.

    Args:
        start: the choices to begin with.
        steps: what is tried, in this order.
        timer: times candidates.
        outcome: where and how, without trials.
        seconds: after so many no further step begins.
        passes: how often all steps are gone through at most.
        keep: called with the outcome after each step.
        say: called with each step's trial.
        now: a clock in seconds.
    """
    best, began = start, now()
    outcome = outcome.grown(best=asdict(best))
    for _ in range(passes):
        before = best
        for step in steps:
            if now() - began > seconds:
                return outcome
            try:
                trial, best = _tried(step, best, timer)
            except KeyboardInterrupt:
                return outcome
            outcome = outcome.grown(trial, best=asdict(best))
            keep(outcome)
            say(trial)
        if best == before:
            break
    outcome = outcome.grown(finished=True)
    keep(outcome)
    return outcome


def candidates(step: Step, best: Choices) -> tuple[list[Choices], list[Attempt]]:
    """The choices that a step tries against the best, and those that are refused, with reasons."""
    made: list[Choices] = []
    refused: list[Attempt] = []
    for changes in step.others(best):
        try:
            other = changed(best, changes)
        except ValueError as error:
            refused.append(Attempt(dict(changes), Timed(failed=str(error))))
            continue
        if other != best and other not in made:
            made.append(other)
    return made, refused


def _tried(step: Step, best: Choices, timer: Timer) -> tuple[Trial, Choices]:
    """One step: its trial, and the best afterwards."""
    made, refused = candidates(step, best)
    if not made:
        return Trial(step.name, Timed(failed="nothing to try"), tuple(refused), {}, {}), best
    found = timer([best, *made])
    own, others = found.candidates[0], found.candidates[1:]
    attempts = tuple(
        Attempt(differences(one, best), timed) for one, timed in zip(made, others, strict=True)
    )
    ranked = sorted(
        (timed.ms, at) for at, timed in enumerate(others) if timed.ms and faster(timed, own)
    )
    after = made[ranked[0][1]] if ranked else best
    kept = differences(after, best)
    return Trial(step.name, own, (*attempts, *refused), kept, found.beside), after


def faster(one: Timed, other: Timed) -> bool:
    """Whether one is faster than the other by more than the spread; it is if the other failed."""
    if one.ms is None or one.high_ms is None:
        return False
    if other.ms is None or other.low_ms is None:
        return True
    return one.ms < other.ms * (1 - GAIN) and one.high_ms < other.low_ms
