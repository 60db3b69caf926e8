"""Grades as text and as CSV."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from io import StringIO

from .outcome import GRADES, NOT_TRIED, Outcome

WIDTH = 100
COLUMNS = ("learner", "exercise", "grade", "reason", "text", "seconds")
_FORMULA = ("=", "+", "-", "@", "\t", "\r")

Grades = Mapping[str, Sequence[Outcome]]


def table(grades: Grades) -> str:
    """A row per learner and exercise that was tried, then a row of counts per learner.

    What was not tried has a row only where there is something to say of it.
    """
    rows = [["learner", "exercise", "grade", "why"]]
    for learner, outcomes in grades.items():
        shown = _shown(outcomes)
        rows += [[learner, one.exercise, one.grade, why(one)] for one in shown]
    counts = [["learner", *GRADES]]
    for learner, outcomes in grades.items():
        seen = [one.grade for one in outcomes]
        counts.append([learner, *(str(seen.count(grade)) for grade in GRADES)])
    return f"{_lined(rows)}\n\n{_lined(counts)}"


def _shown(outcomes: Sequence[Outcome]) -> list[Outcome]:
    """Every exercise that was tried; of the others one, if all of them say the same."""
    tried = [one for one in outcomes if one.grade != NOT_TRIED]
    silent = [one for one in outcomes if one.grade == NOT_TRIED and one.reason == "source"]
    return tried if tried or not silent else silent[:1]


def why(outcome: Outcome) -> str:
    """Reason and text in one line."""
    parts = [part for part in (outcome.reason, outcome.text) if part]
    return ": ".join(" ".join(part.split()) for part in parts)


def to_csv(grades: Grades) -> str:
    """A line per learner and exercise, all of them.

    A field that a spreadsheet would take for a formula begins with an apostrophe.
    """
    stream = StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(COLUMNS)
    for learner, outcomes in grades.items():
        for one in outcomes:
            texts = (learner, one.exercise, one.grade, one.reason, one.text)
            writer.writerow([*map(_plain, texts), f"{one.seconds:.3f}"])
    return stream.getvalue()


def _plain(text: str) -> str:
    return f"'{text}" if text.startswith(_FORMULA) else text


def _lined(rows: Sequence[Sequence[str]]) -> str:
    """Columns side by side; control characters shown, lines cut at WIDTH."""
    rows = [[_printable(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = (
        "  ".join(f"{cell:<{wide}}" for cell, wide in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )
    return "\n".join(line if len(line) <= WIDTH else f"{line[: WIDTH - 3]}..." for line in lines)


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)
