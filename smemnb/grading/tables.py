"""Grades as text, as CSV and as JUnit XML."""

from __future__ import annotations

import csv
import re
import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
from io import StringIO

from .outcome import ACCEPTED, GRADES, NOT_TRIED, RIGHT, STOPPED, WRONG, Outcome

WIDTH = 100
COLUMNS = ("learner", "exercise", "grade", "reason", "text", "seconds")
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_ELEMENT = {RIGHT: "failure", WRONG: "failure", STOPPED: "error", NOT_TRIED: "skipped"}

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


def to_junit(grades: Grades) -> str:
    """A suite per learner and a case per exercise: the whole XML document.

    Wrong values, and right ones with a fault, are failures; what was stopped is an error; what was
    not tried is skipped.
    """
    everything = [one for outcomes in grades.values() for one in outcomes]
    root = ET.Element("testsuites", {"name": "smemnb grade", **_counts(everything)})
    for learner, outcomes in grades.items():
        counts = {**_counts(outcomes), "skipped": str(_count(outcomes, NOT_TRIED))}
        suite = ET.SubElement(root, "testsuite", {"name": _legal(learner), **counts})
        for one in outcomes:
            _case(suite, learner, one)
    ET.indent(root)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def _case(suite: ET.Element, learner: str, one: Outcome) -> None:
    named = {"classname": _legal(learner), "name": one.exercise, "time": f"{one.seconds:.3f}"}
    case = ET.SubElement(suite, "testcase", named)
    if one.grade == ACCEPTED:
        return
    said = {"message": _legal(why(one) or one.grade)}
    if one.grade != NOT_TRIED:
        said["type"] = one.reason or one.grade
    element = ET.SubElement(case, _ELEMENT[one.grade], said)
    element.text = _legal(one.whole) or None


def _counts(outcomes: Sequence[Outcome]) -> dict[str, str]:
    return {
        "tests": str(len(outcomes)),
        "failures": str(_count(outcomes, RIGHT, WRONG)),
        "errors": str(_count(outcomes, STOPPED)),
        "time": f"{sum(one.seconds for one in outcomes):.3f}",
    }


def _count(outcomes: Sequence[Outcome], *grades: str) -> int:
    return sum(one.grade in grades for one in outcomes)


def _legal(text: str) -> str:
    """Text with a question mark for what XML 1.0 cannot hold."""
    return _NO_XML.sub("?", text)
