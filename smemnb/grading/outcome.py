"""What is said of one exercise of one learner."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from ..exercises.grading.verdict import Verdict

ACCEPTED, RIGHT, WRONG, NOT_TRIED, STOPPED = GRADES = (
    "accepted",
    "right values",  # but conflicts, races, too many requests ...: the reason says
    "wrong",
    "not tried",
    "stopped",  # by the limits, or by itself, or it cannot be graded as it is
)
NEEDS_EXECUTE = "needs --execute"
STOPS = ("time", "memory", "processes", "written", "crash", "source", NEEDS_EXECUTE)
"""The words that say why something was stopped."""

TEXT_LETTERS, WHOLE_LETTERS = 1_000, 20_000
"""Of what is kept. A field of a CSV file may have 131,072 before Python refuses to read it."""

_LOOPS = ("was still going round when the time was over", " was stopped after ", " never ends")


@dataclass(frozen=True)
class Outcome:
    """A grade with its reason in a word, in one line, and whole.

    The word is the part of the verdict that does not hold; of what was stopped it is one of
    `STOPS`; "" where there is none. `likeness` is how like the solution the text is, from 0 to 1,
    told and never a grade; None where the exercise gives most of the text, or nothing was judged.
    """

    exercise: str
    grade: str
    reason: str = ""
    text: str = ""
    whole: str = ""
    seconds: float = 0.0
    likeness: float | None = None


def of_verdict(verdict: Verdict) -> Outcome:
    """The outcome that a verdict means."""
    reason = verdict.reason
    part = verdict.part(reason)
    text = part.text if part else ""
    grade, reason = _graded(verdict, reason, text)
    return Outcome(verdict.exercise, grade, reason, text.split("\n")[0], repr(verdict))


def stopped(exercise: str, reason: str, text: str) -> Outcome:
    """The outcome of what was stopped for a reason of `STOPS`."""
    return Outcome(exercise, STOPPED, reason if reason in STOPS else "crash", text, text)


def bounded(said: Any) -> Outcome | None:
    """The outcome that some parsed JSON is, cut to what is kept of it; None if it is none."""
    if not isinstance(said, dict):
        return None
    try:
        outcome = Outcome(**said)
    except TypeError:
        return None
    texts = (outcome.exercise, outcome.grade, outcome.reason, outcome.text, outcome.whole)
    if not all(isinstance(text, str) for text in texts) or outcome.grade not in GRADES:
        return None
    return Outcome(
        outcome.exercise,
        outcome.grade,
        cut(outcome.reason, 40),
        cut(outcome.text, TEXT_LETTERS),
        cut(outcome.whole, WHOLE_LETTERS),
        _seconds(outcome.seconds),
        _share(outcome.likeness),
    )


def cut(text: str, letters: int) -> str:
    """A text of at most so many letters; what is longer ends in dots.

    >>> cut("wavefronts", 8)
    'wavef...'
    """
    return text if len(text) <= letters else f"{text[: letters - 3]}..."


def _seconds(said: Any) -> float:
    if isinstance(said, int | float) and abs(said) < 1e9 and math.isfinite(said):
        return max(0.0, float(said))
    return 0.0


def _share(said: Any) -> float | None:
    known = isinstance(said, int | float) and math.isfinite(said) and 0 <= said <= 1
    return float(said) if known else None


def _graded(verdict: Verdict, reason: str, text: str) -> tuple[str, str]:
    output = verdict.part("output")
    if verdict:
        return ACCEPTED, ""
    if output is not None:
        return (RIGHT if output.ok else WRONG), reason
    if text.startswith("this is the stub as it was given"):
        return NOT_TRIED, "stub"
    if any(said in text for said in _LOOPS):
        return STOPPED, "time"
    if "MemoryError" in text:
        return STOPPED, "memory"
    return (STOPPED, "crash") if reason == "check" else (WRONG, reason)
