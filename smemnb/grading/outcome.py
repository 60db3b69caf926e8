"""What is said of one exercise of one learner."""

from __future__ import annotations

from dataclasses import dataclass

from ..exercises.grading.verdict import Verdict

ACCEPTED, RIGHT, WRONG, NOT_TRIED, STOPPED = GRADES = (
    "accepted",
    "right values",  # but conflicts, races, too many requests ...: the reason says
    "wrong",
    "not tried",
    "stopped",  # by the limits, or by itself
)
_LOOPS = ("was still going round when the time was over", " was stopped after ", " never ends")


@dataclass(frozen=True)
class Outcome:
    """A grade with its reason in a word, in one line, and whole.

    The word is the part of the verdict that does not hold; of what was stopped it is "time",
    "memory", "crash" or "source" (no kernel came of the file); "" where there is none.
    """

    exercise: str
    grade: str
    reason: str = ""
    text: str = ""
    whole: str = ""
    seconds: float = 0.0


def of_verdict(verdict: Verdict) -> Outcome:
    """The outcome that a verdict means."""
    reason = verdict.reason
    part = verdict.part(reason)
    text = part.text if part else ""
    grade, reason = _graded(verdict, reason, text)
    return Outcome(verdict.exercise, grade, reason, text.split("\n")[0], repr(verdict))


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
